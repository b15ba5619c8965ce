"""The parameters of a request, checked, and the series that they select, up to the limits of one response; pure.

Every failed check has one message. The order is: forbidden characters, language and format; required parameters; the
database; valid values; the series.

A response holds at most 250 series and 60,000 values, missing values included. It is cut between series and states the
position at which the next response starts. A single series with more values is not cut. A series without a period in
the request is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from .database import LEVELS, SampleDatabase
from .messages import LANGS, refuse
from .series import FREQUENCIES, MONTH_DIGITS, MONTHS, YEAR_DIGITS, Frequency, SampleSeries, SampleWindow, window

__all__ = ["SampleQuery", "select_by_code", "select_by_layer"]

MAX_CODES: Final = 1250
"""The largest number of series in one request."""

MAX_SERIES: Final = 250
MAX_VALUES: Final = 60_000
"""The largest number of series and of values in one response."""

REQUEST_CODES: Final = tuple(dict.fromkeys(frequency.request_code for frequency in FREQUENCIES.values()))
"""The codes that a request may use; all weekly frequencies share one."""

FORBIDDEN: Final = set("<>\"!|\\;'")
MAX_DIGITS: Final = 10
"""The longest position or layer that is accepted."""

FIRST_YEAR: Final = 1850
LAST_YEAR: Final = 2050
ANY: Final = "*"

SamplePage = tuple[list[SampleWindow], int | None]
"""The series of one response with their values, and the position of the next response if there is more."""


class SamplePeriod(msgspec.Struct, frozen=True):
    """The requested start and end; empty is unbounded."""

    start: str
    end: str

    def within(self, series: SampleSeries) -> tuple[int, int]:
        """Return the first and the last period index for a series."""
        start, end = series.frequency.span(self.start), series.frequency.span(self.end)
        return start[0] if start else series.start, end[1] if end else series.end

    def check(self, frequency: Frequency) -> None:
        """Raise Fault if a date has the form of another frequency."""
        for text, message_id in ((self.start, "M181015E"), (self.end, "M181016E")):
            if text and frequency.span(text) is None:
                raise refuse(message_id)


class SampleQuery:
    """The parameters of a request; their names are case-insensitive."""

    def __init__(self, raw: str) -> None:
        self._texts = {name.lower(): value for name, value in reversed(parse_qsl(raw, keep_blank_values=True))}

    def text(self, name: str) -> str:
        """Return a parameter as it was sent, or an empty text."""
        return self._texts.get(name.lower(), "")

    def lang(self) -> str:
        """Return the language of the response; raise Fault if it is unknown, or for a forbidden character."""
        if any(not value.isascii() or FORBIDDEN & set(value) for value in self._texts.values()):
            raise refuse("M181001E")
        return self.choice("lang", LANGS, "M181002E")

    def require(self, **message_ids: str) -> None:
        """Raise Fault for the first missing parameter, with its message."""
        for name, message_id in message_ids.items():
            if not self.text(name):
                raise refuse(message_id)

    def levels(self) -> list[str]:
        """Return the layers as they were sent; raise Fault if there are none, or too many."""
        levels = self.text("layer").split(",")
        if not levels[0] or len(levels) > LEVELS:
            raise refuse("M181019E")
        return levels

    def layers(self) -> tuple[int | None, ...]:
        """Return the layers as numbers, None for any; raise Fault if one is invalid."""
        levels = self.levels()
        if not all(level == ANY or _is_positive(level) for level in levels):
            raise refuse("M181020E")
        return tuple(None if level == ANY else int(level) for level in levels)

    def period(self) -> SamplePeriod:
        """Return the requested dates; raise Fault if one is invalid, or if they are in the wrong order."""
        period = SamplePeriod(self.text("startDate"), self.text("endDate"))
        _check_date(period.start, "M181008E")
        _check_date(period.end, "M181009E")
        if len(period.start) == len(period.end) and period.start > period.end:
            raise refuse("M181011E")
        return period

    def position(self) -> int:
        """Return the start position; raise Fault if it is not a positive number."""
        text = self.text("startPosition") or "1"
        if not _is_positive(text):
            raise refuse("M181012E")
        return int(text)

    def choice(self, name: str, choices: tuple[str, ...], message_id: str) -> str:
        """Return a parameter in the spelling of `choices`, by default the first; raise Fault for any other."""
        text = self.text(name) or choices[0]
        choice = next((choice for choice in choices if choice.lower() == text.lower()), None)
        if choice is None:
            raise refuse(message_id)
        return choice


def _is_positive(text: str) -> bool:
    return text.isdigit() and len(text) <= MAX_DIGITS and int(text) > 0


def _check_date(text: str, message_id: str) -> None:
    if not text:
        return
    if not text.isdigit():
        raise refuse("M181010E")
    part = text[YEAR_DIGITS:]
    if len(text) not in (YEAR_DIGITS, MONTH_DIGITS) or (part and not 1 <= int(part) <= MONTHS):
        raise refuse(message_id)
    if not FIRST_YEAR <= int(text[:YEAR_DIGITS]) <= LAST_YEAR:
        raise refuse("M181010E")


def select_by_code(database: SampleDatabase, query: SampleQuery) -> SamplePage:
    """Select series by code; a position is a place in the list of codes.

    Raises:
        Fault: a parameter is invalid, or a series does not exist or has another frequency.
    """
    codes = query.text("code").split(",")
    if len(codes) > MAX_CODES:
        raise refuse("M181007E")
    period, position = query.period(), query.position()
    numbered = list(enumerate(_find_all(database, codes), 1))
    frequency = numbered[0][1].frequency
    for number, series in numbered:
        if series.frequency != frequency:
            raise refuse("M181014E", number)
    period.check(frequency)
    return _cut(numbered, period, position)


def select_by_layer(database: SampleDatabase, query: SampleQuery) -> SamplePage:
    """Select series by layer; a position is a row number of the database, headings included.

    Raises:
        Fault: a parameter is invalid, or the layers hold too many series of any frequency.
    """
    request_code = query.choice("frequency", REQUEST_CODES, "M181018E")
    layers, period, position = query.layers(), query.period(), query.position()
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


def _cut(numbered: Iterable[tuple[int, SampleSeries]], period: SamplePeriod, position: int) -> SamplePage:
    windows: list[SampleWindow] = []
    values = 0
    for number, series in numbered:
        if number < position:
            continue
        first, last = period.within(series)
        values += max(0, last - first + 1)
        if windows and (len(windows) == MAX_SERIES or values > MAX_VALUES):
            return windows, number
        if first <= last:
            windows.append(window(series, first, last))
    return windows, None
