"""The stdio door: one JSON-RPC message per line, responses in the order of their completion, nothing else.

    fd 0 ── Prologue: whatever can be answered at once ── Conversation: the rest, with an event loop

To load an event loop takes a third of a start, and a client that lists the tools does not need one. So the conversation
begins without it, and goes on with it from the first call that has to be awaited.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from signet.kernel.channel import ClientChannel, Session
from signet.kernel.errors import INVALID_REQUEST
from signet.kernel.outcome import Pending
from signet.kernel.server import Server
from signet.kernel.wire import Reply, failure
from signet.system.lines import LineSplitter

from .pipes import MAX_BACKLOG_BYTES, MAX_LINE_BYTES, push, unblocked

if TYPE_CHECKING:
    import asyncio

__all__ = ["READ_BYTES", "WARM_AFTER_S", "WRITE_BYTES", "Prologue", "line_too_long", "serve", "stopping_on_signals"]

READ_BYTES: Final = 1 << 16
"""The size of a pipe: a larger buffer would never be filled, and the heap returns it to the system after each read."""
WRITE_BYTES: Final = 1 << 16
"""The size of the answers that are written in one go: a chunk of short messages may be answered by megabytes."""
WARM_AFTER_S: Final = 0.2
"""The delay from the first message to the warming of upstreams: by then the client has its list of tools."""


def serve(server: Server, wire: int, *, source: int = 0, in_thread: bool = False) -> bool:
    """Answer the messages from `source` until it ends or a signal comes; return whether work is left behind.

    At the end of `source` the calls in flight are answered first, or cancelled once nobody can read their responses.
    Work that is left behind is a thread or a tool that does not stop. All responses are written by then, so the process
    should exit without waiting for it.
    """
    prologue = Prologue(server, wire, source)
    is_told = server.events.exchange is not None
    needs_loop = in_thread or is_told or server.relay is not None or server.pipeline.is_development
    if not needs_loop and hasattr(select, "poll"):
        prologue.hold()
    from asyncio import Runner

    from .conversation import Conversation

    runner = Runner(loop_factory=_faster_loop() if server.relay is not None else None)
    left_behind = runner.run(Conversation(server, wire, source, prologue).hold(in_thread=in_thread))
    if not left_behind:
        runner.close()
    return left_behind


def _faster_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes uvloop's event loop, where there is one.

    It takes 5 ms at the start, which pays where a call goes round the loop ten times: to a wrapped server.
    """
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


class Prologue:
    """The part of a conversation before its first call that has to be awaited."""

    def __init__(self, server: Server, wire: int, source: int) -> None:
        self._server = server
        self._wire = wire
        self._source = source
        self.lines = LineSplitter(MAX_LINE_BYTES)
        self.session = Session()
        """What is settled with the client."""
        self.unanswered: list[bytes | None] = []
        """The lines that wait: for the call that has to be awaited, or until the client reads. None is a line that is
        too long."""
        self.pending: Pending | None = None
        """That call."""
        self.unwritten = bytearray()
        """The part of the answers that the pipe did not take."""
        self.is_ended = False
        """Whether the source has ended, or nobody reads."""
        self.is_stopped = False
        """Whether a signal has come."""
        self.warming: threading.Timer | None = None
        self._channel = ClientChannel(self._notify, agreement=self.session, takes_parts=True)
        self._answers: list[bytes] = []
        self.send: Callable[[bytes], None] = self._answers.append
        """Send a message to the client before the reply to its call."""

    def hold(self) -> None:
        """Answer until a call has to be awaited, the source ends, nobody reads any more or a signal comes."""
        with _bell(self._stop) as bell, unblocked(self._wire):
            while not (self.is_stopped or self.is_ended or self.pending is not None):
                ready = self._wait(bell)
                if bell in ready:
                    # A signal of somebody else rings too: unread, it would end each wait that follows.
                    os.read(bell, READ_BYTES)
                if self._wire in ready:
                    self._write_on()
                if self._source in ready:
                    self.take()

    def _wait(self, bell: int) -> list[int]:
        """Wait for the client or a signal; return the descriptors that are ready.

        A client may write much before it reads: its messages are read until its unread answers are too many.
        """
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        if self.unwritten:
            poll.register(self._wire, select.POLLOUT)
        if not self.unanswered:
            poll.register(self._source, select.POLLIN)
        return [descriptor for descriptor, _ in poll.poll()]

    def take(self) -> None:
        """Read a chunk and answer its lines, up to the first that has to be awaited."""
        try:
            chunk = os.read(self._source, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self.is_ended = not chunk
        self._answer_all(self.lines.feed(chunk) if chunk else [self.lines.last()])
        if chunk and self.warming is None and self._server.upstreams:
            self._warm_later()

    def _answer_all(self, lines: list[bytes | None]) -> None:
        size = 0
        for place, line in enumerate(lines, 1):
            reply = self._answer(line)
            if isinstance(reply, Pending):
                self.pending, self.unanswered = reply, lines[place:]
                break
            if reply is not None:
                text = reply.whole() if reply.parts else reply.body
                self._answers.append(text)
                size += len(text)
            if size > WRITE_BYTES:
                self._write()
                size = 0
                if len(self.unwritten) > MAX_BACKLOG_BYTES:
                    self.unanswered = lines[place:]
                    return
        self._write()

    def _answer(self, line: bytes | None) -> Reply | Pending | None:
        if line is None:
            return line_too_long()
        return None if not line or line.isspace() else self._server.receive(line, self._channel)

    def _write(self) -> None:
        if self._answers:
            data = b"\n".join((*self._answers, b""))
            self._answers.clear()
            self.unwritten += data if self.unwritten else data[self._push(data) :]

    def _write_on(self) -> None:
        """Write what the client takes now, and answer the lines that have waited for that."""
        del self.unwritten[: self._push(self.unwritten)]
        if len(self.unwritten) <= MAX_BACKLOG_BYTES:
            lines, self.unanswered = self.unanswered, []
            self._answer_all(lines)

    def _push(self, data: bytes | bytearray) -> int:
        """Write as much as the pipe takes and return its size; a pipe that nobody reads takes everything."""
        try:
            return push(self._wire, data)
        except OSError:
            self.is_ended = True
            return len(data)

    def _notify(self, message: bytes) -> None:
        self.send(message)

    def _warm_later(self) -> None:
        self.warming = threading.Timer(WARM_AFTER_S, self._warm)
        self.warming.daemon = True
        self.warming.start()

    def _warm(self) -> None:
        """Load what the first call needs, while the client thinks."""
        from . import conversation  # noqa: F401 - it is loaded here

        self._server.warm()

    def _stop(self, *_: object) -> None:
        self.is_stopped = True


def line_too_long() -> Reply:
    """Return the answer to a line that is not even read."""
    return failure(None, INVALID_REQUEST, f"Invalid Request: a line may hold {MAX_LINE_BYTES} bytes")


@contextmanager
def _bell(stop: signal._HANDLER) -> Iterator[int]:
    """Call `stop` on SIGINT and SIGTERM, and yield a descriptor that can be read then: no read may wait for longer.

    The handlers stay until the event loop has its own, so that no signal is lost in between.
    """
    ring, hear = os.pipe()[::-1]
    os.set_blocking(ring, False)
    before = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        yield hear
    finally:
        signal.set_wakeup_fd(before)
        os.close(ring)
        os.close(hear)


@contextmanager
def stopping_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGINT and SIGTERM inside of the block."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in numbers:
            loop.add_signal_handler(number, stop)
    except RuntimeError:  # Windows: KeyboardInterrupt ends the loop instead
        yield
        return
    yield
    for number in numbers:
        loop.remove_signal_handler(number)
