"""Schema rules: the shapes of an input schema that a real client refuses, or of which it loses a part. Pure.

A schema is walked once, without recursion and without following references, and each of its parts is looked at alone.
Parts of which no client shows a model anything (`not`, `if`, `contains` and their like) are not walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .findings import RULES, Findings, step

__all__ = ["lint_schema"]

GENAI: Final = "google-genai"
STRICT: Final = "OpenAI strict mode"
MAX_DEPTH: Final = 100
"""Parts that lie deeper are not looked at: they are refused ten times over for their depth."""
LARGE_ENUM: Final = 250
PROPERTY_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
LOCAL_REFERENCE: Final = re.compile(r"#/\$defs/([^/~%]+)")

MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")
LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLES: Final = ("items", "additionalProperties")

IN_WORDS: Final = "say it in the description, and check it in the tool"
LOST: Final = {
    "const": "write `enum` with one value",
    "oneOf": "write `anyOf`",
    "allOf": "write one schema with all of its rules",
    "prefixItems": "write an object with a property for each value",
    "patternProperties": "name the properties",
    "if": IN_WORDS,
    "dependentSchemas": IN_WORDS,
}
"""Keywords that say what a value looks like.

A limit that is lost (`minLength`, `multipleOf`) is not reported: the server refuses the value and says why.
"""
REFUSED: Final = {
    **{name: instead for name, instead in LOST.items() if name != "const"},
    **dict.fromkeys(("not", "dependentRequired", "propertyNames", "contains", "uniqueItems"), IN_WORDS),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), "leave it out"),
}
STRICT_FORMATS: Final = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
GEMINI_FORMATS: Final = frozenset(("enum", "date-time"))
BESIDE_REFERENCE: Final = frozenset((
    "$ref", "$anchor", "$comment", "$defs", "$schema", "contentEncoding", "contentMediaType", "contentSchema",
    "default", "definitions", "deprecated", "description", "examples", "readOnly", "title", "writeOnly",
))  # fmt: skip
"""The keywords that bind no value, so that a reference may stand beside them."""
TYPED: Final = ("type", "$ref", "properties", *LISTS[:3])


class SchemaPart(NamedTuple):
    """A part of a schema and its place."""

    schema: Any
    place: str
    depth: int = 0
    level: int = 1
    """How many objects lie around it, itself included."""
    definition: str = ""
    """The name below `$defs` in which it lies."""
    keyword: str = ""
    """The keyword under which it stands."""


def lint_schema(schema: dict[str, Any], place: str, findings: Findings) -> None:
    """Add the findings on an input schema."""
    linter = _SchemaLinter(schema, findings)
    stack = [SchemaPart(schema, place)]
    while stack:
        part = stack.pop()
        if isinstance(part.schema, dict):
            linter.look_at(part)
            if part.depth < MAX_DEPTH:
                stack.extend(reversed(list(_children(part))))
        elif isinstance(part.schema, bool):
            linter.look_at_boolean(part)
    linter.end(place)


def _children(part: SchemaPart) -> Iterator[SchemaPart]:
    depth = part.depth + 1
    for keyword in MAPS:
        if isinstance(named := part.schema.get(keyword), dict):
            level = part.level + (keyword in {"properties", "patternProperties"})
            for name, child in named.items():
                definition = str(name) if keyword == "$defs" and not part.depth else part.definition
                yield SchemaPart(child, f"{part.place}/{keyword}{step(name)}", depth, level, definition, keyword)
    for keyword in LISTS:
        if isinstance(listed := part.schema.get(keyword), list):
            for index, child in enumerate(listed):
                yield SchemaPart(child, f"{part.place}/{keyword}/{index}", depth, part.level, part.definition, keyword)
    for keyword in SINGLES:
        if keyword in part.schema:
            child = part.schema[keyword]
            yield SchemaPart(child, f"{part.place}/{keyword}", depth, part.level, part.definition, keyword)


def _types(schema: dict[str, Any]) -> frozenset[str]:
    """Return the types that a schema names."""
    named = schema.get("type")
    return frozenset(one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str))


class _SchemaLinter:
    """Looks at the parts of one schema, and at the whole of it in the end."""

    def __init__(self, root: dict[str, Any], findings: Findings) -> None:
        self._add = findings.add
        defs = root.get("$defs")
        self._defs: dict[str, Any] = defs if isinstance(defs, dict) else {}
        self._references: list[tuple[str, str, str]] = []
        """The definition in which a reference lies, its target, and its place."""
        self._properties = self._enum_values = self._chars = 0
        self._has_reference = False

    def look_at(self, part: SchemaPart) -> None:
        """Add the findings on one part."""
        types = _types(part.schema)
        self._look_at_keywords(part)
        self._look_at_reference(part)
        self._look_at_object(part, types)
        self._look_at_values(part, types)
        self._look_at_descriptions(part)

    def look_at_boolean(self, part: SchemaPart) -> None:
        """Add the findings on a part that is true or false."""
        value = str(part.schema).lower()
        if part.keyword not in {"allOf", "definitions", "patternProperties", "prefixItems"}:
            closing = part.keyword == "additionalProperties"
            instead = "leave `additionalProperties` out" if closing else "write a type"
            self._add("boolean-schema", GENAI, part.place, value=value, instead=instead)
        if part.keyword not in SINGLES:
            self._add("boolean-schema", STRICT, part.place, value=value)

    def end(self, place: str) -> None:
        """Add the findings on the whole."""
        counts = (("too-many-properties", self._properties, "properties"),
                  ("too-many-enum-values", self._enum_values, "permitted values"),
                  ("schema-too-long", self._chars, ""))  # fmt: skip
        for rule, count, things in counts:
            if count > (RULES[rule, STRICT].limit or 0):
                self._add(rule, STRICT, place, count=count, things=things)
        circular = _circular({(inside, target) for inside, target, _ in self._references})
        for _, target, at in self._references:
            definition = self._defs[target]
            if target in circular or (isinstance(definition, dict) and "$ref" in definition):
                self._add("reference-recursive", GENAI, at)

    def _look_at_keywords(self, part: SchemaPart) -> None:
        for keyword in part.schema:
            if keyword in LOST:
                self._add("keyword-lost", GENAI, f"{part.place}/{keyword}", keyword=keyword, instead=LOST[keyword])
            if keyword in REFUSED:
                at = f"{part.place}/{keyword}"
                self._add("keyword-refused", STRICT, at, keyword=keyword, instead=REFUSED[keyword])
        if part.depth and not any(keyword in part.schema for keyword in TYPED):
            self._add("untyped-schema", STRICT, part.place)

    def _look_at_reference(self, part: SchemaPart) -> None:
        reference = part.schema.get("$ref")
        if not isinstance(reference, str):
            return
        place = f"{part.place}/$ref"
        if not self._has_reference:
            self._has_reference = True
            self._add("reference", "Claude Managed Agents", place)
        target = LOCAL_REFERENCE.fullmatch(reference)
        if target and target[1] in self._defs:
            self._references.append((part.definition, target[1], place))
        else:
            self._add("reference-unresolved", GENAI, place)
        beside = sorted(map(str, part.schema.keys() - BESIDE_REFERENCE))
        if beside:
            self._add("reference-siblings", STRICT, place, keyword=beside[0])

    def _look_at_object(self, part: SchemaPart, types: frozenset[str]) -> None:
        properties = part.schema.get("properties")
        named: dict[str, Any] = properties if isinstance(properties, dict) else {}
        self._properties += len(named)
        self._chars += sum(map(len, named)) + (sum(map(len, self._defs)) if not part.depth else 0)
        for name in named:
            if not PROPERTY_NAME.fullmatch(name):
                self._add("property-name", "Anthropic", f"{part.place}/properties{step(name)}")
        if part.depth and "object" in types and not named:
            self._add("empty-object", "Gemini", part.place)
        required = part.schema.get("required")
        if isinstance(required, list) and any(name not in named for name in required if isinstance(name, str)):
            self._add("required-undeclared", "Gemini", f"{part.place}/required")
        if part.schema.get("additionalProperties", False) is not False:
            self._add("open-object", STRICT, f"{part.place}/additionalProperties")
        limit = RULES["nesting-too-deep", STRICT].limit
        if named and limit is not None and part.level == limit + 1:
            self._add("nesting-too-deep", STRICT, part.place)

    def _look_at_values(self, part: SchemaPart, types: frozenset[str]) -> None:
        if "array" in types and not isinstance(part.schema.get("items"), dict):
            for client in ("OpenAI", "Gemini", "VS Code", "Windsurf"):
                self._add("array-without-items", client, part.place)
        form = part.schema.get("format")
        if "string" in types and isinstance(form, str):
            if form not in STRICT_FORMATS:
                self._add("format-refused", STRICT, f"{part.place}/format")
            if form not in GEMINI_FORMATS:
                self._add("format-refused", "Gemini", f"{part.place}/format")
        if isinstance(values := part.schema.get("enum"), list):
            self._look_at_enum(part, values, types)

    def _look_at_enum(self, part: SchemaPart, values: list[Any], types: frozenset[str]) -> None:
        place = f"{part.place}/enum"
        chars = sum(len(value) for value in values if isinstance(value, str))
        self._enum_values += len(values)
        self._chars += chars
        if any(not isinstance(value, str) for value in values):
            self._add("enum-not-string", "Gemini", place)
        elif "string" not in types:
            self._add("untyped-enum", "Gemini", place)
        if len(values) > LARGE_ENUM and chars > (RULES["enum-too-long", STRICT].limit or 0):
            self._add("enum-too-long", STRICT, place, count=chars)

    def _look_at_descriptions(self, part: SchemaPart) -> None:
        if "description" not in part.schema:
            return
        branches = part.schema.get("anyOf")
        if isinstance(branches, list):
            others = [branch for branch in branches if branch != {"type": "null"}]
            alone = len(others) == 1 and len(branches) > 1 and isinstance(others[0], dict)
            if alone and "description" not in others[0]:
                self._add("description-lost", GENAI, f"{part.place}/description", beside="`anyOf` with 'null'")
        if "$ref" in part.schema:
            self._add("description-lost", GENAI, f"{part.place}/description", beside="`$ref`")


def _circular(edges: set[tuple[str, str]]) -> set[str]:
    """Return the definitions that lead back to themselves, or to such a definition."""
    # A definition without references, or whose references all end, is taken away until none is left.
    waiting: dict[str, set[str]] = {}
    users: dict[str, set[str]] = {}
    for inside, target in edges:
        waiting.setdefault(inside, set()).add(target)
        users.setdefault(target, set()).add(inside)
    ended = [target for target in users if target not in waiting]
    while ended:
        target = ended.pop()
        for user in users.get(target, ()):
            waiting[user].discard(target)
            if not waiting[user]:
                del waiting[user]
                ended.append(user)
    return {name for name in waiting if name}
