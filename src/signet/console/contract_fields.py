"""A contract as people read it: the fields of a schema as a tree, each with its type and its rules in words. Pure.

A schema that contains itself is followed once; depth and number of the fields are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .field_rules import choices_of, rules_of
from .twin import Shown

__all__ = ["ContractField", "FieldChoice", "contract_field"]

MAX_DEPTH: Final = 12
MAX_FIELDS: Final = 2_000
NOUNS: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "object",
    "null": "null",
}
TOLD: Final = ("description", "default", "examples", "title")
"""What a field says of itself in place of the schema that it refers to."""


class FieldChoice(Shown, frozen=True):
    """One of the values that a field may have."""

    value: Any
    meaning: str
    """Empty where the contract does not tell."""


class ContractField(Shown, frozen=True):
    """One value that a contract describes."""

    name: str
    """The name in its object; empty for the whole; the title of a variant, if it has one."""
    type: str
    """The type in words."""
    description: str
    required: bool
    nullable: bool
    has_default: bool
    default: Any
    rules: list[str]
    """Ranges, lengths and forms, in words."""
    choices: list[FieldChoice]
    examples: list[Any]
    fields: list[ContractField]
    """The fields of an object, or of the objects in a list."""
    variants: list[ContractField]
    """The forms of which the value has one."""


def contract_field(schema: Any) -> ContractField:
    """Return the tree of a schema."""
    return _Reader(schema).field("", schema, (), required=True)


class _Reader:
    """Reads one schema, whose references lead into itself."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MAX_FIELDS

    def field(self, name: str, part: Any, above: tuple[str, ...], *, required: bool) -> ContractField:
        """Return the tree of a part; `above` are the references and levels that led to it."""
        self._left -= 1
        own = {key: part[key] for key in TOLD if key in part} if isinstance(part, dict) else {}
        schema, above = self._resolved(part, above)
        schema, nullable = _without_null(schema)
        schema, above = self._resolved({**schema, **own}, above)
        is_open = "$ref" not in schema and len(above) < MAX_DEPTH and self._left > 0
        variants = _variants(schema) if is_open else []
        return ContractField(
            name=name,
            type=self._type(schema, above),
            description=schema.get("description", ""),
            required=required,
            nullable=nullable,
            has_default="default" in schema,
            default=schema.get("default"),
            rules=[*rules_of(schema), *self._item_rules(schema, above)],
            choices=[FieldChoice(value, meaning) for value, meaning in choices_of(schema)],
            examples=list(schema.get("examples", [])),
            fields=list(self._fields(schema, (*above, ""))) if is_open else [],
            variants=[self._variant(one, (*above, "")) for one in variants],
        )

    def _variant(self, part: Any, above: tuple[str, ...]) -> ContractField:
        return self.field(self._resolved(part, above)[0].get("title", ""), part, above, required=True)

    def _resolved(self, part: Any, above: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return a schema with what its references lead to, unless one of them was followed already."""
        schema = part if isinstance(part, dict) else {}
        while isinstance(ref := schema.get("$ref"), str) and ref not in above:
            target = self._find(ref)
            if target is None:
                break
            above = (*above, ref)
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema, above

    def _find(self, ref: str) -> dict[str, Any] | None:
        found = self._root
        for step in ref.removeprefix("#").split("/")[1:] if ref.startswith("#") else ["?"]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else None

    def _fields(self, schema: dict[str, Any], above: tuple[str, ...]) -> Iterator[ContractField]:
        required = schema.get("required", ())
        for name, part in schema.get("properties", {}).items():
            yield self.field(name, part, above, required=name in required)
        for part in schema.get("allOf", ()):
            yield from self._fields(*self._resolved(part, above))
        for n, part in enumerate(schema.get("prefixItems", ()), 1):
            yield self.field(f"item {n}", part, above, required=n <= schema.get("minItems", 0))
        items, further = schema.get("items"), schema.get("additionalProperties")
        if isinstance(items, dict):
            yield from self._inside("each item", items, above)
        if isinstance(further, dict):
            yield from self._inside("any other name", further, above)

    def _inside(self, name: str, part: dict[str, Any], above: tuple[str, ...]) -> Iterator[ContractField]:
        """Yield the fields of the objects in a list or in a mapping; of other values what the type does not tell."""
        field = self.field(name, part, above, required=False)
        if field.fields and not field.variants and not field.description:
            yield from field.fields
        elif field.fields or field.variants or field.choices or field.description:
            yield field

    def _item_rules(self, schema: dict[str, Any], above: tuple[str, ...]) -> list[str]:
        items = self._resolved(schema.get("items"), above)[0]
        return [f"each item {rule}" for rule in rules_of(items) if rule != "no further members"]

    def _type(self, schema: dict[str, Any], above: tuple[str, ...]) -> str:
        """Return the type of a schema in words."""
        if "$ref" in schema:
            return f"as {schema['$ref'].rpartition('/')[2]} above"
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds == ["array"] and isinstance(schema.get("items"), dict):
            items = _without_null(self._resolved(schema["items"], above)[0])[0]
            return "list" if len(above) >= MAX_DEPTH else f"list of {_plural(self._type(items, (*above, '')))}"
        if kinds:
            return " or ".join(NOUNS.get(kind, kind) for kind in kinds)
        if choices_of(schema):
            return "choice"
        if schema.get("properties"):
            return "object"
        names = dict.fromkeys(self._type(self._resolved(one, above)[0], above) for one in _variants(schema))
        return " or ".join(names) or "anything"


def _plural(words: str) -> str:
    """Return a type in words for many values."""
    singular, _, rest = words.partition(" of ")
    if singular in {"text", "whole number", "number", "list", "object", "choice"}:
        return f"{singular}s of {rest}" if rest else f"{singular}s"
    if words.startswith("as "):
        return f"values {words}"
    return words if words == "anything" else f"values that are {words}"


def _without_null(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a schema for what may be there beside null, and whether null may."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        rest = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": rest[0] if len(rest) == 1 else rest}, True
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if not isinstance(branches, list) or {"type": "null"} not in branches:
            continue
        others = [one for one in branches if one != {"type": "null"}]
        outer = {key: value for key, value in schema.items() if key != keyword}
        if len(others) == 1 and isinstance(others[0], dict):
            return {**others[0], **outer}, True
        return {**outer, keyword: others}, True
    return schema, False


def _variants(schema: dict[str, Any]) -> list[Any]:
    """Return the schemas of which a value has one, unless each is a single value."""
    branches = schema.get("oneOf") or schema.get("anyOf") or []
    return [] if choices_of(schema) else list(branches)
