"""The OpenAPI 3.1 page, generated from the contracts: every path, every shape, every error.

    openapi.json ── page ───────────────── the pages, the MCP door and the shared shapes ──┐
                 └─ rest, envelope ── for each tool, with its contracts and errors ────────┴──▶ OpenAPI

In the templates for a tool, a text in braces stands for a value of that tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from signet.kernel.errors import TABLE
from signet.kernel.pipeline import Pipeline
from signet.kernel.schemas import Bundle, schema_of
from signet.kernel.tools import Tool

from .path_names import escaped

__all__ = ["describe"]

Json = dict[str, Any]
Errors = tuple[tuple[str, int], ...]
"""The names of errors, and their HTTP status."""

DOOR_ERRORS: Final = (
    ("METHOD_NOT_ALLOWED", 405),
    ("REQUEST_TIMEOUT", 408),
    ("HOST_NOT_ALLOWED", 421),
    ("INTERNAL_ERROR", 500),
    ("INVALID_OUTPUT", 502),
    ("TOO_MANY_CALLS", 503),
    ("UNREAD_ANSWERS", 503),
)
"""The errors of any REST call."""

PRIVATE_ERRORS: Final = (
    ("INVALID_INPUT", 400),
    ("NOT_JSON", 400),
    ("NOT_UNICODE", 400),
    ("ORIGIN_NOT_ALLOWED", 403),
    ("NOT_FOUND", 404),
    ("REQUEST_TOO_LARGE", 413),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
)
"""The further errors of a tool that is not public."""

TOKEN_ERRORS: Final = (("UNAUTHORIZED", 401), ("INSUFFICIENT_SCOPE", 403))
"""The further errors where callers have to send a token."""

LIMIT_ERRORS: Final = (("IDEMPOTENCY_CONFLICT", 409), ("IDEMPOTENCY_NOT_KEPT", 409), ("RATE_LIMITED", 429))
"""The further errors where a gate is before all calls."""

TOO_DEEP: Final = "This schema is nested too deeply to show."
SHAPES: Final = "#/components/schemas/"


def describe(pipeline: Pipeline, about: Json, legacy: Mapping[str, str], *, secured: bool, root: str = "") -> Json:
    """Return the OpenAPI page of the web doors for the enabled tools, which are served below the path `root`."""
    from importlib.resources import files

    templates: Json = msgspec.json.decode((files(__package__) / "openapi.json").read_bytes())
    page: Json = templates["page"]
    page["info"]["version"] = about["version"]
    page["servers"][0]["url"] = root or "/"
    if not secured:
        page["security"] = []
        del page["components"]["securitySchemes"]
        for path in page["paths"].values():
            for operation in path.values():
                operation["responses"].pop("401", None)
    for tool in pipeline.toolbox:
        contracts = _contracts(pipeline.registry.load_bundle(tool.slug))
        page["components"]["schemas"] |= contracts
        paths = [path for path, name in legacy.items() if name == tool.name]
        more = (*(TOKEN_ERRORS if secured else ()), *(LIMIT_ERRORS if pipeline.is_limited else ()))
        page["paths"] |= _paths(templates, tool, contracts, paths, more)
    return page


def _contracts(bundle: Bundle) -> Json:
    """Return a tool's two contracts as components, with their internal references adapted to the new place."""
    contracts = {f"{bundle.tool}.input": bundle.input, f"{bundle.tool}.output": bundle.output}
    return {name: _component(SHAPES + name, raw) for name, raw in contracts.items()}


def _component(root: str, raw: msgspec.Raw) -> Any:
    """Return a contract as a component; of one that is nested too deeply, that it is."""
    try:
        return _with_references_below(root, schema_of(raw))
    except RecursionError:
        return {"description": TOO_DEEP}


def _with_references_below(root: str, schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_references_below(root, item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    adapted = {key: _with_references_below(root, value) for key, value in schema.items()}
    target = schema.get("$ref")
    if isinstance(target, str) and (target == "#" or target.startswith("#/")):
        adapted["$ref"] = root + target.removeprefix("#")
    return adapted


def _paths(templates: Json, tool: Tool, contracts: Json, legacy: list[str], more: Errors) -> Json:
    """Return the paths of a tool; `more` are the errors of any call that the settings bring."""
    input_name, output_name = contracts
    facts = {
        "{name}": tool.name,
        "{title}": tool.title,
        "{description}": tool.description,
        "{id}": tool.id,
        "{example}": dict(tool.example),
        "{invoke}": f"invoke_{tool.slug}",
        "{input}": SHAPES + input_name,
        "{output}": SHAPES + output_name,
        "{success}": _object({"success": {"const": True}, "result": {"$ref": SHAPES + output_name}}),
    }
    rest, envelope = (_filled(templates[door], facts) for door in ("rest", "envelope"))
    if not tool.has_example:
        for path in (rest, envelope):
            del path["post"]["requestBody"]["content"]["application/json"]["example"]
    rest["post"]["responses"] |= _rest_errors(tool, "Error", more)
    statuses = {row.http_status for row in TABLE.values()} - {401} | {403, 405, 408, 413, 415, 421}
    for status in sorted(statuses | {status for _, status in more}):
        envelope["post"]["responses"][str(status)] = _error("A canonical error.", "RpcError")
    paths = {f"/api/tools/{escaped(tool.name)}": rest, f"/mcp/tool/{escaped(tool.slug)}": envelope}
    for path in legacy:
        flat = {"status": {"const": "success"}, **contracts[output_name]["properties"]}
        own = {"{name}": path.strip("/").replace("/", "_"), "{success}": _object(flat)}
        paths[path] = _filled(templates["rest"], facts | own)
        paths[path]["post"]["responses"] |= _rest_errors(tool, "FlatError", more)
        paths[path]["post"]["deprecated"] = True
    return paths


def _filled(template: Any, facts: Json) -> Any:
    """Return a template with the facts of a tool."""
    if isinstance(template, list):
        return [_filled(item, facts) for item in template]
    if isinstance(template, dict):
        return {key: _filled(value, facts) for key, value in template.items()}
    return facts.get(template, template)


def _rest_errors(tool: Tool, shape: str, more: Errors) -> Json:
    tool_errors = tool.rest_errors if tool.public else (*PRIVATE_ERRORS, *tool.rest_errors)
    names: dict[int, list[str]] = {}
    # An ordered set: a tool may declare an error that the door has too.
    for name, status in dict.fromkeys((*tool_errors, *DOOR_ERRORS, *more)):
        names.setdefault(status, []).append(name)
    return {str(status): _error(" or ".join(names[status]), shape) for status in sorted(names)}


def _error(description: str, shape: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": {"$ref": SHAPES + shape}}}}


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
