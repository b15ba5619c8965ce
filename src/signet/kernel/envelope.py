"""The envelope of spec 5: a request that names a tool by its canonical id, with errors from the canonical table."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .caller import NOBODY, Caller
from .errors import METHOD_NOT_FOUND, PARSE_ERROR, TABLE, CanonicalError, Code, Fault
from .outcome import UNKNOWN_DOOR, Call, Door, Outcome
from .schemas import PREFIX, ContractError, SchemaRegistry
from .tools import NULL_CONTEXT, Context, Toolbox
from .wire import ProtocolError, Reply, ResponseId, failure, given_id, success

__all__ = [
    "HTTP_STATUS",
    "INVOKE",
    "answer",
    "extract_call_leniently",
    "looks_like_envelope",
    "open_envelope",
    "refusal",
    "refused_outcome",
    "response_id",
    "written_input",
]

INVOKE: Final = "mcp.tool.invoke"
"""The only method of an envelope."""

HTTP_STATUS: Final = {0: 200, PARSE_ERROR: 400, METHOD_NOT_FOUND: 404} | {  # rule: 5.wire.bad-envelope/2
    row.jsonrpc_code: row.http_status for row in TABLE.values()
}
"""The HTTP status of a response, by its error code."""


def open_envelope(
    registry: SchemaRegistry,
    value: Any,
    context: Context,
    path_key: str | None = None,
    door: Door = UNKNOWN_DOOR,
    *,
    caller: Caller = NOBODY,
    size: int = 0,
) -> Call:
    """Check a value against the envelope's contract and return the call in it; `path_key` is the tool in an HTTP path.

    `size` is that of the JSON in which the value came.

    Raises:
        ProtocolError: INVALID_INPUT if the value breaks the contract, with the place and the reason as its cause;
            -32601 for another method.
    """
    contract = registry.load_envelope()  # rule: 5.wire.batch
    is_small = 0 < size <= contract.free_bytes
    if not (contract.is_valid_at_once(value) if is_small else contract.is_valid(value)):
        # rule: 5.envelope.deviation
        raise refusal(Code.INVALID_INPUT, value) from ContractError(contract.places(value))
    if value["method"] != INVOKE:  # rule: 5.envelope.required-method
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found", value=value)  # rule: 5.wire.unknown-method
    tool: str = value["params"]["tool"]  # rule: 5.envelope.required-params
    if path_key is not None and tool.removeprefix(PREFIX) != path_key.removeprefix(PREFIX):  # rule: 5.wire.path-id
        raise refusal(Code.INVALID_INPUT, value) from ContractError([("", "the path names another tool")])
    # rule: 5.envelope.input
    return Call(tool, value["params"]["input"], context, door, caller, trace=caller.trace, size=size)


class _Written(msgspec.Struct):
    input: msgspec.Raw


class _Envelope(msgspec.Struct):
    params: _Written


_written: Final = msgspec.json.Decoder(_Envelope).decode


def written_input(message: bytes) -> msgspec.Raw | None:
    """Return the arguments in an envelope as they were written, or None."""
    try:
        return _written(message).params.input
    except (ValueError, RecursionError):
        return None


def extract_call_leniently(
    toolbox: Toolbox,
    value: Any,
    context: Context,
    path_key: str | None = None,
    door: Door = UNKNOWN_DOOR,
    *,
    caller: Caller = NOBODY,
) -> Call | None:
    """Return the call in an envelope that breaks its contract; None if it names no known tool, or another method."""
    params = _params(value)
    key, arguments = params.get("tool"), params.get("input")
    tool = toolbox.find(key) if isinstance(key, str) else None
    method = value.get("method") if params else None
    if tool is None or not isinstance(arguments, dict) or (isinstance(method, str) and method not in {"", INVOKE}):
        return None
    if path_key is not None and tool.slug != path_key.removeprefix(PREFIX):  # rule: 5.wire.path-mismatch
        return None
    return Call(tool.id, arguments, context, door, caller, trace=caller.trace)


def refused_outcome(value: Any, door: Door, why: object, caller: Caller = NOBODY) -> Outcome:
    """Return the outcome of an envelope without a usable call, with its tool if it names one, and with the reason."""
    tool = _params(value).get("tool")
    call = Call(tool if isinstance(tool, str) else "", {}, NULL_CONTEXT, door, caller, trace=caller.trace)
    return Outcome(call, None, fault=Fault(Code.INVALID_INPUT, f"the request is no envelope: {why}").at("envelope"))


def looks_like_envelope(value: Any) -> bool:
    """Return whether a message is an envelope: by its method, or without a method by a member of its params."""
    method = value.get("method") if isinstance(value, dict) else None
    if isinstance(method, str) and method:
        return method == INVOKE
    return bool({"tool", "input"} & _params(value).keys()) and not {"result", "error"} & value.keys()


def response_id(value: Any) -> ResponseId:
    """Return the id for the response to an envelope: the id of the envelope if the contract allows it, else None."""
    request_id = value.get("id") if isinstance(value, dict) else None
    # rule: 5.wire.echoed-id
    return request_id if isinstance(request_id, float) and request_id.is_integer() else given_id(value)


def _params(value: Any) -> dict[str, Any]:
    params = value.get("params") if isinstance(value, dict) else None
    return params if isinstance(params, dict) else {}


def answer(request_id: ResponseId, outcome: Outcome) -> Reply:
    """Return the response to an envelope: the result itself, or the canonical error."""
    if outcome.fault is None:
        return success(request_id, outcome.body, outcome)  # rule: 5.wire.success
    error = CanonicalError.to_jsonrpc_error(outcome.fault.code)
    if outcome.fault.details is not None:  # rule: 5.wire.error-data
        # Spec 5 fixes the code and the message, and asks for the canonical code among the data.
        error["data"] |= {"message": outcome.fault.message, **outcome.fault.details}  # rule: 5.wire.error-data/2
    return failure(request_id, error["code"], error["message"], error["data"], outcome)


def refusal(code: Code, value: object = None) -> ProtocolError:
    """Return the error that refuses an envelope with a canonical code."""
    error = CanonicalError.to_jsonrpc_error(code)
    return ProtocolError(error["code"], error["message"], error["data"], value)
