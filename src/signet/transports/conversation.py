"""A conversation on stdio with an event loop, after its prologue.

fd 0 ── LineSplitter ── Server.receive ── NonBlockingWriter ── the wire (the former fd 1)
                             └─ Pending: a task, cancellable by id
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from signet.kernel.errors import INTERNAL
from signet.kernel.server import ClientChannel, Pending, Server
from signet.kernel.wire import LARGE_RESULT_BYTES, Id, Reply, ResponseId, failure

from .pipes import NonBlockingWriter, has_reader, unblocked
from .stdio import READ_BYTES, WARM_AFTER_S, WRITE_BYTES, Prologue, line_too_long, stopping_on_signals
from .unread import UNREAD, left_unread

if TYPE_CHECKING:
    from .exchanges import Message, MessageExchanges

__all__ = ["Conversation"]

MAX_UNREAD_BYTES: Final = 8 << 20
"""The size of unread output above which a client gets no more notifications, until it reads."""
MAX_LINES: Final = 500
"""The number of lines that are answered in one turn of the event loop: a chunk may hold thousands of two bytes."""
LOOK_EVERY_S: Final = 0.1
"""The time between two looks at whether anybody still reads, while the last calls are in flight."""

REPORTS: Final = (
    b'{"jsonrpc":"2.0","method":"notifications/progress"',
    b'{"jsonrpc":"2.0","method":"notifications/message"',
)
"""What a client that does not read misses: a wrapped server may report without end."""


class Conversation:
    """The exchange with one client, from the end of its prologue to its last response."""

    def __init__(
        self,
        server: Server,
        wire: int,
        source: int,
        prologue: Prologue | None = None,
    ) -> None:
        self._server = server
        self._exchanges = _open_exchanges(server)
        self._prologue = prologue or Prologue(server, wire, source)
        self._wire = wire
        self._source = source
        self._is_file = stat.S_ISREG(os.fstat(source).st_mode)
        self._lines = self._prologue.lines
        self._calls: dict[ResponseId, set[asyncio.Task[Reply]]] = {}
        self._endless: set[asyncio.Task[Reply]] = set()
        """The calls that end with the conversation."""
        self._unwritten: list[bytes] = []
        """The responses of calls that have just ended."""
        self._unanswered: list[bytes | None] = []
        """The lines that wait for the next turns, or until the client reads; nothing is read meanwhile."""
        self._is_last = False
        """Whether no lines come behind them."""
        self._ended = asyncio.Event()
        self._stopped = False
        self._watched = self._reading = False
        """Whether the event loop can watch the source, and whether it does now."""
        self._warming: asyncio.TimerHandle | threading.Timer | None = None
        self._reader_waits: threading.Event | None = None
        """Set to let the reading thread continue, where it waits for the backlog to be written."""

    def open(self) -> None:
        """Attach the conversation to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._out = NonBlockingWriter(
            self._wire,
            self._loop,
            lambda has_backlog: self._pause_reading() if has_backlog else self._resume_reading(),
        )
        self._channel = ClientChannel(self._notify, self._cancel, agreement=self._prologue.session, takes_parts=True)
        self._prologue.send = self._notify

    async def hold(self, *, in_thread: bool) -> bool:
        """Answer until the source ends or a signal comes; return whether work is left behind."""
        self.open()
        events = self._server.events
        with stopping_on_signals(self._loop, self._stop), unblocked(self._wire):
            if events.start is not None:
                events.start()
            self._take_over(self._prologue)
            is_over = self._is_last or self._ended.is_set()
            if not is_over and (in_thread or not self._watch_source()):
                threading.Thread(target=self._read_in_thread, daemon=True).start()
            await self._ended.wait()
            self._pause_reading()
            if self._warming is not None:
                self._warming.cancel()
            await self._drain()  # rule: 1.S3.4.serves
            if self._exchanges is not None:
                from .exchanges import settle

                await settle()
            await self._server.close()
            if events.end is not None:
                events.end()
        is_warming = isinstance(self._warming, threading.Timer) and self._warming.is_alive()
        return self._stopped or len(asyncio.all_tasks()) > 1 or is_warming

    def _take_over(self, prologue: Prologue) -> None:
        """Go on where the prologue has ended."""
        self._warming = prologue.warming
        if prologue.unwritten:
            self._out.write(bytes(prologue.unwritten))
            prologue.unwritten.clear()
        if prologue.pending is not None:
            self._start(prologue.pending, None)
        self._unanswered, self._is_last = prologue.unanswered, prologue.is_ended
        self._answer_some()
        if prologue.is_stopped:
            self._stop()

    def _watch_source(self) -> bool:
        """Let the event loop watch the source; return False where it cannot: files, and pipes on Windows."""
        try:
            self._loop.add_reader(self._source, self._readable)
        except (OSError, ValueError, RuntimeError):
            return False
        self._watched = self._reading = True
        if self._out.halted or self._unanswered:
            self._pause_reading()
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
        """Read a source that the event loop cannot watch, and wait after each chunk until the loop has taken it."""
        chunk = b"."
        while chunk:
            try:
                chunk = os.read(self._source, READ_BYTES)
            except OSError:
                chunk = b""
            taken = threading.Event()
            try:
                self._loop.call_soon_threadsafe(self._take_from_thread, chunk, taken)
            except RuntimeError:
                return
            taken.wait()

    def _take_from_thread(self, chunk: bytes, taken: threading.Event) -> None:
        self.take(chunk)
        if self._out.halted or self._unanswered:
            self._reader_waits = taken
        else:
            taken.set()

    def take(self, chunk: bytes) -> None:
        """Answer every line that a chunk completes; an empty chunk is the end of the source."""
        self._unanswered += self._lines.feed(chunk) if chunk else (self._lines.last(),)
        self._is_last = not chunk
        self._answer_some()
        if chunk and self._warming is None and self._server.upstreams:
            warm = partial(self._loop.run_in_executor, None, self._server.warm)
            self._warming = self._loop.call_later(WARM_AFTER_S, warm)

    def _answer_some(self) -> None:
        """Answer as many lines as a turn of the event loop may, in one write, and the others in the next turns."""
        lines, self._unanswered = self._unanswered[:MAX_LINES], self._unanswered[MAX_LINES:]
        size = 0
        for line in lines:
            reply = self._answer(line)
            if reply is not None:
                text = reply.whole() if reply.parts else reply.body
                self._unwritten.append(text)
                size += len(text)
            if size > WRITE_BYTES:
                self._write()
                size = 0
        self._write()
        if self._out.broken or (self._is_last and not self._unanswered):
            self._ended.set()
        elif self._unanswered:
            self._pause_reading()
            if not self._out.halted:
                self._loop.call_soon(self._answer_rest)

    def _answer_rest(self) -> None:
        """Answer lines that have waited, unless a signal came, and read on behind the last."""
        if not self._stopped:
            self._answer_some()
            if not (self._unanswered or self._out.halted or self._ended.is_set()):
                self._resume_reading()

    def _answer(self, line: bytes | None) -> Reply | None:
        """Return the response to one line; None if there is none, or if it comes when a call ends."""
        if line is not None and (not line or line.isspace()):
            return None
        message = self._exchanges.begin(line) if self._exchanges is not None else None
        reply: Reply | Pending | None
        reply = line_too_long() if line is None else self._server.receive(line, self._channel)
        if isinstance(reply, Pending):
            self._start(reply, message)
            return None
        if message is not None and reply is not None and self._exchanges is not None:
            return self._exchanges.answered(message, reply)
        return reply

    def _start(self, pending: Pending, message: Message | None) -> None:
        task = self._loop.create_task(pending.reply)
        self._calls.setdefault(pending.id, set()).add(task)
        if pending.is_endless:
            self._endless.add(task)
            task.add_done_callback(self._endless.discard)
        task.add_done_callback(partial(self._finish, pending, message))

    def _finish(self, pending: Pending, message: Message | None, task: asyncio.Task[Reply]) -> None:
        """Write the response of a call that has ended; a cancelled call has none."""
        remaining = self._calls[pending.id]
        remaining.discard(task)
        if not remaining:
            del self._calls[pending.id]
        if not task.cancelled():
            reply = task.result()
            if message is not None and self._exchanges is not None:
                reply = self._exchanges.answered(message, reply)
            if self._out.halted and not self._has_room(reply.size):
                reply = failure(pending.id, INTERNAL, left_unread(reply.size).message)
            if reply.parts or len(reply.body) > LARGE_RESULT_BYTES:
                self._write()
                # Without the outcome, which holds the result once more, and a wrapped server's reply too.
                alone = replace(reply, outcome=None)
                self._out.write_pieces(chain(alone.pieces(), (b"\n",)), reply.size)
                return
            if not self._unwritten:
                # In one write with those of other calls that end now: writing costs a tenth of a short call.
                self._loop.call_soon(self._write)
            self._unwritten.append(reply.body)
        elif message is not None and self._exchanges is not None:
            self._exchanges.left(message, pending.call)

    def _has_room(self, size: int) -> bool:
        """Return whether a reply may wait beside those that the client has not read."""
        UNREAD.fit(self._server.pipeline.largest_result_bytes)
        return self._out.unread_bytes + size <= UNREAD.shares.total

    def _write(self) -> None:
        """Write the responses of calls that have ended since the last write."""
        if self._unwritten:
            lines = b"\n".join((*self._unwritten, b""))
            self._unwritten.clear()
            self._out.write(lines)

    def _notify(self, message: bytes) -> None:
        # A client that has hung up waits for replies alone, and some take a report for a fault; a file has no client.
        is_wanted = self._is_file or not self._ended.is_set()
        # A wrapped server may report without end to a client that does not read: replies alone wait for it then.
        is_unread = self._out.halted and message.startswith(REPORTS)
        if is_wanted and not is_unread and self._out.backlog_bytes <= MAX_UNREAD_BYTES:
            self._out.write(message + b"\n")

    def _cancel(self, request_id: Id) -> None:
        for task in self._calls.get(request_id, ()):
            # Not at once: a call that came in the same chunk has to start before it can be cancelled.
            self._loop.call_soon(task.cancel)

    def _pause_reading(self) -> None:
        if self._watched and self._reading:
            self._reading = False
            self._loop.remove_reader(self._source)

    def _resume_reading(self) -> None:
        if self._unanswered:
            self._loop.call_soon(self._answer_rest)
            return
        if self._reader_waits is not None:
            self._reader_waits.set()
            self._reader_waits = None
        # Where a thread reads the source, the event loop must not start to read it too.
        if self._watched and not self._reading:
            self._reading = True
            self._loop.add_reader(self._source, self._readable)

    def _stop(self) -> None:
        """Cancel all calls, and end without waiting for what they leave behind."""
        self._stopped = True
        for tasks in self._calls.values():
            for task in tasks:
                task.cancel()
        self._ended.set()

    async def _drain(self) -> None:
        """Wait until the calls in flight have ended and the client has read their responses.

        A signal ends the wait, and so does a client that is gone: it has closed its side of the wire too.
        """
        for task in self._endless:
            task.cancel()
        while self._calls and not self._stopped:
            if not has_reader(self._wire):
                self._stop()
            await asyncio.wait([task for tasks in self._calls.values() for task in tasks], timeout=LOOK_EVERY_S)
        self._write()
        while not (self._out.drained.is_set() or self._out.broken or self._stopped):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._out.drained.wait(), LOOK_EVERY_S)


def _open_exchanges(server: Server) -> MessageExchanges | None:
    """Return the exchanges of a conversation, where something listens to them."""
    listener = server.events.exchange
    if listener is None:
        return None
    from .exchanges import MessageExchanges

    return MessageExchanges(listener, server.pipeline.toolbox)
