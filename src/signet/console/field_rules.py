"""The rules of one schema in words: ranges, lengths, forms, and the choices with their meanings. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["choices_of", "rules_of"]

Json = Mapping[str, Any]

MAX_CHOICES: Final = 500
SIZES: Final = (("Length", "character"), ("Items", "item"), ("Properties", "member"))


def rules_of(schema: Json) -> list[str]:
    """Return what a value must keep to, beside its type and its choices."""
    return [
        *_range(schema),
        *(words for keyword, noun in SIZES for words in _size(schema, keyword, noun)),
        *([f"a multiple of {schema['multipleOf']}"] if "multipleOf" in schema else []),
        *(["no two items are equal"] if schema.get("uniqueItems") else []),
        *([f"matches {schema['pattern']}"] if "pattern" in schema else []),
        *([f"in the format {schema['format']}"] if "format" in schema else []),
        *_denied(schema),
        *_dependent(schema),
        *(["no further members"] if schema.get("additionalProperties") is False else []),
    ]


def choices_of(schema: Json) -> list[tuple[Any, str]]:
    """Return the values of which a field has one, each with its meaning where the contract tells it."""
    if "const" in schema:
        return [(schema["const"], schema.get("title", ""))]
    branches = schema.get("oneOf") or schema.get("anyOf") or []
    if branches and all(isinstance(one, dict) and "const" in one for one in branches):
        return [(one["const"], one.get("description") or one.get("title", "")) for one in branches[:MAX_CHOICES]]
    values = schema.get("enum", [])[:MAX_CHOICES]
    told = _meanings(schema.get("description", ""), [value for value in values if isinstance(value, str)])
    return [(value, told.get(value, "") if isinstance(value, str) else "") for value in values]


def _meanings(description: str, values: list[str]) -> dict[str, str]:
    """Return the meanings of values that a description lists as `Q (quarters)` or, all of them, as `Q quarter, M …`."""
    listed: dict[str, str] = {}
    for value in values:
        found = re.search(rf"(?<![\w-]){re.escape(value)} \(([^()]{{1,80}})\)", description)
        if found:
            listed[value] = found[1]
    if len(listed) > 1:
        return listed
    parts = [part.strip() for part in description.rpartition(":")[2].split(",")]
    pairs = dict(part.split(" ", 1) for part in parts if " " in part)
    return {value: pairs[value] for value in values} if values and all(value in pairs for value in values) else {}


def _range(schema: Json) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        yield f"from {low} to {high}"
    elif low is not None:
        yield f"at least {low}"
    elif high is not None:
        yield f"at most {high}"
    if "exclusiveMinimum" in schema:
        yield f"more than {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema:
        yield f"less than {schema['exclusiveMaximum']}"


def _size(schema: Json, keyword: str, noun: str) -> Iterator[str]:
    low, high = schema.get(f"min{keyword}"), schema.get(f"max{keyword}")
    if low and low == high:
        yield f"exactly {_counted(low, noun)}"
    elif low and high is not None:
        yield f"{low} to {_counted(high, noun)}"
    elif low:
        yield f"at least {_counted(low, noun)}"
    elif high is not None:
        yield f"at most {_counted(high, noun)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _denied(schema: Json) -> Iterator[str]:
    denied = schema.get("not")
    if isinstance(denied, dict) and set(denied) == {"pattern"}:
        yield "without line breaks" if denied["pattern"] == "\\n" else f"does not match {denied['pattern']}"
    elif denied is not None:
        yield f"not {json.dumps(denied, ensure_ascii=False)}"


def _dependent(schema: Json) -> Iterator[str]:
    for name, others in schema.get("dependentRequired", {}).items():
        yield f"{name} needs {', '.join(others)}"
