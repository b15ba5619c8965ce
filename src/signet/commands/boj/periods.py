"""Periods on an axis: the Bank of Japan's dates as places to draw at, and the dates that are written below them.

    202403 of MONTHLY ── place ──▶ 24291 ── label ──▶ 2024-03

Pure. A place counts periods of the series' own frequency, so that no fiscal year or half is ever taken for a day.
"""

from __future__ import annotations

from datetime import date
from typing import Final, NamedTuple

from signet.kernel.errors import Code, Fault

__all__ = ["Scale", "scale_of"]

YEAR_DIGITS: Final = 4
MONTHS: Final = 12
WEEK: Final = 7
WEEKEND: Final = 5
"""Saturday, as `date.weekday` counts."""
YEARS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200)
DAYS: Final = (1, 2, WEEK, 2 * WEEK)
SIGNS: Final = {2: " H{}", 4: " Q{}", MONTHS: "-{:02}"}


class Scale(NamedTuple):
    """How the periods of one frequency are counted."""

    word: str
    """What one of them is called."""
    parts: int
    """How many there are in a year; 0 where they are days."""
    step: int = 1
    """How far one is from the next."""

    def place(self, label: str) -> int:
        """Give the place of a date as the Bank writes it.

        Raises:
            Fault: it is no date of this frequency.
        """
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
        """Write the date of a place."""
        if self.parts == 0:
            return date.fromordinal(place).isoformat()
        year, part = divmod(place, self.parts)
        return f"{year}" + SIGNS.get(self.parts, "").format(part + 1)

    def is_rest(self, place: int) -> bool:
        """Whether a missing value is no gap there: in a daily series, on Saturdays and Sundays."""
        return self._is_daily and date.fromordinal(place).weekday() >= WEEKEND

    def skips(self, before: int, place: int) -> bool:
        """Whether a period is missing between two; of days it cannot be told, since some are left out as rest."""
        return not self._is_daily and place - before > self.step

    @property
    def _is_daily(self) -> bool:
        return self.parts == 0 and self.step == 1

    def ticks(self, first: int, last: int, most: int) -> list[tuple[int, str]]:
        """Choose round dates to write below an axis: as many as there is room for, and not more."""
        if self.parts == 0:
            return _day_ticks(self, first, last, most)
        within = [step for step in range(1, self.parts) if self.parts % step == 0]
        for step in (*within, *(years * self.parts for years in YEARS)):
            places = range(-(-first // step) * step, last + 1, step)
            if len(places) <= most:
                break
        return [(place, self.label(place) if step < self.parts else str(place // self.parts)) for place in places]


def scale_of(frequency: str | None) -> Scale:
    """Give the scale of a frequency as it stands in answers.

    Raises:
        Fault: there is none of this name.
    """
    name = (frequency or "").upper()
    if name.startswith("WEEKLY(") and name.endswith(")"):
        return Scale(f"week ({name[7:-1].title()}s)", 0, WEEK)
    if name not in SCALES:
        raise Fault(Code.INVALID_OUTPUT, f"the frequency '{name[:50]}' is unknown: it cannot be drawn")
    return SCALES[name]


def _day_ticks(scale: Scale, first: int, last: int, most: int) -> list[tuple[int, str]]:
    for step in DAYS:
        places = range(first, last + 1, step)
        if len(places) <= most:
            return [(place, scale.label(place)) for place in places]
    start, end = (date.fromordinal(place) for place in (first, last))
    # The first month that begins no earlier than the axis does.
    month = start.year * MONTHS + start.month - (start.day == 1)
    ticks = SCALES["MONTHLY"].ticks(month, end.year * MONTHS + end.month - 1, most)
    return [(date(place // MONTHS, place % MONTHS + 1, 1).toordinal(), text) for place, text in ticks]


SCALES: Final = {
    "ANNUAL": Scale("year", 1),
    "ANNUAL(MAR)": Scale("fiscal year", 1),
    "SEMIANNUAL": Scale("half of the year", 2),
    "SEMIANNUAL(SEP)": Scale("half of the fiscal year", 2),
    "QUARTERLY": Scale("quarter", 4),
    "MONTHLY": Scale("month", MONTHS),
    "DAILY": Scale("day", 0),
}
"""By the name in answers; the seven weekly kinds are made as they come."""
