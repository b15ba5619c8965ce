"""Schemas of a document as JSON Schema 2020-12: those of OpenAPI 3.0 rewritten, references kept as `#/$defs/NAME`.

A reference is never replaced by what it leads to, so that circles stay what they are: each target is converted once
and has a name. `cut_out` returns a schema with the definitions that it needs, for a request or for a response.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .document import Library, RefusedReferenceError
from .failure import DocumentError, Notes, shown
from .keywords import LISTS, MAPS, SINGLES, VALUES, can_match
from .references import Node, Target, look_up, target_of

__all__ = ["PREFIX", "SchemaSet"]

PREFIX: Final = "#/$defs/"
MAX_DEPTH: Final = 150
ALIEN: Final = re.compile(r"[^A-Za-z0-9_.-]+")
BRANCHES: Final = ("$ref", "allOf", "anyOf", "oneOf")
MAX_NAME_CHARS: Final = 60


class SchemaSet:
    """The schemas of one toolset."""

    def __init__(self, library: Library, notes: Notes, *, is_3_0: bool) -> None:
        self.definitions: dict[str, Any] = {}
        """The converted schemas that references lead to, by name."""
        self._library = library
        self._notes = notes
        self._is_3_0 = is_3_0
        self._names: dict[Target, str] = {}
        self._waiting: list[tuple[str, Target]] = []

    def convert(self, node: Node) -> Any:
        """Return a schema, and convert what it refers to."""
        schema = self._convert(node.value, node.base, 0)
        while self._waiting:
            name, target = self._waiting.pop()
            try:
                found = look_up(self._library, target)
            except RefusedReferenceError as error:
                self._notes.add(f"a reference is taken for any value: {error}")
                self.definitions[name] = True
            else:
                self.definitions[name] = self._convert(found.value, found.base, 0)
        return schema

    def resolved(self, schema: Any) -> Any:
        """Return a converted schema, or the definition that it consists of."""
        seen = set()
        while isinstance(schema, dict) and isinstance(name := schema.get("$ref"), str) and name not in seen:
            seen.add(name)
            found = self.definitions[name.removeprefix(PREFIX)]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            if rest.keys() - {"title", "description", "default", "examples", "deprecated"}:
                return schema
            schema = {**found, **rest} if isinstance(found, dict) else found
        return schema

    def _convert(self, schema: Any, base: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise DocumentError(f"a schema of {shown(base)} is nested more than {MAX_DEPTH} deep: it cannot be used")
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            self._notes.add(f"a schema that is none is taken for any value: {shown(schema)}")
            return True
        found: dict[str, Any] = {}
        if "$ref" in schema:
            found |= self._reference(schema["$ref"], base)
            if self._is_3_0:
                # What stands beside a reference in 3.0 does not count, except for what people mean by it.
                kept = ("description", "nullable", "readOnly", "writeOnly", "deprecated")
                schema = {name: schema[name] for name in kept if name in schema}
        schema = _with_numbers(schema)
        for name, value in schema.items():
            self._keep(name, value, base, depth + 1, found)
        if "example" in schema and "examples" not in found and VALUES["examples"]([schema["example"]]):
            found["examples"] = [schema["example"]]
        return _nullable(found) if schema.get("nullable") is True else found

    def _reference(self, reference: Any, base: str) -> dict[str, Any]:
        try:
            target = target_of(self._library, base, reference)
        except RefusedReferenceError as error:
            self._notes.add(f"a reference is taken for any value: {error}")
            return {}
        if target not in self._names:
            self._names[target] = name = self._name_for(target)
            # Its place is taken at once: a circle comes back to it.
            self.definitions[name] = True
            self._waiting.append((name, target))
        return {"$ref": PREFIX + self._names[target]}

    def _name_for(self, target: Target) -> str:
        last = target.pointer.rpartition("/")[2] or target.location.rpartition("/")[2].partition(".")[0]
        name = ALIEN.sub("_", last.replace("~1", "_").replace("~0", "_"))[:MAX_NAME_CHARS].strip("_") or "Schema"
        count, free = 2, name
        while free in self.definitions:
            free, count = f"{name}_{count}", count + 1
        return free

    def _keep(self, name: str, value: Any, base: str, depth: int, found: dict[str, Any]) -> None:
        """Add a keyword to a schema, if it is one of JSON Schema and its value can be used."""
        if name == "items" and isinstance(value, list):
            name = "prefixItems"
        if name in SINGLES:
            found[name] = self._convert(value, base, depth)
        elif name in LISTS:
            if isinstance(value, list) and value:
                _add_branches(found, name, [self._convert(one, base, depth) for one in value])
        elif name in MAPS:
            if isinstance(value, dict):
                found[name] = {
                    key: self._convert(one, base, depth)
                    for key, one in value.items()
                    if name != "patternProperties" or self._can_match(key)
                }
        elif name in VALUES:
            if VALUES[name](value):
                found[name] = value
            elif name not in {"default", "examples"}:
                self._notes.add(f"a keyword is left out of a schema: {name}: {shown(value)}")

    def _can_match(self, pattern: str) -> bool:
        if not can_match(pattern):
            self._notes.add(f"a keyword is left out of a schema: patternProperties: {shown(pattern)}")
        return can_match(pattern)


def _add_branches(found: dict[str, Any], name: str, branches: list[Any]) -> None:
    """Add branches to a schema; `oneOf` becomes `anyOf`.

    Documents mean one of several shapes by it, which a discriminator tells apart, and not that the others refuse it.
    """
    name = "anyOf" if name == "oneOf" else name
    if name == "allOf":
        found[name] = [*found.get(name, ()), *branches]
    elif name in found:
        found["allOf"] = [*found.get("allOf", ()), {name: branches}]
    else:
        found[name] = branches


def _with_numbers(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose exclusive limits are numbers; those of 3.0 are switches beside the limits."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            schema = dict(schema)
            if schema.pop(exclusive) and limit in schema:
                schema[exclusive] = schema.pop(limit)
    return schema


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that null keeps too, as `nullable: true` of 3.0 means it."""
    kind = schema.get("type")
    if isinstance(kind, str) and not set(BRANCHES) & schema.keys():
        schema = {**schema, "type": [kind, "null"] if kind != "null" else kind}
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    if not (set(BRANCHES) | {"enum"}) & schema.keys():
        return schema
    said: dict[str, Any] = {name: schema.pop(name) for name in ("title", "description", "default") if name in schema}
    return {**said, "anyOf": [schema, {"type": "null"}]}
