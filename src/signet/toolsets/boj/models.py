"""What the Bank of Japan's answers become: the results of the three tools.

Dates and values are texts, as the Bank wrote them, so that no figure is ever rounded.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

__all__ = [
    "MAX_BODY_BYTES",
    "MAX_RESULT_BYTES",
    "CodeParameter",
    "DataOut",
    "Head",
    "LayerParameter",
    "MetadataEntry",
    "MetadataOut",
    "Point",
    "Series",
    "points_of",
]

MAX_BODY_BYTES: Final = 16_777_216
"""What is read of an answer; one pass over so much holds the interpreter for about 25 ms."""

MAX_RESULT_BYTES: Final = 4_194_304
"""What a result may be as JSON: 60,000 points, the most that the Bank gives at once, are about three million bytes."""


class Head(Struct, frozen=True):
    """How the Bank says that it went."""

    status: int
    message_id: str
    message: str
    date: str | None
    """When the answer was made; its hour may have one digit."""


class CodeParameter(Struct, frozen=True):
    """What the Bank understood of a question for series codes."""

    format: str | None = None
    lang: str | None = None
    db: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: int | None = None
    extras: dict[str, str] = {}


class LayerParameter(Struct, frozen=True):
    """What the Bank understood of a question for layers."""

    format: str | None = None
    lang: str | None = None
    db: str | None = None
    layer1: int | Literal["*"] | None = None
    layer2: int | Literal["*"] | None = None
    layer3: int | Literal["*"] | None = None
    layer4: int | Literal["*"] | None = None
    layer5: int | Literal["*"] | None = None
    frequency: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: int | None = None
    extras: dict[str, str] = {}


class Point(Struct, frozen=True, gc=False):
    """One observation; a value that is missing is null, which is not the same as 0."""

    survey_date: str
    value: str | None


class Series(Struct, frozen=True, gc=False):
    """One series and its observations."""

    series_code: str
    name_of_time_series_j: str | None
    name_of_time_series: str | None
    unit_j: str | None
    unit: str | None
    frequency: str | None
    category_j: str | None
    category: str | None
    last_update: str | None
    points: Raw
    """The list of `Point` as JSON: as Python values it would take ten times the room of the Bank's own text."""
    extras: dict[str, str | None]


class DataOut(Struct, frozen=True):
    """Observations of some series: one page, and where the next one starts."""

    meta: Head
    parameter: CodeParameter | LayerParameter
    next_position: int | None
    series_count: int
    series: list[Series]
    raw: str | UnsetType = UNSET


class MetadataEntry(Struct, frozen=True, gc=False):
    """One row of a database's tree: a series, or a heading, which has no code."""

    series_code: str | None
    name_of_time_series_j: str | None
    name_of_time_series: str | None
    unit_j: str | None
    unit: str | None
    frequency: str | None
    category_j: str | None
    category: str | None
    layer1: int | None
    layer2: int | None
    layer3: int | None
    layer4: int | None
    layer5: int | None
    start_of_the_time_series: str | None
    end_of_the_time_series: str | None
    last_update: str | None
    notes_j: str | None
    notes: str | None
    extras: dict[str, str | None]


class MetadataOut(Struct, frozen=True):
    """All series and headings of one database."""

    meta: Head
    db: str
    entries_count: int
    entries: list[MetadataEntry]
    raw: str | UnsetType = UNSET


def points_of(series: Series) -> list[Point]:
    """Give the observations of a series as values."""
    return msgspec.json.decode(series.points, type=list[Point])
