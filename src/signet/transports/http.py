"""MCP over HTTP: `POST /mcp`, stateless, both eras; the response is JSON, or a stream if progress is reported."""

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
"""The HTTP status of a response by its error code; 200 for all others."""

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
        """Return the response to one request; None if a stream has been sent instead."""
        if request.method != "POST":
            message = "Only POST is served here: there are no sessions and no standing streams"
            return Response(405, failure(None, INVALID_REQUEST, message).body, (JSON, (b"allow", b"POST, OPTIONS")))
        body = await request.body()
        stream = _Stream(request, send)
        reply = self._server.receive(body, ClientChannel(stream.push, door=HTTP_MCP, headers=request.headers))
        if isinstance(reply, Pending):
            if "text/event-stream" in request.headers.get("accept", ""):
                return await stream.run(reply)
            reply = await cancel_on_disconnect(request, reply.reply)
        return _to_response(request, reply) if reply is not None else Response(202, headers=())

    def refuse(self, fault: Fault) -> Response:
        """Return the response for a fault of the door itself."""
        code = INVALID_REQUEST if fault.code is not Code.INTERNAL_ERROR else fault.mcp_code
        reply = failure(None, code, fault.message, {"canonical_code": fault.code})
        return Response(fault.status, reply.body)


class _Stream:
    """The response to a call that may report progress: JSON if it reports none, else server-sent events."""

    def __init__(self, request: Request, send: Send) -> None:
        self._request = request
        self._send = send
        self._messages: list[bytes] = []
        self._wake: asyncio.Event | None = None
        self._started = False

    def push(self, message: bytes) -> None:
        """Queue a message that has to be sent before the reply."""
        self._messages.append(message)
        if self._wake is not None:
            self._wake.set()

    async def run(self, pending: Pending) -> Response | None:
        """Send progress as it is reported, then the reply; return a plain response if there was no progress.

        Raises:
            ClientDisconnected: the client disconnected before the call ended.
        """
        wake = self._wake = asyncio.Event()
        call = asyncio.ensure_future(pending.reply)
        disconnected = asyncio.ensure_future(self._request.gone())
        call.add_done_callback(lambda _: wake.set())
        disconnected.add_done_callback(lambda _: wake.set())
        try:
            while not call.done():
                await wake.wait()
                wake.clear()
                if disconnected.done():
                    raise ClientDisconnected
                await self._send_queued()
            return await self._end(call.result())
        finally:
            call.cancel()
            disconnected.cancel()

    async def _send_queued(self) -> None:
        messages, self._messages = self._messages, []
        for message in messages:
            await self._send_event(message)

    async def _send_event(self, message: bytes, *, last: bool = False) -> None:
        if not self._started:
            self._started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": list(STREAM)})
        event = b"event: message\r\ndata: " + message + b"\r\n\r\n"
        await self._send({"type": "http.response.body", "body": event, "more_body": not last})

    async def _end(self, reply: Reply) -> Response | None:
        if not self._started:
            return _to_response(self._request, reply)
        await self._send_event(reply.body, last=True)
        return None


def _to_response(request: Request, reply: Reply) -> Response:
    handshake = request.headers.get(VERSION, HANDSHAKE_VERSIONS[0]) in HANDSHAKE_VERSIONS
    table = HANDSHAKE_STATUS if handshake and not reply.modern else MODERN_STATUS
    return Response(table.get(reply.code, 200), reply.body)
