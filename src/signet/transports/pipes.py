"""Pipes as a stdio server needs them: the wire kept clean, lines cut to measure, writes that never wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["MAX_LINE_BYTES", "LineSplitter", "NonBlockingWriter", "claim_stdout", "unblocked"]

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
"""The longest line that is read; of a longer one, nothing is kept but the fact."""

MAX_BACKLOG_BYTES: Final = 1 << 20
"""Unread answers beyond this stop the reading of questions, so a client that does not read cannot fill memory."""


def claim_stdout() -> int:
    """Take fd 1 for the wire alone: from here on, whatever is printed goes to stderr.

    To be called before anything is imported that might print.

    Raises:
        OSError: there is no fd 1.
    """
    _ensure_stdin()
    wire = os.dup(1)
    os.set_inheritable(wire, False)  # noqa: FBT003 - the stdlib's own signature
    try:
        os.dup2(2, 1)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
    sys.stdout = sys.stderr
    return wire


def _ensure_stdin() -> None:
    """Put an empty source where fd 0 is closed: the next descriptor to be opened would take its number."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)


class LineSplitter:
    """Cuts chunks of bytes into lines; None stands for a line that was too long."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Give the lines that a chunk completes."""
        first, *rest = chunk.split(b"\n")
        self._keep(first)
        for part in rest:
            yield self.last()
            self._keep(part)

    def last(self) -> bytes | None:
        """Give what has come since the last line end."""
        line = b"".join(self._parts) if self._size <= MAX_LINE_BYTES else None
        self._parts, self._size = [], 0
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= MAX_LINE_BYTES:
            self._parts.append(part)
        else:
            self._parts.clear()


class NonBlockingWriter:
    """Writes to the wire without ever waiting in the event loop, where the system allows."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop, on_backlog: Callable[[bool], None]) -> None:
        self._fd = fd
        self._loop = loop
        self._on_backlog = on_backlog
        self._backlog = bytearray()
        self.halted = False
        self.broken = False
        self.drained = asyncio.Event()
        self.drained.set()

    def write(self, data: bytes) -> None:
        """Write now what the pipe takes, and the rest when it takes more."""
        if self.broken:
            return
        if self._backlog:
            self._backlog += data
        else:
            self._backlog += data[self._push(data) :]
            if self._backlog:
                self.drained.clear()
                self._loop.add_writer(self._fd, self._resume)
        if len(self._backlog) > MAX_BACKLOG_BYTES and not self.halted:
            self.halted = True
            self._on_backlog(True)  # noqa: FBT003 - a plain switch

    def _push(self, data: bytes | bytearray) -> int:
        """Write as much as the pipe takes."""
        sent = 0
        view = memoryview(data)
        try:
            while sent < len(data):
                sent += os.write(self._fd, view[sent:])
        except BlockingIOError:
            pass
        except OSError:
            self.broken = True
            return len(data)
        finally:
            view.release()
        return sent

    def _resume(self) -> None:
        del self._backlog[: self._push(self._backlog)]
        if self._backlog:
            return
        self._loop.remove_writer(self._fd)
        self.drained.set()
        if self.halted:
            self.halted = False
            self._on_backlog(False)  # noqa: FBT003 - a plain switch


@contextlib.contextmanager
def unblocked(fd: int) -> Iterator[None]:
    """Let writes to a pipe return when it is full; a terminal or file stays as it is, others share it."""
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield
        return
    before = os.get_blocking(fd)
    os.set_blocking(fd, False)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.set_blocking(fd, before)
