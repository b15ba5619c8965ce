"""The web application: routes each path to its door, after the guard's checks.

/mcp                        MCP            /api/tools, /api/tools/{name}   REST
/mcp/tool/{slug}            envelope       /mcp/v1/encode-plantuml         REST, the legacy shape
/openapi.json, /healthz, /readyz, /        pages for people and for monitoring
/render/{format}/{encoded}                 pages that toolsets offer: one call of a tool each

One slash may end a path, and the path of the public URL may begin it; the door and the journal see it without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet.kernel.caller import Caller, Principal
from signet.kernel.errors import ACCESS_FAULTS, Code, Fault
from signet.kernel.exchange import Exchange
from signet.kernel.server import Server
from signet.kernel.toolset import PageSpec
from signet.kernel.wire import encode

from .compression import MIN_BYTES, SLOW_BYTES, accepts_gzip, compressed, with_vary
from .envelope import PATH as ENVELOPE_PATH
from .envelope import EnvelopeDoor
from .guard import Guard
from .http import McpDoor
from .messages import Answer, Request, Response, exchange_of, preflight
from .openapi import describe
from .pages import PageDoor
from .rest import DISCOVERY, GET_HEADERS, RestDoor, refuse
from .routes import FOR_ALL, FOR_CALLERS, FOR_PEOPLE, Route, below, open_page, page, unknown_path, without_slash
from .shares import Shares

if TYPE_CHECKING:
    from .proxies import TrustedProxies

__all__ = ["App"]

ADVISED: Final = frozenset({403, 429})
"""The statuses of calls that were refused, which a header explains."""
NO_PAGES: Final[Mapping[str, bytes]] = MappingProxyType({})
LARGE_BYTES: Final = 65_536
"""The size above which a body is handled in a thread, so that other requests are answered meanwhile."""
LARGE_AT_ONCE: Final = 2
"""The number of such threads: more would leave the event loop little of the interpreter's time."""


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
        on_exchange: Callable[[Exchange], None] | None = None,
        proxies: TrustedProxies | None = None,
        prefix: str = "",
        open_pages: Mapping[str, bytes | Callable[[Request], bytes]] = NO_PAGES,
    ) -> None:
        """Serve a server's doors, also below `prefix`; `on_exchange` is called with each exchange before its answer.

        Anybody may read the `open_pages`.
        """
        self._server = server
        self._guard = guard
        self._about = about
        self._on_refusal = on_refusal
        self._on_exchange = on_exchange
        self.records_all = on_exchange is not None
        self.is_ready = True
        self._rest = RestDoor(server.pipeline, legacy or {})
        self._envelope = EnvelopeDoor(server)
        self._pages = [PageDoor(server.pipeline, spec, secured=guard.authenticator is not None) for spec in pages]
        self._routes = self._fixed_routes(McpDoor(server))
        self._routes |= {path: open_page(content) for path, content in open_pages.items()}
        self._threads = asyncio.Semaphore(LARGE_AT_ONCE)
        self._openapi_page: tuple[str, bytes | None] = "", None
        self._proxies = proxies
        self._prefix = prefix
        self._shares = Shares()

    def admit(self, request: Request) -> Response | None:
        """Return the refusal of a request by its head, or None."""
        if self._on_exchange is not None:
            request.started_s = perf_counter()
        if self._proxies is not None:
            request.address = self._proxies.address_of(request)
        route = self._routes.get(request.path)
        if route is None:
            path = below(self._prefix, request.path) if self._prefix else request.path
            request.path = path = path if path in self._routes else without_slash(path)
            route = self._routes.get(path) or self._route(path)
        request.route = route
        found = self._guard.check(request, route.access)
        principal = found if isinstance(found, Principal) else None
        request.caller = Caller(principal, request.address)
        if isinstance(found, Fault):
            return self.refuse(request, found)
        if found is not None and not isinstance(found, Principal):
            request.identifying = found
        return None

    def answer(self, request: Request) -> Answer:
        """Return the response to a request that was admitted."""
        route: Route = request.route
        if request.identifying is not None:
            return self._answer_identified(request, request.identifying)
        if self._shares.awaited and (request.method == "POST" or route.calls_on_get):
            fault = self._shares.check(request.address)
            if fault is not None:
                return self.refuse(request, fault)
        answer: Answer | Awaitable[Answer]
        if len(request.body) > LARGE_BYTES:
            answer = self._answer_in_thread(request)
        elif request.method == "OPTIONS" and not route.answers_options:
            answer = Response(204, headers=preflight(request, b"GET, POST, OPTIONS"))
        else:
            answer = route.answer(request)
        if not isinstance(answer, Response):
            answer = self._await(request, answer)
        elif answer.status in ADVISED or "origin" in request.headers or len(answer.body) >= MIN_BYTES:
            answer = self._finish(request, answer)
        return answer if isinstance(answer, Response) else self._shares.hold(request.address, answer)

    def refuse(self, request: Request | None, fault: Fault) -> Response:
        """Return the response for a fault, in the shape of the door that the request was for."""
        if request is None:
            return self._advise(refuse(fault), fault)
        return self._show(request, self._advise(request.route.refuse(fault), fault))

    def record(self, request: Request | None, response: Response, address: str) -> None:
        """Note a response that is about to be sent; `address` is that of the connection."""
        address = address if request is None else request.address
        if response.refusal:
            self._on_refusal(address, response.status, response.refusal)
        if self._on_exchange is not None:
            self._on_exchange(exchange_of(request, response, address))

    def start(self) -> None:
        """Begin to warm the upstreams."""
        if self._server.upstreams:
            asyncio.get_running_loop().run_in_executor(None, self._server.warm)

    def reload(self) -> None:
        """Read the tokens again."""
        if self._guard.authenticator is not None:
            self._guard.authenticator.reload()

    async def close(self) -> None:
        """Close the server behind the doors."""
        await self._server.close()

    async def _answer_identified(self, request: Request, identifying: Awaitable[Principal | Fault]) -> Response:
        """Answer a request as soon as it is known who sent it."""
        found, request.identifying = await identifying, None
        if isinstance(found, Fault):
            return self.refuse(request, found)
        request.caller = msgspec.structs.replace(request.caller, principal=found)
        answer = self.answer(request)
        return answer if isinstance(answer, Response) else await answer

    def _advise(self, response: Response, fault: Fault) -> Response:
        """Return a refusal with the headers that say what the client can do."""
        advice = self._guard.advice(fault)
        return msgspec.structs.replace(response, headers=response.headers + advice) if advice else response

    async def _answer_in_thread(self, request: Request) -> Answer:
        async with self._threads:
            return await asyncio.to_thread(request.route.answer, request)

    async def _await(self, request: Request, answer: Awaitable[Answer]) -> Response:
        response = await answer
        while not isinstance(response, Response):
            response = await response
        if response.events is not None and self._on_exchange is not None:
            return msgspec.structs.replace(response, events=self._recorded(request, response, response.events))
        finished = self._finish(request, response)
        return finished if isinstance(finished, Response) else await finished

    async def _recorded(
        self, request: Request, response: Response, events: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream, and note the exchange before the last of them, which tells the outcome."""
        is_noted = False
        try:
            async with aclosing(events):
                async for event in events:
                    if request.outcome is not None and not is_noted:
                        is_noted = True
                        self.record(request, response, request.address)
                    yield event
        finally:
            if not is_noted and self._on_exchange is not None:
                exchange = exchange_of(request, response, request.address)
                self._on_exchange(msgspec.structs.replace(exchange, is_left=True))

    def _finish(self, request: Request, response: Response) -> Answer:
        """Return a response as its client gets it: with the headers for its page, and compressed if it is large."""
        fault = request.outcome.fault if request.outcome is not None else None
        if fault is not None and fault.name in ACCESS_FAULTS and response.status == fault.status:
            response = self._advise(response, fault)
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

    def _show(self, request: Request, response: Response) -> Response:
        """Return the response with the headers that let a page of an allowed origin read it."""
        origin = request.headers.get("origin")
        if origin is None or request.route.access.any_page or not self._guard.lets_in(origin):
            return response
        cors = (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")
        return msgspec.structs.replace(response, headers=response.headers + cors)

    def _fixed_routes(self, mcp: McpDoor) -> dict[str, Route]:
        pages = {"/": self._about, "/healthz": {"status": "ok"}}
        routes = {path: page(path, encode(content)) for path, content in pages.items()}
        routes["/readyz"] = page("/readyz", self._ready)
        routes["/openapi.json"] = page("/openapi.json", self._openapi)
        routes["/mcp"] = Route(FOR_CALLERS, mcp.answer, mcp.refuse, door="http mcp")
        routes[DISCOVERY] = Route(
            FOR_ALL, self._rest.discover, partial(refuse, headers=GET_HEADERS), answers_options=True
        )
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
            answer = self._bare_discovery if path == DISCOVERY + "/" else call
            return Route(access, answer, endpoint.refuse, door=endpoint.door.name, answers_options=True)
        if path.startswith(ENVELOPE_PATH):
            tool = self._server.pipeline.toolbox.find(path.removeprefix(ENVELOPE_PATH))
            access = FOR_PEOPLE if tool is None or tool.public else FOR_CALLERS
            return Route(access, self._envelope.answer, self._envelope.refuse, door="http envelope")
        for door in self._pages:
            if path.startswith(door.prefix):
                access = FOR_ALL if door.public else FOR_PEOPLE
                return Route(access, door.answer, refuse, calls_on_get=True, door="page")
        return unknown_path(path)

    def _bare_discovery(self, request: Request) -> Answer:
        """Answer `/api/tools/`: GET lists the tools, POST lacks a tool's name."""
        if request.method in {"GET", "OPTIONS"}:
            return self._rest.discover(request)
        return self._rest.call(self._rest.endpoint(request.path), request)

    def _openapi(self, request: Request) -> bytes:
        """Return the OpenAPI page, which says below which path the application is served; the last one is kept."""
        root, kept = self._openapi_page
        at = self._about.get("url") or request.root
        if kept is None or root != at:
            secured = self._guard.authenticator is not None
            kept = encode(describe(self._server.pipeline, self._about, self._rest.legacy, secured=secured, root=at))
            self._openapi_page = at, kept
        return kept

    def _ready(self, _: Request) -> bytes:
        """Return the page of `/readyz`, after compiling every contract; raise Fault where the server is stopping."""
        if not self.is_ready:
            raise Fault(Code.INTERNAL_ERROR, "The server is stopping: send requests elsewhere", status=503)
        for tool in self._server.pipeline.toolbox:
            self._server.pipeline.registry.load_tool_io(tool.slug)
        return encode({"status": "ready", "tools": [tool.name for tool in self._server.pipeline.toolbox]})
