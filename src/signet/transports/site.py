"""The web application: one path, one door, with the guard before each.

/mcp                        MCP            /api/tools, /api/tools/{name}   REST
/mcp/tool/{slug}            envelope       /mcp/v1/encode-plantuml         REST, the legacy shape
/openapi.json, /healthz, /readyz, /        for people and their machines
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.kernel.wire import encode

from .asgi import JSON, Answer, Fields, Gone, Receive, Request, Scope, Send
from .envelope import PATH as ENVELOPE_PATH
from .envelope import EnvelopeDoor
from .guard import Guard
from .http import McpDoor
from .openapi import describe
from .rest import DISCOVERY, LEGACY, RestDoor

__all__ = ["Site"]

OPEN_PATHS: Final = ("/healthz", "/readyz")
"""What a load balancer asks, without a token."""


class Site:
    """An ASGI application over one server."""

    def __init__(self, server: Server, guard: Guard, about: dict[str, Any]) -> None:
        self._guard = guard
        self._about = about
        self._server = server
        self._mcp = McpDoor(server)
        self._envelope = EnvelopeDoor(server)
        self._rest = RestDoor(server.pipeline)
        self._pages: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive)
            try:
                answer = await self._answer(request, send)
                if answer is not None:
                    await answer.send(send, self._cors(request), head=request.method == "HEAD")
            except Gone:
                return

    async def _answer(self, request: Request, send: Send) -> Answer | None:
        fault = self._refusal(request)
        if fault is not None:
            return self._refuse(request.path, fault)
        try:
            return await self._route(request, send)
        except Fault as raised:
            return self._refuse(request.path, raised)

    async def _route(self, request: Request, send: Send) -> Answer | None:
        path = request.path
        if path in LEGACY or path.startswith(DISCOVERY + "/"):
            if path == DISCOVERY + "/" and request.method in {"GET", "OPTIONS"}:
                return await self._rest.discover(request)
            return await self._rest.call(request)
        if path == DISCOVERY:
            return await self._rest.discover(request)
        if request.method == "OPTIONS":
            return Answer(204, headers=_preflight(request))
        if path == "/mcp":
            return await self._mcp.answer(request, send)
        if path.startswith(ENVELOPE_PATH):
            return await self._envelope.answer(request)
        return self._page(request)

    def _refusal(self, request: Request) -> Fault | None:
        """Give the guard's fault, if it has one."""
        headers, path = request.headers, request.path
        fault = self._guard.host(headers)
        if fault is None and not self._is_public(path):
            fault = self._guard.origin(headers) or self._content_fault(request)
        if fault is None and path not in OPEN_PATHS and request.method != "OPTIONS":
            fault = self._guard.bearer(headers)
        return fault

    def _is_public(self, path: str) -> bool:
        """Whether any page may use a path: discovery, and tools marked public (an unknown one hides nothing)."""
        if path not in LEGACY and not path.startswith(DISCOVERY):
            return False
        tool = self._rest.tool_at(path)
        return tool is None or tool.public

    def _content_fault(self, request: Request) -> Fault | None:
        """Hold a tool that is not public to a content type that no foreign page can send unasked."""
        tool = self._rest.tool_at(request.path)
        if tool is None or tool.public or request.method != "POST":
            return None
        if request.headers.get("content-type", "").lower().startswith("application/json"):
            return None
        message = "The content type must be application/json"
        return Fault(Code.INVALID_INPUT, message, name="UNSUPPORTED_MEDIA_TYPE", status=415)

    def _refuse(self, path: str, fault: Fault) -> Answer:
        if path == "/mcp":
            answer = self._mcp.refuse(fault)
        elif path.startswith(ENVELOPE_PATH):
            answer = self._envelope.refuse(fault)
        else:
            answer = self._rest.refuse(path, fault)
        if fault.code is Code.UNAUTHORIZED:
            answer = msgspec.structs.replace(answer, headers=(*answer.headers, (b"www-authenticate", b"Bearer")))
        return answer

    def _cors(self, request: Request) -> Fields:
        """Let the pages that the guard lets in read what they asked for."""
        origin = request.headers.get("origin")
        if origin is None or self._is_public(request.path) or self._guard.origin(request.headers) is not None:
            return ()
        return (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")

    def _page(self, request: Request) -> Answer:
        pages: dict[str, Callable[[], object]] = {
            "/": lambda: self._about,
            "/healthz": lambda: {"status": "ok"},
            "/readyz": self._ready,
            "/openapi.json": self._openapi,
        }
        if request.path not in pages:
            fault = Fault(Code.NOT_FOUND, f"Nothing is served at '{request.path[:200]}'; GET / names what is")
            return self._rest.refuse("", fault)
        if request.method not in {"GET", "HEAD"}:
            fault = Fault(Code.INVALID_INPUT, "Only GET method is allowed", name="METHOD_NOT_ALLOWED", status=405)
            return self._rest.refuse("", fault, (JSON, (b"allow", b"GET, HEAD, OPTIONS")))
        if request.path not in self._pages:
            self._pages[request.path] = encode(pages[request.path]())
        return Answer(200, self._pages[request.path])

    def _openapi(self) -> object:
        return describe(self._server.pipeline, self._about, secured=self._guard.token is not None)

    def _ready(self) -> object:
        """Say that every contract is usable; it is asked once, before the first answer counts."""
        for tool in self._server.pipeline.toolbox:
            self._server.pipeline.registry.load_tool_io(tool.slug)
        return {"status": "ready", "tools": [tool.name for tool in self._server.pipeline.toolbox]}


def _preflight(request: Request) -> Fields:
    asked = request.headers.get("access-control-request-headers", "Content-Type, Authorization")
    return (
        (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
        (b"access-control-allow-headers", asked.encode("latin-1")),
    )


async def _live(receive: Receive, send: Send) -> None:
    """Keep the server's lifespan: there is nothing to open and nothing to close."""
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return
