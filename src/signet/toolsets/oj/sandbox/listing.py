"""Lists of problems and of tags: filtered, sorted, cut into pages."""

from __future__ import annotations

from typing import Any, Final

from signet.kernel.errors import Code, Fault

from .problem import SampleProblem
from .problem_store import natural
from .query import QueryParameters

__all__ = ["list_problems", "list_tags"]

SUMMARY: Final = SampleProblem.__struct_fields__[:12]
"""What a list tells of a problem: all but its statement and what goes with that."""

PER_PAGE: Final = 20
MAX_PER_PAGE: Final = 100
MIN_RATING: Final = -1e9
MAX_RATING: Final = 1e9
GRADES: Final = (
    "Easy", "Medium", "Hard", "暂无评定", "入门", "普及\u2212", "普及/提高\u2212", "普及+/提高", "提高+/省选\u2212",
    "省选/NOI\u2212", "NOI/NOI+/CTSC",
)  # fmt: skip
"""Difficulties from low to high, of one judge and then of the other."""


def list_problems(problems: list[SampleProblem], query: QueryParameters) -> dict[str, Any]:
    """Give one page of the problems that a query asks for.

    Raises:
        Fault: the query is none.
    """
    page, per_page = max(1, query.whole("page", 1)), min(max(1, query.whole("per_page", PER_PAGE)), MAX_PER_PAGE)
    kept = _sort([one for one in problems if _fits(one, query)], query)
    shown = kept[(page - 1) * per_page : page * per_page]
    return {
        "data": [{name: getattr(one, name) for name in SUMMARY} for one in shown],
        "meta": {"total": len(kept), "page": page, "per_page": per_page, "total_pages": -(-len(kept) // per_page)},
    }


def list_tags(problems: list[SampleProblem]) -> list[str]:
    """Give the tags that there are, in lower case."""
    return sorted({tag.lower() for one in problems for tag in one.tags})


def _fits(problem: SampleProblem, query: QueryParameters) -> bool:
    difficulty, search = query.get("difficulty", "").lower(), query.get("search", "").lower()
    wanted = {tag.strip().lower() for tag in query.get("tags", "").split(",")} - {""}
    has = {tag.lower() for tag in problem.tags}
    every = _one_of(query, "tag_mode", "any", "all") == "all"
    bounded = "rating_min" in query or "rating_max" in query
    low, high = query.real("rating_min", MIN_RATING), query.real("rating_max", MAX_RATING)
    texts = (problem.id, problem.title or "", problem.title_cn or "")
    return (
        (not difficulty or (problem.difficulty or "").lower() == difficulty)
        and (not wanted or (wanted <= has if every else bool(wanted & has)))
        and (not search or any(search in text.lower() for text in texts))
        and (not bounded or (problem.rating is not None and low <= problem.rating <= high))
    )


def _sort(problems: list[SampleProblem], query: QueryParameters) -> list[SampleProblem]:
    """Sort, ids in their natural order; what has no value comes last either way."""
    by = _one_of(query, "sort_by", "id", "difficulty", "rating", "ac_rate")
    down = _one_of(query, "sort_order", "asc", "desc") == "desc"
    if by == "id":
        return sorted(problems, key=lambda one: natural(one.id), reverse=down)
    known = [one for one in problems if getattr(one, by) is not None]
    return sorted(known, key=lambda one: _worth(getattr(one, by)), reverse=down) + [
        one for one in problems if getattr(one, by) is None
    ]


def _worth(value: str | float) -> float:
    if isinstance(value, str):
        return GRADES.index(value) if value in GRADES else -1
    return value


def _one_of(query: QueryParameters, name: str, *known: str) -> str:
    value = query.get(name, known[0])
    if value not in known:
        raise Fault(Code.INVALID_INPUT, f"invalid {name}: {value}")
    return value
