"""The judges by name, and refusals that say which there are and how their ids look."""

from __future__ import annotations

from typing import Final

from signet.kernel.errors import Code, Fault

__all__ = ["JUDGES", "RESOLVER", "explained", "not_resolved", "unknown_judges"]

JUDGES: Final = {
    "leetcode": "1",
    "codeforces": "1900A",
    "atcoder": "abc300_a",
    "luogu": "P1001",
    "spoj": "SP1",
}
"""The judges, each with the shape of its ids."""

RESOLVER: Final = "resolve_problem finds a problem by its URL"
FORBIDDEN: Final = 403
GUESSED: Final = "leetcode"
"""The judge of every query in which the backend recognises no other."""
MAX_SHOWN_CHARS: Final = 200


def explained(fault: Fault, status: int, finder: str = RESOLVER) -> Fault:
    """Return a refusal of the backend with what to write instead, and what finds a problem."""
    if fault.code in {Code.INVALID_INPUT, Code.NOT_FOUND}:
        advice = f"{_shapes()}; {finder}"
    elif status == FORBIDDEN:
        advice = (
            "problems of a contest that is running may be refused, since judges forbid help then: ask when it ended"
        )
    else:
        return fault
    return Fault(fault.code, f"{fault.message.rstrip('. ')}. {advice[:1].upper()}{advice[1:]}.", as_tool_result=True)


def not_resolved(query: str, source: object, problem_id: object) -> str:
    """Return a sentence for a query that names no problem, given what the backend took it for."""
    shown, lower = f"'{query[:MAX_SHOWN_CHARS]}'", query.lower()
    if not isinstance(source, str) or source == "unknown":
        return f"{shown} names no problem of a known judge"
    if source == GUESSED and not any(f"{GUESSED}{sign}" in lower for sign in (":", ".com/", ".cn/")):
        return f"{shown} was not found; it names no judge, and the guess that LeetCode is meant found nothing"
    return f"{shown} was not found: the backend has no problem '{str(problem_id)[:MAX_SHOWN_CHARS]}' of {source}"


def unknown_judges(source_filter: str) -> str:
    """Return a sentence about the names in a comma-separated filter that no judge has; empty where all are known."""
    unknown = [name for part in source_filter.split(",") if (name := part.strip()) and name not in JUDGES]
    if not unknown:
        return ""
    names = ", ".join(unknown)[:MAX_SHOWN_CHARS]
    return f"source_filter has names of no judge ({names}); the judges are: {', '.join(JUDGES)}."


def _shapes() -> str:
    shapes = ", ".join(f"{name} ({shape})" for name, shape in JUDGES.items())
    return f"the judges and the shapes of their ids are: {shapes}"
