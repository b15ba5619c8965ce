"""Spec 4's REST surface, for every enabled tool.

Checks run in this order, and the first that fails answers: method, JSON, name, tool, contract.
"""

from __future__ import annotations

from typing import Any, Final

from signet.kernel.errors import Code, Fault, not_unicode, unknown_tool
from signet.kernel.outcome import Call, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.server import IDLE
from signet.kernel.tools import Tool
from signet.kernel.wire import NotUnicode, Refused, decode, encode

from .asgi import JSON, Answer, Fields, Request, unless_gone

__all__ = ["DISCOVERY", "LEGACY", "RestDoor", "cors"]

DISCOVERY: Final = "/api/tools"
LEGACY: Final = {"/mcp/v1/encode-plantuml": "encodePlantUML", "/mcp/encode-plantuml": "encodePlantUML"}
"""The flat endpoints that came before, and the tool behind each."""


def cors(methods: str) -> tuple[tuple[bytes, bytes], ...]:
    """Give the headers that let any page use an endpoint (spec 4)."""
    return (
        JSON,
        (b"access-control-allow-origin", b"*"),
        (b"access-control-allow-headers", b"Content-Type"),
        (b"access-control-allow-methods", methods.encode()),
    )


GET_HEADERS: Final = cors("GET, OPTIONS")
POST_HEADERS: Final = cors("POST, OPTIONS")


class RestDoor:
    """Answers `/api/tools` and the legacy paths."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._discovery: bytes | None = None

    def tool_at(self, path: str) -> Tool | None:
        """Give the tool that a path names, if there is one."""
        return self._pipeline.toolbox.find(_name_in(path))

    async def discover(self, request: Request) -> Answer:
        """List the tools: `GET /api/tools`."""
        if request.method == "OPTIONS":
            return Answer(200, headers=GET_HEADERS)
        if request.method != "GET":
            return _shown(_wrong_method("GET"), (*GET_HEADERS, (b"allow", b"GET, OPTIONS")))
        if self._discovery is None:
            self._discovery = encode({"tools": [self._listed(tool) for tool in self._pipeline.toolbox]})
        return Answer(200, self._discovery, GET_HEADERS)

    async def call(self, request: Request) -> Answer:
        """Run a tool: `POST /api/tools/{name}`, or a legacy path."""
        tool = self.tool_at(request.path)
        headers = POST_HEADERS if tool is None or tool.public else (JSON,)
        if request.method == "OPTIONS":
            return Answer(200, headers=headers)
        if request.method != "POST":
            return self.refuse(request.path, _wrong_method("POST"), (*headers, (b"allow", b"POST, OPTIONS")))
        try:
            arguments = _arguments(await request.body(), legacy=request.path in LEGACY)
            call = Call(_called(request.path, tool), arguments, IDLE)
        except Fault as fault:
            return self.refuse(request.path, fault, headers)
        outcome = self._pipeline.run(call)
        if not isinstance(outcome, Outcome):
            outcome = await unless_gone(request, outcome)
        shape = _flat if request.path in LEGACY else _shown
        return shape(outcome.fault or outcome.body, headers)

    def refuse(self, path: str, fault: Fault, headers: Fields = (JSON,)) -> Answer:
        """Write a fault of the door itself, with the face that the tool gives it."""
        tool = self.tool_at(path)
        if tool is not None:
            fault = tool.on_fault(fault)
        return (_flat if path in LEGACY else _shown)(fault, headers)

    def _listed(self, tool: Tool) -> dict[str, Any]:
        schema = self._pipeline.registry.load_bundle(tool.slug).input
        return {"id": tool.name, "name": tool.name, "description": tool.description, "inputSchema": schema}


def _name_in(path: str) -> str:
    """Give the tool's name: of a legacy path, its tool; else the last segment that is not empty, as it was sent."""
    return LEGACY.get(path) or path.rstrip("/").rpartition("/")[2]


def _called(path: str, tool: Tool | None) -> str:
    """Give the name of the tool to call, once the body is known to be JSON."""
    name = _name_in(path)
    if name == "tools":
        message = "Tool name is required in the path"
        raise Fault(Code.INVALID_INPUT, message, name="TOOL_NAME_REQUIRED")
    if tool is None:
        raise unknown_tool(name)
    return name


def _arguments(body: bytes, *, legacy: bool) -> Any:
    """Read a body: nothing counts as `{}`, except on the legacy paths, where it is as bad as no JSON."""
    try:
        value = decode(body) if body or legacy else {}
    except NotUnicode:
        raise not_unicode() from None
    except Refused:
        if not legacy:
            # Spec 4 has no code for it but that of the unexpected.
            raise Fault(Code.INTERNAL_ERROR, "Internal server error") from None
        value = None
    if legacy and value is None:
        raise not_unicode()
    return value


def _wrong_method(right: str) -> Fault:
    message = f"Only {right} method is allowed"
    return Fault(Code.INVALID_INPUT, message, name="METHOD_NOT_ALLOWED", status=405)


def _shown(outcome: Fault | bytes, headers: Fields) -> Answer:
    """Write a result or a fault in spec 4's shape."""
    if isinstance(outcome, bytes):
        return Answer(200, b'{"success":true,"result":' + outcome + b"}", headers)
    error = {"code": outcome.name, "message": outcome.message}
    return Answer(outcome.status, encode({"success": False, "error": error}), headers)


def _flat(outcome: Fault | bytes, headers: Fields) -> Answer:
    """Write a result or a fault in the legacy shape."""
    if isinstance(outcome, bytes):
        return Answer(200, b'{"status":"success",' + outcome[1:], headers)
    flat = {"status": "error", "code": outcome.name, "message": outcome.message}
    return Answer(outcome.status, encode(flat), headers)
