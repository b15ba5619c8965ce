"""The cost of a schema that somebody else wrote: how often one value may be looked at while it is checked. Pure.

A few short definitions, each of which refers twice to the next, cost twice as much with each of them. References in
circles are counted once: what they cost depends on the depth of the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["MAX_COST", "check_cost"]

MAX_COST: Final = 50_000
MAX_DEPTH: Final = 200
IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""The keywords whose schemas look at the same value: one schema, or a list of them."""
BY_NAME: Final = ("dependentSchemas", "dependencies", "patternProperties")
"""The keywords that have a schema for each name, several of which may look at one value."""
INSIDE: Final = ("additionalProperties", "items", "prefixItems", "additionalItems", "contains", "propertyNames",
                 "unevaluatedProperties", "unevaluatedItems")  # fmt: skip
"""The keywords whose schemas look at a part of the value, beside those of properties."""
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def check_cost(schema: Any, limit: int = MAX_COST) -> None:
    """Raise ValueError if a schema may look at a value too often, or is nested too deeply."""
    if _Costs(schema).of(schema, 0) > limit:
        raise ValueError(f"its references make it look at a value more than {limit:,} times")


class _Costs:
    """The costs of the parts of one schema; each part is counted once."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._known: dict[int, int] = {}
        self._named = dict(_names(schema))

    def of(self, part: Any, depth: int) -> int:
        """Return the cost of a part; one that is being counted costs nothing more."""
        if not isinstance(part, dict):
            return 1
        known = self._known.get(id(part))
        if known is not None:
            return known
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
        self._known[id(part)] = 1
        below = depth + 1
        cost = 1 + sum(self.of(one, below) for key in IN_PLACE if key in part for one in _listed(part[key]))
        cost += sum(self.of(self._target(part[key]), below) for key in REFERENCES if key in part)
        cost += sum(self.of(one, below) for key in BY_NAME for one in _values(part.get(key)))
        inside = [*_values(part.get("properties")), *(one for key in INSIDE for one in _listed(part.get(key)))]
        # Each of them looks at another part of the value.
        cost += max((self.of(one, below) for one in inside), default=0)
        self._known[id(part)] = min(cost, MAX_COST + 1)
        return self._known[id(part)]

    def _target(self, reference: Any) -> Any:
        """Return what a reference inside of the schema leads to; None if it leads nowhere."""
        if not isinstance(reference, str):
            return None
        from urllib.parse import unquote

        base, _, fragment = reference.partition("#")
        part = self._named.get(base.rpartition("/")[2]) if base else self._root
        if fragment and not fragment.startswith("/"):
            return self._named.get(f"#{fragment}")
        for key in unquote(fragment).split("/")[1:]:
            name = key.replace("~1", "/").replace("~0", "~")
            if isinstance(part, list):
                part = part[int(name)] if name.isdecimal() and len(name) < 7 and int(name) < len(part) else None  # noqa: PLR2004 - no list is longer
            else:
                part = part.get(name) if isinstance(part, dict) else None
        return part


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _names(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of a schema that has a name, by its anchor or by the end of its id."""
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(key), str):
                    yield f"#{part[key]}", part
            for key in ("$id", "id"):
                if isinstance(part.get(key), str):
                    yield part[key].partition("#")[0].rpartition("/")[2], part
            stack += part.values()
        elif isinstance(part, list):
            stack += part
