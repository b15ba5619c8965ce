"""Files of lines: one process or several append complete lines; a line that was written in part is removed.

    LineFile         open, lock, append, sync, remove what was cut off
    RotatingFile     line files one after the other, each up to a size or an age
    WriteOutage      one warning when a file cannot be written, and one message when it can be again

Files are private, and links are not followed. An append is one write. Where the disk is full, the file ends with the
last line that fitted, so that whatever reads the file finds complete lines.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from .files import lock, open_private

__all__ = ["LineFile", "RotatingFile", "WriteOutage", "last_line"]

TAIL_BYTES: Final = 65_536
"""The size of the end of a file that is read at first to find its last line."""
APPENDING: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class LineFile:
    """An open file of lines."""

    def __init__(self, path: str, *, is_new: bool = False) -> None:
        """Open the file, or create it with mode 0600; with `is_new` it must not exist yet.

        Raises:
            OSError: the file cannot be opened, is a link, or is not this user's alone.
        """
        self.path = path
        self.descriptor = open_private(path, APPENDING | (os.O_EXCL if is_new else 0))

    def lock(self, *, wait_s: float = 0.0, shared: bool = False) -> bool:
        """Hold the lock until the file is closed; return False if another process has held it for `wait_s`.

        Return True where the file system has no locks: other processes can then not be kept out.
        """
        try:
            return lock(self.descriptor, wait_s=wait_s, shared=shared)
        except OSError:
            return True

    def size(self) -> int:
        """Return the size of the file, by a seek: Linux makes a write that follows a look at the status slower."""
        return os.lseek(self.descriptor, 0, os.SEEK_END)

    def append(self, lines: bytes, end: int | None = None) -> int:
        """Append complete lines and return the size of those that fitted; only a full disk leaves some out.

        `end` is the size of the file, where the caller knows it.

        Raises:
            OSError: the file cannot be written.
        """
        end = self.size() if end is None else end
        written = os.write(self.descriptor, lines)
        whole = lines.rfind(b"\n", 0, written) + 1
        if whole < written:
            self.cut(end + whole)
        return whole

    def append_all(self, lines: bytes, end: int | None = None, *, sync: bool = False) -> None:
        """Append all lines or none of them; with `sync` they are on the disk then.

        Raises:
            OSError: they cannot be written.
        """
        end = self.size() if end is None else end
        try:
            self._write_all(lines)
            if sync:
                self.sync()
        except OSError:
            with suppress(OSError):
                self.cut(end)
            raise

    def _write_all(self, lines: bytes) -> None:
        if os.write(self.descriptor, lines) < len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def repair(self) -> bytes:
        """Remove a line that was cut off at the end of the file, and return the last complete line; empty if none."""
        size = self.size()
        line, end = last_line(self.descriptor, size)
        if end < size:
            self.cut(end)
        return line

    def cut(self, size: int) -> None:
        """Remove what is behind a place of the file."""
        os.ftruncate(self.descriptor, size)

    def sync(self) -> None:
        """Wait until the lines are on the disk."""
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Close the file, and release its lock."""
        os.close(self.descriptor)


class RotatingFile:
    """Line files one after the other: behind a full or an old file, the next lines begin another one.

    A full file stays open, and locked, until there are lines for the next one.
    """

    def __init__(
        self, begin: Callable[[int], LineFile], max_bytes: int | None = None, max_age_s: float | None = None
    ) -> None:
        """Begin each file, by its number from 1 on, with a function."""
        self._begin = begin
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._number = 0
        self._file: LineFile | None = None
        self._begun_s = 0.0

    def current(self) -> tuple[LineFile, int]:
        """Return the file for the next lines, and its size.

        Raises:
            OSError: no file can be begun.
        """
        if self._file is not None:
            size = self._file.size()
            if not self._is_full(size):
                return self._file, size
            self._file.close()
            self._file = None
        self._file = self._begin(self._number + 1)
        self._number += 1
        self._begun_s = time.monotonic()
        return self._file, self._file.size()

    def _is_full(self, size: int) -> bool:
        is_large = self._max_bytes is not None and size >= self._max_bytes
        return is_large or (self._max_age_s is not None and time.monotonic() - self._begun_s >= self._max_age_s)


class WriteOutage:
    """The time for which a file cannot be written: one warning when it begins, one message when it ends."""

    def __init__(self, warn: Callable[[str], None], lost: str = "") -> None:
        """Call `warn` with both texts; `lost` says what could not be written, with `{}` for its number."""
        self._warn = warn
        self._lost = lost
        self.count = 0
        """The number of failures since the file could be written."""

    def note(self, why: Exception | str, path: str = "") -> None:
        """Count a failure, and warn if it is the first one."""
        if not self.count:
            self._warn(_reason(why, path) if isinstance(why, OSError) else str(why))
        self.count += 1

    def end(self) -> None:
        """Tell, after a failure, that the file can be written again."""
        if self.count:
            self._warn("it can be written again" + (f"; {self._lost.format(self.count)}" if self._lost else ""))
            self.count = 0


def last_line(file: int, size: int, max_bytes: int | None = None) -> tuple[bytes, int]:
    """Return the last complete line of a file of a size, and the place where it ends; nothing and 0 if it has none.

    Only the last `max_bytes` of the file are read; a line that begins before them is returned without its beginning.
    """
    limit = size if max_bytes is None else min(size, max_bytes)
    tail, length = b"", 0
    while length < limit and tail.count(b"\n") < 2:  # noqa: PLR2004 - the end of the last line, and of the one before
        length = min(limit, max(TAIL_BYTES, length * 4))
        os.lseek(file, size - length, os.SEEK_SET)
        tail = os.read(file, length)
    end = tail.rfind(b"\n") + 1
    return (tail[tail.rfind(b"\n", 0, end - 1) + 1 : end], size - length + end) if end else (b"", 0)


def _reason(error: OSError, path: str) -> str:
    """Return why a file cannot be written, and which one where that is known."""
    why = error.strerror or os.strerror(error.errno or 0)
    where = error.filename or path
    return f"{why}: {where}" if where else why
