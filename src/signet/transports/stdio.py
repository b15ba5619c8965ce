"""The stdio door: one JSON-RPC message a line, answers as they come, nothing else on the wire.

    fd 0 ── Intake (lines) ── Server.receive ── Outlet ── the wire (what fd 1 was)
                                   └─ Pending: a task, cancellable by id
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final

from signet.kernel.errors import INVALID_REQUEST
from signet.kernel.server import Exchange, Pending, Server
from signet.kernel.wire import Id, Reply, failure

__all__ = ["MAX_LINE_BYTES", "claim_wire", "serve"]

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
"""The longest line that is read; of a longer one, nothing is kept but the fact."""

READ_BYTES: Final = 1 << 18
MAX_BACKLOG_BYTES: Final = 1 << 20
"""Unread answers beyond this stop the reading of questions, so a client that does not read cannot fill memory."""


def claim_wire() -> int:
    """Take fd 1 for the wire alone: from here on, whatever is printed goes to stderr.

    To be called before anything is imported that might print.
    """
    wire = os.dup(1)
    os.set_inheritable(wire, False)  # noqa: FBT003 - the stdlib's own signature
    try:
        os.dup2(2, 1)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
    sys.stdout = sys.stderr
    return wire


def serve(server: Server, wire: int, *, source: int = 0, in_thread: bool = False) -> bool:
    """Answer what comes on `source` until it ends (calls in flight are answered) or a signal does.

    Returns whether it was a signal: then a thread may still be at work, and the process should just end.
    """
    runner = asyncio.Runner()
    stopped = runner.run(_Conversation(server, wire, source).hold(in_thread=in_thread))
    if not stopped:
        runner.close()
    return stopped


class _Lines:
    """Cuts chunks of bytes into lines; None stands for a line that was too long."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
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


class _Outlet:
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


class _Conversation:
    """One client, from its first line to its last answer."""

    def __init__(self, server: Server, wire: int, source: int) -> None:
        self._server = server
        self._wire = wire
        self._source = source
        self._lines = _Lines()
        self._calls: dict[Id, set[asyncio.Task[None]]] = {}
        self._ended = asyncio.Event()
        self._stopped = False
        self._reading = False
        self._held: threading.Event | None = None

    async def hold(self, *, in_thread: bool) -> bool:
        self._loop = asyncio.get_running_loop()
        self._out = _Outlet(self._wire, self._loop, self._halt)
        self._exchange = Exchange(notify=self._notify, cancel=self._cancel)
        with _signals(self._loop, self._stop), _unblocked(self._wire):
            if in_thread or not self._await_source():
                threading.Thread(target=self._read_in_thread, daemon=True).start()
            await self._ended.wait()
            self._halt(True)  # noqa: FBT003 - a plain switch
            await self._drain()
        return self._stopped

    def _await_source(self) -> bool:
        """Ask the event loop to watch the source; files, and pipes on Windows, it cannot watch."""
        try:
            self._loop.add_reader(self._source, self._readable)
        except (OSError, ValueError, NotImplementedError):
            return False
        self._reading = True
        return True

    def _readable(self) -> None:
        try:
            chunk = os.read(self._source, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._take(chunk)

    def _read_in_thread(self) -> None:
        """Read where reading cannot be awaited; one chunk at a time, each taken before the next."""
        chunk = b"."
        while chunk:
            try:
                chunk = os.read(self._source, READ_BYTES)
            except OSError:
                chunk = b""
            taken = threading.Event()
            try:
                self._loop.call_soon_threadsafe(self._take_and_tell, chunk, taken)
            except RuntimeError:
                return
            taken.wait()

    def _take_and_tell(self, chunk: bytes, taken: threading.Event) -> None:
        self._take(chunk)
        if self._out.halted:
            self._held = taken
        else:
            taken.set()

    def _take(self, chunk: bytes) -> None:
        """Answer every line that a chunk completes, in one write."""
        lines = self._lines.feed(chunk) if chunk else iter((self._lines.last(),))
        self._out.write(b"".join(self._answer(line) for line in lines))
        if not chunk or self._out.broken:
            self._ended.set()

    def _answer(self, line: bytes | None) -> bytes:
        """Answer one line, or start a call whose answer comes later."""
        if line is None:
            return _too_long().body + b"\n"
        if not line or line.isspace():
            return b""
        answer = self._server.receive(line, self._exchange)
        if isinstance(answer, Pending):
            self._start(answer)
            return b""
        return answer.body + b"\n" if answer is not None else b""

    def _start(self, pending: Pending) -> None:
        task = self._loop.create_task(self._later(pending))
        self._calls.setdefault(pending.id, set()).add(task)

    async def _later(self, pending: Pending) -> None:
        try:
            reply = await pending.reply
            self._out.write(reply.body + b"\n")
        finally:
            left = self._calls[pending.id]
            left.discard(asyncio.current_task())  # type: ignore[arg-type]
            if not left:
                del self._calls[pending.id]

    def _notify(self, message: bytes) -> None:
        self._out.write(message + b"\n")

    def _cancel(self, request_id: Id) -> None:
        for task in self._calls.get(request_id, ()):
            task.cancel()

    def _halt(self, halted: bool) -> None:  # noqa: FBT001 - a plain switch
        """Stop or go on reading."""
        if self._held is not None and not halted:
            self._held.set()
            self._held = None
        if self._reading == halted:
            self._reading = not halted
            if halted:
                self._loop.remove_reader(self._source)
            else:
                self._loop.add_reader(self._source, self._readable)

    def _stop(self) -> None:
        self._stopped = True
        for tasks in self._calls.values():
            for task in tasks:
                task.cancel()
        self._ended.set()

    async def _drain(self) -> None:
        """Wait for the calls in flight and for the client to read their answers; not after a signal."""
        while self._calls and not self._stopped:
            await asyncio.wait([task for tasks in self._calls.values() for task in tasks])
        while not (self._out.drained.is_set() or self._out.broken or self._stopped):
            await asyncio.wait([asyncio.ensure_future(self._out.drained.wait())], timeout=0.1)


def _too_long() -> Reply:
    return failure(None, INVALID_REQUEST, f"Invalid Request: a line may hold {MAX_LINE_BYTES} bytes")


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a clean end."""
    wanted = (signal.SIGINT, signal.SIGTERM)
    try:
        for one in wanted:
            loop.add_signal_handler(one, stop)
    except NotImplementedError:  # Windows: KeyboardInterrupt ends the loop instead
        yield
        return
    yield
    for one in wanted:
        loop.remove_signal_handler(one)


@contextlib.contextmanager
def _unblocked(fd: int) -> Iterator[None]:
    """Let writes to a pipe return when it is full; a terminal or file stays as it is, others share it."""
    import stat

    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield
        return
    before = os.get_blocking(fd)
    os.set_blocking(fd, False)  # noqa: FBT003 - the stdlib's own signature
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.set_blocking(fd, before)
