"""MCP over HTTP: `POST /mcp`, stateless, both eras; JSON answers, a stream once progress is told."""

from __future__ import annotations

import asyncio
from typing import Final

from signet.kernel.errors import (
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
from signet.kernel.wire import Reply, failure

from .asgi import JSON, ClientDisconnected, Request, Response, Send, cancel_on_disconnect

__all__ = ["McpDoor"]

HANDSHAKE_STATUS: Final = {PARSE_ERROR: 400, INVALID_REQUEST: 400, HEADER_MISMATCH: 400, UNSUPPORTED_VERSION: 400}
MODERN_STATUS: Final = {
    **HANDSHAKE_STATUS,
    INVALID_PARAMS: 400,
    MISSING_CAPABILITY: 400,
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status of an answer by its error code; what is not here is 200."""

STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class McpDoor:
    """Answers `/mcp`."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def answer(self, request: Request, send: Send) -> Response | None:
        """Answer one request; None once a stream has been sent."""
        if request.method != "POST":
            message = "Only POST is served here: there are no sessions and no standing streams"
            return Response(405, failure(None, INVALID_REQUEST, message).body, (JSON, (b"allow", b"POST, OPTIONS")))
        body = await request.body()
        stream = _Stream(request, send)
        answer = self._server.receive(body, ClientChannel(stream.push, door=HTTP_MCP, headers=request.headers))
        if isinstance(answer, Pending):
            if "text/event-stream" in request.headers.get("accept", ""):
                return await stream.hold(answer)
            answer = await cancel_on_disconnect(request, answer.reply)
        return _plain(request, answer) if answer is not None else Response(202, headers=())

    def refuse(self, fault: Fault) -> Response:
        """Write a fault of the door itself."""
        code = INVALID_REQUEST if fault.code is not Code.INTERNAL_ERROR else fault.mcp_code
        reply = failure(None, code, fault.message, {"canonical_code": fault.code})
        return Response(fault.status, reply.body)


class _Stream:
    """One call whose progress may be told: plain JSON if none is, else server-sent events."""

    def __init__(self, request: Request, send: Send) -> None:
        self._request = request
        self._send = send
        self._events: list[bytes] = []
        self._bell: asyncio.Event | None = None
        self._begun = False

    def push(self, message: bytes) -> None:
        """Take a message that is to go out before the answer."""
        self._events.append(message)
        if self._bell is not None:
            self._bell.set()

    async def hold(self, pending: Pending) -> Response | None:
        """Tell progress as it comes, and the answer at the end."""
        bell = self._bell = asyncio.Event()
        call = asyncio.ensure_future(pending.reply)
        gone = asyncio.ensure_future(self._request.gone())
        call.add_done_callback(lambda _: bell.set())
        gone.add_done_callback(lambda _: bell.set())
        try:
            while not call.done():
                await bell.wait()
                bell.clear()
                if gone.done():
                    raise ClientDisconnected
                await self._tell_all()
            return await self._end(call.result())
        finally:
            call.cancel()
            gone.cancel()

    async def _tell_all(self) -> None:
        events, self._events = self._events, []
        for event in events:
            await self._tell(event)

    async def _tell(self, message: bytes, *, last: bool = False) -> None:
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": list(STREAM)})
        event = b"event: message\r\ndata: " + message + b"\r\n\r\n"
        await self._send({"type": "http.response.body", "body": event, "more_body": not last})

    async def _end(self, reply: Reply) -> Response | None:
        if not self._begun:
            return _plain(self._request, reply)
        await self._tell(reply.body, last=True)
        return None


def _plain(request: Request, reply: Reply) -> Response:
    handshake = request.headers.get(VERSION, HANDSHAKE_VERSIONS[0]) in HANDSHAKE_VERSIONS
    table = HANDSHAKE_STATUS if handshake and not reply.modern else MODERN_STATUS
    return Response(table.get(reply.code, 200), reply.body)
