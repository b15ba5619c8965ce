"""Files that several processes share: one lock, atomic replacement."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO

__all__ = ["lock", "replacing"]


def lock(file: int, *, wait: bool = False) -> bool:
    """Lock an open file until its descriptor is closed; return False if another process holds the lock.

    With `wait`, wait until the lock is free. Where the system has no such locks (Windows), return True.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def replacing(path: str, temporary: str, *, sync: bool = False) -> Iterator[IO[bytes]]:
    """Open `temporary` for writing, and move it to `path` when the block ends without an error.

    On an error, `temporary` is removed and `path` is left as it was. With `sync`, the content is on the disk before
    the move.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        with open(temporary, "wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
