"""The web application: routes each path to its door, after the guard's checks.

/mcp                        MCP            /api/tools, /api/tools/{name}   REST
/mcp/tool/{slug}            envelope       /mcp/v1/encode-plantuml         REST, the legacy shape
/openapi.json, /healthz, /readyz, /        pages for people and for monitoring
/render/{format}/{encoded}                 pages that toolsets offer: one call of a tool each

One slash may end a path; the door and the journal see the path without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.pipeline import MAX_IN_FLIGHT
from signet.kernel.server import Server
from signet.kernel.toolset import PageSpec
from signet.kernel.wire import encode

from .compression import MIN_BYTES, SLOW_BYTES, accepts_gzip, compressed, with_vary
from .envelope import PATH as ENVELOPE_PATH
from .envelope import EnvelopeDoor
from .guard import Access, Guard
from .http import McpDoor
from .messages import JSON, Answer, Fields, Request, Response, preflight
from .openapi import describe
from .pages import PageDoor
from .rest import DISCOVERY, GET_HEADERS, RestDoor, refuse, wrong_method

__all__ = ["App", "Route"]

FOR_ALL = Access(any_page=True)
FOR_CALLERS = Access(json_only=True)
FOR_PEOPLE = Access()
FOR_BALANCERS = Access(no_token=True)

OVERLOADED: Final = 503
LARGE_BYTES: Final = 65_536
"""The size above which a body is handled in a thread, so that other requests are answered meanwhile."""
LARGE_AT_ONCE: Final = 2
"""The number of such threads: more would leave the event loop little of the interpreter's time."""

Handler = Callable[[Request], Answer]


class Route(msgspec.Struct, frozen=True):
    """The handlers of a path, and its access rules."""

    access: Access
    answer: Handler
    refuse: Callable[[Fault], Response]
    """Return the response for a fault of the door itself."""
    calls_on_get: bool = False
    """Whether a GET is a call of a tool."""


def _ignore(_address: str, _status: int, _reason: str) -> None:
    """Do nothing: nobody wants to know."""


class App:
    """The web application of one server."""

    def __init__(
        self,
        server: Server,
        guard: Guard,
        about: dict[str, Any],
        legacy: Mapping[str, str] | None = None,
        on_refusal: Callable[[str, int, str], None] = _ignore,
        *,
        pages: Sequence[PageSpec] = (),
    ) -> None:
        self._server = server
        self._guard = guard
        self._about = about
        self._on_refusal = on_refusal
        self._rest = RestDoor(server.pipeline, legacy or {})
        self._envelope = EnvelopeDoor(server)
        self._pages = [PageDoor(server.pipeline, spec, secured=guard.token is not None) for spec in pages]
        self._routes = self._fixed_routes(McpDoor(server))
        self._threads = asyncio.Semaphore(LARGE_AT_ONCE)
        self._openapi_page: tuple[str, bytes | None] = "", None
        self._awaited: dict[str, int] = {}
        """The number of calls that are awaited for each address."""

    def admit(self, request: Request) -> Response | None:
        """Return the refusal of a request by its head, or None."""
        route = self._routes.get(request.path)
        if route is None:
            request.path = path = _without_slash(request.path)
            route = self._routes.get(path) or self._route(path)
        request.route = route
        fault = self._guard.refusal(request.method, request.headers, route.access)
        return None if fault is None else self.refuse(request, fault)

    def answer(self, request: Request) -> Answer:
        """Return the response to a request that was admitted."""
        route: Route = request.route
        if self._awaited and (request.method == "POST" or route.calls_on_get):
            fault = self._check_share(request.address)
            if fault is not None:
                return self.refuse(request, fault)
        is_large = len(request.body) > LARGE_BYTES
        answer = self._answer_in_thread(request) if is_large else route.answer(request)
        if not isinstance(answer, Response):
            answer = self._await(request, answer)
        elif "origin" in request.headers or len(answer.body) >= MIN_BYTES:
            answer = self._finish(request, answer)
        if isinstance(answer, Response):
            return answer
        # Counted now, and not when it is awaited: many may be asked for before that.
        self._awaited[request.address] = self._awaited.get(request.address, 0) + 1
        return self._release_after(request, answer)

    def refuse(self, request: Request | None, fault: Fault) -> Response:
        """Return the response for a fault, in the shape of the door that the request was for."""
        if request is None:
            return _with_advice(refuse(fault), fault)
        response = _with_advice(request.route.refuse(fault), fault)
        return self._show(request, response)

    def report(self, address: str, response: Response) -> None:
        """Note a refusal."""
        self._on_refusal(address, response.status, response.refusal)

    def start(self) -> None:
        """Begin to warm the upstreams."""
        if self._server.upstreams:
            asyncio.get_running_loop().run_in_executor(None, self._server.warm)

    async def close(self) -> None:
        """Close the server behind the doors."""
        await self._server.close()

    async def _answer_in_thread(self, request: Request) -> Answer:
        async with self._threads:
            return await asyncio.to_thread(request.route.answer, request)

    async def _await(self, request: Request, answer: Awaitable[Answer]) -> Response:
        response = await answer
        while not isinstance(response, Response):
            response = await response
        finished = self._finish(request, response)
        return finished if isinstance(finished, Response) else await finished

    async def _release_after(self, request: Request, answer: Awaitable[Response]) -> Response:
        """Await a response, and give its place back."""
        try:
            return await answer
        finally:
            self._awaited[request.address] -= 1
            if not self._awaited[request.address]:
                del self._awaited[request.address]

    def _finish(self, request: Request, response: Response) -> Answer:
        """Return a response as its client gets it: with the headers for its page, and compressed if it is large."""
        if "origin" in request.headers:
            response = self._show(request, response)
        if len(response.body) < MIN_BYTES:
            return response
        response = with_vary(response)
        if not accepts_gzip(request.headers):
            return response
        is_slow = len(response.body) > SLOW_BYTES and not response.is_page
        return self._compress_in_thread(response) if is_slow else compressed(response)

    async def _compress_in_thread(self, response: Response) -> Response:
        async with self._threads:
            return await asyncio.to_thread(compressed, response)

    def _check_share(self, address: str) -> Fault | None:
        """Return a fault if an address has as many calls in flight as are left for all others.

        So one address may have half of all calls, a second one half of the rest, and there is room for a newcomer.
        """
        mine = self._awaited.get(address, 0)
        if mine < MAX_IN_FLIGHT - sum(self._awaited.values()):
            return None
        message = f"This address has {mine} calls in flight, and others need room: ask again when one has ended"
        return Fault(Code.INTERNAL_ERROR, message, name="TOO_MANY_CALLS", status=503)

    def _show(self, request: Request, response: Response) -> Response:
        """Return the response with the headers that let a page of an allowed origin read it."""
        origin = request.headers.get("origin")
        if origin is None or request.route.access.any_page or not self._guard.lets_in(origin):
            return response
        cors = (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")
        return msgspec.structs.replace(response, headers=response.headers + cors)

    def _fixed_routes(self, mcp: McpDoor) -> dict[str, Route]:
        pages = {"/": self._about, "/healthz": {"status": "ok"}}
        routes = {path: _page(path, encode(page)) for path, page in pages.items()}
        routes["/readyz"] = _page("/readyz", self._ready)
        routes["/openapi.json"] = _page("/openapi.json", self._openapi)
        routes["/mcp"] = Route(FOR_CALLERS, _with_preflight(mcp.answer), mcp.refuse)
        routes[DISCOVERY] = Route(FOR_ALL, self._rest.discover, partial(refuse, headers=GET_HEADERS))
        toolbox = self._server.pipeline.toolbox
        paths = [f"{DISCOVERY}/{tool.name}" for tool in toolbox] + [f"{ENVELOPE_PATH}{tool.slug}" for tool in toolbox]
        legacy = [path for path, name in self._rest.legacy.items() if toolbox.find(name) is not None]
        # The paths that would name a tool have routes of their own: without their slash they are something else.
        return routes | {path: self._route(path) for path in [DISCOVERY + "/", ENVELOPE_PATH, *paths, *legacy]}

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
        for page in self._pages:
            if path.startswith(page.prefix):
                access = FOR_ALL if page.public else FOR_PEOPLE
                return Route(access, _with_preflight(page.answer), refuse, calls_on_get=True)
        return _unknown_path(path)

    def _bare_discovery(self, request: Request) -> Answer:
        """Answer `/api/tools/`: GET lists the tools, POST lacks a tool's name."""
        if request.method in {"GET", "OPTIONS"}:
            return self._rest.discover(request)
        return self._rest.call(self._rest.endpoint(request.path), request)

    def _openapi(self, request: Request) -> bytes:
        """Return the OpenAPI page, which says below which path the application is served; the last one is kept."""
        root, page = self._openapi_page
        if page is None or root != request.root:
            secured = self._guard.token is not None
            page = encode(
                describe(self._server.pipeline, self._about, self._rest.legacy, secured=secured, root=request.root)
            )
            self._openapi_page = request.root, page
        return page

    def _ready(self, _: Request) -> bytes:
        """Return the page of `/readyz`, after compiling every contract."""
        for tool in self._server.pipeline.toolbox:
            self._server.pipeline.registry.load_tool_io(tool.slug)
        return encode({"status": "ready", "tools": [tool.name for tool in self._server.pipeline.toolbox]})


def _page(path: str, content: bytes | Callable[[Request], bytes]) -> Route:
    """Return the route of a page that can be read with GET."""

    def answer(request: Request) -> Response:
        if request.method not in {"GET", "HEAD"}:
            return refuse(wrong_method("GET"), (JSON, (b"allow", b"GET, HEAD, OPTIONS")))
        return Response(200, content if isinstance(content, bytes) else content(request), is_page=True)

    access = FOR_BALANCERS if path in {"/healthz", "/readyz"} else FOR_PEOPLE
    return Route(access, _with_preflight(answer), refuse)


def _without_slash(path: str) -> str:
    """Return a path without the one slash that may end it."""
    return path[:-1] if path.endswith("/") and not path.endswith("//") else path


def _unknown_path(path: str) -> Route:
    def answer(_: Request) -> Response:
        return refuse(Fault(Code.NOT_FOUND, f"Nothing is served at '{path[:200]}'; GET / names what is"))

    return Route(FOR_PEOPLE, answer, refuse)


def _with_preflight(answer: Handler) -> Handler:
    """Wrap a handler so that OPTIONS gets the response to a preflight."""

    def answer_or_preflight(request: Request) -> Answer:
        if request.method != "OPTIONS":
            return answer(request)
        return Response(204, headers=preflight(request, b"GET, POST, OPTIONS"))

    return answer_or_preflight


def _with_advice(response: Response, fault: Fault) -> Response:
    """Return a refusal with the header that says what the client can do."""
    advice: Fields = ()
    if fault.code is Code.UNAUTHORIZED:
        advice = ((b"www-authenticate", b"Bearer"),)
    elif fault.status == OVERLOADED:
        advice = ((b"retry-after", b"1"),)
    return msgspec.structs.replace(response, headers=response.headers + advice) if advice else response
