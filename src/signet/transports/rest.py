"""The REST door of spec 4, for every enabled tool.

A request is checked in this order, and the first check that fails decides the response: method, JSON, name, tool,
contract.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import msgspec

from signet.kernel.errors import INPUT_REQUIRED, RATE_LIMITED, Code, Fault, not_unicode
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import Pipeline, in_thread
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Context, Tool
from signet.kernel.wire import (
    LARGE_RESULT_BYTES,
    NotUnicodeError,
    OutOfRangeError,
    ProtocolError,
    decode,
    decode_members,
    encode,
)

from .messages import JSON, KEY_HEADER, Answer, Fields, Request, Response, idempotency_key, preflight
from .path_names import unescaped

__all__ = ["DISCOVERY", "GET_HEADERS", "RestDoor", "RestEndpoint", "refuse", "to_response", "wrong_method"]

DISCOVERY: Final = "/api/tools"  # rule: 4.base-url


def _cors(methods: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that let any page use an endpoint (spec 4)."""
    return (
        JSON,
        (b"access-control-allow-origin", b"*"),  # rule: 4.cors.origin
        (b"access-control-allow-headers", b"Content-Type"),  # rule: 4.cors.headers
        (b"access-control-allow-methods", methods.encode()),
    )


GET_HEADERS: Final = _cors("GET, OPTIONS")  # rule: 4.discovery.headers
POST_HEADERS: Final = _cors("POST, OPTIONS")  # rule: 4.invocation.headers


class RestDoor:
    """Answers `/api/tools` and the legacy paths."""

    def __init__(self, pipeline: Pipeline, legacy: Mapping[str, str], *, relays: bool = False) -> None:
        """Serve the tools of a pipeline; where it `relays`, those of wrapped servers may not be known yet."""
        self._pipeline = pipeline
        self._relays = relays
        self.legacy = legacy
        """The paths of earlier versions, and the name of the tool behind each."""
        self._discovery: tuple[object, bytes] | None = None
        """The tools that were listed, and the list: those of wrapped servers may change."""

    def discover(self, request: Request) -> Response:
        """Return the list of tools: `GET /api/tools`."""
        if request.method == "OPTIONS":
            return Response(200, headers=GET_HEADERS)  # rule: 4.cors.preflight-discovery
        if request.method != "GET":  # rule: 4.discovery.method-not-allowed
            return refuse(wrong_method("GET"), (*GET_HEADERS, (b"allow", b"GET, OPTIONS")))
        groups = self._pipeline.toolbox.groups  # rule: 4.invariants.discovery-succeeds
        if self._discovery is None or self._discovery[0] is not groups:
            # rule: 4.models.tools-response
            listed = encode({"tools": [self._list_entry(tool) for tool in self._pipeline.toolbox]})
            self._discovery = groups, listed
        return Response(200, self._discovery[1], GET_HEADERS, is_page=True)  # rule: 4.discovery.ok

    def call(self, endpoint: RestEndpoint, request: Request) -> Answer:
        """Run a tool and return its response: `POST /api/tools/{name}`, or a legacy path."""
        if request.method == "OPTIONS":
            allowed = () if endpoint.public else preflight(request, b"POST, OPTIONS")
            return Response(200, headers=endpoint.headers + allowed)  # rule: 4.cors.preflight-body
        if request.method != "POST":  # rule: 4.invocation.method-not-allowed
            return endpoint.refuse(wrong_method("POST"), ((b"allow", b"POST, OPTIONS"),))
        try:
            arguments, caller, name = endpoint.arguments(request.body), request.caller, endpoint.called()
        except Fault as fault:
            return endpoint.refuse(fault)
        try:
            key = idempotency_key(request) if KEY_HEADER in request.headers else ""
        except Fault as fault:
            return endpoint.refuse(fault, is_own=True)
        is_own = endpoint.tool is not None and not endpoint.tool.relays
        context = QUIET_CONTEXT if is_own else _context_with(request.body)
        # rule: 4.invariants.stateless
        call = Call(name, arguments, context, endpoint.door, caller, key, caller.trace, len(request.body))
        outcome = self._pipeline.run(call)
        if isinstance(outcome, Outcome):
            return endpoint.show(request, outcome)
        request.call = call
        return _await_response(endpoint, request, outcome)

    def endpoint(self, path: str) -> RestEndpoint:
        """Return the endpoint of a path: its tool's name is the last segment that is not empty, or a legacy tool's."""
        part = self.legacy.get(path) or path.rstrip("/").rpartition("/")[2]  # rule: 4.context.discover-then-invoke
        name = unescaped(part)
        tool = self._pipeline.toolbox.named(name)
        # rule: 4.paths.raw-name
        door = Door("http", path, "rest, legacy" if path in self.legacy else "rest", by_name=True)
        # A name that no tool has is echoed as it was sent.
        is_open = tool is not None or path == f"{DISCOVERY}/" or self._may_be_open
        return RestEndpoint(part if tool is None else name, tool, door, legacy=path in self.legacy, is_open=is_open)

    @property
    def _may_be_open(self) -> bool:
        """Whether an unknown tool may be distinguished from the others: none of them is private."""
        return self._pipeline.toolbox.is_public and not self._relays

    def _list_entry(self, tool: Tool) -> dict[str, Any]:
        schema = self._pipeline.registry.load_bundle(tool.slug).input
        # rule: 4.models.tool
        return {"id": tool.name, "name": tool.name, "description": tool.description, "inputSchema": schema}


class RestEndpoint(msgspec.Struct, frozen=True):
    """One path by which a tool can be called, and the shape of its responses."""

    name: str
    tool: Tool | None
    door: Door
    legacy: bool = False
    is_open: bool = True
    """Whether any page may ask for an unknown tool: only where no tool is private, whose name could be found so."""

    @property
    def public(self) -> bool:
        """Return whether any page may use the endpoint."""
        return self.is_open if self.tool is None else self.tool.public

    @property
    def headers(self) -> Fields:
        """Return the headers of every response."""
        return POST_HEADERS if self.public else (JSON,)

    def called(self) -> str:
        """Return the name of the tool to call.

        Raises:
            Fault: the path has no name.
        """
        if self.name == "tools":  # rule: 4.paths.no-name
            # rule: 4.errors.tool-name-required
            raise Fault(Code.INVALID_INPUT, "Tool name is required in the path", name="TOOL_NAME_REQUIRED")
        return self.name

    def arguments(self, body: bytes) -> Any:
        """Return the arguments in a body; an empty body counts as `{}`, except on the legacy paths.

        Raises:
            Fault: the body is not JSON, or not Unicode. An unknown tool is reported before a body that is not Unicode.
        """
        try:
            value = decode(body) if body or self.legacy else {}  # rule: 4.bodies.empty
        except ProtocolError:
            value = self._readable_members(body)
        if self.legacy and value is None:
            raise not_unicode()  # rule: 4.bodies.non-object
        return value

    def _readable_members(self, body: bytes) -> Any:
        """Return the arguments in a body that cannot be decoded as a whole; other members may hold anything.

        Raises:
            Fault: the body is not JSON, or an argument cannot be decoded; the tool's other rules come first.
        """
        names = () if self.tool is None else getattr(self.tool.args, "__struct_encode_fields__", ())
        try:
            return decode_members(body, names)
        except NotUnicodeError as error:
            if self.tool is None:  # rule: 4.order.tool-before-code
                return {}
            raise self.tool.explained(error.value) or not_unicode() from None
        except OutOfRangeError as error:
            # It is JSON, and of no type that an argument may have.
            raise Fault(Code.INVALID_INPUT, f"Invalid arguments: {_reason(error)}") from None
        except ProtocolError as error:
            if not self.legacy:  # rule: 4.order.body-before-name
                raise self._not_json(error) from None
            return None

    def _not_json(self, error: ProtocolError) -> Fault:
        if self.tool is None:
            # Spec 4 has no code for a body that is not JSON, other than that of an unexpected error.
            return Fault(Code.INTERNAL_ERROR, "Internal server error")
        return Fault(Code.INVALID_INPUT, f"The body is not JSON: {_reason(error)}", name="NOT_JSON")

    def show(self, request: Request, outcome: Outcome) -> Response:
        """Return the response for the outcome of a request."""
        request.outcome = outcome
        return self._to_response(outcome.fault or outcome.body, self.headers)  # rule: 4.security.xss

    def refuse(self, fault: Fault, more: Fields = (), *, is_own: bool = False) -> Response:
        """Return the response for a fault of the door itself, adapted if the tool's spec has its own code for it.

        One that `is_own` has nothing to do with the arguments, and stays what it is. Figures and logs have the door's
        own name: a body that is not JSON is a mistake of the client, whatever status a spec has for it.
        """
        reason = fault.name
        if self.tool is not None and not is_own:
            adapted = self.tool.adapt_fault(fault)
            if adapted.name != fault.name and (adapted.name, adapted.status) in self.tool.rest_errors:
                fault = adapted
        return msgspec.structs.replace(self._to_response(fault, self.headers + more), refusal=reason)

    @property
    def _to_response(self) -> Callable[[Fault | bytes, Fields], Response]:
        return _to_legacy_response if self.legacy else to_response


def _reason(error: ProtocolError) -> str:
    return str(error).removeprefix("Parse error: ").removeprefix("JSON is malformed: ")


def _context_with(body: bytes) -> Context:
    """Return the context of a call of a wrapped server, which gets the arguments as they were written."""
    return msgspec.structs.replace(QUIET_CONTEXT, written=msgspec.Raw(body or b"{}"))


def wrong_method(allowed: str) -> Fault:
    """Return the fault for a method that a path does not allow."""
    # rule: 4.errors.method-not-allowed
    return Fault(Code.INVALID_INPUT, f"Only {allowed} method is allowed", name="METHOD_NOT_ALLOWED", status=405)


def refuse(fault: Fault, headers: Fields = (JSON,)) -> Response:
    """Return the response for a request that is no call."""
    return msgspec.structs.replace(to_response(fault, headers), refusal=fault.name)


async def _await_response(endpoint: RestEndpoint, request: Request, pending: Coroutine[Any, Any, Outcome]) -> Response:
    outcome = await pending
    is_large = len(outcome.body) > LARGE_RESULT_BYTES
    return await in_thread(endpoint.show, request, outcome) if is_large else endpoint.show(request, outcome)


def to_response(outcome: Fault | bytes, headers: Fields = (JSON,)) -> Response:
    """Return a result or a fault in the shape of spec 4."""
    if not isinstance(outcome, Fault):
        return Response(200, b'{"success":true,"result":' + outcome + b"}", headers)  # rule: 4.models.success
    error = {"code": outcome.name, "message": outcome.message, **_more(outcome)}  # rule: 4.invariants.error-codes
    return Response(outcome.status, encode({"success": False, "error": error}), headers)  # rule: 4.models.error


def _to_legacy_response(outcome: Fault | bytes, headers: Fields) -> Response:
    """Return a result or a fault in the flat shape of the legacy paths."""
    if not isinstance(outcome, Fault):
        return Response(200, b'{"status":"success",' + outcome[1:], headers)  # rule: 4.legacy.success
    # rule: 4.legacy.errors
    error = {"status": "error", "code": outcome.name, "message": outcome.message, **_more(outcome)}
    return Response(outcome.status, encode(error), headers)


def _more(fault: Fault) -> dict[str, Any]:
    """Return what the error of some faults has beside its code and message."""
    if fault.name == INPUT_REQUIRED:
        return {**fault.data, **(fault.details or {})}
    if fault.name != RATE_LIMITED:
        return fault.details or {}
    # Clients often see no headers.
    return {"retry_after_seconds": fault.data["retry_after_seconds"], **(fault.details or {})}
