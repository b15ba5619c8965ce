"""A configuration file of another program: read whole and bounded, kept in a backup, replaced at once or not at all."""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import os
import stat
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from signet.system.files import locked_folder, open_regular, replacing

__all__ = ["ConfigFile", "backups_of", "changing", "read_config", "remove_config", "write_backup", "write_config"]

MAX_BYTES: Final = 8 * 1024 * 1024
BOM: Final = "\ufeff"
LOCK_WAIT_S: Final = 10.0
"""A change takes some milliseconds."""


class ConfigFile(Struct, frozen=True):
    """A file as it was read."""

    path: str
    """The path that the client knows; it may be a link."""
    data: bytes | None
    """The content, or None if there is no such file; of one that is too large, its beginning."""

    @property
    def bom(self) -> str:
        """The byte order mark at its beginning, if there is one."""
        return BOM if (self.data or b"").startswith(BOM.encode()) else ""

    @property
    def text(self) -> str:
        """The content as text, without its byte order mark.

        Raises:
            ValueError: the content is not UTF-8, in which case the message names the line, or too large.
        """
        data = self.data or b""
        if len(data) > MAX_BYTES:
            raise ValueError(f"which is larger than {MAX_BYTES} bytes")
        try:
            return data.decode().removeprefix(BOM)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ValueError(f"line {line}: a byte that is not UTF-8") from None


def read_config(path: str) -> ConfigFile:
    """Read a file, through links; it may be missing.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    try:
        descriptor = open_regular(path, os.O_RDONLY, follow_link=True)
    except FileNotFoundError:
        return ConfigFile(path, None)
    with open(descriptor, "rb") as file:
        return ConfigFile(path, file.read(MAX_BYTES + 1))


@contextlib.contextmanager
def changing(path: str, *, is_new: bool) -> Iterator[None]:
    """Let no other of our processes change a file inside of the block: it is read, kept and written there.

    Args:
        path: the path of the file, which may be a link.
        is_new: whether the file may be created, for which a missing folder is.

    Raises:
        OSError: the folder cannot be created, or another process does not end its change.
    """
    folder = os.path.dirname(os.path.realpath(path))
    if is_new:
        os.makedirs(folder, exist_ok=True)
    with locked_folder(folder, wait_s=LOCK_WAIT_S):
        yield


def backups_of(path: str) -> Iterator[ConfigFile]:
    """Yield the readable backups of a file."""
    for backup in sorted(glob.glob(f"{glob.escape(path)}.before-*.bak")):
        with contextlib.suppress(OSError):
            yield read_config(backup)


def write_backup(file: ConfigFile, change: str) -> str | None:
    """Write a file's content beside it, with its mode, before a change, and return the path, or None without a file.

    A backup with another content stays, and the new one has a number.

    Raises:
        OSError: the backup cannot be written.
    """
    if file.data is None:
        return None
    for number in itertools.count(1):
        path = f"{file.path}.before-{change}{f'.{number}' if number > 1 else ''}.bak"
        if not os.path.lexists(path) or _holds(path, file.data):
            break
    _replace(path, file.data, os.stat(file.path))
    return path


def _holds(path: str, data: bytes) -> bool:
    """Return whether a file has this content."""
    try:
        return read_config(path).data == data
    except OSError:
        return False


def write_config(file: ConfigFile, text: str, *, shared: bool) -> None:
    """Replace a file, through links, by a text; its mode and its owner stay.

    Args:
        file: the file as it was read.
        text: the new content, without byte order mark.
        shared: whether others may read the file if it is new.

    Raises:
        OSError: the file cannot be written, must not be, or has changed since it was read.
    """
    real = os.path.realpath(file.path)
    status = None
    if file.data is None:
        os.makedirs(os.path.dirname(real), exist_ok=True)
    else:
        status = os.stat(real)
        if not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), real)
    if read_config(real).data != file.data:
        raise OSError(errno.EBUSY, "another program has just changed it: try again", real)
    _replace(real, (file.bom + text).encode(), status, shared=shared)


def remove_config(file: ConfigFile) -> None:
    """Remove a file, not a link to it.

    Raises:
        OSError: the file cannot be removed.
    """
    os.unlink(os.path.realpath(file.path))


def _replace(path: str, data: bytes, like: os.stat_result | None, *, shared: bool = False) -> None:
    """Replace a file at once, with the mode and owner of another."""
    temporary = f"{path}.{os.getpid()}.tmp"
    # These files hold tokens sooner or later.
    with replacing(path, temporary, sync=True, private=not shared or like is not None) as file:
        file.write(data)
        if like is not None:
            if hasattr(os, "chown"):
                with contextlib.suppress(OSError):
                    os.chown(temporary, like.st_uid, like.st_gid)
            os.chmod(temporary, stat.S_IMODE(like.st_mode))
