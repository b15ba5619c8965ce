"""The series that a response holds: the requested series, up to the limits of one response; pure.

A response holds at most 250 series and 60,000 values, missing values included. It is cut between series and states the
position at which the next response starts. A single series with more values is not cut. A series without a period in
the request is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from .database import SampleDatabase
from .messages import refuse
from .query import MAX_CODES, SamplePeriod, SampleQuery
from .series import FREQUENCIES, Number, SampleSeries, window

__all__ = ["SamplePiece", "SampleSelection", "select_by_code", "select_by_layer"]

MAX_SERIES: Final = 250
MAX_VALUES: Final = 60_000


class SamplePiece(msgspec.Struct, frozen=True):
    """The requested periods of one series."""

    series: SampleSeries
    first: int
    last: int

    def window(self) -> tuple[list[int], list[Number]]:
        """Return the period labels and the values."""
        return window(self.series, self.first, self.last)


class SampleSelection(msgspec.Struct, frozen=True):
    """The pieces of one response, and the position of the next response if there is more."""

    pieces: list[SamplePiece]
    next_position: int | None = None


def select_by_code(database: SampleDatabase, query: SampleQuery) -> SampleSelection:
    """Select series by code; a position is a place in the list of codes.

    Raises:
        Fault: a parameter is invalid, or a series does not exist or has another frequency.
    """
    codes, period, position = query.codes(), query.period(), query.position()
    numbered = list(enumerate(_find_all(database, codes), 1))
    frequency = numbered[0][1].frequency
    for number, series in numbered:
        if series.frequency != frequency:
            raise refuse("M181014E", number)
    period.check(frequency)
    return _cut(numbered, period, position)


def select_by_layer(database: SampleDatabase, query: SampleQuery) -> SampleSelection:
    """Select series by layer; a position is a row number of the database, headings included.

    Raises:
        Fault: a parameter is invalid, or the layers hold too many series of any frequency.
    """
    request_code, layers, period, position = query.frequency(), query.layers(), query.period(), query.position()
    period.check(next(it for it in FREQUENCIES.values() if it.request_code == request_code))
    numbered = database.under(layers)
    if len(numbered) > MAX_CODES:
        raise refuse("M181007E")
    matching = [(number, series) for number, series in numbered if series.frequency.request_code == request_code]
    return _cut(matching, period, position)


def _find_all(database: SampleDatabase, codes: list[str]) -> Iterator[SampleSeries]:
    for number, code in enumerate(codes, 1):
        series = database.find(code)
        if series is None:
            raise refuse("M181013E", number)
        yield series


def _cut(numbered: Iterable[tuple[int, SampleSeries]], period: SamplePeriod, position: int) -> SampleSelection:
    pieces: list[SamplePiece] = []
    values = 0
    for number, series in numbered:
        if number < position:
            continue
        first, last = period.within(series)
        values += max(0, last - first + 1)
        if pieces and (len(pieces) == MAX_SERIES or values > MAX_VALUES):
            return SampleSelection(pieces, number)
        if first <= last:
            pieces.append(SamplePiece(series, first, last))
    return SampleSelection(pieces)
