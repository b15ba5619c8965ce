"""The rules that a value must keep before it goes to the Bank of Japan; each names the first one that is broken.

Pure. A fault names the Bank's own parameter (DB, CODE, LAYER, STARTDATE, …), as the Bank's messages do.
"""

from __future__ import annotations

from typing import Final, NamedTuple, NoReturn

from .faults import validation

__all__ = [
    "ANY_SHAPE",
    "FREQUENCIES",
    "MAX_CODES",
    "MAX_U32",
    "WHITE",
    "Shape",
    "choice",
    "codes",
    "database",
    "layers",
    "position",
    "span",
    "unsigned",
]

MAX_CODES: Final = 1_250
"""The Bank's limit; it answers 250 series at a time and tells where to go on."""
MAX_LAYERS: Final = 5
MAX_U32: Final = 4_294_967_295
U32_DIGITS: Final = 10
FIRST_YEAR: Final = 1850
LAST_YEAR: Final = 2050
YEAR_DIGITS: Final = 4
MAX_SHOWN_CHARS: Final = 50
"""What a fault repeats of a value."""

FORBIDDEN: Final = frozenset("<>!|\\;'\"")
DIGITS: Final = frozenset("0123456789")
WHITE: Final = (
    "\t\n\v\f\r \x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's white space; `str.strip()` removes some control characters too."""


class Shape(NamedTuple):
    """How a date is written."""

    digits: tuple[int, ...]
    last: int
    """The greatest number that may follow the year."""
    words: str


YEARS: Final = Shape((4,), 0, "YYYY for the frequencies CY and FY")
HALVES: Final = Shape((6,), 2, "YYYYHH, with HH 01 or 02, for the frequencies CH and FH")
QUARTERS: Final = Shape((6,), 4, "YYYYQQ, with QQ from 01 to 04, for the frequency Q")
MONTHS: Final = Shape((6,), 12, "YYYYMM, with MM from 01 to 12, for the frequencies M, W and D")
ANY_SHAPE: Final = Shape((4, 6), 12, "YYYY, or YYYY and two digits from 01 to 12 for the half, quarter or month")
"""For series codes, whose frequency only the Bank knows."""

FREQUENCIES: Final = {
    "CY": YEARS, "FY": YEARS, "CH": HALVES, "FH": HALVES, "Q": QUARTERS, "M": MONTHS, "W": MONTHS, "D": MONTHS,
}  # fmt: skip


def choice(name: str, value: str, options: tuple[str, ...]) -> str:
    """Give one of the options in its own spelling; it may be written in upper, lower or title case."""
    found = next((option for option in options if value in {option.upper(), option.lower(), option.title()}), None)
    if found is None:
        _refuse(f"{name} must be one of {', '.join(options)}, not {_shown(value)}")
    return found


def database(value: str) -> str:
    """Give a database code in upper case; whether there is such a database, the Bank says."""
    _text("DB", value)
    if "," in value:
        _refuse(f"DB {_shown(value)} has a comma in it: name one database at a time")
    return value.upper()


def codes(values: tuple[str, ...]) -> None:
    """Hold series codes to their rules; they stay as they are, because their order is the order of pages."""
    if not values:
        _refuse("CODE is required: give at least one series code")
    if len(values) > MAX_CODES:
        _refuse(f"CODE takes at most {MAX_CODES} series codes and has {len(values)}")
    for value in values:
        _text("CODE", value)
        if "," in value:
            _refuse(f"CODE {_shown(value)} has a comma in it: give each series code as an item of its own")


def layers(values: tuple[str, ...]) -> tuple[str, ...]:
    """Give the levels of a layer as the Bank writes them."""
    if not values:
        _refuse('LAYER is required: give one to five levels, or "*" for all')
    if len(values) > MAX_LAYERS:
        _refuse(f"LAYER takes 1 to {MAX_LAYERS} levels and has {len(values)}")
    return tuple(_layer(value) for value in values)


def _layer(value: str) -> str:
    _text("LAYER", value)
    if value == "*":
        return value
    number = unsigned(value)
    if not number:
        _refuse(f"LAYER {_shown(value)} must be * or a positive integer")
    return str(number)


def span(start: str | None, end: str | None, shape: Shape) -> None:
    """Hold both ends of a span of time to their rules, then to each other."""
    if start is not None:
        _date("STARTDATE", start, shape)
    if end is not None:
        _date("ENDDATE", end, shape)
    if start is None or end is None:
        return
    if len(start) != len(end):
        _refuse(f"STARTDATE {start} and ENDDATE {end} must have the same format")
    if start > end:
        _refuse(f"STARTDATE {start} comes after ENDDATE {end}: give them in order")


def _date(name: str, value: str, shape: Shape) -> None:
    if not set(value) <= DIGITS:
        _refuse(f"{name} {_shown(value)} must be numeric: the date is written in digits only")
    if len(value) not in shape.digits:
        _refuse(f"{name} {_shown(value)} has the wrong length: the date is written {shape.words}")
    if not FIRST_YEAR <= int(value[:YEAR_DIGITS]) <= LAST_YEAR:
        _refuse(f"{name} {value} has a year outside {FIRST_YEAR} to {LAST_YEAR}")
    if len(value) > YEAR_DIGITS and not 1 <= int(value[YEAR_DIGITS:]) <= shape.last:
        _refuse(f"{name} {value} ends in {value[YEAR_DIGITS:]}: the date is written {shape.words}")


def position(value: int | None) -> None:
    """Hold a start position to its rule; the contract lets zero through, so that it is told here."""
    if value is not None and value < 1:
        _refuse("STARTPOSITION must be 1 or greater")


def unsigned(text: str) -> int | None:
    """Read a number from 0 to the largest of 32 bits, with a plus or zeros in front or not; None if it is none."""
    digits = text.removeprefix("+")
    if not digits or not set(digits) <= DIGITS:
        return None
    digits = digits.lstrip("0")
    number = int(digits[:U32_DIGITS] or "0")
    return number if len(digits) <= U32_DIGITS and number <= MAX_U32 else None


def _text(name: str, value: str) -> None:
    """Hold a value to what the Bank lets into any of them."""
    if not value.strip(WHITE):
        _refuse(f"{name} is required and must not be blank")
    if not value.isascii():
        _refuse(f"{name} {_shown(value)} must be ASCII: half-width letters, digits and signs only")
    found = next((char for char in value if char in FORBIDDEN), None)
    if found is not None:
        _refuse(f"{name} {_shown(value)} has the forbidden character {found}")


def _refuse(message: str) -> NoReturn:
    raise validation(message)


def _shown(value: str) -> str:
    return f"'{value}'" if len(value) <= MAX_SHOWN_CHARS else f"'{value[:MAX_SHOWN_CHARS]}…'"
