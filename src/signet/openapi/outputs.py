"""The output of a tool: the schema of an operation's responses with a status of 2xx, as an object."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from .document import Library, RefusedReferenceError
from .failure import Notes
from .media import is_json, is_text, preferred
from .references import Node, resolve
from .schema import SchemaSet

__all__ = ["EMPTY", "FILE", "TEXT", "ToolOutput", "read_output"]

SUCCESS: Final = re.compile(r"2[0-9X]{2}", re.IGNORECASE)
EMPTY: Final = {"type": "object", "properties": {"status": {"type": "integer"}}, "required": ["status"]}
"""The result of a response without a body."""
TEXT: Final = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
FILE: Final = {
    "type": "object",
    "properties": {
        "result": {"type": "string", "contentEncoding": "base64"},
        "contentType": {"type": "string"},
        "encoding": {"type": "string", "enum": ["base64"]},
    },
    "required": ["result"],
}
ANY: Final = {"type": "object"}
MAX_DEPTH: Final = 5
NO_CONTENT: Final = ("204", "205")


class ToolOutput(msgspec.Struct, frozen=True):
    """The schema of a result."""

    schema: dict[str, Any]
    is_wrapped: bool = False
    """Whether a JSON response stands below `result`."""
    accept: str = "*/*"


def read_output(library: Library, schemas: SchemaSet, notes: Notes, where: str, responses: Node) -> ToolOutput:
    """Return the output of an operation; `where` names it in notes."""
    found: list[Any] = []
    others: list[dict[str, Any]] = []
    accepted: list[str] = []
    for status, given in (responses.value if isinstance(responses.value, dict) else {}).items():
        if not SUCCESS.fullmatch(str(status)):
            continue
        try:
            content = resolve(library, Node(given, responses.base)).at("content")
        except RefusedReferenceError as error:
            notes.add(f"{where} is served without one of its responses: {error}")
            return ToolOutput(ANY)
        media_types = [one for one in content.value if isinstance(one, str)] if isinstance(content.value, dict) else []
        if not media_types:
            # What else comes without a description may come with a body all the same.
            others.append(EMPTY if str(status) in NO_CONTENT else ANY)
            continue
        media_type = preferred(media_types)
        accepted.append(media_type)
        if is_json(media_type) or "*" in media_type:
            schema = content.at(media_type).at("schema")
            found.append(schemas.convert(schema) if schema.value is not None else True)
        else:
            others.append(TEXT if is_text(media_type) else FILE)
    accept = ", ".join(dict.fromkeys(one for one in accepted if one.isascii() and one.isprintable())) or "*/*"
    return _joined(schemas, _distinct(found), _distinct(others), accept)


def _joined(schemas: SchemaSet, found: list[Any], others: list[Any], accept: str) -> ToolOutput:
    """Return one schema for all responses."""
    if not found or ANY in others:
        return ToolOutput(others[0] if len(others) == 1 and not found else ANY, accept=accept)
    if len(found) == 1:
        root = schemas.resolved(found[0])
        if _is_object(schemas, root, 0):
            rooted = _root(root)
            return ToolOutput({**ANY, "anyOf": [rooted, *others]} if others else rooted, accept=accept)
    inner = found[0] if len(found) == 1 else {"anyOf": found}
    wrapped = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return ToolOutput({**ANY, "anyOf": [wrapped, *others]} if others else wrapped, is_wrapped=True, accept=accept)


def _is_object(schemas: SchemaSet, schema: Any, depth: int) -> bool:
    """Return whether all that keeps a schema is an object, as far as the schema says so."""
    schema = schemas.resolved(schema)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return False
    if "type" in schema or "properties" in schema:
        return bool(schema.get("type", "object") == "object")
    if any(_is_object(schemas, one, depth + 1) for one in schema.get("allOf", ())):
        return True
    branches = schema.get("anyOf", ())
    return bool(branches) and all(_is_object(schemas, one, depth + 1) for one in branches)


def _root(schema: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in schema.items() if name not in {"type", "properties", "title"}}
    return {"type": "object", "properties": schema.get("properties", {}), **rest}


def _distinct(schemas: list[Any]) -> list[Any]:
    return [one for place, one in enumerate(schemas) if one not in schemas[:place]]
