"""A body as arguments: the properties of an object, where nothing of its schema is lost by that. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .schema import SchemaSet

__all__ = ["FlatObject", "as_file", "flatten", "is_file"]

PLAIN: Final = frozenset(("type", "properties", "required", "additionalProperties", "title", "description", "default",
                          "examples", "deprecated", "readOnly", "writeOnly", "allOf"))  # fmt: skip
"""The keywords of an object whose properties may stand for it."""
MAX_PARTS: Final = 20
BINARY: Final = ("binary", "base64")
BASE64: Final = "base64"


class FlatObject(msgspec.Struct, frozen=True):
    """The properties of an object, and which of them it must have."""

    properties: dict[str, Any]
    required: list[str]


def flatten(schemas: SchemaSet, schema: Any, depth: int = 0) -> FlatObject | None:
    """Return the properties of an object and of the objects that it is made of; None where it says more than these."""
    schema = schemas.resolved(schema)
    if not isinstance(schema, dict) or schema.keys() - PLAIN or depth > MAX_PARTS:
        return None
    if schema.get("type", "object") != "object" or not ("properties" in schema or "allOf" in schema):
        return None
    further = schema.get("additionalProperties")
    if isinstance(further, dict) or (further is False and "allOf" in schema):
        return None
    properties, required = dict(schema.get("properties", {})), list(schema.get("required", ()))
    for one in schema.get("allOf", ())[:MAX_PARTS]:
        part = flatten(schemas, one, depth + 1)
        if part is None or any(properties.get(name, value) != value for name, value in part.properties.items()):
            return None
        properties = {**part.properties, **properties}
        required += [name for name in part.required if name not in required]
    if len(schema.get("allOf", ())) > MAX_PARTS or set(required) - properties.keys():
        return None
    return FlatObject(properties, required)


def is_file(schemas: SchemaSet, schema: Any) -> bool:
    """Return whether a field is a file, or a list of files."""
    schema = schemas.resolved(schema)
    if schema is True or schema == {}:
        return True
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "array":
        items = schemas.resolved(schema.get("items", False))
        return isinstance(items, dict) and bool(items) and is_file(schemas, items)
    is_string = schema.get("type", "string") in ("string", ["string", "null"])
    is_other = "contentMediaType" in schema and "contentEncoding" not in schema
    return is_string and (schema.get("format") in BINARY or is_other)


def as_file(schemas: SchemaSet, schema: Any) -> dict[str, Any]:
    """Return the schema of an argument that is a file in base64, or a list of them."""
    schema = schemas.resolved(schema)
    schema = schema if isinstance(schema, dict) else {}
    said = {name: schema[name] for name in ("title",) if name in schema}
    text = " ".join(filter(None, [schema.get("description", ""), "(base64)"]))
    if schema.get("type") == "array":
        return {"type": "array", **said, "description": text, "items": {"type": "string", "contentEncoding": BASE64}}
    return {"type": "string", **said, "description": text, "contentEncoding": BASE64}
