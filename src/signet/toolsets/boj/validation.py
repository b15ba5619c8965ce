"""The rules that a value must keep before it is sent to the Bank of Japan; a fault names the first broken one.

Pure. A fault names the Bank's own parameter (DB, CODE, LAYER, STARTDATE, …), as the Bank's messages do; its wording
names the argument, so that a command can write its flag instead.
"""

from __future__ import annotations

from typing import Final, NamedTuple, NoReturn

from signet.kernel.errors import Wording

from .faults import validation

__all__ = [
    "ANY_SHAPE",
    "BANK_NAMES",
    "FREQUENCIES",
    "MAX_U32",
    "PARAMETERS",
    "WHITE",
    "choice",
    "codes",
    "database",
    "layers",
    "position",
    "span",
    "unsigned",
]

PARAMETERS: Final = {
    "format": "format",
    "lang": "lang",
    "db": "db",
    "frequency": "frequency",
    "codes": "code",
    "layers": "layer",
    "start_date": "startDate",
    "end_date": "endDate",
    "start_position": "startPosition",
}
"""The Bank's parameter for each argument, as requests spell it."""

BANK_NAMES: Final = {argument: parameter.upper() for argument, parameter in PARAMETERS.items()}
"""The Bank's parameter for each argument, as responses and messages spell it."""

MAX_CODES: Final = 1_250  # rule: 3.input.codes-1250
"""The Bank's limit; a response has 250 series at most and says where the next page starts."""
MAX_LAYERS: Final = 5  # rule: 3.input.layers-count
MAX_U32: Final = 4_294_967_295
U32_DIGITS: Final = 10
FIRST_YEAR: Final = 1850  # rule: 3.input.year
LAST_YEAR: Final = 2050  # rule: 3.input.year/2
YEAR_DIGITS: Final = 4
MAX_QUOTED_CHARS: Final = 50
"""The limit of a value in a fault; the rest is cut off."""

FORBIDDEN: Final = frozenset("<>!|\\;'\"")
DIGITS: Final = frozenset("0123456789")
WHITE: Final = (
    "\t\n\v\f\r \x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's white space; `str.strip()` without it would remove some control characters too."""


class DateShape(NamedTuple):
    """The format of dates for a frequency."""

    digits: tuple[int, ...]
    last: int
    """The greatest number that may follow the year."""
    words: str


YEARS: Final = DateShape((4,), 0, "YYYY for the frequencies CY and FY")
# rule: 3.input.date-by-frequency/2
HALVES: Final = DateShape((6,), 2, "YYYYHH, with HH 01 or 02, for the frequencies CH and FH")
# rule: 3.input.date-by-frequency
QUARTERS: Final = DateShape((6,), 4, "YYYYQQ, with QQ from 01 to 04, for the frequency Q")
MONTHS: Final = DateShape((6,), 12, "YYYYMM, with MM from 01 to 12, for the frequencies M, W and D")
# rule: 3.input.date-suffix
ANY_SHAPE: Final = DateShape((4, 6), 12, "YYYY, or YYYY and two digits from 01 to 12 for the half, quarter or month")
"""For series codes: only the Bank knows their frequency."""

FREQUENCIES: Final = {
    "CY": YEARS, "FY": YEARS, "CH": HALVES, "FH": HALVES, "Q": QUARTERS, "M": MONTHS, "W": MONTHS, "D": MONTHS,
}  # fmt: skip


def choice(argument: str, value: str, options: tuple[str, ...]) -> str:
    """Return the option with this name, in upper, lower or title case, in the Bank's spelling."""
    # rule: 3.input.cases
    match = next((option for option in options if value in {option.upper(), option.lower(), option.title()}), None)
    if match is None:
        _refuse(argument, "must be one of {options}, not {value}", options=", ".join(options), value=_quoted(value))
    return match


def database(value: str) -> str:
    """Return a database code in upper case; only the Bank knows whether the database exists."""
    _check_text("db", value)
    if "," in value:  # rule: 3.input.db-comma
        _refuse("db", "{value} has a comma in it: name one database at a time", value=_quoted(value))
    return value.upper()  # rule: 3.input.spelling


def codes(values: tuple[str, ...]) -> None:
    """Check series codes; they are sent unchanged, because their order is the order of the pages."""
    if not values:  # rule: 3.input.codes-empty
        _refuse("codes", "is required: give at least one series code")
    if len(values) > MAX_CODES:
        _refuse("codes", "takes at most {limit} series codes and has {count}", limit=MAX_CODES, count=len(values))
    for value in values:
        _check_text("codes", value)
        if "," in value:  # rule: 3.input.code-comma
            rest = "{value} has a comma in it: give each series code as an item of its own"
            _refuse("codes", rest, value=_quoted(value))


def layers(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels of a layer in the Bank's spelling."""
    if not values:
        _refuse("layers", 'is required: give one to five levels, or "*" for all')
    if len(values) > MAX_LAYERS:
        _refuse("layers", "takes 1 to {limit} levels and has {count}", limit=MAX_LAYERS, count=len(values))
    return tuple(_level(value) for value in values)


def _level(value: str) -> str:
    _check_text("layers", value)
    if value == "*":
        return value
    number = unsigned(value)
    if not number:  # rule: 3.input.layer-number
        _refuse("layers", "{value} must be * or a positive integer", value=_quoted(value))
    return str(number)


def span(start: str | None, end: str | None, shape: DateShape) -> None:
    """Check the first and the last date of a span, then their order."""
    if start is not None:
        _check_date("start_date", start, shape)
    if end is not None:
        _check_date("end_date", end, shape)
    if start is None or end is None:
        return
    if len(start) != len(end):  # rule: 3.input.same-format
        _refuse("start_date", "{start} and {end_date} {end} must have the same format", start=start, end=end)
    if start > end:  # rule: 3.input.order
        _refuse("start_date", "{start} comes after {end_date} {end}: give them in order", start=start, end=end)


def _check_date(argument: str, value: str, shape: DateShape) -> None:
    if not set(value) <= DIGITS:  # rule: 3.input.date-digits
        rest = "{value} must be numeric: the date is written in digits only"
        _refuse(argument, rest, value=_quoted(value))
    if len(value) not in shape.digits:  # rule: 3.input.date-length
        rest = "{value} has the wrong length: the date is written {shape}"
        _refuse(argument, rest, value=_quoted(value), shape=shape.words)
    if not FIRST_YEAR <= int(value[:YEAR_DIGITS]) <= LAST_YEAR:
        _refuse(argument, "{value} has a year outside {first} to {last}", value=value, first=FIRST_YEAR, last=LAST_YEAR)
    if len(value) > YEAR_DIGITS and not 1 <= int(value[YEAR_DIGITS:]) <= shape.last:
        rest = "{value} ends in {ending}: the date is written {shape}"
        _refuse(argument, rest, value=value, ending=value[YEAR_DIGITS:], shape=shape.words)


def position(value: int | None) -> None:
    """Check a start position; the contract lets 0 through, so that this fault names the rule."""
    if value is not None and value < 1:  # rule: 3.input.position
        _refuse("start_position", "must be 1 or greater")


def unsigned(text: str) -> int | None:
    """Parse an unsigned integer of 32 bits, with or without a plus sign and leading zeros; None for other text."""
    digits = text.removeprefix("+")
    if not digits or not set(digits) <= DIGITS:
        return None
    digits = digits.lstrip("0")
    number = int(digits[:U32_DIGITS] or "0")
    return number if len(digits) <= U32_DIGITS and number <= MAX_U32 else None


def _check_text(argument: str, value: str) -> None:
    """Check the rules that the Bank has for every text."""
    if not value.strip(WHITE):  # rule: 3.input.blank
        _refuse(argument, "is required and must not be blank")
    if not value.isascii():  # rule: 3.input.ascii
        rest = "{value} must be ASCII: half-width letters, digits and signs only"
        _refuse(argument, rest, value=_quoted(value))
    char = next((char for char in value if char in FORBIDDEN), None)
    if char is not None:  # rule: 3.input.forbidden
        _refuse(argument, "{value} has the forbidden character {char}", value=_quoted(value), char=char)


def _refuse(argument: str, rest: str, **values: object) -> NoReturn:
    """Raise the fault whose message is the name of an argument and the rest of a sentence, which is a template."""
    wording = Wording(f"{{{argument}}} {rest}", values)
    raise validation(wording.render(BANK_NAMES), wording)


def _quoted(value: str) -> str:
    return f"'{value}'" if len(value) <= MAX_QUOTED_CHARS else f"'{value[:MAX_QUOTED_CHARS]}…'"
