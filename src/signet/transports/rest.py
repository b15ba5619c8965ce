"""Spec 4's REST surface, for every enabled tool.

Checks run in this order, and the first that fails answers: method, JSON, name, tool, contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault, not_unicode
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool
from signet.kernel.wire import NotUnicodeError, ProtocolError, decode, encode

from .asgi import JSON, Fields, Request, Response, Send, cancel_on_disconnect, preflight

__all__ = ["DISCOVERY", "GET_HEADERS", "Endpoint", "RestDoor", "to_response", "wrong_method"]

DISCOVERY: Final = "/api/tools"


def _cors(methods: str) -> tuple[tuple[bytes, bytes], ...]:
    """Give the headers that let any page use an endpoint (spec 4)."""
    return (
        JSON,
        (b"access-control-allow-origin", b"*"),
        (b"access-control-allow-headers", b"Content-Type"),
        (b"access-control-allow-methods", methods.encode()),
    )


GET_HEADERS: Final = _cors("GET, OPTIONS")
POST_HEADERS: Final = _cors("POST, OPTIONS")


class RestDoor:
    """Answers `/api/tools` and the legacy paths."""

    def __init__(self, pipeline: Pipeline, legacy: Mapping[str, str]) -> None:
        self._pipeline = pipeline
        self.legacy = legacy
        """The flat paths that came before `/api/tools`, and the tool behind each."""
        self._discovery: bytes | None = None

    async def discover(self, request: Request, _: Send) -> Response:
        """List the tools: `GET /api/tools`."""
        if request.method == "OPTIONS":
            return Response(200, headers=GET_HEADERS)
        if request.method != "GET":
            return to_response(wrong_method("GET"), (*GET_HEADERS, (b"allow", b"GET, OPTIONS")))
        if self._discovery is None:
            self._discovery = encode({"tools": [self._listed(tool) for tool in self._pipeline.toolbox]})
        return Response(200, self._discovery, GET_HEADERS)

    async def call(self, endpoint: Endpoint, request: Request, _: Send) -> Response:
        """Run a tool: `POST /api/tools/{name}`, or a legacy path."""
        if request.method == "OPTIONS":
            allowed = () if endpoint.public else preflight(request, b"POST, OPTIONS")
            return Response(200, headers=endpoint.headers + allowed)
        if request.method != "POST":
            return endpoint.refuse(wrong_method("POST"), ((b"allow", b"POST, OPTIONS"),))
        try:
            arguments = endpoint.arguments(await request.body())
            call = Call(endpoint.called(), arguments, QUIET_CONTEXT, endpoint.door)
        except Fault as fault:
            return endpoint.refuse(fault)
        outcome = self._pipeline.run(call)
        if not isinstance(outcome, Outcome):
            outcome = await cancel_on_disconnect(request, outcome)
        return endpoint.show(outcome.fault or outcome.body)

    def endpoint(self, path: str) -> Endpoint:
        """Give what a path stands for: of a legacy one, its tool; else the last segment that is not empty, as sent."""
        name = self.legacy.get(path) or path.rstrip("/").rpartition("/")[2]
        door = Door("http", path, "rest, legacy" if path in self.legacy else "rest", by_name=True)
        return Endpoint(name, self._pipeline.toolbox.named(name), door, legacy=path in self.legacy)

    def _listed(self, tool: Tool) -> dict[str, Any]:
        schema = self._pipeline.registry.load_bundle(tool.slug).input
        return {"id": tool.name, "name": tool.name, "description": tool.description, "inputSchema": schema}


class Endpoint(msgspec.Struct, frozen=True):
    """One path by which a tool can be called, and the shape of its answers."""

    name: str
    tool: Tool | None
    door: Door
    legacy: bool = False

    @property
    def public(self) -> bool:
        """Whether any page may use it; of a tool that is not there, nothing can be learnt."""
        return self.tool is None or self.tool.public

    @property
    def headers(self) -> Fields:
        """The headers of its answers."""
        return POST_HEADERS if self.public else (JSON,)

    def called(self) -> str:
        """Give the name of the tool to call.

        Raises:
            Fault: there is none in the path.
        """
        if self.name == "tools":
            raise Fault(Code.INVALID_INPUT, "Tool name is required in the path", name="TOOL_NAME_REQUIRED")
        return self.name

    def arguments(self, body: bytes) -> Any:
        """Read a body: nothing counts as `{}`, except on the legacy paths, where it is as bad as no JSON.

        Raises:
            Fault: it is not JSON, or for a tool that is there not Unicode; of one that is not, that is told instead.
        """
        try:
            value = decode(body) if body or self.legacy else {}
        except NotUnicodeError:
            if self.tool is not None:
                raise not_unicode() from None
            value = {}
        except ProtocolError:
            if not self.legacy:
                # Spec 4 has no code for it but that of the unexpected.
                raise Fault(Code.INTERNAL_ERROR, "Internal server error") from None
            value = None
        if self.legacy and value is None:
            raise not_unicode()
        return value

    def show(self, outcome: Fault | bytes, more: Fields = ()) -> Response:
        """Write what became of a call; its fault has the tool's face already."""
        return (_flat if self.legacy else to_response)(outcome, self.headers + more)

    def refuse(self, fault: Fault, more: Fields = ()) -> Response:
        """Write a fault of the door itself: as it is, unless the tool's spec has a code of its own for it."""
        if self.tool is not None:
            faced = self.tool.adapt_fault(fault)
            if faced.name != fault.name and (faced.name, faced.status) in self.tool.rest_errors:
                fault = faced
        return self.show(fault, more)


def wrong_method(right: str) -> Fault:
    """Say which method a path takes."""
    message = f"Only {right} method is allowed"
    return Fault(Code.INVALID_INPUT, message, name="METHOD_NOT_ALLOWED", status=405)


def to_response(outcome: Fault | bytes, headers: Fields = (JSON,)) -> Response:
    """Write a result or a fault in spec 4's shape."""
    if isinstance(outcome, bytes):
        return Response(200, b'{"success":true,"result":' + outcome + b"}", headers)
    error = {"code": outcome.name, "message": outcome.message}
    return Response(outcome.status, encode({"success": False, "error": error}), headers)


def _flat(outcome: Fault | bytes, headers: Fields) -> Response:
    """Write a result or a fault in the legacy shape."""
    if isinstance(outcome, bytes):
        return Response(200, b'{"status":"success",' + outcome[1:], headers)
    flat = {"status": "error", "code": outcome.name, "message": outcome.message}
    return Response(outcome.status, encode(flat), headers)
