"""Frequencies and their periods: a period is an index that counts up, and is written as the Bank writes it; pure.

asked with  2024, 202401 ── Frequency.span ──▶  index … index  ── Frequency.label ──▶  2024, 202401, 20240131
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Final

import msgspec

__all__ = ["ASKED", "FIRST_YEAR", "FREQUENCIES", "LAST_YEAR", "Frequency"]

FIRST_YEAR: Final = 1850
LAST_YEAR: Final = 2050

MONTHS: Final = 12
WEEK: Final = 7
YEAR_DIGITS: Final = 4
MONTH_DIGITS: Final = 6


class Frequency(msgspec.Struct, frozen=True):
    """How often a series has a value.

    `parts` is how many periods a year has, 0 when they are counted in days; `weekday` is that of weeks, 0 for Sunday.
    """

    code: str
    asked: str
    name: str
    parts: int = 0
    weekday: int | None = None

    def index(self, label: str) -> int:
        """Read a period as it stands in answers."""
        if self.parts == 1:
            return int(label)
        if self.parts:
            return int(label[:YEAR_DIGITS]) * self.parts + int(label[YEAR_DIGITS:]) - 1
        day = date(int(label[:4]), int(label[4:6]), int(label[6:])).toordinal()
        return day if self.weekday is None else (day - self.weekday) // WEEK

    def label(self, index: int) -> int:
        """Write a period as it stands in answers."""
        if self.parts == 1:
            return index
        if self.parts:
            year, part = divmod(index, self.parts)
            return year * 100 + part + 1
        day = date.fromordinal(self.ordinal(index))
        return day.year * 10_000 + day.month * 100 + day.day

    def ordinal(self, index: int) -> int:
        """Give the day of a period that is counted in days."""
        return index if self.weekday is None else index * WEEK + self.weekday

    def span(self, text: str) -> tuple[int, int] | None:
        """Read a period as it is asked with: its first and its last index, None when its shape is another's."""
        parts = self.parts or MONTHS
        if len(text) != (YEAR_DIGITS if parts == 1 else MONTH_DIGITS):
            return None
        if parts == 1:
            return int(text), int(text)
        year, part = int(text[:YEAR_DIGITS]), int(text[YEAR_DIGITS:])
        if not 1 <= part <= parts:
            return None
        if self.parts:
            index = year * parts + part - 1
            return index, index
        first, last = date(year, part, 1).toordinal(), date(year, part, monthrange(year, part)[1]).toordinal()
        if self.weekday is None:
            return first, last
        return -((self.weekday - first) // WEEK), (last - self.weekday) // WEEK


DAYS: Final = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")

FREQUENCIES: Final = {
    one.code: one
    for one in (
        Frequency("CY", "CY", "ANNUAL", 1),
        Frequency("FY", "FY", "ANNUAL(MAR)", 1),
        Frequency("CH", "CH", "SEMIANNUAL", 2),
        Frequency("FH", "FH", "SEMIANNUAL(SEP)", 2),
        Frequency("Q", "Q", "QUARTERLY", 4),
        Frequency("M", "M", "MONTHLY", MONTHS),
        *(Frequency(f"W{n}", "W", f"WEEKLY({name})", weekday=n) for n, name in enumerate(DAYS)),
        Frequency("D", "D", "DAILY"),
    )
}
"""The kinds of series that there are, seven of them weekly."""

ASKED: Final = tuple(dict.fromkeys(one.asked for one in FREQUENCIES.values()))
"""What can be asked for; all weekly kinds go by one name."""
