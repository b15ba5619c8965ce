"""Spending: what the check of a value may cost, and what is left of that. Pure.

A start needs no more of the budget than this: what estimates and checks is loaded with the first contract.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

__all__ = ["MAX_STEPS", "MAX_WORK", "STEP_WORK", "THREAD_WORK", "OverBudgetError", "Spending", "ValueSize"]

MAX_WORK: Final = 5_000_000
"""The work of one check on the event loop: 50 ms."""
STEP_WORK: Final = 2_000_000
"""The work of one step of the validator: 20 ms. A text has no parts: its step may have all of `MAX_WORK`."""
THREAD_WORK: Final = 200_000_000
"""The work of one check in a thread, in steps between which others go on: 2 s."""
MAX_STEPS: Final = 2_000
"""How far a pattern that looks around is tried on one text; a text that needs more does not match."""


class OverBudgetError(Exception):
    """A value takes more work to be checked than may be spent on it."""


class ValueSize(NamedTuple):
    """How large a value is."""

    values: int
    """Its parts; a very long number counts as many."""
    chars: int
    """The characters of its texts and names."""
    strings: int
    names: int
    levels: int
    """How deeply it is nested."""
    effort: int
    """What it took to measure it, in parts."""
    long_numbers: int = 0
    """Its numbers that may share their hash with others; a very long one counts as many."""
    holders: int = 0
    """Its arrays and objects."""

    @property
    def weight(self) -> int:
        """Return the number of its parts and names, and of the KiB of its texts."""
        return self.values + self.names + (self.chars >> 10)


class Spending:
    """The work that may still be spent on one check."""

    def __init__(self, work: int) -> None:
        self.left = work
        self.measured: tuple[Any, ValueSize] | None = None
        """The value that was measured last, and its size."""

    def spend(self, work: int) -> None:
        """Count some work; raise OverBudgetError if so much is not left."""
        self.left -= work
        if self.left < 0:
            raise OverBudgetError
