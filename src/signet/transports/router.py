"""The router: the route of each path.

/mcp                        MCP            /api/tools, /api/tools/{name}   REST
/mcp/tool/{slug}            envelope       /mcp/v1/encode-plantuml         REST, the legacy shape
/openapi.json, /healthz, /readyz, /        pages for people and for monitoring
/render/{format}/{encoded}                 pages that toolsets offer: one call of a tool each
/-/…                                       the console's files and JSON pages, where one is served
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.pipeline import in_thread
from signet.kernel.server import Server
from signet.kernel.tools import Tool
from signet.kernel.toolset import PageSpec
from signet.kernel.wire import encode

from .envelope import PATH as ENVELOPE_PATH
from .envelope import EnvelopeDoor
from .http import McpDoor, begins_call
from .messages import Answer, Request, Response
from .openapi import describe
from .pages import PageDoor
from .path_names import escaped, unescaped
from .rest import DISCOVERY, GET_HEADERS, RestDoor, refuse
from .routes import FOR_ALL, FOR_CALLERS, FOR_PEOPLE, Route, page, unknown_path

if TYPE_CHECKING:
    from .sessions import SessionTable

__all__ = ["ConsolePages", "Router"]

CONSOLE: Final = "/-/"


class ConsolePages(Protocol):
    """The console, as the router needs it."""

    home: Route
    """The page itself."""

    def find(self, path: str) -> Route:
        """Return the route of a path below `/-/`."""

    def describe(self) -> dict[str, Any]:
        """Return the tag, the paths and the shapes that the console adds to the OpenAPI page."""


class Router:
    """Finds the routes of one server's doors and pages."""

    def __init__(
        self,
        server: Server,
        about: dict[str, Any],
        legacy: Mapping[str, str],
        pages: Sequence[PageSpec],
        *,
        secured: bool,
        console: ConsolePages | None = None,
        sessions: SessionTable | None = None,
    ) -> None:
        self._console = console
        self._pipeline = server.pipeline
        self._about = about
        self._secured = secured
        self._rest = RestDoor(server.pipeline, legacy, relays=server.relay is not None)
        self._envelope = EnvelopeDoor(server)
        self._pages = [PageDoor(server.pipeline, spec, secured=secured) for spec in pages]
        self._openapi_page: tuple[str, object, bytes] | None = None
        self._compiled: object = None
        """The tools whose contracts have been compiled for `/readyz`."""
        self._describing = asyncio.Lock()
        self._is_relay = server.relay is not None
        content = self._about_now if self._is_relay else encode(about)
        self._home = page("/", content, () if console is None else ((b"vary", b"Accept"),))
        self.is_ready = True
        """Whether load balancers are told to send requests here."""
        has_sessions = sessions is not None
        self.routes = self._fixed_routes(McpDoor(server, _sessions_of(server, sessions)), has_sessions=has_sessions)
        """The routes of the paths that are known beforehand."""

    def _fixed_routes(self, mcp: McpDoor, *, has_sessions: bool) -> dict[str, Route]:
        routes = {"/healthz": page("/healthz", encode({"status": "ok"}))}
        if self._console is None:
            routes["/"] = self._home
        ready = page("/readyz", self._ready)
        routes["/readyz"] = msgspec.structs.replace(ready, answer=partial(self._answer_when_compiled, ready))
        routes["/openapi.json"] = page("/openapi.json", self._openapi)
        routes["/mcp"] = Route(
            FOR_CALLERS,
            mcp.answer,
            mcp.refuse,
            begins_call=begins_call,
            door="http mcp",
            answers_options=has_sessions,
        )
        routes[DISCOVERY] = Route(
            FOR_ALL, self._rest.discover, partial(refuse, headers=GET_HEADERS), answers_options=True
        )
        toolbox = self._pipeline.toolbox  # rule: 4.versioning.reserved
        paths = [f"{DISCOVERY}/{escaped(tool.name)}" for tool in toolbox]
        paths += [f"{ENVELOPE_PATH}{escaped(tool.slug)}" for tool in toolbox]
        legacy = [path for path, name in self._rest.legacy.items() if toolbox.find(name) is not None]
        # The paths that would name a tool have routes of their own: without their slash they are something else.
        return routes | {path: self.find(path) for path in [DISCOVERY + "/", ENVELOPE_PATH, *paths, *legacy]}

    def find_for(self, request: Request) -> Route:
        """Return the route of a request: at `/`, whoever accepts HTML gets the console."""
        if self._console is not None and request.path == "/" and _accepts_html(request):
            return self._console.home
        return self.find(request.path)

    def find(self, path: str) -> Route:
        """Return the route of a path, found by the beginning of the path."""
        if path.startswith(DISCOVERY + "/") or path in self._rest.legacy:
            endpoint = self._rest.endpoint(path)
            access = FOR_ALL if endpoint.public and not self._may_be_relayed(endpoint.tool) else FOR_CALLERS
            call = partial(self._rest.call, endpoint)
            answer = self._bare_discovery if path == DISCOVERY + "/" else call
            return Route(access, answer, endpoint.refuse, door=endpoint.door.name, answers_options=True)
        if path.startswith(ENVELOPE_PATH):
            tool = self._pipeline.toolbox.find(unescaped(path.removeprefix(ENVELOPE_PATH)))
            is_open = self._pipeline.toolbox.is_public if tool is None else tool.public
            access = FOR_PEOPLE if is_open and not self._may_be_relayed(tool) else FOR_CALLERS
            return Route(access, self._envelope.answer, self._envelope.refuse, door="http envelope")
        if path == "/":
            return self._home
        if self._console is not None and path.startswith(CONSOLE):
            return self._console.find(path)
        for door in self._pages:
            if path.startswith(door.prefix):
                access = FOR_ALL if door.public else FOR_PEOPLE
                return Route(access, door.answer, refuse, calls_on_get=True, door="page")
        return unknown_path(path)

    def _bare_discovery(self, request: Request) -> Answer:
        """Answer `/api/tools/` as `/api/tools`, except that a POST lacks a tool's name."""
        if request.method == "POST":
            return self._rest.call(self._rest.endpoint(request.path), request)
        return self._rest.discover(request)

    def _openapi(self, request: Request) -> bytes | Awaitable[bytes]:
        """Return the OpenAPI page, which says below which path the application is served; the last one is kept.

        The tools of wrapped servers may change, and schemas of others may be large: they are described in a thread.
        """
        at = self._about.get("url") or request.root
        kept = self._kept_openapi(at)
        if kept is not None:
            return kept
        is_foreign = self._is_relay or any(tool.is_foreign for tool in self._pipeline.toolbox)
        return self._openapi_later(at) if is_foreign else self._describe(at)

    def _kept_openapi(self, at: str) -> bytes | None:
        kept, groups = self._openapi_page, self._pipeline.toolbox.groups
        return kept[2] if kept is not None and kept[0] == at and kept[1] is groups else None

    async def _openapi_later(self, at: str) -> bytes:
        async with self._describing:
            kept = self._kept_openapi(at)
            if kept is not None:
                return kept
            try:
                return await asyncio.to_thread(self._describe, at)
            except KeyError:
                # The tools of a server changed meanwhile.
                return await asyncio.to_thread(self._describe, at)

    def _describe(self, at: str) -> bytes:
        groups = self._pipeline.toolbox.groups
        described = describe(self._pipeline, self._about, self._rest.legacy, secured=self._secured, root=at)
        if self._console is not None:
            more = self._console.describe()
            described["tags"].append(more["tag"])
            described["paths"] |= more["paths"]
            described["components"]["schemas"] |= more["schemas"]
        text = encode(described)
        self._openapi_page = at, groups, text
        return text

    def _may_be_relayed(self, tool: Tool | None) -> bool:
        """Return whether a tool that is not known may be one of a wrapped server, which no other page may call."""
        return tool is None and self._is_relay

    def _about_now(self, _: Request) -> bytes:
        return encode({**self._about, "tools": [tool.name for tool in self._pipeline.toolbox]})

    def _answer_when_compiled(self, ready: Route, request: Request) -> Answer:
        """Answer `/readyz` once every contract has been compiled, which happens in a thread."""
        if self._compiled is self._pipeline.toolbox.groups or not self.is_ready:
            return ready.answer(request)
        return self._compile_and_answer(ready, request)

    async def _compile_and_answer(self, ready: Route, request: Request) -> Response:
        groups = self._pipeline.toolbox.groups
        await in_thread(self._compile)
        self._compiled = groups
        answer = ready.answer(request)
        return answer if isinstance(answer, Response) else await answer

    def _compile(self) -> None:
        for tool in self._pipeline.toolbox:
            self._pipeline.registry.load_tool_io(tool.slug)

    def _ready(self, _: Request) -> bytes:
        """Return the page of `/readyz`; raise Fault where the server is stopping."""
        if not self.is_ready:
            raise Fault(Code.INTERNAL_ERROR, "The server is stopping: send requests elsewhere", status=503)
        if self._secured:
            # The page needs no token, and names are for callers that have one.
            return encode({"status": "ready"})
        return encode({"status": "ready", "tools": [tool.name for tool in self._pipeline.toolbox]})


def _accepts_html(request: Request) -> bool:
    """Return whether a request names HTML among what it accepts, as browsers do and programs do not."""
    return request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("accept", "").lower()


def _sessions_of(server: Server, sessions: SessionTable | None) -> Callable[[Request], Answer | None] | None:
    """Return what answers the requests of sessions; None without a table of them."""
    if sessions is None:
        return None
    from .session_door import SessionDoor

    return SessionDoor(server, sessions).answer
