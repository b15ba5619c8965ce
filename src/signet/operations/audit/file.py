"""The file of an audit log: several processes append to it, one line at a time, in one chain.

    lock FILE.head ── is the end where it was, is FILE still the same file ── one write ── FILE.head ── unlock

`FILE.head` holds the end of the chain, and its lock orders the processes. By it a process learns what another one has
written, a restart goes on where the last one ended, and lines that are cut off or made up are found. A file that was
moved away is closed by the first process that notices, and a new one is begun that names the last hash of the old one.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from math import inf
from typing import Final

import msgspec

from signet.system.files import lock, open_private, unlock
from signet.system.line_file import LineFile

from .chain import Seal, Tail
from .ending import end_of, first_end_of, whole_size

__all__ = ["BUSY_LOCK_S", "EDGE_LOCK_S", "HEAD_BYTES", "HEAD_SUFFIX", "LOCK_RETRY_S", "AuditFile", "read_head"]

HEAD_SUFFIX: Final = ".head"
HEAD_BYTES: Final = 320
LOCK_S: Final = 0.25
"""The time for which a line waits while no other process writes one; they need microseconds unless they do not run."""
OUTAGE_LOCK_S: Final = 0.02
"""The same, after a line has waited in vain."""
BUSY_LOCK_S: Final = 0.5
"""The time for which a line waits while other processes write theirs: where there are more of them than processors."""
EDGE_LOCK_S: Final = 2.0
"""The time for which the first and the last line of a process wait: no request waits behind them."""
LOCK_RETRY_S: Final = 0.000_25
LOOK_S: Final = 1.0
"""The time between two looks at whether the file has been moved away."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Tail).decode

Make = Callable[[Tail], bytes]
"""Return the lines to write behind a tail, and move the tail behind them."""


class AuditFile:
    """Appends lines to the file of a name, whichever file has it at the time."""

    def __init__(self, path: str, seal: Seal, close_moved: Make) -> None:
        """Open or create the file; `close_moved` makes the last line of one that was moved away.

        Raises:
            OSError: the file cannot be written, it is not an audit log, or its lines have another seal.
        """
        self._path = path
        self._seal = seal
        self._close_moved = close_moved
        self._head = open_private(path + HEAD_SUFFIX, os.O_RDWR | os.O_CREAT)
        self._left = b""
        """The content of the head as this process left it."""
        self._tail = Tail()
        self._looked_s = -inf
        self._patience_s = BUSY_LOCK_S
        try:
            self._file, self.inode = _open(path)
        except OSError:
            os.close(self._head)
            raise
        try:
            self._lock(EDGE_LOCK_S)
            lines = self._file.descriptor
            size = whole_size(lines, self._file.size())
            self._tail = first_end_of(path, lines, size, read_head(self._head), seal)
            self._adopt(self._tail)
            unlock(self._head)
            self._patience_s = LOCK_S
        except OSError:
            self.close()
            raise

    def append(self, make: Make, *, wait_s: float = 0.0) -> None:
        """Write the lines that `make` returns, all or none of them; wait for the lock for `wait_s` at least.

        Raises:
            OSError: they cannot be written now.
        """
        self._lock(wait_s)
        try:
            self._catch_up()
            self._write(make)
        finally:
            unlock(self._head)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        os.close(self._head)

    def _lock(self, wait_s: float) -> None:
        """Lock the head; give up soon where the process that holds the lock hangs, and later where others write."""
        if lock(self._head, wait_s=wait_s):
            self._patience_s = LOCK_S
            return
        latest_s, seen, is_hung = time.monotonic() + BUSY_LOCK_S, None, False
        while not is_hung and time.monotonic() < latest_s:
            before, seen = seen, os.pread(self._head, HEAD_BYTES, 0)
            is_hung = before == seen
            if not is_hung and lock(self._head, wait_s=self._patience_s, retry_s=LOCK_RETRY_S):
                self._patience_s = LOCK_S
                return
        self._patience_s = OUTAGE_LOCK_S
        raise OSError(errno.EAGAIN, "Another process holds the lock", self._path)

    def _catch_up(self) -> None:
        """Learn what other processes have written since, and go on in another file if this one was moved away."""
        is_mine = self._file.size() == self._tail.end and os.pread(self._head, HEAD_BYTES, 0) == self._left
        if is_mine and time.monotonic() - self._looked_s < LOOK_S:
            return
        head = read_head(self._head)
        self._looked_s = time.monotonic()
        if self._is_moved():
            if head is None or head.inode == self.inode:
                # Nobody has gone on yet, so the chain ends in the file that was moved.
                self._adopt(head)
                if not self._tail.is_closed:
                    self._write(self._close_moved)
            file, self.inode = _open(self._path)
            self._file.close()
            self._file = file
            head = read_head(self._head)
        elif is_mine:
            return
        self._adopt(head)

    def _is_moved(self) -> bool:
        """Return whether another file, or none, has the name by now."""
        try:
            return os.stat(self._path, follow_symlinks=False).st_ino != self.inode
        except FileNotFoundError:
            return True

    def _adopt(self, head: Tail | None) -> None:
        """Go on from the end of the chain, as the head or this process knows it."""
        known = head if head is not None and head.seq > self._tail.seq else self._tail
        lines, found = self._file.descriptor, self._file.size()
        size = found if found == known.end else whole_size(lines, found)
        if size < found:
            self._file.cut(size)
        tail = end_of(lines, size, self.inode, known, self._seal)
        self._tail = msgspec.structs.replace(tail, inode=self.inode, end=size, seal=self._seal.name)

    def _write(self, make: Make) -> None:
        tail = msgspec.structs.replace(self._tail)
        text = make(tail)
        self._file.append_all(text, self._tail.end)
        left = _encode(tail).ljust(HEAD_BYTES)
        try:
            os.pwrite(self._head, left, 0)
        except OSError:
            # Lines that the head does not know would look like lines that somebody has made up.
            self._file.cut(self._tail.end)
            raise
        self._tail, self._left = tail, left


def _open(path: str) -> tuple[LineFile, int]:
    """Open the file, and return it and its inode."""
    file = LineFile(path)
    # Held as long as the process writes to it: so others can see that the log is being written.
    file.lock(wait_s=LOCK_S, shared=True)
    return file, os.fstat(file.descriptor).st_ino


def read_head(head: int) -> Tail | None:
    """Return the end of a chain as it is kept beside the file; None if it cannot be read."""
    try:
        return _decode(os.pread(head, HEAD_BYTES, 0))
    except ValueError:
        return None
