"""The parameters of a request, checked as far as possible without a database; pure.

Every failed check has one message. The order is: forbidden characters, language and format; required parameters; valid
values. Whether a database or a series exists is checked elsewhere.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

import msgspec

from .database import LEVELS
from .messages import LANGS, refuse
from .series import MONTH_DIGITS, MONTHS, REQUEST_CODES, YEAR_DIGITS, Frequency, SampleSeries

__all__ = ["MAX_CODES", "SamplePeriod", "SampleQuery"]

MAX_CODES: Final = 1250
"""The largest number of series in one request."""

FORBIDDEN: Final = set("<>\"!|\\;'")
MAX_DIGITS: Final = 10
"""The longest position or layer that is accepted."""

FIRST_YEAR: Final = 1850
LAST_YEAR: Final = 2050
ANY: Final = "*"


class SamplePeriod(msgspec.Struct, frozen=True):
    """The requested start and end; empty is unbounded."""

    start: str
    end: str

    def within(self, series: SampleSeries) -> tuple[int, int]:
        """Return the first and the last period index for a series."""
        start, end = series.frequency.span(self.start), series.frequency.span(self.end)
        return start[0] if start else series.start, end[1] if end else series.end

    def check(self, frequency: Frequency) -> None:
        """Check that the dates fit the frequency.

        Raises:
            Fault: a date has the form of another frequency.
        """
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
        """Return the language of the response.

        Raises:
            Fault: a parameter holds a forbidden character, or the language is unknown.
        """
        if any(not value.isascii() or FORBIDDEN & set(value) for value in self._texts.values()):
            raise refuse("M181001E")
        return self._choice("lang", LANGS, "M181002E")

    def format(self) -> str:
        """Return the format of the response.

        Raises:
            Fault: the format is unknown.
        """
        return self._choice("format", ("json", "csv"), "M181003E")

    def require(self, **message_ids: str) -> None:
        """Check that parameters are present.

        Raises:
            Fault: the first missing parameter, with its message.
        """
        for name, message_id in message_ids.items():
            if not self.text(name):
                raise refuse(message_id)

    def codes(self) -> list[str]:
        """Return the series codes as they were sent.

        Raises:
            Fault: there are too many codes.
        """
        codes = self.text("code").split(",")
        if len(codes) > MAX_CODES:
            raise refuse("M181007E")
        return codes

    def frequency(self) -> str:
        """Return the requested frequency.

        Raises:
            Fault: the frequency is unknown.
        """
        return self._choice("frequency", REQUEST_CODES, "M181018E")

    def levels(self) -> list[str]:
        """Return the layers as they were sent.

        Raises:
            Fault: there is no layer, or there are too many.
        """
        levels = self.text("layer").split(",")
        if not levels[0] or len(levels) > LEVELS:
            raise refuse("M181019E")
        return levels

    def layers(self) -> tuple[int | None, ...]:
        """Return the layers as numbers, None for any.

        Raises:
            Fault: a layer is invalid.
        """
        levels = self.levels()
        if not all(level == ANY or _is_positive(level) for level in levels):
            raise refuse("M181020E")
        return tuple(None if level == ANY else int(level) for level in levels)

    def period(self) -> SamplePeriod:
        """Return the requested dates.

        Raises:
            Fault: a date is invalid, or the dates are in the wrong order.
        """
        period = SamplePeriod(self.text("startDate"), self.text("endDate"))
        _check_date(period.start, "M181008E")
        _check_date(period.end, "M181009E")
        if len(period.start) == len(period.end) and period.start > period.end:
            raise refuse("M181011E")
        return period

    def position(self) -> int:
        """Return the start position.

        Raises:
            Fault: the position is not a positive number.
        """
        text = self.text("startPosition") or "1"
        if not _is_positive(text):
            raise refuse("M181012E")
        return int(text)

    def _choice(self, name: str, choices: tuple[str, ...], message_id: str) -> str:
        """Return a parameter in the spelling of `choices`, by default the first."""
        text = self.text(name)
        for choice in choices:
            if choice.lower() == text.lower():
                return choice
        if text:
            raise refuse(message_id)
        return choices[0]


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
