"""Observations as columns, and what is computed from them: a lower frequency, changes, an index, a logarithm.

    Column ── lower_frequency ── transform ──▶ Column

Pure. Values are texts with the Bank's own digits, and are computed with as decimals: nothing passes through binary
fractions. A missing value stays missing, and what would need it is missing too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, Overflow, localcontext
from typing import Final, get_args

from msgspec import Struct

from signet.toolsets.boj.periods import LENGTHS, Days, days_of, label_of, nests_in, year_before

from .models import Method, Units

__all__ = ["METHODS", "UNITS", "Column", "label_units", "lower_frequency", "transform"]

UNITS: Final[tuple[str, ...]] = get_args(Units)
METHODS: Final[tuple[str, ...]] = get_args(Method)

PRECISION: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)
MAX_EXPONENT: Final = 40
"""The limit of a value's exponent: a text of all its digits must stay short."""
PERCENT_DECIMALS: Final = 4
LOG_DECIMALS: Final = 6
MORE_DECIMALS: Final = 2
"""The decimals that an average has beyond those of its values."""
WEEK: Final = timedelta(days=7)
YEAR_OF_WEEKS: Final = timedelta(days=364)
ONE_DAY: Final = timedelta(days=1)

LABELS: Final = {
    "change": "{unit}, change from the previous {period}",
    "percent_change": "percent change from the previous {period}",
    "percent_change_year_ago": "percent change from a year ago",
    "index": "index, {base} = 100",
    "log": "natural logarithm of {unit}",
}
PERIODS: Final = {
    "CY": "year", "FY": "fiscal year", "CH": "half", "FH": "fiscal half", "Q": "quarter", "M": "month", "W": "week",
    "D": "value",
}  # fmt: skip


class Column(Struct, frozen=True):
    """The observations of one series, in their order."""

    frequency: str
    labels: list[str]
    values: list[str | None]

    def days(self) -> list[Days]:
        """Return the days of each period; raise ValueError for a label that is none of the frequency."""
        return [days_of(self.frequency, label) for label in self.labels]

    def within(self, first: date | None, last: date | None) -> Column:
        """Return the periods that have a day from first to last."""
        kept = [
            place
            for place, days in enumerate(self.days())
            if (first is None or days.last >= first) and (last is None or days.first <= last)
        ]
        return Column(self.frequency, [self.labels[at] for at in kept], [self.values[at] for at in kept])

    def last(self, count: int) -> Column:
        """Return the last periods."""
        return Column(self.frequency, self.labels[-count:], self.values[-count:])


def label_units(units: str, unit: str, frequency: str, base: str | None) -> str:
    """Return the unit of computed values, in words."""
    if units == "level":
        return unit
    return LABELS[units].format(unit=unit or "value", period=PERIODS[frequency], base=base)


def rounding_of(units: str, method: str | None) -> str:
    """Return how computed values were rounded, in words; empty where they are exact."""
    notes = []
    if method == "average":
        notes.append(f"averages have {MORE_DECIMALS} decimals more than the Bank's values")
    if units == "log":
        notes.append(f"logarithms have {LOG_DECIMALS} decimals")
    elif units not in {"level", "change"}:
        notes.append(f"computed values have {PERCENT_DECIMALS} decimals")
    return f"{'; '.join(notes)}; halves are rounded to the even digit" if notes else ""


# --- a lower frequency


def lower_frequency(column: Column, lower: str, method: str) -> Column:
    """Return the column at a lower frequency; a period that is not complete is missing.

    Of days and weeks, those without a value are left out; of longer periods, one without a value makes the whole
    missing.

    Raises:
        ValueError: the periods of the lower frequency do not consist of whole periods of the column.
    """
    if lower == column.frequency:
        return column
    if not nests_in(column.frequency, lower):
        raise ValueError(f"a series of the frequency {column.frequency} cannot be read at the frequency {lower}")
    all_days = column.days()
    groups: dict[str, list[int]] = {}
    for place, days in enumerate(all_days):
        groups.setdefault(label_of(lower, days.first), []).append(place)
    values = []
    for label, places in groups.items():
        known = [value for place in places if (value := column.values[place]) is not None]
        if column.frequency in LENGTHS:
            whole = len(known) == LENGTHS[lower] // LENGTHS[column.frequency]
        else:
            slack = WEEK - ONE_DAY if column.frequency == "W" else timedelta()
            period = days_of(lower, label)
            first, last = all_days[places[0]].first - slack, all_days[places[-1]].last + slack
            whole = first <= period.first and last >= period.last
        values.append(_aggregate(known, method) if known and whole else None)
    return Column(lower, list(groups), values)


def _aggregate(known: list[str], method: str) -> str:
    if method == "end":
        return known[-1]
    with localcontext(PRECISION):
        numbers = [_decimal(text) for text in known]
        total = sum(numbers, Decimal(0))
        if method == "sum":
            return _text(total)
        decimals = max(max(0, -int(number.as_tuple().exponent)) for number in numbers)
        return _text(_rounded(total / len(numbers), decimals + MORE_DECIMALS))


# --- units


def transform(column: Column, units: str, base: Days | None = None) -> Column:
    """Return the column in other units; `base` is for an index.

    Raises:
        ValueError: a value is no number, or the base has no value.
    """
    if units == "level":
        return column
    with localcontext(PRECISION):
        numbers = [None if value is None else _decimal(value) for value in column.values]
        compute = COMPUTE[units]
        values = [None if value is None else _text(value) for value in compute(column, numbers, base)]
    return Column(column.frequency, column.labels, values)


Numbers = list[Decimal | None]


def _change(column: Column, numbers: Numbers, _: Days | None) -> Iterator[Decimal | None]:
    for number, before in zip(numbers, _previous(column, numbers), strict=True):
        yield None if number is None or before is None else number - before


def _percent_change(column: Column, numbers: Numbers, _: Days | None) -> Iterator[Decimal | None]:
    return map(_percent, numbers, _previous(column, numbers))


def _percent_change_year_ago(column: Column, numbers: Numbers, _: Days | None) -> Iterator[Decimal | None]:
    return map(_percent, numbers, _year_ago(column, numbers))


def _percent(number: Decimal | None, before: Decimal | None) -> Decimal | None:
    if number is None or not before:
        return None
    return _rounded((number - before) / abs(before) * 100, PERCENT_DECIMALS)


def _index(column: Column, numbers: Numbers, base: Days | None) -> Iterator[Decimal | None]:
    if base is None:
        raise ValueError("an index needs a base")
    spans = zip(column.days(), numbers, strict=True)
    known = [
        number for days, number in spans if number is not None and days.last >= base.first and days.first <= base.last
    ]
    level = sum(known, Decimal(0)) / len(known) if known else Decimal(0)
    if not level:
        raise ValueError("the series has no value other than 0 in the base period")
    return (None if number is None else _rounded(number / level * 100, PERCENT_DECIMALS) for number in numbers)


def _log(_: Column, numbers: Numbers, __: Days | None) -> Iterator[Decimal | None]:
    return (None if number is None or number <= 0 else _rounded(number.ln(), LOG_DECIMALS) for number in numbers)


COMPUTE: Final[dict[str, Callable[[Column, Numbers, Days | None], Iterator[Decimal | None]]]] = {
    "change": _change,
    "percent_change": _percent_change,
    "percent_change_year_ago": _percent_change_year_ago,
    "index": _index,
    "log": _log,
}


def _previous(column: Column, numbers: Numbers) -> Iterator[Decimal | None]:
    """Yield the value of the period before each; for days the last value before, since markets close."""
    if column.frequency == "D":
        last = None
        for number in numbers:
            yield last
            last = last if number is None else number
        return
    by_label = dict(zip(column.labels, numbers, strict=True))
    step = WEEK if column.frequency == "W" else ONE_DAY
    for days in column.days():
        yield by_label.get(label_of(column.frequency, days.first - step))


def _year_ago(column: Column, numbers: Numbers) -> Iterator[Decimal | None]:
    """Yield the value of a year before each: 52 weeks for weeks; for days the last value of the week up to then."""
    by_label = dict(zip(column.labels, numbers, strict=True))
    for label, days in zip(column.labels, column.days(), strict=True):
        if column.frequency in LENGTHS:
            yield by_label.get(f"{int(label[:4]) - 1:04}{label[4:]}")
        elif column.frequency == "W":
            yield by_label.get(label_of("W", days.first - YEAR_OF_WEEKS))
        else:
            day = year_before(days.first)
            then = (by_label.get(label_of("D", day - timedelta(days=back))) for back in range(WEEK.days))
            yield next((number for number in then if number is not None), None)


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except (InvalidOperation, Overflow):
        number = Decimal("NaN")
    if (
        not number.is_finite()
        or abs(number.adjusted()) > MAX_EXPONENT
        or abs(int(number.as_tuple().exponent)) > MAX_EXPONENT
    ):
        raise ValueError(f"the value '{text[:50]}' cannot be computed with")
    return number


def _rounded(number: Decimal, decimals: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-decimals))


def _text(number: Decimal) -> str:
    return format(number, "f")
