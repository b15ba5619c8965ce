"""What a wrapped server answers to a call, as the pipeline and the doors take it. Pure."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from signet.kernel.errors import INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, Code, Fault
from signet.kernel.outcome import Relayed
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import encode
from signet.mcp.messages import members, on_one_line
from signet.mcp.session import Answer, ClientSession

from .asking import questions_fault
from .translation import RESOURCE_NOT_FOUND, error_in_era, for_handshake, for_modern

__all__ = ["error_fault", "in_era", "relayed"]

CODES: Final = {
    INVALID_PARAMS: Code.INVALID_INPUT,
    METHOD_NOT_FOUND: Code.NOT_FOUND,
    RESOURCE_NOT_FOUND: Code.NOT_FOUND,
}
"""The canonical codes of a server's errors; all others are INTERNAL_ERROR."""
MAX_TEXT_CHARS: Final = 4000


class _Result(msgspec.Struct, frozen=True, gc=False):
    """The members of a tool's result that are looked at, in the order in which most servers write them."""

    content: Raw | UnsetType = UNSET
    structured: Raw | UnsetType = msgspec.field(name="structuredContent", default=UNSET)
    is_error: Any = msgspec.field(name="isError", default=UNSET)
    kind: Any = msgspec.field(name="resultType", default=UNSET)
    questions: Raw | UnsetType = msgspec.field(name="inputRequests", default=UNSET)
    task: Raw | UnsetType = UNSET


_decode: Final = msgspec.json.Decoder(_Result).decode


def relayed(name: str, answer: Answer, *, modern: bool, server_info: Raw | None, relax: bool, by_mcp: bool) -> Relayed:
    """Return a server's answer to a call; `relax` delivers structured content as text, `by_mcp` may ask the caller."""
    if answer.error is not None:
        translate = partial(_error_in_era, method="tools/call")
        error = error_fault(answer.error)
        return Relayed(on_one_line(answer.error), modern, fault=error, is_failure=True, in_era=translate)
    body = on_one_line(answer.result or b"{}")
    try:
        result = _decode(body)
    except (ValueError, RecursionError):
        result = _Result()
    if relax and result.structured is not UNSET:
        body, result = _as_text(body, result)
    translate_result = partial(_result_in_era, server_info=server_info)
    has_content = result.content is not UNSET or result.structured is not UNSET
    fault, asks = None, result.kind == "input_required" and not has_content
    if asks:
        if not by_mcp:
            fault = questions_fault(
                name, {key: msgspec.json.decode(one) for key, one in members(_given(result.questions)).items()}
            )
    elif result.is_error is True:
        fault = Fault(Code.INTERNAL_ERROR, _text_of(_given(result.content)), name="TOOL_ERROR", as_tool_result=True)
    # The state of a question is of the era in which it is asked already.
    is_written = asks and not modern
    return Relayed(
        body,
        modern or is_written,
        _given(result.structured),
        _given(result.content),
        fault,
        # One that has content ends the call, whatever else it says.
        is_final=has_content or not (asks or result.task is not UNSET or result.kind == "task"),
        is_single=encode(result) == body,
        in_era=translate_result,
    )


def _given(value: Raw | UnsetType) -> Raw | None:
    return None if value is UNSET or bytes(value) == b"null" else value


def error_fault(error: Raw | bytes) -> Fault:
    """Return a JSON-RPC error of a server as a fault, for the journal and the doors that have errors of their own."""
    parts = members(error)
    code = msgspec.json.decode(parts.get("code", b"0"))
    message = msgspec.json.decode(parts.get("message", b'""'))
    number = code if isinstance(code, int) else INTERNAL
    text = message[:MAX_TEXT_CHARS] if isinstance(message, str) else ""
    return Fault(CODES.get(number, Code.INTERNAL_ERROR), text, as_tool_result=False, mcp_code=number or INTERNAL)


def _as_text(body: bytes, result: _Result) -> tuple[bytes, _Result]:
    """Return a result without its structured content, which becomes a text where there is none."""
    parts: dict[str, Any] = dict(members(body))
    structured = parts.pop("structuredContent")
    if result.content is UNSET or bytes(result.content) == b"[]":
        parts["content"] = [{"type": "text", "text": bytes(structured).decode()}]
    body = encode(parts)
    return body, _decode(body)


def _text_of(content: Raw | None) -> str:
    """Return the texts of a result's content."""
    try:
        blocks = msgspec.json.decode(content if content is not None else b"[]", type=list[dict[str, Any]])
    except msgspec.DecodeError:
        blocks = []
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "\n".join(texts)[:MAX_TEXT_CHARS] or "the tool failed and does not say why"


def _error_in_era(reply: Relayed, modern: bool, *, method: str) -> bytes:  # noqa: FBT001 - the field's own signature
    return error_in_era(method, reply.body, modern=modern)


def _result_in_era(reply: Relayed, modern: bool, *, server_info: Raw | None) -> bytes:  # noqa: FBT001 - as above
    return for_modern("tools/call", reply.body, server_info) if modern else for_handshake("tools/call", reply.body)


def in_era(request: RpcRequest, answer: Answer, dialogue: ClientSession, server_info: Raw | None) -> Answer:
    """Return an answer as the era of the caller writes it; the server names itself in it as given."""
    if dialogue.modern == request.era.modern:
        return answer
    if answer.error is not None:
        return Answer(error=Raw(error_in_era(request.method, answer.error, modern=request.era.modern)))
    result = answer.result or Raw(b"{}")
    if request.era.modern:
        if bytes(members(result).get("resultType", b"")) == b'"input_required"':
            return answer
        return Answer(Raw(for_modern(request.method, result, server_info)))
    return Answer(Raw(for_handshake(request.method, result)))
