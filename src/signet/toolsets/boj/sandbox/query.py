"""What is asked: the parameters of a request, checked as far as they can be without looking into a database; pure.

Every check is one message. They come in this order: what may not stand in any value, language, format; is there all
that must be; are the values values. Whether what they name exists is not known here.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

import msgspec

from .database import LEVELS
from .messages import LANGS, refuse
from .periods import ASKED, FIRST_YEAR, LAST_YEAR, Frequency

__all__ = ["MAX_CODES", "SamplePeriod", "SampleQuery"]

MAX_CODES: Final = 1250
"""How many series one question may be about."""

FORBIDDEN: Final = set("<>\"!|\\;'")
MAX_DIGITS: Final = 10
"""More than any position or layer has; a longer number is none."""

MONTHS: Final = 12
YEAR_DIGITS: Final = 4
MONTH_DIGITS: Final = 6
ANY: Final = "*"


class SamplePeriod(msgspec.Struct, frozen=True):
    """From when to when, as it was asked; empty is unbounded."""

    start: str
    end: str

    def within(self, frequency: Frequency, first: int, last: int) -> tuple[int, int]:
        """Give the first and the last period for a series that has these."""
        start, end = frequency.span(self.start), frequency.span(self.end)
        return start[0] if start else first, end[1] if end else last

    def check(self, frequency: Frequency) -> None:
        """See that the dates are written as the frequency has them.

        Raises:
            Fault: they are not.
        """
        for text, message_id in ((self.start, "M181015E"), (self.end, "M181016E")):
            if text and frequency.span(text) is None:
                raise refuse(message_id)


class SampleQuery:
    """The parameters of a request, whatever the case of their names."""

    def __init__(self, raw: str) -> None:
        self._texts = {name.lower(): value for name, value in reversed(parse_qsl(raw, keep_blank_values=True))}

    def text(self, name: str) -> str:
        """Give a parameter as it was sent; empty when it was not."""
        return self._texts.get(name.lower(), "")

    def lang(self) -> str:
        """Give the language of the answer.

        Raises:
            Fault: there is a character that must not be, or no such language.
        """
        if any(not value.isascii() or FORBIDDEN & set(value) for value in self._texts.values()):
            raise refuse("M181001E")
        return self._one_of("lang", LANGS, "M181002E")

    def format(self) -> str:
        """Give the format of the answer.

        Raises:
            Fault: there is no such format.
        """
        return self._one_of("format", ("json", "csv"), "M181003E")

    def need(self, **names: str) -> None:
        """See that there is all that must be.

        Raises:
            Fault: the first that is not there, with the message that goes with its name.
        """
        for name, message_id in names.items():
            if not self.text(name):
                raise refuse(message_id)

    def codes(self) -> list[str]:
        """Give the series codes as they were sent.

        Raises:
            Fault: they are too many.
        """
        codes = self.text("code").split(",")
        if len(codes) > MAX_CODES:
            raise refuse("M181007E")
        return codes

    def frequency(self) -> str:
        """Give the frequency that is asked for.

        Raises:
            Fault: there is no such frequency.
        """
        return self._one_of("frequency", ASKED, "M181018E")

    def levels(self) -> list[str]:
        """Give the layers as they were sent.

        Raises:
            Fault: there are none, or more than a tree can have.
        """
        levels = self.text("layer").split(",")
        if not levels[0] or len(levels) > LEVELS:
            raise refuse("M181019E")
        return levels

    def layers(self) -> tuple[int | None, ...]:
        """Give the layers that are asked for, None for any.

        Raises:
            Fault: one of them is none.
        """
        levels = self.levels()
        if not all(level == ANY or _is_counting(level) for level in levels):
            raise refuse("M181020E")
        return tuple(None if level == ANY else int(level) for level in levels)

    def period(self) -> SamplePeriod:
        """Give the dates that are asked for.

        Raises:
            Fault: one of them is none, or they are in the wrong order.
        """
        period = SamplePeriod(self.text("startDate"), self.text("endDate"))
        _check_date(period.start, "M181008E")
        _check_date(period.end, "M181009E")
        if len(period.start) == len(period.end) and period.start > period.end:
            raise refuse("M181011E")
        return period

    def position(self) -> int:
        """Give the position from which on to answer.

        Raises:
            Fault: it is none.
        """
        text = self.text("startPosition") or "1"
        if not _is_counting(text):
            raise refuse("M181012E")
        return int(text)

    def _one_of(self, name: str, known: tuple[str, ...], message_id: str) -> str:
        text = self.text(name)
        for one in known:
            if one.lower() == text.lower():
                return one
        if text:
            raise refuse(message_id)
        return known[0]


def _is_counting(text: str) -> bool:
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
