"""The little of HTTP that every web door shares: a request, an answer, and a client that may hang up."""

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
"""How long a client may take over its body once it has begun."""

JSON: Final = (b"content-type", b"application/json")


class ClientDisconnected(Exception):
    """The client has hung up: there is nobody to answer."""


class Request:
    """One HTTP request, its body unread."""

    __slots__ = ("_receive", "headers", "method", "path")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        # Raw: spec 4's names are compared as they were sent, not percent-decoded.
        self.path: str = scope["raw_path"].decode("latin-1")
        self.headers = Headers([(n.decode("latin-1"), v.decode("latin-1").strip(" \t")) for n, v in scope["headers"]])
        self._receive = receive

    async def body(self) -> bytes:
        """Read the body.

        Raises:
            Fault: it is over the limit, or comes too slowly.
            Gone: the client hung up before its end.
        """
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            whole: bytes = message.get("body", b"")
            if len(whole) > BODY_LIMIT_BYTES:
                raise too_large(BODY_LIMIT_BYTES)
            return whole
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                return await self._rest(message)
        except TimeoutError:
            message_text = f"The body did not come within {BODY_TIMEOUT_S:g} s"
            raise Fault(Code.INVALID_INPUT, message_text, name="REQUEST_TIMEOUT", status=408) from None

    async def _rest(self, message: MutableMapping[str, Any]) -> bytes:
        body = bytearray()
        while message["type"] == "http.request":
            body += message.get("body", b"")
            if len(body) > BODY_LIMIT_BYTES:
                raise too_large(BODY_LIMIT_BYTES)
            if not message.get("more_body"):
                return bytes(body)
            message = await self._receive()
        raise ClientDisconnected

    async def gone(self) -> None:
        """Return once the client has hung up."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Response(msgspec.Struct, frozen=True):
    """One HTTP answer."""

    status: int
    body: bytes = b""
    headers: Fields = (JSON,)

    async def send(self, send: Send, extra: Fields = (), *, head: bool = False) -> None:
        """Send it; a HEAD request gets the headers alone."""
        length = (b"content-length", b"%d" % len(self.body))
        headers = [*self.headers, length, *extra]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if head else self.body})


def preflight(request: Request, methods: bytes) -> Fields:
    """Give the headers that let the pages that the guard lets in send what they ask about."""
    asked = request.headers.get("access-control-request-headers", "Content-Type, Authorization")
    return (b"access-control-allow-methods", methods), (b"access-control-allow-headers", asked.encode("latin-1"))


async def cancel_on_disconnect(request: Request, pending: Coroutine[Any, Any, T]) -> T:
    """Await a call, and cancel it when its client hangs up.

    Raises:
        Gone: it did.
    """
    call = asyncio.ensure_future(pending)
    gone = asyncio.ensure_future(request.gone())
    try:
        await asyncio.wait((call, gone), return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise ClientDisconnected
        return call.result()
    finally:
        call.cancel()
        gone.cancel()
