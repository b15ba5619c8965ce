"""Cases: a schema's alternatives, each put together into one schema without combinators.

What is put together may be weaker than what it came from (one keyword cannot always say what two said); values made
of it are checked against the whole. Pure.
"""

from __future__ import annotations

from itertools import islice, product
from typing import Any, Final

from .open_objects import Schema, resolve

__all__ = ["cases"]

MOST: Final = 24
"""How many cases are looked at."""
DEEPEST: Final = 12
COMBINATORS: Final = ("allOf", "anyOf", "oneOf", "if", "then", "else", "$ref")
LOWEST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
HIGHEST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def cases(schema: Schema, root: Schema, depth: int = 0) -> list[dict[str, Any]]:
    """Give what a value may have to satisfy: one schema for each way through the alternatives."""
    if schema is False or depth > DEEPEST:
        return []
    if schema is True:
        return [{}]
    plain = {key: value for key, value in schema.items() if key not in COMBINATORS}
    choices = [[plain], *(cases(part, root, depth + 1) for part in schema.get("allOf", ()))]
    choices += [
        [case for part in schema[key] for case in cases(part, root, depth + 1)]
        for key in ("anyOf", "oneOf")
        if key in schema
    ]
    if "if" in schema:
        held = {"allOf": [schema["if"], schema.get("then", True)]}
        choices.append(cases(held, root, depth + 1) + cases(schema.get("else", True), root, depth + 1))
    if isinstance(schema.get("$ref"), str):
        target = resolve(schema["$ref"], root)
        choices.append(cases(True if target is None else target, root, depth + 1))
    return [_merged(way) for way in islice(product(*choices), MOST)]


def _merged(parts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            whole[key] = _both(key, whole[key], value) if key in whole else value
    return whole


def _both(key: str, one: Any, other: Any) -> Any:
    """Say with one keyword what two said, as nearly as it goes."""
    if key in {"properties", "patternProperties"}:
        shared = {name: {"allOf": [one[name], other[name]]} for name in one if name in other}
        return {**one, **other, **shared}
    if key == "required":
        return list(dict.fromkeys((*one, *other)))
    if key == "enum":
        return [value for value in one if value in other]
    if key == "type":
        ones, others = ([kinds] if isinstance(kinds, str) else kinds for kinds in (one, other))
        return [kind for kind in ones if kind in others or (kind == "integer" and "number" in others)] or other
    if key in LOWEST:
        return max(one, other)
    if key in HIGHEST:
        return min(one, other)
    if key in {"items", "contains", "additionalProperties", "propertyNames"}:
        return {"allOf": [one, other]}
    return other
