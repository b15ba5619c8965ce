"""The twins' part of `/openapi.json`, made from their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from .twin import Twin

__all__ = ["describe_twins"]

Json = dict[str, Any]

TAG: Final = {"name": "Console", "description": "What the console shows, as JSON; the page at `/` uses these paths."}
SHAPES: Final = "#/components/schemas/"
ERROR: Final = {"content": {"application/json": {"schema": {"$ref": SHAPES + "Error"}}}}


def describe_twins(twins: Sequence[Twin], *, secured: bool) -> Json:
    """Return what the console adds to the OpenAPI page: its tag, its paths and its shapes."""
    types = [kind for twin in twins for kind in (twin.answer, twin.body) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template=SHAPES + "Console{name}")
    by_type = dict(zip(map(repr, types), schemas, strict=True))
    paths: Json = {}
    for twin in twins:
        paths.setdefault(twin.path, {})[twin.method.lower()] = _operation(twin, by_type, secured=secured)
    shapes = {f"Console{name}": schema for name, schema in components.items()}
    return {"tag": TAG, "paths": paths, "schemas": shapes}


def _operation(twin: Twin, schemas: Json, *, secured: bool) -> Json:
    kind = "text/event-stream" if twin.is_stream else "application/json"
    schema = {"type": "string"} if twin.is_stream else schemas[repr(twin.answer)]
    words = twin.path.removeprefix("/-/").replace("{", "").replace("}", "").replace("/", "_").replace("-", "_")
    operation: Json = {
        "operationId": f"console_{twin.method.lower()}_{words}",
        "summary": twin.summary,
        "description": f"{twin.summary}. The console's page uses it.",
        "tags": [TAG["name"]],
        "responses": {
            "200": {"description": "What is shown.", "content": {kind: {"schema": schema}}},
            **{str(status): {"description": why, **ERROR} for status, why in _refusals(twin, secured=secured)},
        },
    }
    if twin.parameters:
        operation["parameters"] = [_parameter(name) for name in twin.parameters]
    if twin.body is not None:
        content = {"schema": schemas[repr(twin.body)], **({} if twin.example is None else {"example": twin.example})}
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _parameter(name: str) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": f"The {name}, percent-encoded.",
        "schema": {"type": "string", "minLength": 1},
    }


def _refusals(twin: Twin, *, secured: bool) -> list[tuple[int, str]]:
    """Return the statuses by which a request to a twin may be refused."""
    posted = [(400, "INVALID_INPUT"), (408, "REQUEST_TIMEOUT"), (413, "REQUEST_TOO_LARGE"), (415, "NOT_JSON")]
    found = [(400, "INVALID_INPUT")] if twin.parameters and twin.body is None else []
    absent = [(404, "NOT_FOUND")]
    tokens = [(401, "UNAUTHORIZED"), (429, "RATE_LIMITED")] if secured else []
    others = [(403, "ORIGIN_NOT_ALLOWED"), (405, "METHOD_NOT_ALLOWED"), (421, "HOST_NOT_ALLOWED")]
    return sorted(
        {
            *found,
            *absent,
            *tokens,
            *others,
            *(posted if twin.body is not None else []),
            (500, "INTERNAL_ERROR"),
            (503, "TOO_MANY_CALLS"),
        }
    )
