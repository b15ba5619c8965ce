"""What the judge's backend sends, as far as it is shown; what it sends beside that is nobody's business here."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

__all__ = ["Fetching", "Platform", "Problem", "Refusal", "Resolved", "Similar", "SimilarProblem", "Status"]

Count = Annotated[int, Meta(ge=0)]


class Problem(Struct, frozen=True):
    """One problem; the daily one has no source of its own."""

    id: str | int
    title: str | None = None
    source: str | None = None
    difficulty: str | None = None
    tags: list[Any] | None = None
    link: str | None = None
    ac_rate: float | None = None
    content: str | None = None


class SimilarProblem(Struct, frozen=True):
    """One row of a search."""

    source: str
    id: str | int
    similarity: float
    title: str | None = None
    difficulty: str | None = None
    link: str | None = None


class Similar(Struct, frozen=True):
    """What a search found."""

    results: list[SimilarProblem]
    rewritten_query: str | None = None


class Resolved(Struct, frozen=True):
    """What a URL, slug or id stands for; the problem is null where nobody knows it."""

    problem: Problem | None = None
    source: str | None = None
    id: str | int | None = None


class Platform(Struct, frozen=True):
    """How much of one judge is there."""

    source: str
    total: Count
    missing_content: Count
    not_embedded: Count


class Status(Struct, frozen=True):
    """How the backend is."""

    version: str
    platforms: list[Platform]


class Fetching(Struct, frozen=True):
    """A daily problem that is still on its way."""

    retry_after: Count | None = None


class Refusal(Struct, frozen=True):
    """An RFC 7807 problem document."""

    title: str
    status: Annotated[int, Meta(ge=0, le=65_535)] | None = None
    detail: str | None = None
