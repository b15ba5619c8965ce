"""A target: a reader of outside bytes, valid samples of what it reads, and how an input is run through it.

    seeds, generate ── inputs ── run ──▶ nothing: the input was read, or refused with a documented error
                                   └───▶ an exception: a failure

`run` catches the errors that the docstring of its entry point names, and raises `Violation` where an answer breaks its
contract. Every other exception is a failure of the code under test.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Run", "Target", "TooSlow", "Violation", "expect"]

Run = Callable[[bytes], None]


class Violation(Exception):
    """An answer breaks its contract; the text says which rule."""


class TooSlow(Violation):
    """An input takes more CPU time than it may; it counts where it does so again and again."""


def expect(holds: object, rule: str, *shown: object) -> None:
    """Raise Violation with a rule, unless it holds."""
    if not holds:
        raise Violation(": ".join([rule, *[repr(one)[:300] for one in shown]]))


@dataclass(frozen=True, kw_only=True)
class Target:
    """One reader of outside bytes."""

    name: str
    about: str
    """What is read, for the page."""
    open: Callable[[], contextlib.AbstractContextManager[Run]]
    """Open what the inputs are run through; servers are started once for all of them."""
    seeds: Callable[[], list[bytes]]
    """Return valid samples."""
    generate: Callable[[random.Random], bytes]
    """Return an input that keeps the grammar for the most part."""
    tokens: tuple[bytes, ...]
    """Words that mutations put into an input."""
    rooms: tuple[str, ...]
    """The files below `signet/` whose lines count as paths, by the beginnings of their names."""
    base_s: float = 0.1
    """The CPU time that an input may take, however small it is."""
    per_byte_s: float = 20e-6
    """The CPU time that a byte of an input may take."""
    fresh: int = 300
    """The number of fresh inputs in a bounded run."""
    figures: Callable[[], dict[str, float]] = dict
    """Return what the inputs so far took at most, where that is measured, by its name."""
