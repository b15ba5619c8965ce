"""The application for other servers and frameworks: an ASGI shell around what `connection` serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing, suppress
from typing import Any, Final

from signet.kernel.errors import TOO_LARGE, Fault, too_large
from signet.kernel.wire import Headers

from .heads import NO_LENGTH, BadRequestError, check_head
from .messages import BODY_LIMIT_BYTES, REQUEST_ID, Application, Request, Response, body_too_slow
from .slots import ConnectionLimits, exact_address, network_of

__all__ = ["AsgiApp"]

ENDLESS_S: Final = 30.0
"""How long a stream lasts that has no end: the server around waits for it when it stops, and tells us only then."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientDisconnected(Exception):
    """The client has disconnected, so no response can be sent."""


class AsgiApp:
    """An ASGI application, to be served as it is or mounted below a path of another one."""

    def __init__(self, app: Application, limits: ConnectionLimits | None = None) -> None:
        self._app = app
        self._body_s = (limits or ConnectionLimits()).body_s
        self._is_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._follow_lifespan(receive, send)
        elif scope["type"] == "http":
            self._start()
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})

    async def close(self) -> None:
        """Write the journal's last records and close the upstreams; for hosts that pass on no lifespan events."""
        await self._app.close()

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._app.start()

    async def _follow_lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                self._start()
            else:
                await self.close()
            await send({"type": event["type"] + ".complete"})
            if event["type"] == "lifespan.shutdown":
                return

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = None
        try:
            request = _request_of(scope)
            response = self._app.admit(request)
            if response is None:
                request.body = await self._read_body(receive)
        except ClientDisconnected:
            return
        except BadRequestError as error:
            response = self._app.refuse(None, error.fault)
        except Fault as fault:
            # Only a POST needs its body.
            is_answered = request is not None and request.method != "POST" and fault.name == TOO_LARGE
            response = None if is_answered else self._app.refuse(request, fault)
        answer = response or self._app.answer(request)  # type: ignore[arg-type] # there is one, or a refusal
        if isinstance(answer, Response) and answer.events is None:
            await self._send(request, answer, send, _address_of(scope))
        else:
            await _until_disconnected(self._await_and_send(request, answer, send), receive)

    async def _read_body(self, receive: Receive) -> bytes:
        """Return the body.

        Raises:
            Fault: the body is over the limit, or takes too long.
            ClientDisconnected: the client disconnected before the end of the body.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_s):
                while True:
                    event = await receive()
                    if event["type"] != "http.request":
                        raise ClientDisconnected
                    body += event.get("body", b"")
                    if len(body) > BODY_LIMIT_BYTES:
                        raise too_large(BODY_LIMIT_BYTES)
                    if not event.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise body_too_slow(self._body_s) from None

    async def _await_and_send(
        self, request: Request | None, answer: Response | Awaitable[Response], send: Send
    ) -> None:
        await self._send(request, answer if isinstance(answer, Response) else await answer, send)

    async def _send(self, request: Request | None, response: Response, send: Send, address: str = "") -> None:
        """Send a response; the address is that of a client whose request could not be read."""
        # A stream is noted with its last event, which tells the outcome.
        if response.events is None and (response.refusal or self._app.records_all):
            response = self._app.record(request, response, address)
        headers = list(response.headers)
        if request is not None:
            headers.append((REQUEST_ID, request.caller.request_id.encode()))
        if response.events is None and response.status not in NO_LENGTH:
            headers.append((b"content-length", b"%d" % len(response.body)))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if response.events is not None:
            await _send_events(response.events, send, ENDLESS_S if response.is_endless else None)
        is_head = request is not None and request.method == "HEAD"
        await send({"type": "http.response.body", "body": b"" if is_head else response.body})


async def _send_events(events: AsyncGenerator[bytes, None], send: Send, limit_s: float | None) -> None:
    """Send a body as it comes; after a limit it ends, and its client comes again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s), aclosing(events):
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})


def _request_of(scope: Scope) -> Request:
    """Return the request of a scope, with its path below the place where the application is mounted.

    Raises:
        BadRequestError: the head can be read in two ways.
    """
    raw = scope.get("raw_path")
    path = raw.decode("latin-1") if raw else _escaped_path(scope["path"])
    root = scope.get("root_path", "").rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :] or "/"
    names = [name.decode("latin-1").lower() for name, _ in scope["headers"]]
    headers = Headers(names, [value.decode("latin-1").strip(" \t") for _, value in scope["headers"]])
    # HTTP/2 and newer have no heads that could be read in two ways.
    version = "1.0" if scope.get("http_version") == "1.0" else "1.1"
    address = _address_of(scope)
    head = check_head(scope["method"], path, headers, version)
    return Request(*head, address, root=root, network=network_of(address))


def _escaped_path(path: str) -> str:
    """Return a path that a host has decoded as it was sent, but for escapes that were not needed."""
    if path.isascii() and "%" not in path:
        return path
    from urllib.parse import quote

    return quote(path, safe="/:@!$&'()*+,;=~")


def _address_of(scope: Scope) -> str:
    """Return the address of the client, as the server around tells it."""
    client = scope.get("client") or ("",)
    return exact_address(client[0] or "")


async def _until_disconnected(work: Awaitable[None], receive: Receive) -> None:
    """Do the work until it is done or its client disconnects."""
    call = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((call, gone), return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            call.result()
    finally:
        call.cancel()
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
