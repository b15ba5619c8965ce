"""The twins' part of `/openapi.json`, made from their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from signet.kernel.errors import INSUFFICIENT_SCOPE, RATE_LIMITED

from .twin import Twin

__all__ = ["describe_twins"]

Json = dict[str, Any]

TAG: Final = {"name": "Console", "description": "What the console shows, as JSON; the page at `/` uses these paths."}
SHAPES: Final = "#/components/schemas/"
Errors = tuple[tuple[int, str], ...]
"""The HTTP status of errors, and their names."""

OF_ALL: Final = (
    (403, "ORIGIN_NOT_ALLOWED"),
    (405, "METHOD_NOT_ALLOWED"),
    (421, "HOST_NOT_ALLOWED"),
    (500, "INTERNAL_ERROR"),
)
OF_POSTED: Final = (
    (400, "INVALID_INPUT"),
    (408, "REQUEST_TIMEOUT"),
    (413, "REQUEST_TOO_LARGE"),
    (415, "UNSUPPORTED_MEDIA_TYPE"),
    (503, "TOO_MANY_CALLS"),
    (503, "UNREAD_ANSWERS"),
)
OF_TOKENS: Final = ((401, "UNAUTHORIZED"), (429, RATE_LIMITED))
ERROR: Final = {"content": {"application/json": {"schema": {"$ref": SHAPES + "Error"}}}}


def describe_twins(twins: Sequence[Twin], *, secured: bool, limited: bool) -> Json:
    """Return what the console adds to the OpenAPI page: its tag, its paths and its shapes."""
    types = [kind for twin in twins for kind in (twin.answer, twin.body) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template=SHAPES + "Console{name}")
    by_type = dict(zip(map(repr, types), schemas, strict=True))
    paths: Json = {}
    for twin in twins:
        paths.setdefault(twin.path, {})[twin.method.lower()] = _operation(
            twin, by_type, _refusals(twin, secured=secured, limited=limited)
        )
    shapes = {f"Console{name}": _with_items(schema) for name, schema in components.items()}
    return {"tag": TAG, "paths": paths, "schemas": shapes}


def _with_items(schema: Any) -> Any:
    """Return a schema in which each array says what it holds, if only that it may be anything.

    Of a tuple this is said by its places; its length is limited, so there is nothing behind them.
    """
    if isinstance(schema, list):
        return [_with_items(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    filled = {key: _with_items(part) for key, part in schema.items()}
    return {**filled, "items": filled.get("items") or {}} if schema.get("type") == "array" else filled


def _operation(twin: Twin, schemas: Json, refusals: Errors) -> Json:
    words = twin.path.removeprefix("/-/").replace("{", "").replace("}", "").replace("/", "_").replace("-", "_")
    operation: Json = {
        "operationId": f"console_{twin.method.lower()}_{words}",
        "summary": twin.summary,
        "description": f"{twin.summary}. The console's page uses it.",
        "tags": [TAG["name"]],
        "responses": {"200": _answer(twin, schemas[repr(twin.answer)]), **_errors(refusals)},
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


def _answer(twin: Twin, schema: Json) -> Json:
    if twin.is_stream:
        events = {"type": "string", "contentMediaType": "text/event-stream", "contentSchema": schema}
        described = "Server-sent events without an end; the data of each is JSON, as `contentSchema` has it."
        return {"description": described, "content": {"text/event-stream": {"schema": events}}}
    return {"description": "What is shown.", "content": {"application/json": {"schema": schema}}}


def _errors(refusals: Errors) -> Json:
    names: dict[int, list[str]] = {}
    for status, name in dict.fromkeys(refusals):
        names.setdefault(status, []).append(name)
    return {str(status): {"description": " or ".join(names[status]), **ERROR} for status in sorted(names)}


def _refusals(twin: Twin, *, secured: bool, limited: bool) -> Errors:
    """Return the errors by which a request to a twin may be refused."""
    return (
        *OF_ALL,
        *(OF_POSTED if twin.body is not None else ()),
        *(OF_TOKENS if secured else ()),
        *(((403, INSUFFICIENT_SCOPE),) if secured and twin.is_call else ()),
        *(((429, RATE_LIMITED),) if limited and twin.is_call else ()),
        *twin.refusals,
    )
