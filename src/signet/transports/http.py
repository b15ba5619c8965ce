"""MCP over HTTP: `POST /mcp`, both eras; the response is JSON, or a stream if progress is reported.

Stateless, unless wrapped servers are served: then clients of the handshake era have sessions.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Final

from signet.kernel.caller import NOBODY, Caller
from signet.kernel.errors import (
    ACCESS_FAULTS,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Code,
    Fault,
)
from signet.kernel.headers import VERSION
from signet.kernel.protocol import HANDSHAKE_VERSIONS
from signet.kernel.server import HTTP_MCP, ClientChannel, Pending, Server
from signet.kernel.wire import MessageHead, Reply, failure, message_head

from .messages import JSON, Answer, Request, Response
from .unread import COUNTED_BYTES, UNREAD

__all__ = ["STREAM", "McpDoor", "begins_call", "head_of", "to_response"]

HANDSHAKE_STATUS: Final = {PARSE_ERROR: 400, INVALID_REQUEST: 400, HEADER_MISMATCH: 400, UNSUPPORTED_VERSION: 400}
MODERN_STATUS: Final = {
    **HANDSHAKE_STATUS,
    INVALID_PARAMS: 400,
    MISSING_CAPABILITY: 400,
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status of a response by its error code; 200 for all others."""

REFUSALS: Final = {
    PARSE_ERROR: "NOT_JSON",
    INVALID_REQUEST: "INVALID_REQUEST",
    HEADER_MISMATCH: "HEADER_MISMATCH",
    UNSUPPORTED_VERSION: "UNSUPPORTED_VERSION",
    METHOD_NOT_FOUND: "METHOD_NOT_FOUND",
    INVALID_PARAMS: "INVALID_PARAMS",
    MISSING_CAPABILITY: "MISSING_CAPABILITY",
}
"""The errors that refuse a request before it is a call."""

STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

MAX_UNREAD_BYTES: Final = 8 << 20
"""The size of the messages before a reply that a client may leave unread; further ones are dropped until it reads."""
EVENT: Final = b"event: message\r\ndata: "
QUESTION: Final = b'{"jsonrpc":"2.0","id":'
UNREADABLE: Final = MessageHead(id=None, method="")


def head_of(body: bytes) -> MessageHead:
    """Return the head of a message; that of a request where it cannot be read: the server says what is wrong."""
    try:
        return message_head(body)
    except (ValueError, RecursionError):
        return UNREADABLE


def begins_call(request: Request) -> bool:
    """Return whether a POST may begin a call."""
    return head_of(request.body).is_request


class McpDoor:
    """Answers `/mcp`."""

    def __init__(self, server: Server, sessions: Callable[[Request], Answer | None] | None = None) -> None:
        """Serve a server; `sessions` answers the requests of clients that hold a session, and None to all others."""
        self._server = server
        self._of_session = sessions

    def answer(self, request: Request) -> Answer:
        """Return the response to one request."""
        if self._of_session is not None and (answer := self._of_session(request)) is not None:
            return answer
        if request.method != "POST":
            body = failure(
                None, INVALID_REQUEST, "Only POST is served here: there are no sessions and no standing streams"
            ).body
            return Response(405, body, (JSON, (b"allow", b"POST, OPTIONS")), refusal="METHOD_NOT_ALLOWED")
        headers = request.headers
        progress = _Progress(request.caller) if "text/event-stream" in headers.get("accept", "") else None
        notify = _drop if progress is None else progress.push
        channel = ClientChannel(notify, _ignore, HTTP_MCP, progress is not None, headers, request.caller)
        reply = self._server.receive(request.body, channel)
        if isinstance(reply, Pending):
            request.call = reply.call
            return _await_response(request, reply) if progress is None else progress.follow(request, reply)
        return to_response(request, reply) if reply is not None else Response(202, headers=())

    def refuse(self, fault: Fault) -> Response:
        """Return the response for a fault of the door itself."""
        code = INVALID_REQUEST if fault.code is not Code.INTERNAL_ERROR else fault.mcp_code
        reply = failure(None, code, fault.message, {"canonical_code": fault.code})
        return Response(fault.status, reply.body, refusal=fault.name)


class _Progress:
    """The messages that a call sends before its reply."""

    __slots__ = ("_caller", "_is_followed", "_messages", "_unread_bytes", "_wake")

    def __init__(self, caller: Caller = NOBODY) -> None:
        self._caller = caller
        self._is_followed = False
        """Whether the messages are being sent, so that their end is noticed."""
        self._messages: deque[bytes] = deque()
        self._unread_bytes = 0
        self._wake: asyncio.Event | None = None

    def push(self, message: bytes) -> None:
        """Queue a message; a client that leaves too much unread misses notifications, and no questions."""
        is_full = bool(self._messages) and self._unread_bytes + len(message) > MAX_UNREAD_BYTES
        if is_full and not message.startswith(QUESTION):
            return
        self._messages.append(message)
        self._count(len(message))
        if self._wake is not None:
            self._wake.set()

    def give_way(self) -> None:
        """Drop the messages that the client has not read; questions stay, since a tool waits for their answers."""
        self._messages = deque(message for message in self._messages if message.startswith(QUESTION))
        self._unread_bytes = sum(map(len, self._messages))

    def _count(self, more: int) -> None:
        before, self._unread_bytes = self._unread_bytes, self._unread_bytes + more
        if self._is_followed and before + self._unread_bytes > COUNTED_BYTES:
            UNREAD.hold(self, self._caller.holder, self._unread_bytes)

    async def follow(self, request: Request, pending: Pending) -> Response:
        """Return a plain response if the call reports no progress, else a stream of server-sent events."""
        wake = self._wake = asyncio.Event()
        call = asyncio.ensure_future(pending.reply)
        call.add_done_callback(lambda _: wake.set())
        try:
            if not self._messages:
                await wake.wait()
        except asyncio.CancelledError:
            call.cancel()
            raise
        if not self._messages:
            return to_response(request, call.result())
        events = self._events(request, call, wake)
        if not pending.is_endless:
            request.going_on = call
        return Response(200, headers=STREAM, events=events, is_endless=pending.is_endless)

    async def _events(
        self, request: Request, call: asyncio.Future[Reply], wake: asyncio.Event
    ) -> AsyncGenerator[bytes, None]:
        """Yield the messages as they come, and the reply last."""
        self._is_followed = True
        try:
            while True:
                wake.clear()
                while self._messages:
                    message = self._messages.popleft()
                    self._count(-len(message))
                    yield _event(message)
                if call.done():
                    break
                await wake.wait()
            reply = call.result()
        finally:
            call.cancel()
            UNREAD.release(self)
            # Its result shall be held once while its client takes it: in the reply.
            del call
        request.is_answered = True
        if reply.outcome is not None:
            request.outcome = reply.outcome.without_result()
        body = reply.body
        del reply
        if len(body) <= COUNTED_BYTES:
            yield _event(body)
            return
        yield EVENT
        yield body
        yield b"\r\n\r\n"


def _ignore(_: object) -> None:
    """Do nothing: over HTTP a message of its own cancels no call."""


def _drop(message: bytes) -> None:
    """Pass over a message before the reply: the client takes no stream."""


def _event(message: bytes) -> bytes:
    return EVENT + message + b"\r\n\r\n"


async def _await_response(request: Request, pending: Pending) -> Response:
    return to_response(request, await pending.reply)


def to_response(request: Request, reply: Reply) -> Response:
    """Return the response that carries a reply, with the status of its era."""
    request.outcome = reply.outcome
    if not reply.code:
        return Response(200, reply.body)
    fault = reply.outcome.fault if reply.outcome is not None else None
    if fault is not None and fault.name in ACCESS_FAULTS:
        return Response(fault.status, reply.body)
    if reply.refusal is not None:
        request.refusal = reply.refusal
        return Response(reply.refusal.status, reply.body, refusal=reply.refusal.name)
    handshake = request.headers.get(VERSION, HANDSHAKE_VERSIONS[0]) in HANDSHAKE_VERSIONS
    table = HANDSHAKE_STATUS if handshake and not reply.modern else MODERN_STATUS
    refusal = REFUSALS.get(reply.code, "") if reply.outcome is None else ""
    return Response(table.get(reply.code, 200), reply.body, refusal=refusal)
