"""The results of the three tools.

Dates and values are texts as the Bank wrote them, so that no figure is ever rounded.
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
    "MetadataHead",
    "Point",
    "Series",
    "decode_points",
]

MAX_BODY_BYTES: Final = 16_777_216
"""The limit of a response, unless a setting gives another."""

MAX_RESULT_BYTES: Final = 4_194_304  # rule: 3.limits.points
"""The limit of a result as JSON, unless a setting gives another: 60,000 points, the Bank's limit for one response, are
about three million bytes."""


class Head(Struct, frozen=True):
    """The head of a successful response."""

    status: int
    message_id: str
    message: str
    date: str | None
    """The time of the response; its hour may have one digit."""


class CodeParameter(Struct, frozen=True):
    """A query by series codes, as the Bank understood it."""

    format: str | None = None
    lang: str | None = None
    db: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    start_position: int | None = None
    extras: dict[str, str] = {}


class LayerParameter(Struct, frozen=True):
    """A query by layers, as the Bank understood it."""

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
    """One observation; a missing value is null, which is not the same as 0."""

    survey_date: str
    value: str | None


class SeriesAttributes(Struct, frozen=True, gc=False):
    """The attributes that every response has for a series."""

    series_code: str | None
    name_of_time_series_j: str | None
    name_of_time_series: str | None
    unit_j: str | None
    unit: str | None
    frequency: str | None
    category_j: str | None
    category: str | None


class Series(SeriesAttributes, frozen=True, gc=False):
    """A series and its observations."""

    series_code: str
    last_update: str | None
    points: Raw
    """The list of `Point` as JSON: Python values would take ten times the memory of the Bank's text."""
    extras: dict[str, str | None]


class DataOut(Struct, frozen=True):
    """One page of series with their observations, and the position of the next page."""

    meta: Head
    parameter: CodeParameter | LayerParameter
    next_position: int | None
    series_count: int
    series: list[Series]
    raw: str | UnsetType = UNSET


class MetadataEntry(SeriesAttributes, frozen=True, gc=False):
    """A row of a database's tree: a series, or a heading, which has no code."""

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


class MetadataHead(Struct, frozen=True):
    """A list of a database without its rows, which are written one by one: `entries`, a list of `MetadataEntry`."""

    meta: Head
    db: str
    entries_count: int


_points: Final = msgspec.json.Decoder(list[Point])


def decode_points(points: Raw) -> list[Point]:
    """Return the observations of a series as values."""
    return _points.decode(points)
