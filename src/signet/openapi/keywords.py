"""The keywords of a schema that can be kept: those of JSON Schema 2020-12, with values that its compiler takes. Pure.

Real documents have `required: true`, `type: any` and patterns of other engines. Such a keyword is left out and told;
the rest of its schema is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

__all__ = ["LISTS", "MAPS", "SINGLES", "VALUES", "can_match"]

SINGLES: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                  "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
"""The keywords whose value is a schema."""
LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
"""The keywords whose value is a list of schemas."""
MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
"""The keywords whose value is an object of schemas."""

TYPES: Final = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
MAX_EXAMPLE_CHARS: Final = 1_000


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_factor(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and _is_names(value) and TYPES.issuperset(value)
    return isinstance(value, str) and value in TYPES


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_names, value.values()))


def _is_short(value: Any) -> bool:
    return len(repr(value)) <= MAX_EXAMPLE_CHARS


def _is_examples(value: Any) -> bool:
    return isinstance(value, list) and _is_short(value)


def _is_any(_: Any) -> bool:
    return True


@lru_cache(maxsize=4096)
def can_match(pattern: Any) -> bool:
    """Return whether a pattern is one for the engine of the schema compiler."""
    if not isinstance(pattern, str):
        return False
    from jsonschema_rs import Draft202012Validator

    try:
        Draft202012Validator({"pattern": pattern})
    except ValueError:
        return False
    return True


VALUES: Final[dict[str, Callable[[Any], bool]]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "const": _is_any,
    "required": _is_names,
    "dependentRequired": _is_dependencies,
    "pattern": lambda value: isinstance(value, str) and can_match(value),
    **dict.fromkeys(("title", "description", "format", "contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": _is_factor,
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
         "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_switch),
    "default": _is_short,
    "examples": _is_examples,
}  # fmt: skip
"""The keywords whose value is no schema, each with whether a value can be kept."""
