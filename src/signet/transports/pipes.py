"""The pipes of a stdio server: standard input and output of its own, and writes that never block."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "MAX_BACKLOG_BYTES",
    "MAX_LINE_BYTES",
    "NonBlockingWriter",
    "claim_stdin",
    "claim_stdout",
    "has_reader",
    "push",
    "stdout_kept",
    "unblocked",
]

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
"""The longest line that is read; a longer line is dropped and reported."""

MAX_BACKLOG_BYTES: Final = 1 << 20
"""The size of unsent replies at which reading pauses, so that a client that does not read cannot fill the memory."""
TURN_PIECES: Final = 16
"""The pieces of a large reply that are made in one turn of the event loop."""


def claim_stdout() -> int:
    """Return a descriptor of standard output for the protocol alone, and send everything that is printed to stderr.

    Call this before importing anything that might print.

    Raises:
        OSError: fd 1 is closed.
    """
    _ensure_stdin()
    wire = os.dup(1)
    os.set_inheritable(wire, False)  # rule: @claim_stdout
    try:
        os.dup2(2, 1)  # rule: 1.S6.1.stdout
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
    sys.stdout = sys.stderr  # rule: 1.S6.1.stdout/2
    return wire


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Send everything that is printed to stderr for a while, and leave standard output as it was found."""
    printed = sys.stdout
    if printed is not None:
        printed.flush()
    try:
        kept = claim_stdout()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        sys.stdout = printed
        os.dup2(kept, 1)
        os.close(kept)


def claim_stdin() -> int:
    """Return a descriptor of standard input for the protocol alone; whoever else reads it finds its end.

    A tool that asked for a line, or a process that it starts, would take a message of the client.
    """
    _ensure_stdin()
    source = os.dup(0)
    os.set_inheritable(source, False)  # rule: @claim_stdin
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it lasts as long as the process
    return source


def _ensure_stdin() -> None:
    """Open an empty fd 0 if it is closed: otherwise the next open() would get its number."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)


class NonBlockingWriter:
    """Writes to a descriptor without blocking the event loop, where the system allows that.

    `on_backlog` is called with True when the backlog is too long, and with False when it is written.
    """

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop, on_backlog: Callable[[bool], None]) -> None:
        from asyncio import Event

        self._fd = fd
        self._loop = loop
        self._on_backlog = on_backlog
        self._backlog = bytearray()
        self._pieces: deque[Iterator[bytes | memoryview]] = deque()
        """What comes behind the backlog: large replies, and all that was written after them."""
        self._sizes: deque[int] = deque()
        """The sizes of these; 0 for those that `_behind_bytes` counts."""
        self._pieces_bytes = 0
        self._behind_bytes = 0
        """The size of all that was written after a large reply; the reply itself is not made yet."""
        self._waits = False
        """Whether the event loop watches the descriptor."""
        self.halted = False
        self.broken = False
        self.drained = Event()
        self.drained.set()

    @property
    def backlog_bytes(self) -> int:
        """The size of what the pipe did not take yet."""
        return len(self._backlog) + self._behind_bytes

    @property
    def unread_bytes(self) -> int:
        """The size of all that the pipe did not take yet, with large replies, of which some pieces may be taken."""
        return len(self._backlog) + self._behind_bytes + self._pieces_bytes

    def write(self, data: bytes) -> None:
        """Write as much as the pipe takes now, and the rest when it is writable again."""
        if self.broken:
            return
        if self._pieces:
            self._behind_bytes += len(data)
            self._pieces.append(self._later(data))
            self._sizes.append(0)
            return
        if self._backlog:
            self._backlog += data
        else:
            self._backlog += data[self._push(data) :]
            if self._backlog:
                self._wait()
        if len(self._backlog) > MAX_BACKLOG_BYTES:
            self._halt()

    def write_pieces(self, pieces: Iterator[bytes | memoryview], size: int) -> None:
        """Write a large reply piece by piece, each when the pipe has taken the one before; read nothing meanwhile."""
        if self.broken:
            return
        self._pieces.append(pieces)
        self._sizes.append(size)
        self._pieces_bytes += size
        self._halt()
        if not self._backlog and len(self._pieces) == 1:
            self.drained.clear()
            self._loop.call_soon(self._resume)

    def _later(self, data: bytes) -> Iterator[bytes]:
        self._behind_bytes -= len(data)
        yield data

    def _wait(self) -> None:
        self.drained.clear()
        if not self._waits:
            self._waits = True
            self._loop.add_writer(self._fd, self._resume)

    def _halt(self) -> None:
        if not self.halted:
            self.halted = True
            self._on_backlog(self.halted)

    def _push(self, data: bytes | bytearray | memoryview) -> int:
        """Write as much as the pipe takes and return its size; a broken pipe takes everything."""
        try:
            return push(self._fd, data)
        except OSError:
            self.broken = True
            self._pieces.clear()
            self._sizes.clear()
            self._pieces_bytes = 0
            return len(data)

    def _resume(self) -> None:
        """Write on, some pieces at a time: between two turns of the event loop no more than a MiB is made."""
        del self._backlog[: self._push(self._backlog)]
        for _ in range(TURN_PIECES):
            if self._backlog or not self._pieces:
                break
            piece = next(self._pieces[0], None)
            if piece is None:
                self._pieces.popleft()
                self._pieces_bytes -= self._sizes.popleft()
            else:
                self._backlog += piece[self._push(piece) :]
        if self._backlog:
            self._wait()
            return
        if self._waits:
            self._waits = False
            self._loop.remove_writer(self._fd)
        if self._pieces:
            self._loop.call_soon(self._resume)
            return
        self.drained.set()
        if self.halted:
            self.halted = False
            self._on_backlog(self.halted)


def push(fd: int, data: bytes | bytearray | memoryview) -> int:
    """Write as much as a pipe takes now and return its size; raise OSError if nobody reads it."""
    sent = 0
    view = memoryview(data)
    try:
        while sent < len(data):
            sent += os.write(fd, view[sent:])
    except BlockingIOError:
        pass
    finally:
        view.release()
    return sent


def has_reader(fd: int) -> bool:
    """Return False if nobody can read what is written to a descriptor: the other end is closed.

    Nothing is written. Of a pipe every reader must be gone, of a socket both directions, of a terminal its other side.
    A file always has a reader, and so has everything on a system that cannot tell.
    """
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(fd, 0)
    return not poll.poll(0)


@contextlib.contextmanager
def unblocked(fd: int) -> Iterator[None]:
    """Make a pipe or socket non-blocking for a while; a terminal or file, which others may share, stays as it is."""
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield
        return
    was_blocking = os.get_blocking(fd)
    os.set_blocking(fd, False)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.set_blocking(fd, was_blocking)
