"""What is wrong with a document or with what is asked of it, as sentences."""

from __future__ import annotations

from typing import Final

from signet.settings.usage import UsageError
from signet.system.text import REPLACEMENT, cut, printable

__all__ = ["DocumentError", "Notes", "shown"]

MAX_NOTES: Final = 20
MAX_SHOWN_CHARS: Final = 200


class DocumentError(UsageError):
    """A document cannot become a toolset; the text says what to do."""


class Notes:
    """What was left out of a document, each told once; a hostile document fills no screen."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._more = 0

    def add(self, text: str) -> None:
        """Note a text, unless it is known."""
        if text in self._texts:
            return
        if len(self._texts) >= MAX_NOTES:
            self._more += 1
        else:
            self._texts[text] = None

    def texts(self) -> list[str]:
        """Return the notes, and how many more there were."""
        return [*self._texts, *([f"and {self._more} more of this kind"] if self._more else [])]


def shown(value: object) -> str:
    """Return the text of a value for a message: printable, on one line, and short."""
    text = printable(str(value)[: MAX_SHOWN_CHARS + 1], substitute=REPLACEMENT)
    return cut(text, MAX_SHOWN_CHARS)
