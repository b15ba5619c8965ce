"""One operation: a message of MCP, or a call through another door, from its arrival to its answer."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from typing import Any, Final

from signet.kernel.caller import NOBODY, Caller
from signet.kernel.channel import HTTP_MCP
from signet.kernel.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    TABLE,
    UNSUPPORTED_VERSION,
    Fault,
)
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Outcome
from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS, NO_META, Meta
from signet.kernel.wire import method_and_params

__all__ = ["CURRENT", "INVOKE", "OTHER", "STATED", "Operation", "error_type", "operation_of"]

OTHER: Final = "_other"
"""The label of a method or version that the server does not know: a client can make up any number of them."""
UNKNOWN_TOOL: Final = "_unknown"
METHODS: Final = frozenset(
    {
        *("completion/complete", "logging/setLevel", "prompts/get", "prompts/list", "resources/list"),
        *("resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe"),
        "subscriptions/listen",
        *("initialize", "ping", "server/discover", "tools/list", "tools/call", "mcp.tool.invoke"),
        *("notifications/initialized", "notifications/cancelled", "notifications/progress"),
        "notifications/roots/list_changed",
    }
)
VERSIONS: Final = frozenset((*HANDSHAKE_VERSIONS, *MODERN_VERSIONS))
STATED: Final = VERSIONS | {""}
"""What the header of an HTTP request may state."""
INVOKE: Final = "mcp.tool.invoke"
REFUSALS: Final = {"HEADER_MISMATCH": HEADER_MISMATCH, "UNSUPPORTED_VERSION": UNSUPPORTED_VERSION}
"""The codes of refusals that are errors of a server by the conventions, though its client made the mistake."""
RESOURCE_NOT_FOUND: Final = -32002
NO_ERRORS: Final = frozenset({PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, RESOURCE_NOT_FOUND})
"""The codes that are a client's mistakes, and no errors of a server."""
TOOL_ERROR: Final = "tool_error"


class Operation:
    """What is known of an operation while it lasts."""

    __slots__ = ("caller", "code", "id", "meta", "method", "outcome", "span", "started_s", "transport", "version")

    def __init__(self, caller: Caller = NOBODY, transport: str = "", method: str = "") -> None:
        self.caller = caller
        self.method = method
        """The method of the message, `_other` if the server does not know it; empty until it is read."""
        self.transport = "tcp" if transport == "http" else "pipe"
        """The transport, as the conventions call it."""
        self.version = ""
        self.id: Any = None
        self.meta: Meta = NO_META
        self.code = 0
        """The JSON-RPC code of the answer."""
        self.outcome: Outcome | None = None
        self.span: Any = None
        self.started_s = perf_counter()

    def name(self, given: str, version: object = "") -> None:
        """Note the method of the message, and the version of the protocol that it states."""
        self.method = given if given in METHODS else OTHER
        is_known = not version or (isinstance(version, str) and version in VERSIONS)
        self.version = str(version or "") if is_known else OTHER

    @property
    def tool(self) -> str:
        """The name of the tool that was called; it never is what a client made up."""
        if self.outcome is None:
            return ""
        return self.outcome.tool.name if self.outcome.tool is not None else UNKNOWN_TOOL

    @property
    def error(self) -> str:
        """The type of the error, as the conventions have it; empty where there was none."""
        return error_type(self.code, self.outcome.fault if self.outcome is not None else None)


def error_type(code: int, fault: Fault | None) -> str:
    """Return the type of an error of a server: a JSON-RPC code, or `tool_error` for a result with `isError`."""
    if code:
        # The envelope has -32002 for a result that breaks its contract; MCP has it for a resource that is not there.
        is_ours = code == RESOURCE_NOT_FOUND and fault is not None
        return "" if code in NO_ERRORS and not is_ours else str(code)
    return TOOL_ERROR if fault is not None else ""


def operation_of(exchange: Exchange) -> Operation:
    """Return the operation that an HTTP request was, as far as its exchange tells."""
    operation = Operation(exchange.caller, "http")
    outcome = operation.outcome = exchange.outcome
    fault = outcome.fault if outcome is not None else None
    if exchange.door == "http envelope":
        operation.name(INVOKE)
        operation.code = TABLE[fault.code].jsonrpc_code if fault is not None else 0
        return operation
    method = "tools/call" if outcome is not None else method_and_params(exchange.body)[0]
    # Elsewhere the header of the version means nothing, whatever it says.
    operation.name(method, exchange.version if exchange.door == HTTP_MCP.name else "")
    if fault is not None and not fault.as_tool_result:
        operation.code = fault.mcp_code
    operation.code = operation.code or REFUSALS.get(exchange.refusal, 0)
    return operation


CURRENT: Final[ContextVar[Operation | None]] = ContextVar("operation", default=None)
"""The operation that runs; requests to upstreams belong to it."""
