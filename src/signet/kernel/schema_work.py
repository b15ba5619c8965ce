"""Work: what it costs to check a value, in units that do not depend on the machine. Pure.

A unit is what the validator does in some 10 ns. The work of a schema is for one part of a value; with the size of a
value, it is the most that a check of this value can cost.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import isqrt
from typing import Any, Final, NamedTuple

from .spending import MAX_STEPS, MAX_WORK, ValueSize

__all__ = ["NOTHING", "Work", "measure_value", "one_level"]

WORK_PER_BYTE: Final = 12
"""The work for one byte of JSON where a part of a value costs one unit: long numbers cost most."""
NUMBERS: Final = (int, float)
LARGE: Final = 1 << 63
EXACT: Final = 1 << 53
"""Integers from here on share their hash with others: the validator hashes the nearest fraction."""
LEVEL_EFFORT: Final = 40

LARGE_FLOAT_VALUES: Final = 20
"""The ordinary numbers that a very large one takes as long as; for integers it is the square of its words."""
NUMBER_PAIR_WORK: Final = 22
"""The work of comparing two numbers that share their hash, for each of them with each: half of the pairs."""
HOLDER_PAIR_WORK: Final = 1
"""The same for arrays and objects: arrays have the hash of what is in them, however that is nested."""
MIN_LONG_BYTES: Final = 17
"""The JSON of the shortest integer that shares its hash with another, and a comma."""


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
    looks: int = 0
    """What those patterns take for ten characters in one step."""
    pairs: int = 0
    """The keywords that compare all items of one array with each other."""

    def __add__(self, other: object) -> Work:
        """Return the work of two schemas for the same part."""
        if not isinstance(other, Work):
            return NotImplemented
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        value, char, fancy, circles, levels, looks, pairs = other
        return Work(
            self.per_value + value,
            self.per_char + char,
            self.fancy + fancy,
            self.circles + circles,
            _joined(self.levels, levels, int.__add__),
            self.looks + looks,
            self.pairs + pairs,
        )

    def __or__(self, other: Work) -> Work:
        """Return the work of two schemas for different parts."""
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        value, char, fancy, circles = map(max, self[:4], other[:4])
        looks, pairs = max(self.looks, other.looks), max(self.pairs, other.pairs)
        return Work(value, char, fancy, circles, _joined(self.levels, other.levels, max), looks, pairs)

    def times(self, factor: int) -> Work:
        """Return the work of a schema that looks so many times."""
        value, char, fancy, circles = (amount * factor for amount in self[:4])
        levels = tuple(amount * factor for amount in self.levels)
        return Work(value, char, fancy, circles, levels, self.looks * factor, self.pairs * factor)

    @property
    def again(self) -> Work:
        """The most work for one part of a value, if the schema looks at each of the parts above it too."""
        depth = max(1, len(self.levels) - 1)
        return self.times(depth)._replace(per_value=sum(self.levels), circles=self.circles)

    def of(self, size: ValueSize) -> int:
        """Return the work for a value."""
        values, chars, texts = size.values, size.chars, size.strings + size.names
        work = self.per_value * values + self.per_char * chars
        if self.fancy:
            work += MAX_STEPS * (5 * self.fancy * texts + self.looks * (chars // 10))
        if self.pairs:
            work += self.pairs * (NUMBER_PAIR_WORK * size.long_numbers**2 + HOLDER_PAIR_WORK * size.holders**2)
        return work

    @property
    def free_bytes(self) -> int:
        """Return the size of JSON up to which no value can cost more than may be spent on the event loop."""
        steps = MAX_STEPS * (2 * self.fancy + self.looks // 10)
        free = MAX_WORK // (WORK_PER_BYTE * self.per_value + self.per_char + steps + 1)
        if not self.pairs:
            return free
        return min(free, MIN_LONG_BYTES * isqrt(MAX_WORK // (NUMBER_PAIR_WORK * self.pairs)))


def one_level(
    per_value: int, per_char: int = 0, fancy: int = 0, circles: int = 0, *, looks: int = 0, pairs: int = 0
) -> Work:
    """Return work for one part of a value, and for nothing below it."""
    return Work(per_value, per_char, fancy, circles, (per_value,), looks or fancy, pairs)


def _joined(one: tuple[int, ...], other: tuple[int, ...], join: Callable[[int, int], int]) -> tuple[int, ...]:
    if len(one) < len(other):
        one, other = other, one
    return (*map(join, one, other), *one[len(other) :])


NOTHING: Final = Work(0, levels=())


def measure_value(value: Any, most: int) -> ValueSize:
    """Return the size of a value, with which the work of a check grows; stop behind so many parts.

    Level by level: a call for each part would take longer than its check.
    """
    parts = chars = strings = names = surplus = levels = narrow = long_numbers = holders = 0
    level = [value]
    while level:
        levels += 1
        parts += len(level)
        if len(level) == 1 and level[0].__class__ is list and parts + len(level[0]) <= most:
            # A long chain of lists: each is the next level.
            narrow += 1
            holders += 1
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
            numbers = [part for part in level if part.__class__ in NUMBERS and not -EXACT < part < EXACT]
            surplus += sum([_surplus(part) for part in numbers if not -LARGE < part < LARGE])
            long_numbers += sum(map(_length, numbers))
        holders += len(dicts) + len(lists)
        below = members + sum(map(len, lists))
        if parts + below > most:
            parts += below
            break
        # One view of a dict at a time: as many together would be looked through by the garbage collector.
        level = [*chain.from_iterable(lists), *chain.from_iterable(map(dict.values, dicts))]
    effort = parts + narrow + (levels - narrow) * LEVEL_EFFORT
    return ValueSize(parts + surplus, chars, strings, names, levels, effort, long_numbers, holders)


def _surplus(number: float) -> int:
    """Return how many more ordinary numbers a very large one takes as long as."""
    return (number.bit_length() >> 6) ** 2 if isinstance(number, int) else LARGE_FLOAT_VALUES


def _length(number: float) -> int:
    """Return how many of the shortest long numbers a long one takes as long to compare as."""
    return 1 + (number.bit_length() >> 7) if isinstance(number, int) else 1
