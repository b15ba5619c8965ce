"""Contracts cut out of a set of schemas, with the definitions that they need, for a request or a response. Pure.

A request has no properties that are `readOnly`; a response need not have those that are `writeOnly`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from .keywords import LISTS, MAPS, SINGLES
from .schema import PREFIX, SchemaSet

__all__ = ["Cutter", "Direction", "takes_null"]

Direction = Literal["request", "response"]
HIDDEN: Final[dict[Direction, str]] = {"request": "readOnly", "response": "writeOnly"}


class Cutter:
    """Cuts contracts in one direction out of the schemas of a toolset; each definition is looked at once."""

    def __init__(self, schemas: SchemaSet, direction: Direction) -> None:
        self._schemas = schemas
        self._hidden = HIDDEN[direction]
        self._removes = direction == "request"
        self._cut: dict[str, Any] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._bytes: dict[str, int] = {}

    def part(self, schema: Any) -> Any:
        """Return a schema in this direction; its references stay."""
        if isinstance(schema, list):
            return [self.part(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        found = {}
        for name, value in schema.items():
            if name in SINGLES or name in LISTS:
                found[name] = self.part(value)
            elif name in MAPS:
                found[name] = {key: self.part(one) for key, one in value.items()}
            else:
                found[name] = value
        properties = schema.get("properties")
        hidden = {key for key, one in properties.items() if self.is_hidden(one)} if properties else set()
        if hidden:
            if self._removes:
                found["properties"] = {key: one for key, one in found["properties"].items() if key not in hidden}
            found["required"] = [key for key in found.get("required", ()) if key not in hidden]
        if not found.get("required", True):
            del found["required"]
        return found

    def is_hidden(self, schema: Any) -> bool:
        """Return whether a property has no place in this direction."""
        resolved = self._schemas.resolved(schema)
        return isinstance(resolved, dict) and resolved.get(self._hidden) is True

    def definitions(self, schema: Any) -> dict[str, Any]:
        """Return the definitions that a schema needs, in the order of their names."""
        needed: set[str] = set()
        waiting = list(_references(schema))
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += self._references_of(name)
        return {name: self._cut[name] for name in sorted(needed)}

    def size(self, definitions: dict[str, Any]) -> int:
        """Return the number of bytes of some definitions."""
        for name in definitions:
            if name not in self._bytes:
                self._bytes[name] = len(msgspec.json.encode(self._cut[name]))
        return sum(self._bytes[name] for name in definitions)

    def _references_of(self, name: str) -> frozenset[str]:
        if name not in self._named:
            self._cut[name] = self.part(self._schemas.definitions[name])
            self._named[name] = frozenset(_references(self._cut[name]))
        return self._named[name]


def _references(schema: Any) -> set[str]:
    """Return the names of the definitions that a schema refers to itself."""
    found: set[str] = set()
    stack = [schema]
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            stack.extend(one)
        elif isinstance(one, dict):
            if isinstance(reference := one.get("$ref"), str):
                found.add(reference.removeprefix(PREFIX))
            for name, value in one.items():
                if name in MAPS:
                    stack.extend(value.values())
                elif name in SINGLES or name in LISTS:
                    stack.append(value)
    return found


def takes_null(schemas: SchemaSet, schema: Any, depth: int = 0) -> bool:
    """Return whether null is a value of its own to a schema."""
    schema = schemas.resolved(schema)
    if not isinstance(schema, dict):
        return schema is True
    kind = schema.get("type")
    if kind is not None and kind != "null" and "null" not in kind:
        return False
    if "enum" in schema and None not in schema["enum"]:
        return False
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return depth < len(LISTS) and any(takes_null(schemas, one, depth + 1) for one in schema[name])
    if "allOf" in schema:
        return depth < len(LISTS) and all(takes_null(schemas, one, depth + 1) for one in schema["allOf"])
    return True
