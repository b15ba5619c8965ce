"""The part of HTTP that every web door shares: a request, a response, and a client that may disconnect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, Final, TypeVar

import msgspec

from signet.kernel.errors import Code, Fault, too_large
from signet.kernel.wire import Headers

__all__ = [
    "BODY_LIMIT_BYTES",
    "JSON",
    "ClientDisconnected",
    "Fields",
    "Receive",
    "Request",
    "Response",
    "Scope",
    "Send",
    "cancel_on_disconnect",
    "preflight",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Fields = tuple[tuple[bytes, bytes], ...]
T = TypeVar("T")

BODY_LIMIT_BYTES: Final = 1_048_576
BODY_TIMEOUT_S: Final = 30.0
"""The longest time that a client may take to send its body."""

JSON: Final = (b"content-type", b"application/json")


class ClientDisconnected(Exception):
    """The client has disconnected, so no response can be sent."""


class Request:
    """One HTTP request, with its body not yet read."""

    __slots__ = ("_receive", "headers", "method", "path")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        # Not percent-decoded: spec 4 compares names as they were sent.
        self.path: str = scope["raw_path"].decode("latin-1")
        self.headers = Headers([(n.decode("latin-1"), v.decode("latin-1").strip(" \t")) for n, v in scope["headers"]])
        self._receive = receive

    async def body(self) -> bytes:
        """Return the body.

        Raises:
            Fault: the body is over the limit, or takes too long.
            ClientDisconnected: the client disconnected before the end of the body.
        """
        event = await self._receive()
        if event["type"] == "http.request" and not event.get("more_body"):
            body: bytes = event.get("body", b"")
            if len(body) > BODY_LIMIT_BYTES:
                raise too_large(BODY_LIMIT_BYTES)
            return body
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                return await self._join_chunks(event)
        except TimeoutError:
            message = f"The body did not come within {BODY_TIMEOUT_S:g} s"
            raise Fault(Code.INVALID_INPUT, message, name="REQUEST_TIMEOUT", status=408) from None

    async def _join_chunks(self, event: MutableMapping[str, Any]) -> bytes:
        body = bytearray()
        while event["type"] == "http.request":
            body += event.get("body", b"")
            if len(body) > BODY_LIMIT_BYTES:
                raise too_large(BODY_LIMIT_BYTES)
            if not event.get("more_body"):
                return bytes(body)
            event = await self._receive()
        raise ClientDisconnected

    async def gone(self) -> None:
        """Return once the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Response(msgspec.Struct, frozen=True):
    """One HTTP response."""

    status: int
    body: bytes = b""
    headers: Fields = (JSON,)

    async def send(self, send: Send, extra: Fields = (), *, head: bool = False) -> None:
        """Send the response; for a HEAD request, only its headers."""
        length = (b"content-length", b"%d" % len(self.body))
        headers = [*self.headers, length, *extra]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if head else self.body})


def preflight(request: Request, methods: bytes) -> Fields:
    """Return the headers of a preflight response: the methods, and all headers that the page wants to send."""
    wanted = request.headers.get("access-control-request-headers", "Content-Type, Authorization")
    return (b"access-control-allow-methods", methods), (b"access-control-allow-headers", wanted.encode("latin-1"))


async def cancel_on_disconnect(request: Request, pending: Coroutine[Any, Any, T]) -> T:
    """Await a call, and cancel it if its client disconnects.

    Raises:
        ClientDisconnected: the client disconnected before the call ended.
    """
    call = asyncio.ensure_future(pending)
    disconnected = asyncio.ensure_future(request.gone())
    try:
        await asyncio.wait((call, disconnected), return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise ClientDisconnected
        return call.result()
    finally:
        call.cancel()
        disconnected.cancel()
