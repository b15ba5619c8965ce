"""Faults, and the one table that says how each looks at every door.

A `Fault` is raised by a tool or made by a rule, and from there on is a value that only travels forward:

    Fault ── REST ─────── {"success": false, "error": {"code": name, "message": …}}, HTTP status
          ── envelope ─── spec 5's row: JSON-RPC code and message, data exactly {"canonical_code": …}
          ── MCP ──────── told: a result with `isError` that the model reads
                          not told: a JSON-RPC error, canonical code in its data
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

__all__ = [
    "HEADER_MISMATCH",
    "INTERNAL",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "MISSING_CAPABILITY",
    "PARSE_ERROR",
    "TABLE",
    "UNSUPPORTED_VERSION",
    "CanonicalError",
    "Code",
    "ErrorRow",
    "Fault",
    "Wording",
    "bad_arguments",
    "not_unicode",
    "too_large",
    "unknown_tool",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022


class Code(StrEnum):
    """Spec 5's canonical codes: small on purpose."""

    INVALID_INPUT = "INVALID_INPUT"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    NOT_FOUND = "NOT_FOUND"
    UNAUTHORIZED = "UNAUTHORIZED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class ErrorRow(NamedTuple):
    """How one canonical code looks at each door."""

    http_status: int
    jsonrpc_code: int
    message: str
    mcp_code: int
    """The MCP wires keep to their own codes; spec 5's stay on the envelope surface."""
    as_tool_result: bool
    """Whether the model can act on it, so that MCP sends it as a result with `isError`."""


TABLE: Final[dict[str, ErrorRow]] = {
    Code.INVALID_INPUT: ErrorRow(400, -32602, "Invalid params", INVALID_PARAMS, as_tool_result=True),
    Code.INVALID_OUTPUT: ErrorRow(502, -32002, "Invalid tool output", INTERNAL, as_tool_result=False),
    Code.NOT_FOUND: ErrorRow(404, -32004, "Resource not found", INVALID_PARAMS, as_tool_result=True),
    Code.UNAUTHORIZED: ErrorRow(401, -32001, "Unauthorized", INVALID_REQUEST, as_tool_result=True),
    Code.INTERNAL_ERROR: ErrorRow(500, -32603, "Internal error", INTERNAL, as_tool_result=False),
}


class CanonicalError:
    """Spec 5's lookup; a code that is not in the table is a `KeyError`."""

    @staticmethod
    def to_http_status(code: str) -> int:
        """Give the HTTP status of a canonical code."""
        return TABLE[code].http_status

    @staticmethod
    def to_jsonrpc_error(code: str) -> dict[str, Any]:
        """Give a fresh JSON-RPC error object for a canonical code."""
        row = TABLE[code]
        return {"code": row.jsonrpc_code, "message": row.message, "data": {"canonical_code": str(code)}}


class Wording(NamedTuple):
    """A fault's message as a template, so that a command can write its own names for the parameters."""

    template: str
    values: dict[str, Any]

    def render(self, names: Mapping[str, str]) -> str:
        """Return the message with these names; a value is never read as a template."""
        return self.template.format_map({**names, **self.values})


class Fault(Exception):
    """What is wrong, in a sentence, under a canonical code; the rest has the table's defaults.

    `name` and `status` are REST's, `told` and `mcp_code` are MCP's, `data` joins a JSON-RPC error's data.
    `wording` is for commands in this process and is never published.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        name: str | None = None,
        status: int | None = None,
        as_tool_result: bool | None = None,
        mcp_code: int | None = None,
        data: dict[str, Any] | None = None,
        wording: Wording | None = None,
    ) -> None:
        super().__init__(message)
        row = TABLE[code]
        self.code = code
        self.message = message
        self.name = name or code.value
        self.status = status or row.http_status
        self.as_tool_result = row.as_tool_result if as_tool_result is None else as_tool_result
        self.mcp_code = mcp_code or row.mcp_code
        self.data = data or {}
        self.wording = wording


def unknown_tool(key: str) -> Fault:
    """Say that no enabled tool answers to a name: the client's mistake, not an upstream's answer."""
    return Fault(Code.NOT_FOUND, f"Tool '{key}' not found", name="TOOL_NOT_FOUND", as_tool_result=False)


def bad_arguments(tool: str, places: list[tuple[str, str]]) -> Fault:
    """Name every place where arguments break their contract."""
    told = "; ".join(f"{path}: {message}" if path else message for path, message in places)
    return Fault(Code.INVALID_INPUT, f"Invalid arguments for {tool}: {told}")


def too_large(limit_bytes: int) -> Fault:
    """Say that a request is over the door's limit."""
    message = f"The request is larger than {limit_bytes} bytes"
    return Fault(Code.INVALID_INPUT, message, name="REQUEST_TOO_LARGE", status=413)


def not_unicode() -> Fault:
    """Say that a request holds what is not Unicode text: bytes that are not UTF-8, or half a surrogate pair."""
    return Fault(Code.INVALID_INPUT, "The request is not valid UTF-8 text", name="NOT_UNICODE")
