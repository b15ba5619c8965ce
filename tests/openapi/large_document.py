"""A document to the measure of the largest that are published: hundreds of operations, schemas in circles."""

from __future__ import annotations

from typing import Any

OPERATIONS = 660
"""As many as the description of GitHub's API had in 2020; it has 3.5 MB."""
TEXT = "Lists what belongs to the one that is named, newest first, and says of each where it came from. "


def large_document(operations: int = OPERATIONS, circle: int = 3) -> dict[str, Any]:
    """Return a document of OpenAPI 3.0 with five operations for each kind of thing, so many of which form a circle."""
    schemas: dict[str, Any] = {"Error": {"type": "object", "properties": {"message": {"type": "string"}}}}
    paths: dict[str, Any] = {}
    for number in range(operations // 5):
        schemas[f"Thing{number}"] = _thing(number, circle)
        tag = f"group-{number % 25}"
        paths[f"/things{number}"] = {"get": _operation(number, "list", tag), "post": _operation(number, "create", tag)}
        paths[f"/things{number}/{{thing_id}}"] = {
            "parameters": [{"name": "thing_id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            **{method: _operation(number, verb, tag)
               for method, verb in (("get", "get"), ("put", "replace"), ("delete", "remove"))},
        }  # fmt: skip
    return {
        "openapi": "3.0.3",
        "info": {"title": "Many things", "version": "1.0.0"},
        "servers": [{"url": "https://things.example/{version}", "variables": {"version": {"default": "v3"}}}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _thing(number: int, circle: int) -> dict[str, Any]:
    """Return a schema that refers to itself and to others, which come back to it."""
    first = number // circle * circle
    fields = {f"field_{place}": {"type": "string", "nullable": True, "description": TEXT * 2, "example": "some text"}
              for place in range(30)}  # fmt: skip
    properties = {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string", "minLength": 1},
        "size": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "parent": {"nullable": True, "allOf": [{"$ref": f"#/components/schemas/Thing{number}"}]},
        "next": {"$ref": f"#/components/schemas/Thing{first + (number + 1) % circle}"},
        "others": {"type": "array", "items": {"$ref": f"#/components/schemas/Thing{first + (number + 2) % circle}"}},
        **fields,
    }
    return {"type": "object", "required": ["id", "name"], "properties": properties}


def _operation(number: int, verb: str, tag: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/Thing{number}"}
    schema = {"type": "array", "items": reference} if verb == "list" else reference
    found: dict[str, Any] = {
        "operationId": f"things{number}/{verb}",
        "tags": [tag],
        "summary": f"The things of kind {number}: {verb}",
        "description": TEXT * 32,
        "responses": {"200": {"description": "so", "content": {"application/json": {"schema": schema}}},
                      "404": {"description": "none", "content": {
                          "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}},
    }  # fmt: skip
    if verb == "list":
        found["parameters"] = [
            {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}},
            {"name": "filter", "in": "query", "style": "deepObject", "explode": True, "schema": {
                "type": "object", "properties": {"name": {"type": "string"}, "states": {
                    "type": "array", "items": {"type": "string"}}}}},
        ]  # fmt: skip
    if verb == "remove":
        found["responses"]["204"] = {"description": "gone"}
        del found["responses"]["200"]
    if verb in {"create", "replace"}:
        body = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "of": reference}}
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found
