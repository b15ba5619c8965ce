"""The backend's answers, as far as they are shown; all other fields are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

__all__ = [
    "Daily",
    "Fetching",
    "FullDaily",
    "FullProblem",
    "FullResolved",
    "Platform",
    "Problem",
    "Refusal",
    "Resolved",
    "Similar",
    "SimilarProblem",
    "Status",
]

Count = Annotated[int, Meta(ge=0)]


class Problem(Struct, frozen=True):
    """A problem as far as spec 2 shows it; the daily challenge has no source."""

    id: str | int
    title: str | None = None
    source: str | None = None
    difficulty: str | None = None
    tags: list[Any] | None = None
    link: str | None = None
    ac_rate: float | None = None
    content: str | None = None


class FullProblem(Problem, frozen=True):
    """A problem with what spec 2 has no place for: a value of another type is left out, and spoils no page."""

    slug: Any = None
    title_cn: Any = None
    content_cn: Any = None
    rating: Any = None
    paid_only: Any = None
    date: Any = None
    domain: Any = None


class Daily(Struct, frozen=True):
    """The daily challenge as backends since 0.3 send it; older ones send the problem itself."""

    problems: Sequence[Problem]


class FullDaily(Daily, frozen=True, kw_only=True):
    """The same with full problems, and the date and the source that they have in common."""

    problems: Sequence[FullProblem]
    date: Any = None
    source: Any = None


class SimilarProblem(Struct, frozen=True):
    """A row of a search result."""

    source: str
    id: str | int
    similarity: float
    title: str | None = None
    difficulty: str | None = None
    link: str | None = None


class Similar(Struct, frozen=True):
    """The result of a search."""

    results: list[SimilarProblem]
    rewritten_query: str | None = None


class Resolved(Struct, frozen=True):
    """The problem that a URL, slug or id names; null if the backend does not know it, but never absent.

    The source and the id are what the backend takes the query for: often a guess.
    """

    problem: Problem | None
    source: Any = None
    id: Any = None


class FullResolved(Resolved, frozen=True, kw_only=True):
    """The same with a full problem."""

    problem: FullProblem | None


class Platform(Struct, frozen=True):
    """The number of problems that the backend has of a judge."""

    source: str
    total: Count
    missing_content: Count
    not_embedded: Count


class Status(Struct, frozen=True):
    """The state of the backend."""

    version: str
    platforms: list[Platform]


class Fetching(Struct, frozen=True):
    """A daily challenge that the backend is still fetching."""

    retry_after: Count | None = None


class Refusal(Struct, frozen=True):
    """An RFC 7807 problem document."""

    title: str  # rule: 1.S4.3.shape
    status: Annotated[int, Meta(ge=0, le=65_535)] | None = None
    detail: str | None = None
