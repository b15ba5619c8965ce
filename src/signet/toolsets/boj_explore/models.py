"""The arguments and the results of the three tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

__all__ = [
    "Citation", "DatabaseFacts", "DatabasesIn", "DatabasesOut", "FetchedColumn", "Hit", "IndexFacts", "NextCall",
    "SearchIn", "SearchOut", "SeriesIn", "SeriesOut",
]  # fmt: skip

Units = Literal["level", "change", "percent_change", "percent_change_year_ago", "index", "log"]
Method = Literal["average", "end", "sum"]
Frequency = Literal["CY", "FY", "CH", "FH", "Q", "M", "W", "D"]


class SearchIn(Struct, frozen=True):
    """What to look for."""

    query: str
    db: str | None = None
    frequency: Frequency | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] | None = None


class DatabasesIn(Struct, frozen=True):
    """Which databases to list."""

    query: str | None = None


class SeriesIn(Struct, frozen=True):
    """Which series to read, and how."""

    codes: tuple[str, ...]
    db: str | None = None
    start: str | None = None
    end: str | None = None
    lang: Literal["en", "jp"] | None = None
    units: Units | None = None
    base: str | None = None
    frequency: Frequency | None = None
    method: Method | None = None


class NextCall(Struct, frozen=True):
    """The call to make next."""

    tool: str
    arguments: dict[str, Any]


class Hit(Struct, frozen=True):
    """A series that was found."""

    code: str
    db: str
    name: str
    name_j: str
    unit: str
    frequency: str
    start: str
    end: str
    next: NextCall
    database: str
    """The name of the database."""
    path: list[str]
    """The headings above the series."""
    current: bool
    """Whether it is still updated."""


class IndexFacts(Struct, frozen=True):
    """The extent of the index."""

    databases: int
    series: int
    built_at: str | None
    missing: list[str]


class SearchOut(Struct, frozen=True):
    """The answer to a search."""

    hits: list[Hit]
    total: int
    index: IndexFacts
    matched: Literal["all", "some", "none"]
    closest: list[Hit]
    note: str


class DatabaseFacts(Struct, frozen=True):
    """One database."""

    code: str
    name: str
    name_j: str
    category: str
    category_j: str


class DatabasesOut(Struct, frozen=True):
    """The databases that were found."""

    databases: list[DatabaseFacts]
    note: str


class FetchedColumn(Struct, frozen=True):
    """One series as columns."""

    code: str
    db: str
    name: str
    unit: str
    frequency: str
    periods: list[str]
    dates: list[str]
    values: list[str | None]
    last_update: str | None


class Citation(Struct, frozen=True):
    """How to cite the figures."""

    source: str
    dataset: str
    series: list[str]
    url: str
    retrieved_at: str
    sentence: str


class SeriesOut(Struct, frozen=True):
    """Series ready for use."""

    series: list[FetchedColumn]
    units: str
    base: str | None
    method: str | None
    truncated: bool
    note: str
    citation: Citation
    table: str
