"""Folders that the processes of a server share: an owner, marks of living processes, one lock.

    <temporary folder>/<prefix><random>/      private to the user
        owner                                 marked by the process that made the folder
        <name>                                marked by one process of the server: it runs

A mark is a lock that a process holds on a file until it ends, however it ends. A folder whose owner is not marked was
left behind by a process that was killed; the next one that makes such a folder removes it.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import stat
import tempfile
import time
from contextlib import AbstractContextManager
from typing import Final

from .files import lock, locked_folder, open_private, open_regular, read_regular

__all__ = ["SharedFolder", "hold_mark", "is_marked", "mark"]

OWNER: Final = "owner"
LOCK_S: Final = 10.0
"""The time for which another process may hold the lock of a folder."""
LOOK_S: Final = 0.05
"""The time for which another process may look at a mark."""


class SharedFolder:
    """A folder of files that several processes of a server read and write."""

    def __init__(self, path: str, owner: int | None = None) -> None:
        """Use the folder at a path, which another process may have made."""
        self.path = path
        self._owner = owner

    @classmethod
    def create(cls, prefix: str, unowned_s: float = math.inf) -> SharedFolder:
        """Make a folder of this process, and remove those with the same prefix that killed processes left behind.

        A folder without an owner is removed when it has not been changed for `unowned_s`.

        Raises:
            OSError: no folder can be made.
        """
        base = tempfile.gettempdir()
        for name in os.listdir(base):
            if name.startswith(prefix):
                _remove_if_left(os.path.join(base, name), unowned_s)
        path = tempfile.mkdtemp(prefix=prefix, dir=base)
        new = os.path.join(path, OWNER + ".new")
        owner = mark(new)
        os.write(owner, str(os.getpid()).encode())
        # Under its name the file is locked from the start: another process removes folders whose owner is not marked.
        os.rename(new, os.path.join(path, OWNER))
        return cls(path, owner)

    def file(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return os.path.join(self.path, name)

    def lock(self, *, shared: bool = False) -> AbstractContextManager[None]:
        """Lock the folder until the block ends; several processes can hold a shared lock.

        Raises:
            TimeoutError: another process has held it for ten seconds.
        """
        return locked_folder(self.path, wait_s=LOCK_S, shared=shared)

    def remove(self) -> None:
        """Remove the folder with everything in it, if this process made it."""
        with contextlib.suppress(OSError):
            if read_regular(self.file(OWNER)) == str(os.getpid()).encode():
                shutil.rmtree(self.path, ignore_errors=True)
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None


def mark(path: str) -> int:
    """Create a private file, and lock it until its descriptor is closed or the process ends; return the descriptor.

    Raises:
        OSError: there is such a file, or it cannot be made.
    """
    file = open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        lock(file)
    except OSError:
        os.close(file)
        raise
    return file


def hold_mark(path: str) -> int | None:
    """Lock an existing file as `mark` does, but together with others; return None if it cannot be locked."""
    try:
        file = open_regular(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        # Another process may be looking at it, which takes a moment.
        if lock(file, wait_s=LOOK_S, shared=True):
            return file
    except OSError:
        pass
    os.close(file)
    return None


def is_marked(path: str, *, can_be_held: bool = False) -> bool:
    """Return whether a process that runs has marked a file.

    Where a mark can be held by several processes, a look of another process at the same time counts as a mark.

    Raises:
        OSError: the file cannot be read, or its file system has no locks.
    """
    file = open_regular(path, os.O_RDONLY)
    try:
        return not lock(file, shared=not can_be_held)
    finally:
        os.close(file)


def _remove_if_left(path: str, unowned_s: float) -> None:
    """Remove the folder of a process that was killed, unless it is a link or belongs to another user."""
    owner = os.path.join(path, OWNER)
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
            return
        if os.path.lexists(owner):
            os.close(open_private(owner, os.O_RDONLY))
            is_left = not is_marked(owner)
        else:
            is_left = time.time() - status.st_mtime > unowned_s
        if is_left:
            shutil.rmtree(path, ignore_errors=True)
