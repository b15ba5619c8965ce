"""The audit log on standard output: one chain of lines for each run of a server, whatever the number of its processes.

Nothing that was written can be read again there, so the end of the chain is kept in a head of its own: a file that the
processes of a run share, or for a single process one without a name.
"""

from __future__ import annotations

import errno
import os
import select
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from signet.system.files import lock, open_regular, unlock

from .chain import Seal, Tail
from .file import BUSY_LOCK_S, HEAD_BYTES, LOCK_RETRY_S, read_head

__all__ = ["AuditStream", "shared_head"]

PREFIX: Final = "signet-audit-"
WRITE_S: Final = 0.04
"""The time for which a line waits while standard output is not read."""
ROOM_BYTES: Final = 4096
"""What a pipe takes at once if it takes anything."""
STREAM: Final = 1
"""What stands for the inode of a file: a stream is never replaced by another one."""

_encode: Final = msgspec.json.Encoder().encode


class AuditStream:
    """Appends lines to a stream, as `AuditFile` does to a file."""

    inode: Final = STREAM

    def __init__(self, stream: int, seal: Seal, head: str = "") -> None:
        """Write to an open descriptor; `head` is the file of `shared_head`, where several processes write.

        Raises:
            OSError: the head cannot be opened.
        """
        self._stream = stream
        self._seal = seal
        self._rest = b""
        """The end of lines that could be written in part; the lock is held until it is written."""
        self._poll = select.poll()
        self._poll.register(stream, select.POLLOUT)
        if head:
            self._head = open_regular(head, os.O_RDWR)
        else:
            with tempfile.TemporaryFile(prefix=PREFIX) as file:
                self._head = os.dup(file.fileno())

    def append(self, make: Callable[[Tail], bytes], *, wait_s: float = 0.0) -> None:
        """Write the lines that `make` returns; wait for the lock for `wait_s` at least.

        Raises:
            OSError: they cannot be written now.
        """
        if not self._rest and not lock(self._head, wait_s=max(wait_s, BUSY_LOCK_S), retry_s=LOCK_RETRY_S):
            raise OSError(errno.EAGAIN, "Another process holds the lock")
        try:
            self._write_rest()
            tail = read_head(self._head) or Tail(seal=self._seal.name)
            self._rest = make(tail)
            begun = len(self._rest)
            try:
                self._write_rest()
            except OSError:
                if len(self._rest) == begun:
                    self._rest = b""
                    raise
            # Also for lines that were written in part: what follows stands behind them.
            os.pwrite(self._head, _encode(tail).ljust(HEAD_BYTES), 0)
            if self._rest:
                raise OSError(errno.EAGAIN, "Standard output is not read")
        finally:
            if not self._rest:
                unlock(self._head)

    def close(self) -> None:
        """Close the head; standard output stays open."""
        os.close(self._head)

    def _write_rest(self) -> None:
        """Write what is left to write, in pieces that a pipe takes whole, and never wait long for its reader."""
        while self._rest:
            if not self._poll.poll(WRITE_S * 1000):
                raise OSError(errno.EAGAIN, "Standard output is not read")
            written = os.write(self._stream, self._rest[:ROOM_BYTES])
            self._rest = self._rest[written:]


@contextmanager
def shared_head() -> Iterator[str]:
    """Make the head that several processes share, yield its path, and remove it when they have ended.

    Raises:
        OSError: it cannot be made.
    """
    file, path = tempfile.mkstemp(prefix=PREFIX)
    os.close(file)
    try:
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)
