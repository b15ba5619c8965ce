"""The backend's answers, as far as they are shown; all other fields are ignored."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

__all__ = ["Fetching", "Platform", "Problem", "Refusal", "Resolved", "Similar", "SimilarProblem", "Status"]

Count = Annotated[int, Meta(ge=0)]


class Problem(Struct, frozen=True):
    """A problem; the daily challenge has no source, but a date and a domain.

    The last four fields are extras: a value of another type is left out, and never makes a page unreadable.
    """

    id: str | int
    title: str | None = None
    source: str | None = None
    difficulty: str | None = None
    tags: list[Any] | None = None
    link: str | None = None
    ac_rate: float | None = None
    content: str | None = None
    rating: Any = None
    paid_only: Any = None
    date: Any = None
    domain: Any = None


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
    """The problem that a URL, slug or id names; null if the backend does not know it."""

    problem: Problem | None = None
    source: str | None = None
    id: str | int | None = None


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

    title: str
    status: Annotated[int, Meta(ge=0, le=65_535)] | None = None
    detail: str | None = None
