"""Values: candidates that a schema may admit, made from the schema itself, the simplest and the outermost of each kind.

A schema is brought into its canonical form first: a list of alternatives in which all that applies to one instance is
merged. Each part of a value is validated against its own part of the schema before use, so that keywords which are not
understood here (`not` above all) make fewer values, never more wrong ones. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from .open_objects import Schema, resolve
from .scalars import ANYTHING, NAMES, numbers, size, strings

__all__ = ["Check", "ValueSet"]

VALUES_PER_PART: Final = 8
VALUES_OF_ROOT: Final = 400
MAX_DEPTH: Final = 7
MAX_ITEMS: Final = 2_000
MAX_WEIGHT: Final = 400
"""How many members a value may have at all depths together."""
MAX_MEMOIZED: Final = 2_000
"""How many parts of a document values are made for."""
MAX_CASES: Final = 24
MAX_CASE_DEPTH: Final = 12

Check = Callable[[object], bool]


class ValueSet:
    """Makes values for the schemas of one document."""

    def __init__(self, root: Schema, compile_check: Callable[[Schema], Check]) -> None:
        self.root = canonical_form(root)
        self.compile_check = compile_check
        self.memo: dict[tuple[bytes, int, int], list[Any]] = {}

    def all(self) -> list[Any]:
        """Return values that the document admits."""
        return self._values(self.root, 0, VALUES_OF_ROOT)

    def _values(self, schema: Schema, depth: int, limit: int) -> list[Any]:
        """Return values of a part, made once per depth: a document may reach the same part in very many ways."""
        key = (msgspec.json.encode(schema), depth, limit)
        if schema is False or depth > MAX_DEPTH or len(self.memo) > MAX_MEMOIZED:
            return []
        if key not in self.memo:
            self.memo[key] = self._make(schema, depth, limit)
        return self.memo[key]

    def _make(self, schema: Schema, depth: int, limit: int) -> list[Any]:
        cases = islice(self._cases(schema), MAX_CASES)
        values = (value for case in cases for value in self._of_case(case, depth) if _weight(value) <= MAX_WEIGHT)
        is_valid = self.compile_check(self._document(schema))
        # A generator may be endless, so the number of tries is bounded, too.
        return list(islice(_distinct(filter(is_valid, islice(values, 10 * limit))), limit))

    def _document(self, part: Schema) -> Schema:
        """Return a part of the document that can be compiled by itself."""
        if isinstance(part, bool) or isinstance(self.root, bool) or part is self.root:
            return part
        return {**{key: self.root[key] for key in ("$schema", "$defs") if key in self.root}, **part}

    def _merged(self, *parts: Schema) -> Any:
        """Return a schema of the values that all parts admit."""
        return canonical_form(self._document({"allOf": list(parts)}))

    def _cases(self, schema: Schema, depth: int = 0) -> Iterator[dict[str, Any]]:
        """Yield one schema without alternatives and references for each way through those of a schema."""
        if isinstance(schema, bool) or depth > MAX_CASE_DEPTH:
            yield from [{}] if schema is True else []
            return
        rest = {key: value for key, value in schema.items() if key not in {"allOf", "anyOf", "$ref"}}
        parts = [part for part in (schema, *schema.get("allOf", ())) if isinstance(part, dict)]
        references = [part["$ref"] for part in parts if isinstance(part.get("$ref"), str)]
        if references:
            others = ({key: value for key, value in part.items() if key != "$ref"} for part in parts[1:])
            targets = (resolve(reference, self.root) for reference in references)
            merged = self._merged(rest, *others, *(True if target is None else target for target in targets))
            yield from self._cases(merged, depth + 1)
            return
        alternatives = schema.get("anyOf") or schema.get("allOf") or [{}]
        for part in alternatives:
            yield from (rest | case for case in self._cases(part, depth + 1)) if part else [rest]

    def _of_case(self, case: dict[str, Any], depth: int) -> Iterator[Any]:
        """Yield values of a schema without combinators."""
        if "const" in case:
            yield case["const"]
            return
        if "enum" in case:
            yield from case["enum"]
            return
        types = case.get("type", ())
        for kind in [types] if isinstance(types, str) else types:
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
        others = self._values(case.get("additionalProperties", True), depth + 1, 3) or [1]
        known = {name: self._values(part, depth + 1, VALUES_PER_PART) for name, part in properties.items()}
        known |= self._pattern_properties(case, depth, set(known))
        names = self._undeclared_names(case, depth)
        required = list(case.get("required", ()))
        dependent = (other for name in required for other in case.get("dependentRequired", {}).get(name, ()))
        required = list(dict.fromkeys((*required, *dependent)))
        spare = [name for name in (*known, *names) if name not in required and known.get(name, others)]
        required += spare[: max(0, size(case, "minProperties") - len(required))]
        if not all(known.get(name, others) for name in required):
            return
        base = {name: known.get(name, others)[0] for name in required}
        yield base
        yield {**base, **{name: max(candidates, key=_weight) for name, candidates in known.items() if candidates}}
        for name, candidates in known.items():
            yield from ({**base, name: value} for value in candidates)
        yield from ({**base, name: value} for name in names for value in others)
        full = {**base, **{name: candidates[0] for name, candidates in known.items() if candidates}}
        yield full
        yield from ({key: value for key, value in full.items() if key != name} for name in full)
        yield from ({**full, name: value} for name, candidates in known.items() for value in candidates[1:])
        yield from ({**full, **dict.fromkeys(names[:count], value)} for value in others for count in (1, 3))

    def _pattern_properties(self, case: dict[str, Any], depth: int, declared: set[str]) -> dict[str, list[Any]]:
        """Return values for properties that are declared by a pattern, under invented names."""
        values = {}
        for pattern, part in case.get("patternProperties", {}).items():
            for name in islice(strings({"pattern": pattern}), 3):
                if name not in declared:
                    values[name] = self._values(part, depth + 1, VALUES_PER_PART)
        return values

    def _undeclared_names(self, case: dict[str, Any], depth: int) -> list[str]:
        """Return names that are not declared, first those that `propertyNames` allows."""
        allowed = self._values(case["propertyNames"], depth + 1, VALUES_PER_PART) if "propertyNames" in case else ()
        return [*(name for name in allowed if isinstance(name, str)), *NAMES]

    def _arrays(self, case: dict[str, Any], depth: int) -> Iterator[list[Any]]:
        first = [self._values(part, depth + 1, VALUES_PER_PART) for part in case.get("prefixItems", ())]
        rest = self._values(case.get("items", True), depth + 1, VALUES_PER_PART)
        both = self._merged(case.get("items", True), case.get("contains", False))
        contained = self._values(both, depth + 1, VALUES_PER_PART)
        least = max(size(case, "minItems"), size(case, "minContains") if contained else 0)
        if least > MAX_ITEMS:
            return

        def filled(head: list[Any], count: int) -> list[Any]:
            """Extend an array to a length, with different items if they must be unique."""
            for place in range(len(head), count):
                choice = (first[place] if place < len(first) else contained + rest) or [None]
                extra = f"a{place}" if isinstance(choice[0], str) else place + 10
                unused = (item for item in (*choice, extra) if item not in head)
                head = [*head, next(unused, None) if case.get("uniqueItems") else choice[0]]
            return head

        plain = [choice[0] for choice in first if choice]
        lengths = {least, least + 1, len(first), len(first) + 1, size(case, "maxItems")}
        for length in sorted(length for length in lengths if length <= MAX_ITEMS):
            yield filled(plain[:length], length)
        yield from (filled([item], least) for item in (first[0] if first else contained + rest))
        yield from (filled([item, item], least) for item in contained + rest)
        for place, choice in enumerate(first):
            yield from (filled([*plain[:place], item], least) for item in choice)
        yield from (filled([*plain, item], least) for item in contained + rest)


def canonical_form(schema: Schema) -> Any:
    """Return a schema that admits the same values, with alternatives as `anyOf` and everything else merged."""
    from jsonschema_rs import canonicalize

    try:
        return canonicalize(schema, validate_formats=True, offline=True).to_json_schema()
    except ValueError:
        return schema


def _weight(value: object, left: int = MAX_WEIGHT + 1) -> int:
    """Count the members of a value up to a limit; shared parts count each time they occur."""
    if not isinstance(value, dict | list) or left <= 0:
        return 0
    weight = 1 + (len(value) if isinstance(value, dict) else 0)
    for part in value.values() if isinstance(value, dict) else value:
        weight += _weight(part, left - weight)
    return weight


def _distinct(values: Iterable[Any]) -> Iterator[Any]:
    """Yield each value once; `repr` keeps `true` and `1` apart."""
    seen = set()
    for value in values:
        mark = repr(value)
        if mark not in seen:
            seen.add(mark)
            yield value
