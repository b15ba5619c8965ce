"""The budget of a schema: what it costs to compile it, and to check a value against it, whoever wrote it. Pure.

    schema ── size, depth, patterns ──────────────▶ too dear to compile: refused
           └─ each part, counted once ── Work ────▶ the most that a value of so many parts can cost

A unit of work is what the validator does in some 10 ns. The estimate is an upper bound, found without compiling
anything: several schemas for one part of a value are added up, of the schemas for different parts the dearest counts.
The validator remembers what it found at a part of a value for a reference that leads back into a circle, and for no
other reference: one that leads on is followed as often as it is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from math import isqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .work import MAX_STEPS, MAX_WORK

if TYPE_CHECKING:
    from .pattern_size import PatternSize

__all__ = [
    "MAX_COMPILED_BYTES",
    "MOST_BYTES",
    "SchemaBudget",
    "ValueSize",
    "Work",
    "check_budget",
    "measure_value",
    "part_at",
]

MAX_PER_VALUE: Final = 50_000
"""The most work that a schema may ask for at one part of a value."""
MAX_COMPILED_BYTES: Final = 32 << 20
"""The memory of a compiled schema; to compile it takes 50 ms."""
OBJECT_BYTES: Final = 1_500
OTHER_BYTES: Final = 300
"""What an object and any other value of a schema take when they are compiled."""
MOST_BYTES: Final = 1 << 20
"""The largest text of a schema."""
MAX_DEPTH: Final = 200

WORK_PER_BYTE: Final = 12
"""The work for one byte of JSON where a part of a value costs one unit: long numbers cost most."""
CIRCLE_WORK: Final = 10
"""The work of a reference that leads back: what was found is looked up, or remembered."""
UNIQUE_WORK: Final = 15
FRACTION_WORK: Final = 100
TINY_FRACTION_WORK: Final = 1_600
TINY: Final = 1e-9
FORMAT_PER_CHAR: Final = 4
ERROR_WORK: Final = 20
"""The work of an error: most branches of most values have none, and each has a text."""
MAX_DOUBLINGS: Final = 40
ENUM_WORK: Final = {str: 1, int: 9, float: 100}
OTHER_ENUM_WORK: Final = 10

IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "extends")
"""The keywords whose schemas look at the same value: one schema, or a list of them."""
BY_NAME: Final = ("dependentSchemas", "dependencies")
"""The keywords that have a schema of the same value for each name."""
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
COUNTED: Final = ("required", "dependentRequired", "dependencies")
UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
ARRAY_LISTS: Final = ("items", "prefixItems")


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
    depth: int = 0
    """How far down the schema looks before all references lead back."""

    def __add__(self, other: object) -> Work:
        """Return the work of two schemas for the same part."""
        if not isinstance(other, Work):
            return NotImplemented
        return Work(
            min(self.per_value + other.per_value, TOO_MUCH),
            min(self.per_char + other.per_char, TOO_MUCH),
            min(self.fancy + other.fancy, TOO_MUCH),
            min(self.circles + other.circles, TOO_MUCH),
            max(self.depth, other.depth),
        )

    def __or__(self, other: Work) -> Work:
        """Return the work of two schemas for different parts."""
        return Work(*map(max, self, other))

    def times(self, factor: int) -> Work:
        """Return the work of a schema that looks so many times."""
        value, char, fancy, circles = (min(amount * factor, TOO_MUCH) for amount in self[:4])
        return Work(value, char, fancy, circles, self.depth)

    def of(self, size: ValueSize) -> int:
        """Return the work for a value."""
        values, chars, texts = size.values, size.chars, size.strings + size.names
        return self.per_value * values + self.per_char * chars + self.fancy * MAX_STEPS * (5 * texts + chars // 10)

    @property
    def free_bytes(self) -> int:
        """Return the size of JSON up to which no value can cost more than may be spent on the event loop."""
        return MAX_WORK // (WORK_PER_BYTE * self.per_value + self.per_char + 2 * MAX_STEPS * self.fancy + 1)


NOTHING: Final = Work(0)
TOO_MUCH: Final = 1 << 40


class SchemaBudget:
    """What the parts of one schema cost; each part is counted once."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self.compiled_bytes = _compiled_bytes(schema)
        """The memory that it takes when it is compiled."""
        self._known: dict[int, Work] = {}
        self._begun: set[int] = set()
        self._circles: dict[int, Any] = {}
        """The parts to which a reference leads back."""
        self._named = dict(_names(schema))
        self._is_deep = False
        """Whether a value may be looked at again for each level above it."""
        whole = self.of(schema)
        for part in list(self._circles.values()):
            one = self.of(part)
            whole += one.times(max(1, one.depth))
        self.work = whole
        self.loops = max((self.of(part).circles for part in self._circles.values()), default=0)
        """In how many ways a reference leads back from one part of a value to one part of that."""

    def error_work(self, part: Any, size: ValueSize) -> int:
        """Return the work of collecting all errors of a value: nothing is remembered, and every branch is looked at."""
        work = ERROR_WORK * self.of(part).of(size)
        return work * self.loops ** min(size.levels, MAX_DOUBLINGS) if self.loops > 1 else work

    @property
    def is_deep(self) -> bool:
        """Whether a part of a value is looked at again for each level above it."""
        return self._is_deep and bool(self._circles)

    @property
    def free_bytes(self) -> int:
        """Return the size of JSON up to which no value can cost more than may be spent on the event loop."""
        free = self.work.free_bytes
        return min(free, isqrt(2 * free)) if self.is_deep else free

    def work_of(self, part: Any, size: ValueSize) -> int:
        """Return the work of checking a value of some size by a part of the schema."""
        work = self.of(part).of(size) if part is not self._root else self.work.of(size)
        return work * size.levels if self.is_deep else work

    def of(self, part: Any, depth: int = 0) -> Work:
        """Return the work for a part of the schema."""
        if not isinstance(part, dict):
            return Work()
        key = id(part)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._begun:
            self._circles[key] = part
            return Work(CIRCLE_WORK, circles=1)
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
        self._begun.add(key)
        same = self._own(part) + self._in_place(part, depth + 1)
        if any(name in part for name in UNEVALUATED):
            same = same.times(3)
        inside = self._members(part, depth + 1) | self._items(part, depth + 1)
        self._begun.discard(key)
        work = self._known[key] = same + inside._replace(depth=inside.depth + 1)
        return work

    def _own(self, part: dict[str, Any]) -> Work:
        """Return the work for the keywords that have no schemas."""
        work = 1 + len(part) + sum(len(part[key]) for key in COUNTED if isinstance(part.get(key), list | dict))
        for key in ("enum", "const"):
            if key in part:
                work += _enum_work(part[key] if key == "enum" else [part[key]])
                self._is_deep = self._is_deep or not _is_scalar(part[key])
        if part.get("uniqueItems") is True:
            self._is_deep = True
            work += UNIQUE_WORK
        factor = part.get("multipleOf", part.get("divisibleBy"))
        if isinstance(factor, int | float):
            work += TINY_FRACTION_WORK if abs(factor) < TINY else FRACTION_WORK
        chars = FORMAT_PER_CHAR if "format" in part else 0
        pattern = part.get("pattern")
        if not isinstance(pattern, str):
            return Work(work, chars)
        return Work(work, chars) + _pattern_work(pattern)

    def _in_place(self, part: dict[str, Any], depth: int) -> Work:
        work = NOTHING
        for key in IN_PLACE:
            for one in _listed(part.get(key)):
                work += self.of(one, depth)
        for key in BY_NAME:
            for one in _values(part.get(key)):
                work += self.of(one, depth)
        for key in REFERENCES:
            if key in part:
                work += self.of(self._target(part[key]), depth)
        return work

    def _members(self, part: dict[str, Any], depth: int) -> Work:
        """Return the work for a member of an object."""
        work = NOTHING
        for one in _values(part.get("properties")):
            work |= self.of(one, depth)
        patterns = part.get("patternProperties")
        for pattern, one in patterns.items() if isinstance(patterns, dict) else ():
            work += _pattern_work(pattern) + self.of(one, depth)
        for key in ("additionalProperties", "propertyNames", "unevaluatedProperties"):
            if key in part:
                work += self.of(part[key], depth)
        return work

    def _items(self, part: dict[str, Any], depth: int) -> Work:
        """Return the work for an item of an array."""
        work = NOTHING
        for key in ARRAY_LISTS:
            for one in _listed(part.get(key)):
                work |= self.of(one, depth)
        for key in ("contains", "additionalItems", "unevaluatedItems"):
            if key in part:
                work += self.of(part[key], depth)
        return work

    def _target(self, reference: Any) -> Any:
        """Return what a reference inside of the schema leads to; None if it leads nowhere."""
        if not isinstance(reference, str):
            return None
        base, _, fragment = reference.partition("#")
        part = self._named.get(base.rpartition("/")[2]) if base else self._root
        if fragment and not fragment.startswith("/"):
            return self._named.get(f"#{fragment}")
        return part_at(part, fragment)


def check_budget(schema: Any, size: int, most: int = MAX_PER_VALUE) -> SchemaBudget:
    """Return the budget of a schema whose text has a size in bytes.

    Raises:
        ValueError: the schema is too dear to compile, or may look at one part of a value too often.
    """
    if size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    budget = SchemaBudget(schema)
    if budget.compiled_bytes > MAX_COMPILED_BYTES:
        raise ValueError(f"it takes more than {MAX_COMPILED_BYTES >> 20} MiB when it is compiled")
    if budget.work.per_value > most:
        raise ValueError(f"its references make it look at a value more than {most:,} times")
    if not budget.free_bytes:
        raise ValueError("its patterns take too long on a short text")
    return budget


def _compiled_bytes(schema: Any) -> int:
    """Return about how much memory a schema takes when it is compiled."""
    size = 0
    patterns: set[str] = set()
    for part in _all_values(schema):
        size += OBJECT_BYTES if isinstance(part, dict) else OTHER_BYTES
        if isinstance(part, dict):
            patterns.update(_patterns(part))
    return size + sum(_sized(one).program_bytes for one in patterns)


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


def part_at(part: Any, pointer: str) -> Any:
    """Return the part of a schema at a JSON pointer, as it stands in a URI; None where there is none."""
    from urllib.parse import unquote

    for key in unquote(pointer).split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        if isinstance(part, list):
            is_place = name.isdecimal() and len(name) <= len(str(MOST_BYTES)) and int(name) < len(part)
            part = part[int(name)] if is_place else None
        else:
            part = part.get(name) if isinstance(part, dict) else None
    return part


def _pattern_work(pattern: str) -> Work:
    size = _sized(pattern)
    return Work(1, 1 + size.atoms // 2, int(size.is_fancy))


@lru_cache(maxsize=1024)
def _sized(pattern: str) -> PatternSize:
    # Loaded with the first pattern: its own take a while to be compiled.
    from .pattern_size import measure_pattern

    return measure_pattern(pattern)


def _enum_work(values: Any) -> int:
    """Return the work of comparing with all members of an enum; texts alone, or integers alone, are looked up."""
    if not isinstance(values, list):
        return OTHER_ENUM_WORK
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= {str, int}:
        return 1
    return sum(ENUM_WORK.get(type(value), OTHER_ENUM_WORK) for value in _all_values(values))


def _all_values(value: Any) -> Iterator[Any]:
    unseen = [value]
    while unseen:
        part = unseen.pop()
        yield part
        unseen += part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()


def _patterns(part: dict[str, Any]) -> Iterator[str]:
    if isinstance(part.get("pattern"), str):
        yield part["pattern"]
    if isinstance(part.get("patternProperties"), dict):
        yield from part["patternProperties"]


def _is_scalar(value: Any) -> bool:
    return not any(isinstance(one, list | dict) for one in (value if isinstance(value, list) else [value]))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _names(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of a schema that has a name, by its anchor or by the end of its id."""
    for part in _all_values(schema):
        if isinstance(part, dict):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(key), str):
                    yield f"#{part[key]}", part
            for key in ("$id", "id"):
                if isinstance(part.get(key), str):
                    yield part[key].partition("#")[0].rpartition("/")[2], part
