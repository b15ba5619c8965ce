"""The stdio door: one JSON-RPC message a line, answers as they come, nothing else on the wire.

fd 0 ── Intake (lines) ── Server.receive ── Outlet ── the wire (what fd 1 was)
                               └─ Pending: a task, cancellable by id
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from signet.kernel.errors import INVALID_REQUEST
from signet.kernel.server import ClientChannel, Pending, Server
from signet.kernel.wire import Id, Reply, ResponseId, failure

from .pipes import MAX_LINE_BYTES, LineSplitter, NonBlockingWriter, unblocked

__all__ = ["Conversation", "serve"]

READ_BYTES: Final = 1 << 18
WARM_AFTER_S: Final = 0.2
"""How long after the first message the ways out are warmed: once the client has its list of tools."""


def serve(server: Server, wire: int, *, source: int = 0, in_thread: bool = False) -> bool:
    """Answer what comes on `source` until it ends (calls in flight are answered) or a signal does.

    Returns whether anything is left behind: a thread at work, a tool that would not end. Every answer
    is written then, so the process should just end.
    """
    runner = asyncio.Runner()
    left_behind = runner.run(Conversation(server, wire, source).hold(in_thread=in_thread))
    if not left_behind:
        runner.close()
    return left_behind


class Conversation:
    """One client, from its first line to its last answer."""

    def __init__(self, server: Server, wire: int, source: int) -> None:
        self._server = server
        self._wire = wire
        self._source = source
        self._lines = LineSplitter()
        self._calls: dict[ResponseId, set[asyncio.Task[Reply]]] = {}
        self._ended = asyncio.Event()
        self._stopped = False
        self._watched = self._reading = False
        self._warming: asyncio.TimerHandle | None = None
        self._held: threading.Event | None = None

    def open(self) -> None:
        """Get ready in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._out = NonBlockingWriter(self._wire, self._loop, self._halt)
        self._exchange = ClientChannel(notify=self._notify, cancel=self._cancel)

    async def hold(self, *, in_thread: bool) -> bool:
        """Answer until the source ends or a signal comes; say whether anything is left behind."""
        self.open()
        with _signals(self._loop, self._stop), unblocked(self._wire):
            if in_thread or not self._await_source():
                threading.Thread(target=self._read_in_thread, daemon=True).start()
            await self._ended.wait()
            self._halt(True)  # noqa: FBT003 - a plain switch
            if self._warming is not None:
                self._warming.cancel()
            await self._drain()
            await self._server.close()
        return self._stopped or len(asyncio.all_tasks()) > 1

    def _await_source(self) -> bool:
        """Ask the event loop to watch the source; files, and pipes on Windows, it cannot watch."""
        try:
            self._loop.add_reader(self._source, self._readable)
        except (OSError, ValueError, RuntimeError):
            return False
        self._watched = self._reading = True
        return True

    def _readable(self) -> None:
        try:
            chunk = os.read(self._source, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self.take(chunk)

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
        self.take(chunk)
        if self._out.halted:
            self._held = taken
        else:
            taken.set()

    def take(self, chunk: bytes) -> None:
        """Answer every line that a chunk completes, in one write."""
        lines = self._lines.feed(chunk) if chunk else iter((self._lines.last(),))
        self._out.write(b"".join(self._answer(line) for line in lines))
        if not chunk or self._out.broken:
            self._ended.set()
        elif self._warming is None and self._server.upstreams:
            warm = partial(self._loop.run_in_executor, None, self._server.warm)
            self._warming = self._loop.call_later(WARM_AFTER_S, warm)

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
        task = self._loop.create_task(pending.reply)
        self._calls.setdefault(pending.id, set()).add(task)
        task.add_done_callback(partial(self._finish, pending.id))

    def _finish(self, request_id: ResponseId, task: asyncio.Task[Reply]) -> None:
        """Write the answer of a call that has ended; a cancelled one has none."""
        left = self._calls[request_id]
        left.discard(task)
        if not left:
            del self._calls[request_id]
        if not task.cancelled():
            self._out.write(task.result().body + b"\n")

    def _notify(self, message: bytes) -> None:
        self._out.write(message + b"\n")

    def _cancel(self, request_id: Id) -> None:
        for task in self._calls.get(request_id, ()):
            # Soon, not now: a call that came in the same chunk has to begin before it can end.
            self._loop.call_soon(task.cancel)

    def _halt(self, halted: bool) -> None:  # noqa: FBT001 - a plain switch
        """Stop or go on reading."""
        if self._held is not None and not halted:
            self._held.set()
            self._held = None
        # Where a thread reads, the event loop must not begin to.
        if self._watched and self._reading == halted:
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
    except RuntimeError:  # Windows: KeyboardInterrupt ends the loop instead
        yield
        return
    yield
    for one in wanted:
        loop.remove_signal_handler(one)
