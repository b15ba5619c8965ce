"""Faults, and the one table that maps each canonical code to its form at every door.

A tool raises a `Fault` or a rule creates one. From there on it is a value that only travels forward:

    Fault ── REST ─────── {"success": false, "error": {"code": name, "message": …}}, HTTP status
          ── envelope ─── spec 5's row: JSON-RPC code and message, data exactly {"canonical_code": …}
          ── MCP ──────── as_tool_result: a result with `isError` that the model reads
                          otherwise: a JSON-RPC error
                          `_meta` of the one and `data` of the other hold the canonical code and the fault's data

In development mode each of them holds `details` too: a traceback, the exact violations.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from signet.system.text import cut

__all__ = [
    "ACCESS_FAULTS",
    "HEADER_MISMATCH",
    "IDEMPOTENCY_CONFLICT",
    "IDEMPOTENCY_FULL",
    "IDEMPOTENCY_NOT_KEPT",
    "INPUT_REQUIRED",
    "INSUFFICIENT_SCOPE",
    "INTERNAL",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "MISSING_CAPABILITY",
    "OWN_STATUS_FAULTS",
    "PARSE_ERROR",
    "RATE_LIMITED",
    "TABLE",
    "TOO_LARGE",
    "TOO_MANY_PROCESSES",
    "UNSUPPORTED_VERSION",
    "CanonicalError",
    "Code",
    "ErrorRow",
    "Fault",
    "Wording",
    "bad_arguments",
    "broken_promise",
    "bug",
    "caller_left",
    "insufficient_scope",
    "misspelt_argument",
    "not_unicode",
    "place_of",
    "rate_limited",
    "result_too_large",
    "too_large",
    "too_slow",
    "unknown_tool",
]

PARSE_ERROR: Final = -32700  # rule: 5.wire.not-json
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

RATE_LIMITED: Final = "RATE_LIMITED"
TOO_LARGE: Final = "REQUEST_TOO_LARGE"
INPUT_REQUIRED: Final = "INPUT_REQUIRED"
"""The name of the fault of a tool that asks its caller something, through a door that cannot carry the answer."""
INSUFFICIENT_SCOPE: Final = "INSUFFICIENT_SCOPE"
TOO_MANY_PROCESSES: Final = "TOO_MANY_PROCESSES"
"""The name of the fault of a call for which no process of a wrapped server can be started now."""
ACCESS_FAULTS: Final = frozenset({RATE_LIMITED, INSUFFICIENT_SCOPE, TOO_MANY_PROCESSES})
"""The faults whose HTTP status is their own at every door: the caller may not call, or not now."""
IDEMPOTENCY_CONFLICT: Final = "IDEMPOTENCY_CONFLICT"
IDEMPOTENCY_NOT_KEPT: Final = "IDEMPOTENCY_NOT_KEPT"
IDEMPOTENCY_FULL: Final = "IDEMPOTENCY_FULL"
OWN_STATUS_FAULTS: Final = ACCESS_FAULTS | {IDEMPOTENCY_CONFLICT, IDEMPOTENCY_FULL, IDEMPOTENCY_NOT_KEPT}
"""The faults whose HTTP status is their own at the envelope door too: those above, and those of idempotency keys."""

MAX_NAME_CHARS: Final = 65_536
"""The longest name of a tool that a message repeats in full, as spec 4 asks for: a path is not longer."""


class Code(StrEnum):
    """The canonical codes of spec 5."""

    INVALID_INPUT = "INVALID_INPUT"  # rule: 5.errors.enum
    INVALID_OUTPUT = "INVALID_OUTPUT"
    NOT_FOUND = "NOT_FOUND"
    UNAUTHORIZED = "UNAUTHORIZED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class ErrorRow(NamedTuple):
    """The form of one canonical code at each door."""

    http_status: int
    jsonrpc_code: int
    message: str
    mcp_code: int
    """The JSON-RPC code on the MCP doors; `jsonrpc_code` is for the envelope alone."""
    as_tool_result: bool
    """Whether the model can act on the error, so that MCP sends it as a result with `isError`."""


TABLE: Final[dict[str, ErrorRow]] = {
    # rule: 1.S4.2.parameters
    Code.INVALID_INPUT: ErrorRow(400, -32602, "Invalid params", INVALID_PARAMS, as_tool_result=True),
    # rule: 5.errors.enum/2
    Code.INVALID_OUTPUT: ErrorRow(502, -32002, "Invalid tool output", INTERNAL, as_tool_result=False),
    # rule: 5.errors.surface
    Code.NOT_FOUND: ErrorRow(404, -32004, "Resource not found", INVALID_PARAMS, as_tool_result=True),
    # rule: 5.errors.unauthorized
    Code.UNAUTHORIZED: ErrorRow(401, -32001, "Unauthorized", INVALID_REQUEST, as_tool_result=True),
    # rule: 5.errors.internal-error
    Code.INTERNAL_ERROR: ErrorRow(500, -32603, "Internal error", INTERNAL, as_tool_result=False),
}


class CanonicalError:
    """The lookup of spec 5; an unknown code raises `KeyError`."""

    @staticmethod
    def to_http_status(code: str) -> int:
        """Return the HTTP status of a canonical code."""
        return TABLE[code].http_status  # rule: 5.errors.unknown-code/2

    @staticmethod  # rule: 5.errors.fresh
    def to_jsonrpc_error(code: str) -> dict[str, Any]:
        """Return a new JSON-RPC error object for a canonical code."""
        row = TABLE[code]  # rule: 5.errors.unknown-code
        # rule: 5.errors.data
        return {"code": row.jsonrpc_code, "message": row.message, "data": {"canonical_code": str(code)}}


class Wording(NamedTuple):
    """A fault's message as a template, so that a command can write its own names for the parameters."""

    template: str
    values: dict[str, Any]

    def render(self, names: Mapping[str, str]) -> str:
        """Return the message with these names; a value is never read as a template."""
        return self.template.format_map({**names, **self.values})


class Fault(Exception):
    """An error with a canonical code and a sentence; the other arguments override the table's defaults.

    `name` and `status` are for REST, `as_tool_result` and `mcp_code` for MCP. `data` stands beside the canonical code:
    in `_meta` of a result, in the data of a JSON-RPC error. `wording` is for commands in this process and is never
    published. `details` is what development mode adds at every door; it is None in production. `stage` is the contract
    that was broken (`envelope`, `input` or `output`); it is empty for a fault of a tool. `place` is where the exception
    behind it was raised, once its frames are forgotten.
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
        self.details: dict[str, Any] | None = None
        self.stage = ""
        self.place = ""

    def forget_frames(self) -> None:
        """Cut off the tracebacks of the fault and of what it was raised from, but keep the place.

        Their frames hold the call, its answer and all that the callers hold: memory that the garbage collector alone
        would find, late.
        """
        self.place = place_of(self.__cause__) if self.__cause__ is not None else ""
        waiting: list[BaseException | None] = [self]
        seen: set[int] = set()
        while waiting:
            one = waiting.pop()
            if one is not None and id(one) not in seen:
                seen.add(id(one))
                one.__traceback__ = None
                waiting += (one.__cause__, one.__context__)

    def explained(self, message: str, details: dict[str, Any]) -> Fault:
        """Return the fault with another sentence, and with what development mode adds to it."""
        fault = Fault(
            self.code,
            message,
            name=self.name,
            status=self.status,
            as_tool_result=self.as_tool_result,
            mcp_code=self.mcp_code,
            data=self.data,
            wording=self.wording if message == self.message else None,
        )
        fault.details, fault.__cause__, fault.stage = details, self.__cause__, self.stage
        return fault

    def at(self, stage: str) -> Fault:
        """Note the contract that was broken, and return the fault."""
        self.stage = stage
        return self


def unknown_tool(key: str) -> Fault:
    """Return the fault for a name that no enabled tool has: a mistake of the client, not a reply of an upstream."""
    key = cut(key, MAX_NAME_CHARS)
    # rule: 4.invocation.unknown-tool
    return Fault(Code.NOT_FOUND, f"Tool '{key}' not found", name="TOOL_NOT_FOUND", as_tool_result=False)


def bad_arguments(tool: str, places: list[tuple[str, str]]) -> Fault:
    """Return the fault for arguments that break their contract, with every place where they do."""
    details = "; ".join(f"{path}: {message}" if path else message for path, message in places)
    return Fault(Code.INVALID_INPUT, f"Invalid arguments for {tool}: {details}")  # rule: 5.wire.bad-arguments


def misspelt_argument(tool: str, name: str, known: str) -> Fault:
    """Return the fault for an unknown argument that is a near miss of a known one."""
    return bad_arguments(tool, [("", f"unknown argument '{name}': did you mean '{known}'?")])


def rate_limited(message: str, retry_after_s: float, limit: Mapping[str, Any] | None = None) -> Fault:
    """Return the fault for a call that its caller may not make now; the sentence says when it may.

    `limit` is the limit itself: its `name`, its `count` and the `seconds` of its period. Times are rounded up, so that
    a call after them is in time. Filed under UNAUTHORIZED: spec 5 has five codes.
    """
    after_ms = max(1, -int(-retry_after_s * 1000 // 1))
    data = {"code": RATE_LIMITED, "retryable": True, "retryAfterMs": after_ms}
    data |= {"retry_after_seconds": -(-after_ms // 1000)} | ({"limit": limit} if limit else {})
    return Fault(Code.UNAUTHORIZED, message, name=RATE_LIMITED, status=429, data=data)  # rule: 5.wire.rate-limited


def insufficient_scope(tool: str, scope: str) -> Fault:
    """Return the fault for a call that its caller's token does not allow; `scope` is what would."""
    message = f"The token does not allow {tool}: ask for one with the scope {scope}"
    data = {"code": INSUFFICIENT_SCOPE, "scope": scope}
    return Fault(Code.UNAUTHORIZED, message, name=INSUFFICIENT_SCOPE, status=403, as_tool_result=False, data=data)


def caller_left() -> Fault:
    """Return the fault of a call that was given up by its client."""
    return Fault(Code.INTERNAL_ERROR, "the caller left before the answer")


def too_slow(tool: str, timeout_s: float, state: str) -> Fault:
    """Return the fault for a tool that has not answered in time; `state` is what it waited for last."""
    state = f"; its last state was: {state}" if state else ""
    message = f"{tool} did not answer within {timeout_s:g} s{state}: ask again, or for less"
    return Fault(Code.INTERNAL_ERROR, message)


def place_of(error: BaseException) -> str:
    """Return an exception's class and the line that raised it; its text may hold a secret."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"


def bug(tool: str, error: BaseException) -> Fault:
    """Return the fault for an unexpected exception, without its text: that may hold a secret."""
    # rule: 1.S4.1.bug
    fault = Fault(Code.INTERNAL_ERROR, f"{tool} failed: this is a fault of the server, not of the call")
    fault.__cause__ = error
    return fault


def broken_promise(tool: str, error: Exception, where: str = "") -> Fault:
    """Return the fault for a result that breaks its contract.

    `where` is the place and the keyword for the tool of somebody else: callers are told it, and MCP sends it as a
    result with `isError`, because those who call the tool are the ones who can act on it.
    """
    reason = f": {where}" if where else ""
    message = f"{tool} gave a result that breaks its contract{reason}"
    fault = Fault(Code.INVALID_OUTPUT, message, as_tool_result=True if where else None)
    fault.__cause__ = error
    return fault


def result_too_large(tool: str, size_bytes: int, limit_bytes: int, error: Exception) -> Fault:
    """Return the fault for a result over the size limit of its tool."""
    message = f"{tool} gave a result of {size_bytes:,} bytes, and may give {limit_bytes:,} at most: ask for less"
    data = {"result_bytes": size_bytes, "max_result_bytes": limit_bytes}
    fault = Fault(Code.INVALID_OUTPUT, message, data=data)
    fault.__cause__ = error
    return fault


def too_large(limit_bytes: int) -> Fault:
    """Return the fault for a request over the door's size limit."""
    message = f"The request is larger than {limit_bytes} bytes"
    return Fault(Code.INVALID_INPUT, message, name=TOO_LARGE, status=413)


def not_unicode() -> Fault:
    """Return the fault for a request that is not Unicode text: bytes that are not UTF-8, or half a surrogate pair."""
    return Fault(Code.INVALID_INPUT, "The request is not valid UTF-8 text", name="NOT_UNICODE")
