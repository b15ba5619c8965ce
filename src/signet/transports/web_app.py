"""The web application: routes each path to its door, after the guard's checks.

/mcp                        MCP            /api/tools, /api/tools/{name}   REST
/mcp/tool/{slug}            envelope       /mcp/v1/encode-plantuml         REST, the legacy shape
/openapi.json, /healthz, /readyz, /        pages for people and for monitoring
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.kernel.wire import encode

from .asgi import JSON, ClientDisconnected, Fields, Receive, Request, Response, Scope, Send, preflight
from .envelope import PATH as ENVELOPE_PATH
from .envelope import EnvelopeDoor
from .guard import Access, Guard
from .http import McpDoor
from .openapi import describe
from .rest import DISCOVERY, GET_HEADERS, RestDoor, to_response, wrong_method

__all__ = ["App"]

FOR_ALL = Access(any_page=True)
FOR_CALLERS = Access(json_only=True)
FOR_PEOPLE = Access()
FOR_BALANCERS = Access(no_token=True)


class Route(msgspec.Struct, frozen=True):
    """The handlers of a path, and its access rules."""

    access: Access
    answer: Callable[[Request, Send], Awaitable[Response | None]]
    """Return the response to a request; None if it has been sent already."""
    refuse: Callable[[Fault], Response]
    """Return the response for a fault of the door itself."""


class App:
    """The ASGI application of one server."""

    def __init__(
        self, server: Server, guard: Guard, about: dict[str, Any], legacy: Mapping[str, str] | None = None
    ) -> None:
        self._server = server
        self._guard = guard
        self._about = about
        self._rest = RestDoor(server.pipeline, legacy or {})
        self._envelope = EnvelopeDoor(server)
        self._routes = self._fixed_routes(McpDoor(server))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._follow_lifespan(receive, send)
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        route = self._routes.get(request.path) or self._route(request.path)
        refusal = self._guard.refusal(request.method, request.headers, route.access)
        try:
            response = await route.answer(request, send) if refusal is None else _refused(route, refusal)
        except ClientDisconnected:
            return
        except Fault as fault:
            response = route.refuse(fault)
        if response is not None:
            extra = self._cors(request, route) if "origin" in request.headers else ()
            await response.send(send, extra, head=request.method == "HEAD")

    def _fixed_routes(self, mcp: McpDoor) -> dict[str, Route]:
        pages = {"/": self._about, "/healthz": {"status": "ok"}}
        routes = {path: _page(path, encode(page)) for path, page in pages.items()}
        routes["/readyz"] = _page("/readyz", self._ready)
        routes["/openapi.json"] = _page("/openapi.json", self._openapi)
        routes["/mcp"] = Route(FOR_CALLERS, _with_preflight(mcp.answer), mcp.refuse)
        routes[DISCOVERY] = Route(FOR_ALL, self._rest.discover, partial(to_response, headers=GET_HEADERS))
        toolbox = self._server.pipeline.toolbox
        paths = [f"{DISCOVERY}/{tool.name}" for tool in toolbox] + [f"{ENVELOPE_PATH}{tool.slug}" for tool in toolbox]
        legacy = [path for path, name in self._rest.legacy.items() if toolbox.find(name) is not None]
        return routes | {path: self._route(path) for path in paths + legacy}

    def _route(self, path: str) -> Route:
        """Return the route of a path, found by the beginning of the path."""
        if path.startswith(DISCOVERY + "/") or path in self._rest.legacy:
            endpoint = self._rest.endpoint(path)
            access = FOR_ALL if endpoint.public else FOR_CALLERS
            call = partial(self._rest.call, endpoint)
            return Route(access, self._bare_discovery if path == DISCOVERY + "/" else call, endpoint.refuse)
        if path.startswith(ENVELOPE_PATH):
            tool = self._server.pipeline.toolbox.find(path.removeprefix(ENVELOPE_PATH))
            access = FOR_PEOPLE if tool is None or tool.public else FOR_CALLERS
            return Route(access, _with_preflight(self._envelope.answer), self._envelope.refuse)
        return _unknown_path(path)

    async def _bare_discovery(self, request: Request, send: Send) -> Response | None:
        """Answer `/api/tools/`: GET lists the tools, POST lacks a tool's name."""
        if request.method in {"GET", "OPTIONS"}:
            return await self._rest.discover(request, send)
        return await self._rest.call(self._rest.endpoint(request.path), request, send)

    def _cors(self, request: Request, route: Route) -> Fields:
        """Return the headers that let a page of an allowed origin read the response."""
        origin = request.headers["origin"]
        if route.access.any_page or not self._guard.lets_in(origin):
            return ()
        return (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")

    async def _follow_lifespan(self, receive: Receive, send: Send) -> None:
        """Warm the upstreams at the start of the server, and close them at its end."""
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup" and self._server.upstreams:
                asyncio.get_running_loop().run_in_executor(None, self._server.warm)
            if event["type"] == "lifespan.shutdown":
                await self._server.close()
            await send({"type": event["type"] + ".complete"})
            if event["type"] == "lifespan.shutdown":
                return

    def _openapi(self) -> bytes:
        return encode(
            describe(self._server.pipeline, self._about, self._rest.legacy, secured=self._guard.token is not None)
        )

    def _ready(self) -> bytes:
        """Return the page of `/readyz`, after compiling every contract."""
        for tool in self._server.pipeline.toolbox:
            self._server.pipeline.registry.load_tool_io(tool.slug)
        return encode({"status": "ready", "tools": [tool.name for tool in self._server.pipeline.toolbox]})


def _page(path: str, content: bytes | Callable[[], bytes]) -> Route:
    """Return the route of a page that can be read with GET."""

    async def answer(request: Request, _: Send) -> Response:
        if request.method not in {"GET", "HEAD"}:
            return to_response(wrong_method("GET"), (JSON, (b"allow", b"GET, HEAD, OPTIONS")))
        return Response(200, content if isinstance(content, bytes) else content())

    access = FOR_BALANCERS if path in {"/healthz", "/readyz"} else FOR_PEOPLE
    return Route(access, _with_preflight(answer), to_response)


def _unknown_path(path: str) -> Route:
    async def answer(_: Request, __: Send) -> Response:
        return to_response(Fault(Code.NOT_FOUND, f"Nothing is served at '{path[:200]}'; GET / names what is"))

    return Route(FOR_PEOPLE, answer, to_response)


def _with_preflight(
    answer: Callable[[Request, Send], Awaitable[Response | None]],
) -> Callable[[Request, Send], Awaitable[Response | None]]:
    """Wrap a handler so that OPTIONS gets the response to a preflight."""

    def answer_or_preflight(request: Request, send: Send) -> Awaitable[Response | None]:
        return answer(request, send) if request.method != "OPTIONS" else _preflight(request)

    return answer_or_preflight


async def _preflight(request: Request) -> Response:
    return Response(204, headers=preflight(request, b"GET, POST, OPTIONS"))


def _refused(route: Route, fault: Fault) -> Response:
    response = route.refuse(fault)
    if fault.code is not Code.UNAUTHORIZED:
        return response
    return msgspec.structs.replace(response, headers=(*response.headers, (b"www-authenticate", b"Bearer")))
