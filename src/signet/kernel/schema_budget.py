"""The budget of a schema: what it costs to compile it, and to check a value against it. Pure.

    schema ── size, depth, patterns ──────────────▶ too dear to compile: refused
           └─ each part, counted once ── Work ────▶ the most that a value of so many parts can cost

A unit of work is what the validator does in some 10 ns. The estimate is an upper bound, found without compiling
anything: several schemas for one part of a value are added up, of the schemas for different parts the dearest counts.
The validator remembers what it found at a part of a value for a reference that leads back into a circle, and for no
other reference: one that leads on is followed as often as it is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any, Final

from .schema_references import METASCHEMA, REFERENCES, References, all_values
from .schema_work import NOTHING, Work, one_level
from .spending import MAX_STEPS, ValueSize

if TYPE_CHECKING:
    from .pattern_size import PatternSize

__all__ = [
    "MAX_COMPILED_BYTES",
    "MOST_BYTES",
    "SchemaBudget",
    "check_budget",
    "pattern_work",
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

CIRCLE_WORK: Final = 10
"""The work of a reference that leads back: what was found is looked up, or remembered."""
UNIQUE_WORK: Final = 15
FRACTION_WORK: Final = 100
TINY_FRACTION_WORK: Final = 1_600
TINY: Final = 1e-9
FORMAT_PER_CHAR: Final = 4
CONTENT_PER_CHAR: Final = 10
"""The work of reading a text as JSON; it takes up to 100 bytes for each character."""
STEADY_PER_CHAR: Final = 50
MANY_ATOMS: Final = 1_000
"""The characters and classes of a pattern from which on an automaton may not keep the states that a text needs."""
SMALL_ATOMS: Final = 64
KEPT_ATOMS: Final = 8
"""The characters and classes of a small pattern that looks around for which one step takes as long as for one."""
LARGE_STEPS: Final = MAX_STEPS // 4
"""How far the patterns of a schema are tried where a larger one than that looks around."""
ERROR_WORK: Final = 20
"""The work of an error: most branches of most values have none, and each has a text."""
MAX_DOUBLINGS: Final = 40
ENUM_WORK: Final = {str: 1, int: 9, float: 100}
OTHER_ENUM_WORK: Final = 10
IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "extends")
"""The keywords whose schemas look at the same value: one schema, or a list of them."""
BY_NAME: Final = ("dependentSchemas", "dependencies")
"""The keywords that have a schema of the same value for each name."""
COUNTED: Final = ("required", "dependentRequired", "dependencies")
UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
ARRAY_LISTS: Final = ("items", "prefixItems")
EVERY_MEMBER: Final = ("additionalProperties", "propertyNames", "unevaluatedProperties")
EVERY_ITEM: Final = ("contains", "additionalItems", "unevaluatedItems")
METASCHEMA_WORK: Final = 500


class SchemaBudget:
    """What the parts of one schema cost; each part is counted once."""

    def __init__(
        self, schema: Any, entry: Any = None, references: References | None = None, known: dict[int, Work] | None = None
    ) -> None:
        """Take a schema, the part with which the validator begins, and what is known of the parts of the schema."""
        self._root = schema
        self._entry = schema if entry is None else entry
        self._references = references or References(schema)
        self._known = {} if known is None else known
        known_before = len(self._known)
        self._begun: dict[int, int] = {}
        """The parts that are being counted, with the levels that are above them."""
        self._level = 0
        self._turns_in_place = False
        """Whether a reference leads back without leaving the part of the value that is looked at."""
        self._is_unevaluated = False
        self._circles: dict[int, Any] = {}
        """The parts to which a reference leads back."""
        self._parts: dict[int, SchemaBudget] = {}
        self._is_deep = False
        """Whether a value may be looked at again for each level above it."""
        whole = self.of(self._entry)
        for part in list(self._circles.values()):
            whole += self.of(part).again
        self.work = whole
        self.loops = max((self.of(part).circles for part in self._circles.values()), default=0)
        """In how many ways a reference leads back from one part of a value to one part of that."""
        self.counted = len(self._known) - known_before
        """The parts of the schema that were counted for it."""
        if self._circles:
            self._known = {}

    @cached_property
    def compiled_bytes(self) -> int:
        """The memory that the schema takes when it is compiled."""
        return _compiled_bytes(self._root, self._references)

    @property
    def steps(self) -> int:
        """How far a pattern of the schema that looks around is tried on one text."""
        patterns = (one for part in all_values(self._root) if isinstance(part, dict) for one in _patterns(part))
        return LARGE_STEPS if any(_is_large(_sized(one)) for one in patterns) else MAX_STEPS

    def knows(self, part: Any) -> bool:
        """Whether the budget for a validator that begins with a part has been counted."""
        return part is self._entry or id(part) in self._parts

    def from_part(self, part: Any) -> SchemaBudget:
        """Return the budget of the schema for a validator that begins with a part of it.

        Which references lead back, so that what they lead to is remembered, depends on where the validator begins.
        """
        if part is self._entry:
            return self
        if id(part) not in self._parts:
            # Without a circle, a part costs the same wherever the validator begins.
            known = None if self._circles else self._known
            self._parts[id(part)] = SchemaBudget(self._root, part, self._references, known)
        return self._parts[id(part)]

    def error_work(self, size: ValueSize) -> int:
        """Return the work of collecting all errors of a value: nothing is remembered, and every branch is looked at."""
        return ERROR_WORK * self.work.of(size) * self._branches(size.levels)

    def _branches(self, levels: int) -> int:
        return int(self.loops ** min(levels, MAX_DOUBLINGS)) if self.loops > 1 else 1

    @property
    def is_deep(self) -> bool:
        """Whether a part of a value is looked at again for each level above it."""
        return self._is_deep and bool(self._circles)

    @property
    def is_endless(self) -> bool:
        """Whether the validator follows references in circles as it compiles: 330 bytes of them take ten seconds."""
        return self._turns_in_place and self._is_unevaluated

    @property
    def _is_forgetful(self) -> bool:
        """Whether what is found at a part of a value may not be remembered."""
        return self.loops > 1 and (self._is_unevaluated or self._is_odd)

    @property
    def _is_odd(self) -> bool:
        """Whether the cycles are unknown, or one leads back to the same part of a value."""
        return self._turns_in_place or not self._references.is_certain

    @property
    def free_bytes(self) -> int:
        """Return the size of JSON up to which no value can cost more than may be spent on the event loop."""
        free = self.work.free_bytes
        if self._is_forgetful:
            return min(free, 1)
        return min(free, isqrt(2 * free)) if self.is_deep else free

    def work_of(self, size: ValueSize) -> int:
        """Return the work of checking a value of some size."""
        work = self.work.of(size)
        if self._is_forgetful:
            work *= self._branches(size.levels * (len(self._circles) if self._is_odd else 1))
        return work * size.levels if self.is_deep else work

    def of(self, part: Any, depth: int = 0) -> Work:
        """Return the work for a part of the schema."""
        if not isinstance(part, dict):
            return Work()
        if part is METASCHEMA:
            return one_level(METASCHEMA_WORK)
        key = id(part)
        known = self._known.get(key)
        if known is not None:
            return known
        if key in self._begun:
            self._circles[key] = part
            self._turns_in_place = self._turns_in_place or self._begun[key] == self._level
            return one_level(CIRCLE_WORK, circles=1)
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
        self._begun[key] = self._level
        same, inside = self._own(part), _Inside()
        # In the order of the validator, which decides what references lead back.
        for name in sorted(part):
            same += self._in_place(name, part[name], depth + 1)
            self._level += 1
            self._below(name, part[name], depth + 1, inside)
            self._level -= 1
        if any(name in part for name in UNEVALUATED):
            self._is_unevaluated = True
            same = same.times(3)._replace(circles=same.circles)
        del self._begun[key]
        below = inside.work
        work = self._known[key] = same + below._replace(levels=(0, *below.levels))
        return work

    def _own(self, part: dict[str, Any]) -> Work:
        """Return the work for the keywords that have no schemas."""
        work = 1 + len(part) + sum(len(part[key]) for key in COUNTED if isinstance(part.get(key), list | dict))
        for key in ("enum", "const"):
            if key in part:
                work += _enum_work(part[key] if key == "enum" else [part[key]])
                self._is_deep = self._is_deep or not _is_scalar(part[key])
        pairs = int(part.get("uniqueItems") is True)
        if pairs:
            self._is_deep = True
            work += UNIQUE_WORK
        factor = part.get("multipleOf", part.get("divisibleBy"))
        if isinstance(factor, int | float):
            work += TINY_FRACTION_WORK if abs(factor) < TINY else FRACTION_WORK
        chars = FORMAT_PER_CHAR if "format" in part else 0
        if "contentMediaType" in part and self._references.reads_content:
            chars += CONTENT_PER_CHAR
        pattern = part.get("pattern")
        if not isinstance(pattern, str):
            return one_level(work, chars, pairs=pairs)
        return one_level(work, chars, pairs=pairs) + pattern_work(pattern)

    def _in_place(self, name: str, value: Any, depth: int) -> Work:
        """Return the work for the schemas of a keyword that look at the same value."""
        work = NOTHING
        if name in REFERENCES:
            # The validator follows one of them.
            for one in self._references.targets(value):
                work |= self.of(one, depth)
            return work
        for one in _listed(value) if name in IN_PLACE else _values(value) if name in BY_NAME else ():
            work += self.of(one, depth)
        return work

    def _below(self, name: str, value: Any, depth: int, inside: _Inside) -> None:
        """Add the work for the schemas of a keyword that look at a member of an object, or at an item of an array."""
        if name == "properties":
            for one in _values(value):
                inside.member |= self.of(one, depth)
        elif name in ARRAY_LISTS:
            for one in _listed(value):
                inside.item |= self.of(one, depth)
        elif name == "patternProperties":
            for pattern, one in sorted(value.items()) if isinstance(value, dict) else ():
                inside.members += pattern_work(pattern) + self.of(one, depth)
        elif name in EVERY_MEMBER:
            inside.members += self.of(value, depth)
        elif name in EVERY_ITEM:
            inside.items += self.of(value, depth)


class _Inside:
    """The work for what is in a value: for its members and for its items."""

    def __init__(self) -> None:
        self.member = self.members = self.item = self.items = NOTHING
        """The work of the dearest schema of one member or item, and of those that look at all of them."""

    @property
    def work(self) -> Work:
        return (self.member + self.members) | (self.item + self.items)


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
    if budget.is_endless:
        raise ValueError("its references lead in a circle beside unevaluatedItems or unevaluatedProperties")
    if not budget.free_bytes:
        raise ValueError("its patterns take too long on a short text")
    return budget


def _compiled_bytes(schema: Any, references: References) -> int:
    """Return about how much memory a schema takes when it is compiled."""
    sizes: dict[int, int] = {}
    patterns: set[str] = set()
    size = 0
    for part in all_values(schema):
        is_object = isinstance(part, dict)
        size += OBJECT_BYTES if is_object else OTHER_BYTES
        if is_object:
            sizes[id(part)] = OBJECT_BYTES + OTHER_BYTES * len(part)
            patterns.update(_patterns(part))
    programs = sum(_sized(one).program_bytes for one in patterns)
    if references.has_ids and size + programs <= MAX_COMPILED_BYTES:
        size = max(size, references.reached(sizes, MAX_COMPILED_BYTES))
    return size + programs


def pattern_work(pattern: str) -> Work:
    """Return the work of trying a pattern on a text."""
    size = _sized(pattern)
    per_char = 1 + size.atoms // 2
    if size.is_steady:
        per_char = min(per_char, STEADY_PER_CHAR)
    elif size.atoms > MANY_ATOMS:
        # Each character may make another state, as large as the pattern, and the first text makes all of them.
        per_char = 1 + 2 * size.atoms
    if not size.is_fancy:
        return one_level(1, per_char)
    # What it looks at is matched by automata, which are kept where they are small.
    looks = size.atoms * LARGE_STEPS // MAX_STEPS if _is_large(size) else size.atoms // KEPT_ATOMS
    return one_level(1, per_char, 1, looks=looks)


def _is_large(size: PatternSize) -> bool:
    return size.is_fancy and size.atoms > SMALL_ATOMS


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
    return sum(ENUM_WORK.get(type(value), OTHER_ENUM_WORK) for value in all_values(values))


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
    """Return the members of an object in the order of the validator."""
    return [value[name] for name in sorted(value)] if isinstance(value, dict) else []
