"""One HTTP/1.1 connection: bytes in, requests to the application, responses out.

    data_received ── unread bytes ── reader ── head ── admit ── body ── answer ── one write a turn
                                                                   └─── a task, where the answer has to be awaited

Requests are taken from the unread bytes one at a time: nothing is parsed while a request is being answered or while the
client does not take what was sent to it, and nothing is read while many bytes are unread. So the memory of a connection
has a bound, whatever its client does. The responses that are ready in a turn of the loop are written at its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Final

from signet.kernel.caller import Caller
from signet.kernel.errors import TOO_LARGE, Code, Fault, too_large

from .heads import BadRequestError
from .messages import BODY_LIMIT_BYTES, Answer, Application, Request, Response, body_too_slow
from .reader import HttpReader
from .slots import Member, Slots, exact_address, network_of
from .unread import COUNTED_BYTES, UNREAD, UnreadAnswers, left_unread
from .writer import HttpWriter

__all__ = ["Connection"]

MAX_UNREAD_BYTES: Final = 65_536
"""The number of unread bytes above which no more are read."""
READS_PER_TURN: Final = 64
"""The number of requests, or of lines of a chunked body, after which other connections get their turn."""
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(Member, asyncio.Protocol):
    """The server's side of one connection."""

    unread_answers: UnreadAnswers = UNREAD
    """Where the bytes that its client has not taken are counted."""

    def __init__(self, app: Application, slots: Slots) -> None:
        super().__init__(slots.loop)
        self._app = app
        self._slots = slots
        self._transport: asyncio.Transport  # these three are there from connection_made on
        self._reader: HttpReader
        self._writer: HttpWriter
        self._client = ""
        """The exact address of the client."""
        self._has_entered = self._is_made = False
        """Whether it has asked for a place, and whether the connection is made, with its handshake."""
        self._hang_up: Callable[[], None] | None = None
        """Close the socket before it has a transport."""
        self._holder = ""
        """Whose share of the unread answers the last large response is of; empty where that is the address's."""
        self._unread = b""
        self._at = 0
        """The place in `_unread` up to which requests have been read."""
        self._admitted: Request | None = None
        """The request that the application has been asked about before its body had come."""
        self._refusal: Response | None = None
        """The application's answer to that."""
        self._task: asyncio.Task[None] | None = None
        self._reads = True
        self._is_scheduled = False
        self._is_idle = False
        self._is_half_closed = False
        self._is_deaf = False
        """Whether no further request is read."""
        self._is_ended = False
        """Whether the last response has been written."""

    # --- the transport

    def enter(self, peer: object, hang_up: Callable[[], None] | None, limit_s: float) -> bool:
        """Take a place for a client that has a limited time until the connection is made, with its handshake.

        Without a place, it gets an answer; return False if it is to be closed without one.
        """
        self._has_entered = True
        self._client = exact_address(peer[0]) if isinstance(peer, tuple) else ""
        self._hang_up = hang_up
        self.address = network_of(self._client) or self._client
        self.wait(limit_s)
        return self._slots.take(self) or not self._slots.is_crowded()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first head."""
        self._transport = transport  # type: ignore[assignment] # a stream, which is both
        self._hang_up, self._is_made = None, True
        limits = self._slots.limits
        is_welcome = self._has_entered or self.enter(transport.get_extra_info("peername"), None, limits.head_s)
        self._reader = HttpReader(self._client, self.address if self.address != self._client else "")
        self._writer = HttpWriter(self._transport, self._slots)
        if self._is_ended or not is_welcome:
            # It has made room during its handshake, or there are too many that have no place.
            self.abort()
            return
        self.wait(limits.head_s)
        if not self._slots.holds(self):
            self._fail(Fault(Code.INTERNAL_ERROR, "All places are taken: try again", name="NO_PLACE", status=503))

    def data_received(self, data: bytes) -> None:
        """Keep the bytes, and answer the requests in them as far as that can be done now."""
        if self._is_deaf:
            return
        self._unread = self._unread[self._at :] + data if self._at < len(self._unread) else data
        self._at = 0
        if self._task is None and not self._writer.is_full and not self._is_scheduled:
            self._advance()
        elif self._reads and len(self._unread) > MAX_UNREAD_BYTES:
            self._reads = False
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open for a short time if responses are due: its client may read, or be gone."""
        self._writer.flush()
        is_due = self._task is not None or self._writer.is_full or self._is_scheduled
        if self._is_ended or not is_due or self._transport.get_extra_info("sslcontext") is not None:
            return False
        self._is_half_closed = True
        self.work()
        return True

    def connection_lost(self, _: Exception | None) -> None:
        """Give the place back, and cancel the call whose client is gone."""
        self._is_deaf = self._is_ended = True
        self._slots.release(self)
        self._writer.forget()
        self.unread_answers.release(self)
        if self._task is not None:
            # Not before the task has begun: what it awaits would never be awaited, nor ended.
            self._loop.call_soon(self._task.cancel)

    def pause_writing(self) -> None:
        """Stop answering until the client has taken what was sent; what it leaves is counted."""
        self._writer.pause()
        if not self._writer.goes_on:
            self.wait(self._slots.limits.write_s)
        self.unread_answers.hold(self, self._holder or Caller(address=self.address).holder, self._writer.unread_bytes)

    def resume_writing(self) -> None:
        """Go on after the client has taken what was sent."""
        has_rest = self._writer.has_rest
        if not self._writer.resume():
            return
        self.unread_answers.release(self)
        if self._task is not None:
            self.work()
        elif not self._is_ended:
            self.wait(self._slots.limits.idle_s)
            self._advance()
        elif has_rest:
            self._end()

    # --- the slots

    def expire(self) -> None:
        """Close the connection because its time is over; a client in the middle of a request is told so."""
        limits = self._slots.limits
        if not self._is_made or self._is_ended or self._is_idle or self._writer.is_full or self._is_half_closed:
            self.abort()
        elif self._reader.request is None:
            message = f"The head did not come within {limits.head_s:g} s"
            self._fail(Fault(Code.INVALID_INPUT, message, name="REQUEST_TIMEOUT", status=408))
        else:
            self._fail(body_too_slow(limits.body_s))

    def drain(self) -> None:
        """Close the connection if it waits for its client; else it ends with the response that is due."""
        if not self._is_made:
            if not self._slots.is_retiring:
                self.abort()
            return
        is_waiting = self.waits_since < inf and not self._writer.is_full and not self._is_ended
        if is_waiting or self._writer.is_endless:
            reader = self._reader
            if not (self._slots.is_retiring and (reader.head or reader.request is not None or self._has_unread())):
                self._writer.close()

    def abort(self) -> None:
        """Close the connection at once; `connection_lost` follows if it has a transport."""
        self._is_deaf = self._is_ended = True
        self.deadline = inf
        if not self._is_made:
            self._slots.release(self)
            if self._hang_up is not None:
                self._hang_up()
            return
        self._writer.forget()
        self._transport.abort()

    def give_way(self) -> None:
        """Close the connection, because its client has left too much unread: later, for it may be writing now."""
        self._writer.forget()
        self._loop.call_soon(self.abort)

    def work(self) -> None:
        """Note that the client waits; a half-closed one may be gone."""
        super().work()
        if self._is_half_closed:
            self.deadline = monotonic() + self._slots.limits.half_closed_s

    # --- the requests, one after the other

    def _advance(self) -> None:
        """Answer the requests that have come, until one has to be awaited or the client has to read or to send.

        While the client does not read, no further request is answered: `resume_writing` goes on.
        """
        self._is_scheduled = False
        if self._writer.is_full:
            return
        for _ in range(READS_PER_TURN):
            if self._at >= len(self._unread):
                self._await_more()
                return
            self._read()
            if self._task is not None or self._writer.is_full or self._is_ended:
                return
        self._is_scheduled = True
        self._loop.call_soon(self._advance)

    def _await_more(self) -> None:
        """Read on, if there may be more to read."""
        if self._is_idle and self._reader.head:
            self._is_idle = False
            self.wait(self._slots.limits.head_s)
        if self._is_half_closed or (self._slots.draining and self._is_idle):
            self._finish()
        elif not self._reads:
            self._reads = True
            self._transport.resume_reading()

    def _read(self) -> None:
        """Read the rest of a head or some of a body, as far as it has come, and answer a request that is whole."""
        reader = self._reader
        try:
            self._at = at = reader.read(self._unread, self._at)
        except (BadRequestError, Fault) as error:
            self._fail(error.fault if isinstance(error, BadRequestError) else error)
            return
        request = reader.request
        if request is None:
            return
        if reader.is_whole:
            self._take(request)
        elif request is not self._admitted and (reader.left is None or reader.left > len(self._unread) - at):
            self._admit(request, reader.left)

    def _admit(self, request: Request, length: int | None) -> None:
        """Ask the application about a request whose body has not come, and prepare for the body."""
        self._is_idle = False
        self.wait(self._slots.limits.body_s)
        self._admitted, self._refusal = request, self._app.admit(request)
        is_long = length is not None and length > BODY_LIMIT_BYTES
        if is_long and self._refusal is None:
            self._fail(too_large(BODY_LIMIT_BYTES))
            return
        expects = request.headers.get("expect", "").lower() == "100-continue" and request.version != "1.0"
        if self._refusal is not None and (expects or is_long or length is None):
            # The body need not come: where it would end cannot be told, or is far away.
            self._respond(request, self._refusal, keep_alive=False)
        elif expects:
            self._writer.write_now(CONTINUE)

    def _take(self, request: Request) -> None:
        """Answer a request that is whole."""
        keep_alive = self._reader.keep_alive
        self._reader.clear()
        refusal = self._refusal if request is self._admitted else self._app.admit(request)
        self._admitted = self._refusal = None
        answer = refusal or self._app.answer(request)
        if isinstance(answer, Response) and answer.events is None:
            self._respond(request, answer, keep_alive=keep_alive)
        else:
            self._begin(request, answer, keep_alive=keep_alive)

    def _begin(self, request: Request, answer: Answer, *, keep_alive: bool) -> None:
        """Begin to send an answer that has to be awaited, or comes in pieces."""
        self.work()
        self._task = self._loop.create_task(self._run(request, answer, keep_alive=keep_alive))

    def _fail(self, fault: Fault) -> None:
        """Answer with a fault of the connection, and end; only a POST needs a body that is too large."""
        request = self._reader.request
        if request is not None and request is not self._admitted:
            self._admitted, self._refusal = request, self._app.admit(request)
        if request is None or request.method == "POST" or fault.name != TOO_LARGE:
            self._respond(request, self._app.refuse(request, fault), keep_alive=False)
            return
        self._reader.keep_alive = False
        self._take(request)

    async def _run(self, request: Request, answer: Answer, *, keep_alive: bool) -> None:
        """Await an answer and send it."""
        is_sent = False
        try:
            response = answer if isinstance(answer, Response) else await answer
            if response.events is not None:
                self._holder = request.caller.holder
                keep_alive = keep_alive and request.version != "1.0" and not self._is_last()
                await self._writer.stream(request, response, response.events, keep_alive=keep_alive)
            is_sent = True
        finally:
            self._task = None
            if not is_sent:
                self.abort()
        if self._is_ended:
            if response.events is None and self._app.records_all:
                self._app.record_left(request, response)
            return
        if response.events is None:
            self._respond(request, response, keep_alive=keep_alive)
        else:
            self._rest(keep_alive=keep_alive)
        self._advance()

    def _respond(self, request: Request | None, response: Response, *, keep_alive: bool) -> None:
        """Write a response."""
        if len(response.body) > COUNTED_BYTES:
            response = self._with_room(request, response)
        if response.refusal or self._app.records_all:
            response = self._app.record(request, response, self._client)
        if self._slots.last_answers and self._is_last():
            keep_alive = False
        self._writer.write(request, response, keep_alive=keep_alive)
        self._rest(keep_alive=keep_alive)

    def _with_room(self, request: Request | None, response: Response) -> Response:
        """Return a large response, or the refusal that is sent in its place if its caller has left too much unread."""
        self._holder = request.caller.holder if request is not None else ""
        size = len(response.body)
        if self.unread_answers.has_room(self._holder, size):
            return response
        return self._app.refuse(request, left_unread(size))

    def _is_last(self) -> bool:
        """Return whether the connection ends with this response; where the process is replaced, no request is lost."""
        return self._slots.last_answers and not (self._slots.is_retiring and self._has_unread())

    def _has_unread(self) -> bool:
        return self._at < len(self._unread)

    def _rest(self, *, keep_alive: bool) -> None:
        """Wait for the next request, or end."""
        self._is_idle = True
        if not keep_alive:
            self._finish()
        elif not self._writer.is_full:
            self.wait(self._slots.limits.idle_s)

    def _finish(self) -> None:
        """End the connection after the last response, which the client has some time to read.

        To close at once could destroy the response on its way, if the client has sent what was not read.
        """
        self._is_deaf = self._is_ended = True
        self._unread, self._at = b"", 0
        self._writer.flush()
        if self._writer.has_rest:
            # The client has its time already.
            return
        self._end()

    def _end(self) -> None:
        """Close the sending side behind what was written."""
        limits = self._slots.limits
        self.wait(limits.write_s if self._transport.get_write_buffer_size() else limits.linger_s)
        if not self._transport.can_write_eof():
            self._transport.close()
            return
        self._transport.write_eof()
        if not self._reads:
            self._reads = True
            self._transport.resume_reading()
