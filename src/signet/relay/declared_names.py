"""The names that a tool declares, and arguments whose names a lenient server reads as one of them. Pure.

all names of the schema together ── none of the arguments comes near ── the arguments may be sent
one does ── the names that the schema declares at its place ── no such name there: a free map ── likewise
                                                            └─ the arguments are refused
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import Raw

from signet.kernel.headers import ParamHeader, headers_of, param_headers

from .folded_names import fold_all

__all__ = ["DeclaredNames"]

MAX_STEPS: Final = 100_000
"""The schemas that are looked at for one call; arguments that need more count as near."""
IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
IN_PLACE_BY_NAME: Final = ("dependentSchemas", "dependencies")
OF_ITEMS: Final = ("items", "prefixItems", "contains", "additionalItems", "unevaluatedItems")
OF_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
CONTAINERS: Final = (dict, list)
KINDS: Final = frozenset(CONTAINERS)


class DeclaredNames:
    """The names that a schema declares; what is known of it is found out when it is first needed."""

    def __init__(self, schema: Raw | bytes) -> None:
        self._raw = bytes(schema)

    def near(self, arguments: Any) -> tuple[str, str] | None:
        """Return a name in the arguments that is not declared, and the declared one that it may be read as, or None.

        Both are empty where that takes too many steps to find out.
        """
        names, folds, longest = self._all
        if not folds:
            return None  # nothing is declared that a name could be near
        is_flat = isinstance(arguments, dict) and KINDS.isdisjoint(map(type, arguments.values()))
        for value in (arguments,) if is_flat else _dicts(arguments):
            others = value.keys() - names
            if others and not folds.isdisjoint(dict(fold_all(others, longest)).values()):
                return _Search(self._schema).near(arguments)
        return None

    def headers(self, arguments: Any) -> tuple[tuple[str, str], ...]:
        """Return the headers that repeat arguments over HTTP; they are made of what was checked, never passed on."""
        return headers_of(self._headers, arguments) if self._headers else ()

    @cached_property
    def _headers(self) -> list[ParamHeader]:
        try:
            return param_headers(Raw(self._raw))
        except (ValueError, RecursionError):
            return []

    @cached_property
    def _schema(self) -> Any:
        try:
            return msgspec.json.decode(self._raw)
        except (ValueError, RecursionError):
            return {}

    @cached_property
    def _all(self) -> tuple[frozenset[str], frozenset[str], int]:
        """The names that are declared anywhere, their folded forms, and the length of the longest of these.

        Names that are folded alike are left out: which of them may stand at a place is found there.
        """
        folded = fold_all(frozenset(_all_names(self._schema)))
        counts = Counter(form for _, form in folded)
        names = frozenset(_all_names(self._schema)).difference(name for name, form in folded if counts[form] > 1)
        del self.__dict__["_schema"]  # most schemas are not needed again
        return names, frozenset(counts), max(map(len, counts), default=0)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a value."""
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            yield one
            waiting += [part for part in one.values() if isinstance(part, CONTAINERS)]
        elif isinstance(one, list):
            waiting += [part for part in one if isinstance(part, CONTAINERS)]


def _all_names(schema: Any) -> Iterator[str]:
    """Yield the names that a schema declares anywhere."""
    for one in _dicts(schema):
        yield from _names_of(one)


def _names_of(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the names that a schema itself declares."""
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        yield from properties
    if isinstance(required, list):
        yield from (name for name in required if isinstance(name, str))


class _OverBudgetError(Exception):
    """The search has taken too many steps."""


class _Place:
    """All schemas that may hold for a value, and the names that they declare."""

    def __init__(self, schemas: Collection[dict[str, Any]]) -> None:
        self.schemas = schemas
        self.names = frozenset(name for one in schemas for name in _names_of(one))
        self.folds = {folded: name for name, folded in fold_all(self.names)}
        """The declared names by their folded forms."""
        self.longest = max(map(len, self.folds), default=0)
        self.below: dict[str | None, _Place] = {}
        """What holds for its members: those that are declared by their names, all others below None."""


class _Search:
    """The search for a name that is near one that is declared at its place."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._anything = {"properties": dict.fromkeys(_all_names(schema), True)}
        """What a reference that cannot be followed stands for."""
        self._places: dict[frozenset[int], _Place] = {}
        self._named: dict[str, Any] | None = None
        self._steps = 0

    def near(self, arguments: Any) -> tuple[str, str] | None:
        waiting: list[tuple[Any, _Place]] = []
        try:
            waiting.append((arguments, self._place([self._root])))
            for value, place in waiting:
                found = self._near_here(value, place)
                if found is not None:
                    return found
                waiting += self._below(value, place)
        except _OverBudgetError:
            return "", ""
        return None

    def _near_here(self, value: Any, place: _Place) -> tuple[str, str] | None:
        if not isinstance(value, dict) or value.keys() <= place.names:
            return None
        others = [name for name in value if name not in place.names]
        for name, folded in fold_all(others, place.longest):
            if folded in place.folds:
                return name, place.folds[folded]
        return None

    def _below(self, value: Any, place: _Place) -> Iterator[tuple[Any, _Place]]:
        """Yield the objects and arrays in a value, with what holds for each."""
        if isinstance(value, list):
            parts = [part for part in value if isinstance(part, CONTAINERS)]
            if parts:
                of_items = self._place([one[key] for one in place.schemas for key in OF_ITEMS if key in one])
                yield from ((part, of_items) for part in parts)
            return
        for name, part in value.items():
            if isinstance(part, CONTAINERS):
                key = name if name in place.names else None
                if key not in place.below:
                    self._step(len(place.schemas))
                    place.below[key] = self._place([sub for one in place.schemas for sub in _of_member(one, key)])
                yield part, place.below[key]

    def _place(self, schemas: list[Any]) -> _Place:
        """Return what holds together, with all that it applies in place and refers to."""
        key = frozenset(map(id, schemas))
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = _Place(self._closed(schemas))
            self._step(len(known.names))
        return known

    def _closed(self, schemas: list[Any]) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        waiting = [*schemas]
        while waiting:
            one = waiting.pop()
            self._step(1)
            if isinstance(one, list):
                waiting += one
            elif isinstance(one, dict) and id(one) not in found:
                found[id(one)] = one
                waiting += [self._referred(one[key]) for key in REFERENCES if key in one]
                waiting += [one[key] for key in IN_PLACE if key in one]
                by_name = [one[key] for key in IN_PLACE_BY_NAME if isinstance(one.get(key), dict)]
                waiting += [part for parts in by_name for part in parts.values()]
        return list(found.values())

    def _referred(self, reference: Any) -> Any:
        """Return the schema that a reference names; all names where it is not found."""
        if not isinstance(reference, str):
            return self._anything
        base, _, fragment = reference.partition("#")
        schema = self._by_name(base) if base else self._root
        if not fragment.startswith("/"):
            return self._by_name(f"#{fragment}") if fragment else schema
        for part in fragment[1:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            try:
                schema = schema[int(name)] if isinstance(schema, list) else schema[name]
            except (LookupError, ValueError, TypeError):
                return self._anything
        return schema

    def _by_name(self, name: str) -> Any:
        """Return the schema with an id or an anchor."""
        if self._named is None:
            self._named = {}
            for one in _dicts(self._root):
                self._step(1)
                for key, mark in (("$id", ""), ("id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
                    if isinstance(one.get(key), str):
                        self._named.setdefault(mark + one[key], one)
        return self._named.get(name, self._anything)

    def _step(self, count: int) -> None:
        self._steps += count
        if self._steps > MAX_STEPS:
            raise _OverBudgetError


def _of_member(schema: dict[str, Any], name: str | None) -> Iterator[Any]:
    """Yield the schemas that may hold for a member; None stands for one that is not declared."""
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    is_named = isinstance(properties, dict) and name in properties
    if is_named and properties is not None:
        yield properties[name]
    if isinstance(patterns, dict):
        yield from patterns.values()
    if not is_named:
        yield from (schema[key] for key in OF_OTHERS if key in schema)
