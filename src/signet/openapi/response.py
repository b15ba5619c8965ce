"""A response as the result of a tool, or as a fault with what the service said. Pure."""

from __future__ import annotations

from base64 import b64encode
from http import HTTPStatus
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import UpstreamResponse
from signet.system.text import cut, one_line

from .media import base_type, is_json, is_text
from .plan import OperationPlan

__all__ = ["MAX_BODY_BYTES", "result_of"]

MAX_BODY_BYTES: Final = 1_500_000
"""The longest response: in base64 it is as long as the longest result."""
MAX_DETAIL_CHARS: Final = 500
MAX_DETAIL_BYTES: Final = 16_384
"""The beginning of an error's text that is read for its detail."""
CODES: Final = {401: Code.UNAUTHORIZED, 403: Code.UNAUTHORIZED, 404: Code.NOT_FOUND}
SAYING: Final = ("detail", "message", "error_description", "description", "title", "error", "errors", "reason")
"""The fields of an error in which services say what is wrong, in the order of their use."""


def result_of(
    plan: OperationPlan, response: UpstreamResponse, service: str, advice: str = "", text: str | None = None
) -> dict[str, Any]:
    """Return the result of a response.

    Args:
        plan: the operation.
        response: what the service sent.
        service: what messages call it.
        advice: what to do where the service wants to know its caller.
        text: the text of the body, where it was decoded before.

    Raises:
        Fault: the status is no success, or the body cannot be used.
    """
    if response.cut:
        message = f"the answer of {service} has more than {MAX_BODY_BYTES:,} bytes: ask for less"
        raise _fault(Code.INTERNAL_ERROR, message, "UPSTREAM_TOO_LARGE")
    if response.broken:
        raise _fault(
            Code.INTERNAL_ERROR, f"the answer of {service} cannot be used: {response.broken}", "UPSTREAM_BROKEN"
        )
    if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
        raise _refused(response, service, advice)
    body = bytes(response.body)
    if not body:
        return {"status": response.status}
    if is_json(response.content_type) or not response.content_type:
        try:
            value = msgspec.json.decode(body)
        except (ValueError, RecursionError):
            return {"result": _text(response) if text is None else text}
        return value if isinstance(value, dict) and not plan.is_wrapped else {"result": value}
    if is_text(response.content_type):
        return {"result": _text(response) if text is None else text}
    kind = base_type(response.content_type)
    return {"result": b64encode(body).decode(), "contentType": kind, "encoding": "base64"}


def _refused(response: UpstreamResponse, service: str, advice: str) -> Fault:
    status = response.status
    is_client_error = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    code = CODES.get(status, Code.INVALID_INPUT if is_client_error else Code.INTERNAL_ERROR)
    try:
        phrase = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = str(status)
    said = _said(response)
    message = f"{service} answered {phrase}" + (f": {said}" if said else "")
    if status == HTTPStatus.UNAUTHORIZED and advice:
        message += f" ({advice})"
    fault = _fault(code, message, "")
    fault.data = {"status": status}
    return fault


def _said(response: UpstreamResponse) -> str:
    """Return what a service says of an error, on one line."""
    if is_json(response.content_type):
        try:
            found = _detail(msgspec.json.decode(bytes(response.body)), 0)
        except (ValueError, RecursionError):
            found = ""
        if found:
            return _line(found)
    has_text = is_text(response.content_type) or is_json(response.content_type)
    return _line(_text(response, MAX_DETAIL_BYTES)) if has_text else ""


def _detail(value: Any, depth: int) -> str:
    """Return the sentence in an error: `title: detail` of problem+json, or the first field that says something."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _detail(value[0], depth + 1) if value and depth < len(SAYING) else ""
    if not isinstance(value, dict) or depth >= len(SAYING):
        return ""
    title, detail = value.get("title"), value.get("detail")
    if isinstance(title, str) and isinstance(detail, str):
        return f"{title}: {detail}"
    return next((text for name in SAYING if (text := _detail(value.get(name), depth + 1))), "")


def _line(text: str) -> str:
    plain = one_line(text[: 4 * MAX_DETAIL_CHARS])
    return cut(plain, MAX_DETAIL_CHARS)


def _text(response: UpstreamResponse, most: int = MAX_BODY_BYTES) -> str:
    from signet.kernel.charsets import decode_text

    return decode_text(bytes(response.body[:most]), response.content_type)


def _fault(code: Code, message: str, name: str) -> Fault:
    return Fault(code, message, name=name or None, as_tool_result=True)
