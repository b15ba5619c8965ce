"""Spec 5's surface: a request envelope that names a tool by its canonical id, under the canonical error table."""

from __future__ import annotations

from typing import Any, Final

from .errors import METHOD_NOT_FOUND, PARSE_ERROR, TABLE, CanonicalError, Code, Fault
from .outcome import UNKNOWN_DOOR, Call, Door, Outcome
from .schemas import PREFIX, SchemaRegistry
from .tools import NO_CONTEXT, Context
from .wire import Id, Refused, Reply, failure, success

__all__ = ["HTTP_STATUS", "INVOKE", "answer", "open_envelope", "refusal", "refused_outcome"]

INVOKE: Final = "mcp.tool.invoke"
"""The one method of this surface."""

HTTP_STATUS: Final = {0: 200, PARSE_ERROR: 400, METHOD_NOT_FOUND: 404} | {
    row.jsonrpc_code: row.http_status for row in TABLE.values()
}
"""The HTTP status of an answer, by its error code."""


def open_envelope(
    registry: SchemaRegistry, value: Any, context: Context, path_key: str | None = None, door: Door = UNKNOWN_DOOR
) -> Call:
    """Hold a value to the envelope's contract and give the call inside; `path_key` is the tool in an HTTP path.

    Raises:
        Refused: INVALID_INPUT for any deviation, -32601 for another method.
    """
    if not registry.load_envelope().is_valid(value):
        raise refusal(Code.INVALID_INPUT, value)
    if value["method"] != INVOKE:
        raise Refused(METHOD_NOT_FOUND, "Method not found", value=value)
    tool: str = value["params"]["tool"]
    if path_key is not None and tool.removeprefix(PREFIX) != path_key.removeprefix(PREFIX):
        raise refusal(Code.INVALID_INPUT, value)
    return Call(tool, value["params"]["input"], context, door)


def refused_outcome(value: Any, door: Door) -> Outcome:
    """Give what became of an envelope that holds no call, as far as it can be told."""
    params = value.get("params") if isinstance(value, dict) else None
    tool = params.get("tool") if isinstance(params, dict) else None
    call = Call(tool if isinstance(tool, str) else "", {}, NO_CONTEXT, door)
    return Outcome(call, None, fault=Fault(Code.INVALID_INPUT, "the request is no envelope"))


def answer(request_id: Id, outcome: Outcome) -> Reply:
    """Write an outcome as this surface shows it: the result itself, or the canonical error."""
    if outcome.fault is None:
        return success(request_id, outcome.body)
    error = CanonicalError.to_jsonrpc_error(outcome.fault.code)
    return failure(request_id, error["code"], error["message"], error["data"])


def refusal(code: Code, value: object = None) -> Refused:
    """Refuse an envelope under a canonical code."""
    error = CanonicalError.to_jsonrpc_error(code)
    return Refused(error["code"], error["message"], error["data"], value)
