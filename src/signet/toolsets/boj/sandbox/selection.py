"""Which series an answer holds: those that are asked for, up to the limits of one answer; pure.

An answer holds at most 250 series and 60,000 values, missing ones counted; it is cut where a series ends, and says at
which position to go on. A series that alone has more values is not cut. One without a single period in the question is
not told at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from .database import Position, SampleDatabase
from .messages import refuse
from .periods import FREQUENCIES
from .query import MAX_CODES, SamplePeriod, SampleQuery
from .series import Number, SampleSeries, window

__all__ = ["MAX_POINTS", "MAX_SERIES", "SamplePiece", "SampleSelection", "by_code", "by_layer"]

MAX_SERIES: Final = 250
MAX_POINTS: Final = 60_000


class SamplePiece(msgspec.Struct, frozen=True):
    """One series as far as it is asked for."""

    series: SampleSeries
    first: int
    last: int

    def window(self) -> tuple[list[int], list[Number]]:
        """Give its periods and values."""
        return window(self.series, self.first, self.last)


class SampleSelection(msgspec.Struct, frozen=True):
    """What one answer holds, and where the next one begins if there is more."""

    pieces: list[SamplePiece]
    next_position: int | None = None


def by_code(database: SampleDatabase, query: SampleQuery) -> SampleSelection:
    """Select series by their codes; a position is a place in the list as it was sent.

    Raises:
        Fault: the question is none, or asks for what there is not.
    """
    codes, period, position = query.codes(), query.period(), query.position()
    found = list(enumerate(_find(database, codes), 1))
    frequency = found[0][1].frequency
    for number, series in found:
        if series.frequency != frequency:
            raise refuse("M181014E", number)
    period.check(frequency)
    return _cut(found, period, position)


def by_layer(database: SampleDatabase, query: SampleQuery) -> SampleSelection:
    """Select series by their place in the tree; a position is a row of the database, headings counted.

    Raises:
        Fault: the question is none, or is about too many series, of whatever frequency.
    """
    asked, layers, period, position = query.frequency(), query.layers(), query.period(), query.position()
    period.check(next(one for one in FREQUENCIES.values() if one.asked == asked))
    found = database.under(layers)
    if len(found) > MAX_CODES:
        raise refuse("M181007E")
    return _cut([(number, one) for number, one in found if one.frequency.asked == asked], period, position)


def _find(database: SampleDatabase, codes: list[str]) -> Iterator[SampleSeries]:
    for number, code in enumerate(codes, 1):
        series = database.find(code)
        if series is None:
            raise refuse("M181013E", number)
        yield series


def _cut(found: Iterable[Position], period: SamplePeriod, position: int) -> SampleSelection:
    pieces: list[SamplePiece] = []
    points = 0
    for number, series in found:
        if number < position:
            continue
        first, last = period.within(series.frequency, series.start, series.end)
        points += max(0, last - first + 1)
        if pieces and (len(pieces) == MAX_SERIES or points > MAX_POINTS):
            return SampleSelection(pieces, number)
        if first <= last:
            pieces.append(SamplePiece(series, first, last))
    return SampleSelection(pieces)
