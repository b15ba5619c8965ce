"""The work that one Markdown text may cost, counted in steps of the parser and characters of the page. Pure."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["MAX_HTML_CHARS", "TextBudget", "TooMuchError", "budget_of"]

MAX_STEPS: Final = 40_000
"""The places at which the parser looks for something; a statement of 100,000 characters has some 10,000."""
MAX_HTML_CHARS: Final = 2_000_000
KEY: Final = "budget"


class TooMuchError(Exception):
    """A text costs more than it may."""


class TextBudget:
    """Counts the work on one text."""

    def __init__(self) -> None:
        self._steps = MAX_STEPS
        self._chars = MAX_HTML_CHARS

    def spend(self, steps: int) -> None:
        """Count steps of the parser; raise TooMuchError if there are too many."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError

    def write(self, html: str) -> None:
        """Count a piece of the page that may be longer than its source; raise TooMuchError beyond the limit."""
        self._chars -= len(html)
        if self._chars < 0:
            raise TooMuchError


def budget_of(env: Any) -> TextBudget:
    """Return the budget of the text that a parser or a renderer works on."""
    budget: TextBudget = env.setdefault(KEY, TextBudget()) if KEY not in env else env[KEY]
    return budget
