"""Work: what it costs to check a value, in units that do not depend on the machine. Pure.

A unit is what the validator does in some 10 ns. The work of a schema is for one part of a value; with the size of a
value, it is the most that a check of this value can cost.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, Final, NamedTuple

from .spending import MAX_STEPS, MAX_WORK

__all__ = ["NOTHING", "ValueSize", "Work", "measure_value", "one_level"]

WORK_PER_BYTE: Final = 12
"""The work for one byte of JSON where a part of a value costs one unit: long numbers cost most."""
NUMBERS: Final = (int, float)
LARGE: Final = 1 << 63
LEVEL_EFFORT: Final = 40

LARGE_FLOAT_VALUES: Final = 20
"""The ordinary numbers that a very large one takes as long as; for integers it is the square of its words."""


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

    @property
    def weight(self) -> int:
        """Return the number of its parts and names, and of the KiB of its texts."""
        return self.values + self.names + (self.chars >> 10)


class Work(NamedTuple):
    """The most work for one part of a value, and all that is below it on one path."""

    per_value: int = 1
    per_char: int = 0
    fancy: int = 0
    """The patterns that look around, and are tried on one text."""
    circles: int = 0
    """The references back into a circle that look at one part of a value."""
    levels: tuple[int, ...] = (1,)
    """The most work at each level below, before all references lead back."""

    def __add__(self, other: object) -> Work:
        """Return the work of two schemas for the same part."""
        if not isinstance(other, Work):
            return NotImplemented
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        value, char, fancy, circles, levels = other
        return Work(
            self.per_value + value,
            self.per_char + char,
            self.fancy + fancy,
            self.circles + circles,
            _joined(self.levels, levels, int.__add__),
        )

    def __or__(self, other: Work) -> Work:
        """Return the work of two schemas for different parts."""
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        value, char, fancy, circles = map(max, self[:4], other[:4])
        return Work(value, char, fancy, circles, _joined(self.levels, other.levels, max))

    def times(self, factor: int) -> Work:
        """Return the work of a schema that looks so many times."""
        value, char, fancy, circles = (amount * factor for amount in self[:4])
        return Work(value, char, fancy, circles, tuple(amount * factor for amount in self.levels))

    @property
    def again(self) -> Work:
        """The most work for one part of a value, if the schema looks at each of the parts above it too."""
        depth = max(1, len(self.levels) - 1)
        return self.times(depth)._replace(per_value=sum(self.levels), circles=self.circles)

    def of(self, size: ValueSize) -> int:
        """Return the work for a value."""
        values, chars, texts = size.values, size.chars, size.strings + size.names
        return self.per_value * values + self.per_char * chars + self.fancy * MAX_STEPS * (5 * texts + chars // 10)

    @property
    def free_bytes(self) -> int:
        """Return the size of JSON up to which no value can cost more than may be spent on the event loop."""
        return MAX_WORK // (WORK_PER_BYTE * self.per_value + self.per_char + 2 * MAX_STEPS * self.fancy + 1)


def one_level(per_value: int, per_char: int = 0, fancy: int = 0, circles: int = 0) -> Work:
    """Return work for one part of a value, and for nothing below it."""
    return Work(per_value, per_char, fancy, circles, (per_value,))


def _joined(one: tuple[int, ...], other: tuple[int, ...], join: Callable[[int, int], int]) -> tuple[int, ...]:
    if len(one) < len(other):
        one, other = other, one
    return (*map(join, one, other), *one[len(other) :])


NOTHING: Final = Work(0, levels=())


def measure_value(value: Any, most: int) -> ValueSize:
    """Return the size of a value, with which the work of a check grows; stop behind so many parts.

    Level by level: a call for each part would take longer than its check.
    """
    parts = chars = strings = names = surplus = levels = narrow = 0
    level = [value]
    while level:
        levels += 1
        parts += len(level)
        if len(level) == 1 and level[0].__class__ is list and parts + len(level[0]) <= most:
            # A long chain of lists: each is the next level.
            narrow += 1
            level = level[0]
            continue
        texts = [part for part in level if part.__class__ is str]
        dicts = [part for part in level if part.__class__ is dict]
        lists = [part for part in level if part.__class__ is list]
        strings += len(texts)
        members = sum(map(len, dicts))
        names += members
        chars += sum(map(len, texts)) + sum(map(len, chain.from_iterable(dicts)))
        if len(texts) + len(dicts) + len(lists) < len(level):
            surplus += sum(
                [_surplus(part) for part in level if part.__class__ in NUMBERS and not -LARGE < part < LARGE]
            )
        below = members + sum(map(len, lists))
        if parts + below > most:
            parts += below
            break
        # One view of a dict at a time: as many together would be looked through by the garbage collector.
        level = [*chain.from_iterable(lists), *chain.from_iterable(map(dict.values, dicts))]
    return ValueSize(parts + surplus, chars, strings, names, levels, parts + narrow + (levels - narrow) * LEVEL_EFFORT)


def _surplus(number: float) -> int:
    """Return how many more ordinary numbers a very large one takes as long as."""
    return (number.bit_length() >> 6) ** 2 if isinstance(number, int) else LARGE_FLOAT_VALUES
