"""The backend's API: arguments to requests, answers to values or faults."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, TypeVar

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse

from .models import Fetching, Refusal
from .render import truncate

__all__ = [
    "DEADLINE_S",
    "MAX_BODY_BYTES",
    "ask_daily",
    "ask_problem",
    "ask_resolve",
    "ask_similar_to",
    "ask_similar_with",
    "ask_status",
    "encoded",
    "fetching",
    "read",
    "refuse",
    "trim",
    "utc_today",
]

T = TypeVar("T")

DEADLINE_S: Final = 30.0
"""Spec 1's timeout, for all of a request."""
MAX_BODY_BYTES: Final = 1_048_576
MAX_FALLBACK_CHARS: Final = 500
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
    403: Code.UNAUTHORIZED,
    404: Code.NOT_FOUND,
}
"""The canonical code of an upstream's status; any other is an internal error."""


def trim(text: str | None) -> str:
    """Take the white space off both ends; nothing counts as empty."""
    return (text or "").strip(WHITE)


def refuse(message: str, code: Code = Code.INVALID_INPUT) -> Fault:
    """Make a fault that the model is told, whatever its code."""
    return Fault(code, truncate(message), as_tool_result=True)


def utc_today() -> str:
    """Give the calendar day in UTC, whatever the machine's time zone is."""
    return datetime.now(UTC).date().isoformat()


def ask_daily(domain: str, day: str) -> UpstreamRequest:
    """Ask for a day's challenge.

    Raises:
        Fault: the date is none; it would go onto the request line as it is.
    """
    if not _is_date(day):
        message = f"'{day[:50]}' is not a date; write it as YYYY-MM-DD, for example 2026-01-31"
        raise refuse(message)
    return UpstreamRequest(f"/api/v1/daily?domain={domain}&date={day}")


def _is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, in the one way that the backend writes it."""
    try:
        return text.isascii() and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def ask_problem(source: str, problem_id: str) -> UpstreamRequest:
    """Ask for one problem.

    Raises:
        Fault: a part of its path is blank, or one that URLs would swallow.
    """
    return UpstreamRequest(f"/api/v1/problems/{_segment('source', trim(source))}/{_segment('id', trim(problem_id))}")


def ask_resolve(query: str) -> UpstreamRequest:
    """Ask what a URL, slug or id stands for.

    Raises:
        Fault: it is blank, or one that URLs would swallow.
    """
    if not trim(query):
        message = "query must not be empty; give a problem's URL, slug or id"
        raise refuse(message)
    return UpstreamRequest(f"/api/v1/resolve/{_segment('query', query)}")


def ask_similar_to(source: str, problem_id: str, options: str) -> UpstreamRequest:
    """Ask for problems like a given one."""
    return UpstreamRequest(f"/api/v1/similar/{_segment('source', source)}/{_segment('id', problem_id)}?{options}")


def ask_similar_with(query: str, options: str) -> UpstreamRequest:
    """Ask for problems that a text describes."""
    return UpstreamRequest(f"/api/v1/similar?q={encoded(query)}&{options}")


def similar_options(limit: int, threshold: float, source_filter: str) -> str:
    """Write the part of the query that both kinds of search share."""
    # Shortest decimal, no exponent, no trailing .0 and no negative nothing.
    number = format(Decimal(repr(float(threshold))), "f").removesuffix(".0").replace("-0", "0", 1)
    options = f"limit={limit}&threshold={number}"
    return f"{options}&source={encoded(source_filter)}" if source_filter else options


def ask_status() -> UpstreamRequest:
    """Ask how the backend is; it lies at the root, not under the API."""
    return UpstreamRequest("/status")


def encoded(text: str) -> str:
    """Percent-encode all but letters, digits and `-._~`."""
    from urllib.parse import quote

    return quote(text, safe="")


def _segment(name: str, value: str) -> str:
    """Percent-encode one segment of a path."""
    if not value:
        message = f"{name} must not be empty"
        raise refuse(message)
    if value in {".", ".."}:
        message = f"{name} must not be '{value}': a URL would lose it"
        raise refuse(message)
    return encoded(value)


def fetching(answer: UpstreamResponse) -> Fetching | None:
    """Give the backend's word that a daily problem is on its way, if that is what it says."""
    if answer.status != ACCEPTED:
        return None
    if not _is_json(answer):
        return Fetching()
    try:
        return msgspec.json.decode(answer.body, type=Fetching)
    except (ValueError, RecursionError):
        return Fetching()


def read(answer: UpstreamResponse, shape: type[T]) -> T:
    """Read an answer as what it should be.

    Raises:
        Fault: told, where the backend says no or does not speak JSON; not told, where its JSON is broken.
    """
    if answer.status != OK:
        raise refuse(_error_text(answer), CODES.get(answer.status, Code.INTERNAL_ERROR))
    if answer.broken:
        message = f"request failed: {answer.broken}"
        raise Fault(Code.INTERNAL_ERROR, message, name="UPSTREAM_FAILED", as_tool_result=False)
    if not _is_json(answer):
        raise refuse(_fallback(answer), Code.INTERNAL_ERROR)
    try:
        # As text, so that every byte is looked at, also in what is not shown.
        return msgspec.json.decode(answer.body.decode(), type=shape)
    except (ValueError, RecursionError) as error:
        cut = f" (only the first {MAX_BODY_BYTES} bytes were read)" if answer.cut else ""
        message = f"invalid JSON from the backend: {str(error)[:200]}{cut}"
        raise Fault(Code.INTERNAL_ERROR, message, name="UPSTREAM_BROKEN", as_tool_result=False) from None


def _is_json(answer: UpstreamResponse) -> bool:
    return answer.content_type.startswith(JSON_TYPES)


def _error_text(answer: UpstreamResponse) -> str:
    """Write an error as RFC 7807 has it, or as much of the body as tells what it is."""
    if _is_json(answer):
        try:
            told = msgspec.json.decode(answer.body, type=Refusal)
        except (ValueError, RecursionError):
            return _fallback(answer)
        status = answer.status if told.status is None else told.status
        return f"[{status}] {told.title}: {told.detail or ''}"
    return _fallback(answer)


def _fallback(answer: UpstreamResponse) -> str:
    # Four bytes a character at the most: no more of a large body needs decoding.
    text = answer.body[: MAX_FALLBACK_CHARS * 4].decode(errors="replace")
    return f"[{answer.status}] {text[:MAX_FALLBACK_CHARS]}"
