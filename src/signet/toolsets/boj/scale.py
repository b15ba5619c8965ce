"""Axes of periods: the place of each period of a frequency, and the round dates of an axis.

    202403 of MONTHLY ── place ──▶ 24291 ── label ──▶ 2024-03

Pure. A place counts periods of the frequency of the series, so that no fiscal year or half is ever taken for a day.
"""

from __future__ import annotations

from datetime import date
from typing import Final, NamedTuple

from signet.kernel.errors import Code, Fault

from .periods import CODES

__all__ = ["Scale", "scale_of"]

YEAR_DIGITS: Final = 4
MONTHS: Final = 12
WEEK: Final = 7
WEEKEND: Final = 5
"""Saturday, as `date.weekday` counts."""
YEAR_STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200)
DAY_STEPS: Final = (1, 2, WEEK, 2 * WEEK)
PART_LABELS: Final = {2: " H{}", 4: " Q{}", MONTHS: "-{:02}"}
"""The label of a part of the year, by the number of parts."""


class Scale(NamedTuple):
    """An axis of the periods of one frequency."""

    word: str
    """The name of one period."""
    parts: int
    """The number of periods in a year; 0 for days."""
    step: int = 1
    """The distance between two consecutive periods."""

    def place(self, label: str) -> int:
        """Return the place of a date in the Bank's format; raise Fault if it is no date of this frequency."""
        try:
            if self.parts == 0:
                return date(int(label[:4]), int(label[4:6]), int(label[6:])).toordinal()
            year, part = int(label[:YEAR_DIGITS]), int(label[YEAR_DIGITS:] or "1")
        except ValueError:
            part = 0
        if not 1 <= part <= self.parts:
            raise Fault(Code.INVALID_OUTPUT, f"'{label[:50]}' is no {self.word}: it cannot be drawn")
        return year * self.parts + part - 1

    def label(self, place: int) -> str:
        """Return the date of a place, for people."""
        if self.parts == 0:
            return date.fromordinal(place).isoformat()
        year, part = divmod(place, self.parts)
        return f"{year}" + PART_LABELS.get(self.parts, "").format(part + 1)

    def is_weekend(self, place: int) -> bool:
        """Return True for a Saturday or Sunday of a daily series, where a missing value is no gap."""
        return self._is_daily and date.fromordinal(place).weekday() >= WEEKEND

    def skips(self, before: int, place: int) -> bool:
        """Return True if a period is missing between two places; never for days, since weekends may be left out."""
        return not self._is_daily and place - before > self.step

    @property
    def _is_daily(self) -> bool:
        return self.parts == 0 and self.step == 1

    def ticks(self, first: int, last: int, limit: int) -> list[tuple[int, str]]:
        """Return at most `limit` round dates of an axis, as places and labels."""
        if self.parts == 0:
            return _day_ticks(self, first, last, limit)
        part_steps = [step for step in range(1, self.parts) if self.parts % step == 0]
        for step in (*part_steps, *(years * self.parts for years in YEAR_STEPS)):
            places = range(-(-first // step) * step, last + 1, step)
            if len(places) <= limit:
                break
        return [(place, self.label(place) if step < self.parts else str(place // self.parts)) for place in places]


def scale_of(frequency: str | None) -> Scale:
    """Return the scale of a frequency, as responses name it or by its code; raise Fault if it is unknown."""
    name = (frequency or "").upper()
    name = NAMES.get(name, name)
    if name.startswith("WEEKLY(") and name.endswith(")"):
        return Scale(f"week ({name[7:-1].title()}s)", 0, WEEK)
    if name not in SCALES:
        raise Fault(Code.INVALID_OUTPUT, f"the frequency '{name[:50]}' is unknown: it cannot be drawn")
    return SCALES[name]


def _day_ticks(scale: Scale, first: int, last: int, limit: int) -> list[tuple[int, str]]:
    for step in DAY_STEPS:
        places = range(first, last + 1, step)
        if len(places) <= limit:
            return [(place, scale.label(place)) for place in places]
    start, end = (date.fromordinal(place) for place in (first, last))
    # The first month that does not begin before the axis.
    month = start.year * MONTHS + start.month - (start.day == 1)
    ticks = SCALES["MONTHLY"].ticks(month, end.year * MONTHS + end.month - 1, limit)
    return [(date(place // MONTHS, place % MONTHS + 1, 1).toordinal(), text) for place, text in ticks]


SCALES: Final = {
    "ANNUAL": Scale("year", 1),
    "ANNUAL(MAR)": Scale("fiscal year", 1),
    "SEMIANNUAL": Scale("half of the year", 2),
    "SEMIANNUAL(SEP)": Scale("half of the fiscal year", 2),
    "QUARTERLY": Scale("quarter", 4),
    "MONTHLY": Scale("month", MONTHS),
    "WEEKLY": Scale("week", 0, WEEK),
    "DAILY": Scale("day", 0),
}
"""The scale of each frequency but the seven kinds of weeks."""

NAMES: Final = {code: name for name, code in CODES.items()}
"""The name of each frequency in responses, by its code."""
