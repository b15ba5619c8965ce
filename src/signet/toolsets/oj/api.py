"""The backend's API: requests from arguments, and values or faults from responses."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from signet.kernel.errors import Code, Fault
from signet.kernel.json_limits import excess
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.wire import without_halves

from .models import Fetching, Refusal
from .render import truncate

__all__ = [
    "MAX_BODY_BYTES",
    "STATUS",
    "ask_daily",
    "ask_problem",
    "ask_resolve",
    "ask_similar_to",
    "ask_similar_with",
    "fetching",
    "is_list_of_problems",
    "read",
    "refuse",
    "similar_options",
    "trim",
]

T = TypeVar("T")

MAX_BODY_BYTES: Final = 1_048_576  # rule: 1.S2.2.body-cap
"""The part of a response body that is read, by section 2.2 of spec 1."""

STATUS: Final = UpstreamRequest("/status")  # rule: 2.T5.endpoint
"""The request for the state of the backend, which is at the root and not under the API."""

MAX_VALUES: Final = 4_000
"""The values of a response; the largest has some 500, and a number may take 12 µs."""

MAX_FALLBACK_CHARS: Final = 500  # rule: 1.S4.4.cut
STAND_INS: Final = (rb"\ufffd", rb"\ufffc")
"""Two characters to stand for half a surrogate pair: a value that is the same with both does not hold the half."""
JSON_TYPES: Final = ("application/json", "application/problem+json")
OK: Final = 200
ACCEPTED: Final = 202

WHITE: Final = (
    "\t\n\v\f\r \x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's white space; `str.strip()` removes some control characters too."""

CODES: Final = {
    400: Code.INVALID_INPUT,
    422: Code.INVALID_INPUT,
    401: Code.UNAUTHORIZED,
    403: Code.UNAUTHORIZED,  # rule: 1.S4.2.canonical/2
    404: Code.NOT_FOUND,  # rule: 1.S4.2.canonical
}
"""The canonical code of each status; any other status is an internal error."""


def trim(text: str | None) -> str:
    """Remove the white space from both ends; None counts as empty."""
    return (text or "").strip(WHITE)  # rule: 2.T2.trimmed


def refuse(message: str, code: Code = Code.INVALID_INPUT) -> Fault:
    """Return a fault that the model sees as a result of the tool, whatever its code."""
    return Fault(code, truncate(message), as_tool_result=True)  # rule: 1.S4.2.parameters/2


def ask_daily(domain: str, day: str) -> UpstreamRequest:
    """Return the request for the daily challenge of a day.

    Raises:
        Fault: the day is not a date; it would go onto the request line unencoded.
    """
    if not _is_date(day):  # rule: 2.T1.date-format
        # rule: 2.T1.date-refused
        raise refuse(f"'{day[:50]}' is not a date; write it as YYYY-MM-DD, for example 2026-01-31")
    return UpstreamRequest(f"/api/v1/daily?domain={domain}&date={day}")  # rule: 2.T1.endpoint


def _is_date(text: str) -> bool:
    """Return True if the text is a day of the calendar in the one form that the backend writes."""
    try:
        return text.isascii() and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def ask_problem(source: str, problem_id: str) -> UpstreamRequest:
    """Return the request for a problem; raise Fault if a segment of the path is blank, or a URL would lose it."""
    # rule: 2.T2.endpoint
    return UpstreamRequest(f"/api/v1/problems/{_segment('source', trim(source))}/{_segment('id', trim(problem_id))}")


def ask_resolve(query: str) -> UpstreamRequest:
    """Return the request for the problem of a URL, slug or id; raise Fault if it is blank, or a URL would lose it."""
    if not trim(query):  # rule: 2.T4.required
        raise refuse("query must not be empty; give a problem's URL, slug or id")
    return UpstreamRequest(f"/api/v1/resolve/{_segment('query', query)}")  # rule: 2.T4.endpoint


def ask_similar_to(source: str, problem_id: str, options: str) -> UpstreamRequest:
    """Return the request for problems that are similar to a problem."""
    # rule: 2.T3.by-id
    return UpstreamRequest(f"/api/v1/similar/{_segment('source', source)}/{_segment('id', problem_id)}?{options}")


def ask_similar_with(query: str, options: str) -> UpstreamRequest:
    """Return the request for problems that a text describes."""
    return UpstreamRequest(f"/api/v1/similar?q={encoded(query)}&{options}")  # rule: 2.T3.by-query


def similar_options(limit: int, threshold: float, source_filter: str) -> str:
    """Return the part of the query string that both searches share."""
    # Shortest decimal, without an exponent, a trailing .0 or a negative zero.
    number = format(Decimal(repr(float(threshold))), "f").removesuffix(".0").replace("-0", "0", 1)
    options = f"limit={limit}&threshold={number}"
    return f"{options}&source={encoded(source_filter)}" if source_filter else options  # rule: 2.T3.filter-encoded


def encoded(text: str) -> str:
    """Percent-encode all characters but letters, digits and `-._~`."""
    from urllib.parse import quote

    return quote(text, safe="")  # rule: 2.common.encoded


def _segment(name: str, value: str) -> str:
    """Percent-encode a segment of a path."""
    if not value:  # rule: 2.T2.blank
        raise refuse(f"{name} must not be empty")
    if value in {".", ".."}:  # rule: 2.common.encoded/2
        raise refuse(f"{name} must not be '{value}': a URL would lose it")
    return encoded(value)


def fetching(response: UpstreamResponse) -> Fetching | None:
    """Return the notice that the backend is still fetching a daily challenge, or None for any other response."""
    if response.status != ACCEPTED:  # rule: 2.T1.fetching
        return None
    try:
        return msgspec.json.decode(response.body, type=Fetching) if _is_json(response) else Fetching()
    except (ValueError, RecursionError):
        return Fetching()


def read(response: UpstreamResponse, shape: type[T]) -> T:
    """Decode a response.

    Raises:
        Fault: the backend refuses or does not send JSON, which the model sees; or its JSON is broken.
    """
    if response.status != OK:  # rule: 1.S4.2.4xx
        raise refuse(_error_text(response), CODES.get(response.status, Code.INTERNAL_ERROR))
    if response.broken:
        message = f"request failed: {response.broken}"
        raise Fault(Code.INTERNAL_ERROR, message, name="UPSTREAM_FAILED", as_tool_result=False)  # rule: 1.S4.1.broken
    if not _is_json(response):
        raise refuse(_fallback(response), Code.INTERNAL_ERROR)  # rule: 1.S2.3.fallback
    if reason := excess(response.body, MAX_VALUES):
        raise _broken(f"the backend's answer is too large to be read: it has {reason}")
    try:
        return _decoded(response.body, shape)
    except RecursionError:
        raise _broken("the backend's answer is too large to be read: its values are nested too deep") from None
    except ValueError as error:
        cut = f" (only the first {MAX_BODY_BYTES} bytes were read)" if response.cut else ""
        raise _broken(f"invalid JSON from the backend: {str(error)[:200]}{cut}") from None


def _broken(message: str) -> Fault:
    return Fault(Code.INTERNAL_ERROR, message, name="UPSTREAM_BROKEN", as_tool_result=False)  # rule: 1.S4.1.not-json


def _decoded(body: bytes, shape: type[T]) -> T:
    """Decode a body; half a surrogate pair counts only where it is read. Raise ValueError as a decoder does."""
    # As text, so that bytes are checked in fields that are not shown, too.
    text = body.decode()  # rule: 1.S4.1.not-utf8
    try:
        return msgspec.json.decode(text, type=shape)
    except ValueError:
        first, second = (without_halves(body, stand_in) for stand_in in STAND_INS)
        if first == second:
            raise
    value = msgspec.json.decode(first, type=shape)
    if value != msgspec.json.decode(second, type=shape):
        raise ValueError("a text holds half a surrogate pair")
    return value


class _DailyForm(msgspec.Struct, frozen=True):
    id: Raw | UnsetType = UNSET
    problems: Raw | UnsetType = UNSET


def is_list_of_problems(response: UpstreamResponse) -> bool:
    """Return whether a daily challenge comes in the newer form: a list of problems, not the problem itself."""
    try:
        form = msgspec.json.decode(without_halves(response.body, STAND_INS[0]), type=_DailyForm)
    except (ValueError, RecursionError):
        return False
    return form.problems is not UNSET and form.id is UNSET


def _is_json(response: UpstreamResponse) -> bool:
    return response.content_type.startswith(JSON_TYPES)  # rule: 1.S2.3.gate


def _error_text(response: UpstreamResponse) -> str:
    """Return the text of an RFC 7807 document, or the beginning of any other body."""
    if _is_json(response):
        try:
            refusal = msgspec.json.decode(response.body, type=Refusal)
        except (ValueError, RecursionError):
            return _fallback(response)
        status = response.status if refusal.status is None else refusal.status  # rule: 1.S4.3.status
        return f"[{status}] {refusal.title}: {refusal.detail or ''}"  # rule: 1.S4.3.template
    return _fallback(response)


def _fallback(response: UpstreamResponse) -> str:
    # A character has at most four bytes: the rest of a large body needs no decoding.
    text = response.body[: MAX_FALLBACK_CHARS * 4].decode(errors="replace")  # rule: 1.S4.4.unicode
    return f"[{response.status}] {text[:MAX_FALLBACK_CHARS]}"  # rule: 1.S4.4.template
