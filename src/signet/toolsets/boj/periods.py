"""Periods: what each of the Bank's labels means in days, and which period a person's date falls into.

    label    frequency   first day    last day
    2025     CY          2025-01-01   2025-12-31
    2025     FY          2024-04-01   2025-03-31   the Bank names a fiscal year by the year in which it ends
    202501   CH          2025-01-01   2025-06-30
    202501   FH          2025-04-01   2025-09-30
    202502   FH          2025-10-01   2026-03-31
    202501   Q           2025-01-01   2025-03-31
    202501   M           2025-01-01   2025-01-31
    20250106 W           2025-01-06   2025-01-06   the date that the Bank gives
    20250106 D           2025-01-06   2025-01-06

Pure. A fiscal year runs from April to March. The Bank calls its fiscal frequency ANNUAL(MAR), years that end in March,
and published the year 2025 in June and July 2025: no year that began in April 2025 could have been complete by then.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Final, NamedTuple
from unicodedata import normalize

__all__ = ["CODES", "Days", "days_of", "frequency_code", "label_of", "nests_in", "read_bound", "request_label"]

MONTHS: Final = 12
FISCAL_START: Final = 4
"""April, the first month of a fiscal year."""
YEAR_DIGITS: Final = 4
MONTH_DIGITS: Final = 6
DAY_DIGITS: Final = 8
FIRST_YEAR: Final = 1850
LAST_YEAR: Final = 2050
"""The years that the Bank takes."""

CODES: Final = {
    "ANNUAL": "CY", "ANNUAL(MAR)": "FY", "SEMIANNUAL": "CH", "SEMIANNUAL(SEP)": "FH", "QUARTERLY": "Q", "MONTHLY": "M",
    "WEEKLY": "W", "DAILY": "D",
}  # fmt: skip
"""The code of each frequency by the name in the Bank's responses; the seven kinds of weeks have one."""

LENGTHS: Final = {"CY": 12, "FY": 12, "CH": 6, "FH": 6, "Q": 3, "M": 1}
"""The months of a period; weeks and days are dates."""

NESTED: Final = {
    "D": ("M", "Q", "CH", "FH", "CY", "FY"),
    "W": ("M", "Q", "CH", "FH", "CY", "FY"),
    "M": ("Q", "CH", "FH", "CY", "FY"),
    "Q": ("CH", "FH", "CY", "FY"),
    "CH": ("CY",),
    "FH": ("FY",),
}
"""The lower frequencies whose periods consist of whole periods of a frequency."""

DATE: Final = re.compile(r"(\d{4})(?:-(\d{1,2})-(\d{1,2})|/(\d{1,2})/(\d{1,2}))")
MONTH: Final = re.compile(r"(\d{4})[-/](\d{1,2})")
PART: Final = re.compile(r"(\d{4})[- ]?(?:Q([1-4])|H([12]))")
DIGITS: Final = re.compile(r"\d{4}(?:\d\d){0,2}")

FORMS: Final = "2020, 2020-01, 2020-01-15, 2020Q1, 2020H1, or a period as the Bank writes it (202001)"


class Days(NamedTuple):
    """The first and the last day of a period."""

    first: date
    last: date


def frequency_code(name: str | None) -> str:
    """Return the code of a frequency, given by code or as responses name it; raise ValueError if it is unknown."""
    text = (name or "").strip().upper()
    code = CODES.get(text.partition("(")[0] if text.startswith("WEEKLY") else text)
    if code is None and text in CODES.values():
        return text
    if code is None:
        raise ValueError(f"the frequency '{text[:50]}' is unknown")
    return code


def days_of(frequency: str, label: str) -> Days:
    """Return the days of a period of a frequency (a code), as responses label it; raise ValueError if it is none."""
    if frequency not in LENGTHS:
        if len(label) != DAY_DIGITS or not _is_number(label):
            raise ValueError(f"'{label[:50]}' is no date of the frequency {frequency}")
        day = date(int(label[:4]), int(label[4:6]), int(label[6:]))
        return Days(day, day)
    months = LENGTHS[frequency]
    digits = YEAR_DIGITS if months == MONTHS else MONTH_DIGITS
    year, part = (int(label[:4]), int(label[4:] or "1")) if _is_number(label) and len(label) == digits else (0, 0)
    if year < 1 or not 1 <= part <= MONTHS // months:
        raise ValueError(f"'{label[:50]}' is no period of the frequency {frequency}")
    start = (part - 1) * months
    if frequency == "FY":
        start -= MONTHS - FISCAL_START + 1
    elif frequency == "FH":
        start += FISCAL_START - 1
    return _months(year, start, months)


def label_of(frequency: str, day: date) -> str:
    """Return the label of the period that a day falls into; for weeks and days, that of the day itself."""
    if frequency not in LENGTHS:
        return f"{day:%Y%m%d}"
    month = day.year * MONTHS + day.month - 1
    if frequency == "FY":
        month += MONTHS - FISCAL_START + 1
    elif frequency == "FH":
        month -= FISCAL_START - 1
    year, month = divmod(month, MONTHS)
    months = LENGTHS[frequency]
    return f"{year:04}" if months == MONTHS else f"{year:04}{month // months + 1:02}"


def request_label(frequency: str, day: date) -> str:
    """Return the period that a day falls into as requests write it: a month for weeks and days."""
    return label_of(frequency if frequency in LENGTHS else "M", day)


def nests_in(frequency: str, lower: str) -> bool:
    """Return True if periods of the lower frequency consist of whole periods of a frequency."""
    return lower in NESTED.get(frequency, ())


def read_bound(text: str, frequency: str) -> Days:
    """Return the days that a person's date or period stands for, where a series of this frequency is asked for.

    Digits alone are the Bank's label if they can be one of the frequency, so that periods of a result can be sent back.

    Raises:
        ValueError: the text is neither a date nor a period; the message says what can be written.
    """
    plain = normalize("NFKC", text).strip().upper()
    try:
        days = _read(plain, frequency)
    except (ValueError, OverflowError):
        days = None
    if days is None:
        raise ValueError(f"'{text[:50]}' is no date: write {FORMS}")
    if not FIRST_YEAR <= days.last.year <= LAST_YEAR + 1:
        raise ValueError(f"'{text[:50]}' is not between the years {FIRST_YEAR} and {LAST_YEAR}")
    return days


def _read(text: str, frequency: str) -> Days | None:
    if match := DATE.fullmatch(text):
        year, month, day = (int(part) for part in match.groups() if part is not None)
        return Days(date(year, month, day), date(year, month, day))
    if match := MONTH.fullmatch(text):
        return days_of("M", f"{match[1]}{int(match[2]):02}")
    if match := PART.fullmatch(text):
        if match[2]:
            return days_of("Q", f"{match[1]}0{match[2]}")
        return days_of("FH" if frequency in {"FH", "FY"} else "CH", f"{match[1]}0{match[3]}")
    if not DIGITS.fullmatch(text):  # rule: @_read
        return None
    if len(text) == DAY_DIGITS:
        return days_of("D", text)
    if len(text) == YEAR_DIGITS:
        return days_of("FY" if frequency == "FY" else "CY", text)
    months = LENGTHS.get(frequency, 1)
    is_label = months < MONTHS and int(text[YEAR_DIGITS:]) <= MONTHS // months
    return days_of(frequency if is_label and frequency in LENGTHS else "M", text)


def _is_number(label: str) -> bool:
    return label.isascii() and label.isdecimal()


def _months(year: int, start: int, count: int) -> Days:
    """Return the days of some months, counted from the January of a year."""
    first_year, first_month = divmod(year * MONTHS + start, MONTHS)
    last_year, last_month = divmod(year * MONTHS + start + count - 1, MONTHS)
    first = date(first_year, first_month + 1, 1)
    return Days(first, date(last_year, last_month + 1, monthrange(last_year, last_month + 1)[1]))


def year_before(day: date) -> date:
    """Return the same day of the year before; the 28th for a 29th of February."""
    try:
        return day.replace(year=day.year - 1)
    except ValueError:
        return day - timedelta(days=366)
