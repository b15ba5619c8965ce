"""The query of a request: decoded, the first of equal names, numbers where numbers must be."""

from __future__ import annotations

from math import isfinite
from typing import Final
from urllib.parse import parse_qsl

from signet.kernel.errors import Code, Fault

__all__ = ["QueryParameters"]

MAX_WHOLE: Final = 2**32 - 1


class QueryParameters(dict[str, str]):
    """The parameters by name."""

    def __init__(self, raw: str) -> None:
        super().__init__(reversed(parse_qsl(raw, keep_blank_values=True)))

    def whole(self, name: str, default: int) -> int:
        """Give a number that counts something.

        Raises:
            Fault: it is none.
        """
        text = self.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit()) or len(text) > len(str(MAX_WHOLE)) or int(text) > MAX_WHOLE:
            raise _not_a_number(name)
        return int(text)

    def real(self, name: str, default: float) -> float:
        """Give a number that measures something.

        Raises:
            Fault: it is none.
        """
        try:
            number = float(self.get(name, default))
        except ValueError:
            raise _not_a_number(name) from None
        if not isfinite(number):
            raise _not_a_number(name)
        return number


def _not_a_number(name: str) -> Fault:
    return Fault(Code.INVALID_INPUT, f"the query string cannot be read: {name} must be a number", name="QUERY")
