"""Values: what a schema may admit, made from the schema itself, the plainest and the outermost of each kind.

Each part of a value is checked against its own part of the schema before it is built in, so that keywords which are
not understood here (`not` above all) only make values rarer, never wrong ones likelier. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from .cases import cases
from .open_objects import Schema
from .scalars import ANYTHING, NAMES, numbers, size, strings

__all__ = ["Values"]

FEW: Final = 8
"""How many values a part gives to the whole that it stands in."""
MANY: Final = 400
"""How many the whole gives."""
DEEPEST: Final = 7
MOST_ITEMS: Final = 2_000
HEAVIEST: Final = 400
"""How many members a value may have in all."""
MOST_MADE: Final = 2_000
"""For so many parts of a document values are made."""
CHARACTERISTIC: Final = {
    "object": ("properties", "required", "minProperties", "patternProperties", "propertyNames"),
    "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""The keywords that tell what a schema without a type is about."""

Check = Callable[[object], bool]


class Values:
    """Makes values of one document's schemas."""

    def __init__(self, root: Schema, compile_check: Callable[[Schema], Check]) -> None:
        self.root = root
        self.compile_check = compile_check
        self.made: dict[tuple[bytes, int, int], list[Any]] = {}

    def all(self) -> list[Any]:
        """Give values that the document admits."""
        return self._of(self.root, 0, MANY)

    def _of(self, schema: Schema, depth: int, limit: int) -> list[Any]:
        """Make values of a part once for each depth: a document may come to the same part in very many ways."""
        key = (msgspec.json.encode(schema), depth, limit)
        if schema is False or depth > DEEPEST or len(self.made) > MOST_MADE:
            return []
        if key not in self.made:
            self.made[key] = self._fresh(schema, depth, limit)
        return self.made[key]

    def _fresh(self, schema: Schema, depth: int, limit: int) -> list[Any]:
        made = (one for case in cases(schema, self.root) for one in self._made(case, depth) if _weight(one) <= HEAVIEST)
        # What is never checked can be made without end; what fails is not worth looking at for ever.
        return list(islice(_distinct(filter(self._check(schema), islice(made, 10 * limit))), limit))

    def _check(self, schema: Schema) -> Check:
        if isinstance(schema, dict) and isinstance(self.root, dict) and schema is not self.root:
            schema = {**{key: self.root[key] for key in ("$schema", "$defs") if key in self.root}, **schema}
        return self.compile_check(schema)

    def _made(self, case: dict[str, Any], depth: int) -> Iterator[Any]:
        """Make values of a schema without alternatives."""
        if "const" in case:
            yield case["const"]
            return
        if "enum" in case:
            yield from case["enum"]
            return
        for kind in _kinds(case):
            if kind == "object":
                yield from self._objects(case, depth)
            elif kind == "array":
                yield from self._arrays(case, depth)
            elif kind == "string":
                yield from strings(case)
            elif kind in {"number", "integer"}:
                yield from numbers(case)
            else:
                yield from {"null": (None,), "boolean": (True, False)}.get(kind, ())
        if "type" not in case:
            yield from ANYTHING

    def _objects(self, case: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
        properties = case.get("properties", {})
        others = self._of(case.get("additionalProperties", True), depth + 1, 3) or [1]
        known = {name: self._of(part, depth + 1, FEW) for name, part in properties.items()}
        known |= self._by_pattern(case, depth, set(known))
        names = self._names(case, depth)
        needed = list(case.get("required", ()))
        brought = (one for name in needed for one in case.get("dependentRequired", {}).get(name, ()))
        needed = list(dict.fromkeys((*needed, *brought)))
        spare = [name for name in (*known, *names) if name not in needed and known.get(name, others)]
        needed += spare[: max(0, size(case, "minProperties") - len(needed))]
        if not all(known.get(name, others) for name in needed):
            return
        base = {name: known.get(name, others)[0] for name in needed}
        yield base
        yield {**base, **{name: max(candidates, key=_weight) for name, candidates in known.items() if candidates}}
        for name, candidates in known.items():
            yield from ({**base, name: one} for one in candidates)
        yield from ({**base, name: one} for name in names for one in others)
        full = {**base, **{name: candidates[0] for name, candidates in known.items() if candidates}}
        yield full
        yield from ({key: value for key, value in full.items() if key != name} for name in full)
        yield from ({**full, name: one} for name, candidates in known.items() for one in candidates[1:])
        yield from ({**full, **dict.fromkeys(names[:count], one)} for one in others for count in (1, 3))

    def _by_pattern(self, case: dict[str, Any], depth: int, named: set[str]) -> dict[str, list[Any]]:
        """Invent names for the properties that are known by a pattern."""
        found = {}
        for pattern, part in case.get("patternProperties", {}).items():
            for name in islice(strings({"pattern": pattern}), 3):
                if name not in named:
                    found[name] = self._of(part, depth + 1, FEW)
        return found

    def _names(self, case: dict[str, Any], depth: int) -> list[str]:
        """Give names that are declared nowhere, those first that a rule for names allows."""
        allowed = self._of(case["propertyNames"], depth + 1, FEW) if "propertyNames" in case else ()
        return [*(name for name in allowed if isinstance(name, str)), *NAMES]

    def _arrays(self, case: dict[str, Any], depth: int) -> Iterator[list[Any]]:
        first = [self._of(part, depth + 1, FEW) for part in case.get("prefixItems", ())]
        rest = self._of(case.get("items", True), depth + 1, FEW)
        both = {"allOf": [case.get("items", True), case.get("contains", True)]}
        held = self._of(both, depth + 1, FEW) if "contains" in case else []
        least = max(size(case, "minItems"), size(case, "minContains") if held else 0)
        if least > MOST_ITEMS:
            return

        def filled(head: list[Any], count: int) -> list[Any]:
            """Draw an array out to a length, each item another where they must differ."""
            for place in range(len(head), count):
                choice = (first[place] if place < len(first) else held + rest) or [None]
                more = f"a{place}" if isinstance(choice[0], str) else place + 10
                fresh = (one for one in (*choice, more) if one not in head)
                head = [*head, next(fresh, None) if case.get("uniqueItems") else choice[0]]
            return head

        plain = [choice[0] for choice in first if choice]
        lengths = {least, least + 1, len(first), len(first) + 1, size(case, "maxItems")}
        for length in sorted(one for one in lengths if one <= MOST_ITEMS):
            yield filled(plain[:length], length)
        yield from (filled([one], least) for one in (first[0] if first else held + rest))
        yield from (filled([one, one], least) for one in held + rest)
        for place, choice in enumerate(first):
            yield from (filled([*plain[:place], one], least) for one in choice)
        yield from (filled([*plain, one], least) for one in held + rest)


def _kinds(case: dict[str, Any]) -> list[str]:
    """Name the types that a schema is about: those it allows, or those that its keywords speak of."""
    stated = case.get("type")
    if isinstance(stated, str):
        return [stated]
    if isinstance(stated, list):
        return stated
    return [kind for kind, words in CHARACTERISTIC.items() if any(word in case for word in words)]


def _weight(value: object, left: int = HEAVIEST + 1) -> int:
    """Count the members of a value, not further than matters; shared parts count each time that they are written."""
    if not isinstance(value, dict | list) or left <= 0:
        return 0
    weight = 1 + (len(value) if isinstance(value, dict) else 0)
    for part in value.values() if isinstance(value, dict) else value:
        weight += _weight(part, left - weight)
    return weight


def _distinct(values: Iterable[Any]) -> Iterator[Any]:
    """Leave out what was there before; true is not 1."""
    seen = set()
    for value in values:
        mark = repr(value)
        if mark not in seen:
            seen.add(mark)
            yield value
