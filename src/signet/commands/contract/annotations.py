"""Words: what a schema says without binding anybody, left out so that a change of words is seen as that. Pure."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["without_annotations"]

WORDS: Final = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment")
)
MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
"""What stands under these are names of the author's choice, and schemas."""
LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
ONES: Final = frozenset(("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"))


def without_annotations(schema: Any) -> Any:
    """Give a schema without its annotations; members of enums and the like are values and stay."""
    if not isinstance(schema, dict):
        return schema
    return {key: _part(key, value) for key, value in schema.items() if key not in WORDS}


def _part(key: str, value: Any) -> Any:
    if key in MAPS and isinstance(value, dict):
        return {name: without_annotations(part) for name, part in value.items()}
    if key in LISTS and isinstance(value, list):
        return [without_annotations(part) for part in value]
    return without_annotations(value) if key in ONES else value
