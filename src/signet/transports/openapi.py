"""The OpenAPI 3.1 page, generated from the contracts: every path, every shape, every error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from signet.kernel.errors import TABLE
from signet.kernel.pipeline import Pipeline
from signet.kernel.schemas import Bundle, schema_of
from signet.kernel.tools import Tool

__all__ = ["describe"]

Json = dict[str, Any]

DOOR_ERRORS: Final = (
    ("METHOD_NOT_ALLOWED", 405),
    ("REQUEST_TIMEOUT", 408),
    ("HOST_NOT_ALLOWED", 421),
    ("INTERNAL_ERROR", 500),
    ("INVALID_OUTPUT", 502),
    ("TOO_MANY_CALLS", 503),
)
"""The errors of any REST call."""

PRIVATE_ERRORS: Final = (
    ("INVALID_INPUT", 400),
    ("NOT_UNICODE", 400),
    ("ORIGIN_NOT_ALLOWED", 403),
    ("NOT_FOUND", 404),
    ("REQUEST_TOO_LARGE", 413),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
)
"""The further errors of a tool that is not public."""

PAGES: Final = {
    "/": ("read_about", "What is served here?", "name"),
    "/openapi.json": ("read_openapi", "How is it called?", "openapi"),
}
CHECKS: Final = {
    "/healthz": ("is_alive", "Is the process alive?", "status"),
    "/readyz": ("is_ready", "Are all contracts usable?", "status"),
}
"""The pages without arguments: the name of the operation, its summary, and a text member of its response."""


def describe(pipeline: Pipeline, about: Json, legacy: Mapping[str, str], *, secured: bool) -> Json:
    """Return the OpenAPI page of the web doors for the enabled tools."""
    page: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Signet",
            "version": about["version"],
            "summary": "Tools under contract.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {"/api/tools": _discovery(secured=secured), "/mcp": _mcp(secured=secured), **_pages(secured=secured)},
        "components": {"schemas": _shared()},
    }
    for tool in pipeline.toolbox:
        contracts = _contracts(pipeline.registry.load_bundle(tool.slug))
        page["components"]["schemas"] |= contracts
        paths = [path for path, name in legacy.items() if name == tool.name]
        page["paths"] |= _paths(tool, contracts, paths, secured=secured)
    if secured:
        page["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        page["security"] = [{"bearer": []}]
    return page


def _contracts(bundle: Bundle) -> Json:
    """Return a tool's two contracts as components, with their internal references adapted to the new place."""
    contracts = {f"{bundle.tool}.input": bundle.input, f"{bundle.tool}.output": bundle.output}
    return {name: _with_references_below(_ref(name)["$ref"], schema_of(raw)) for name, raw in contracts.items()}


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


def _paths(tool: Tool, contracts: Json, legacy: list[str], *, secured: bool) -> Json:
    success = _object({"success": {"const": True}, "result": _ref(f"{tool.slug}.output")})
    paths = {f"/api/tools/{tool.name}": _rest(tool, success, "Error", secured=secured)}
    paths[f"/mcp/tool/{tool.slug}"] = _envelope(tool, secured=secured)
    for path in legacy:
        flat = _object({"status": {"const": "success"}, **contracts[f"{tool.slug}.output"]["properties"]})
        paths[path] = _rest(tool, flat, "FlatError", secured=secured)
        paths[path]["post"] |= {"deprecated": True, "operationId": path.strip("/").replace("/", "_")}
    return paths


def _rest(tool: Tool, success: Json, error: str, *, secured: bool) -> Json:
    tool_errors = tool.rest_errors if tool.public else (*PRIVATE_ERRORS, *tool.rest_errors)
    responses = {"200": _json(success, "The result, as the contract promises.")}
    names: dict[int, list[str]] = {}
    # An ordered set: a tool may declare an error that the door has too.
    for name, status in dict.fromkeys((*tool_errors, *DOOR_ERRORS, *((("UNAUTHORIZED", 401),) if secured else ()))):
        names.setdefault(status, []).append(name)
    for status in sorted(names):
        responses[str(status)] = _error(names[status], error)
    body = {"required": True, **_content(_ref(f"{tool.slug}.input"))}
    return {"post": {**_about(tool), "tags": ["REST"], "requestBody": body, "responses": responses}}


def _envelope(tool: Tool, *, secured: bool) -> Json:
    params = _object({"tool": {"const": tool.id}, "input": _ref(f"{tool.slug}.input")}, closed=False)
    request = _object(
        {
            "jsonrpc": {"const": "2.0"},
            "id": {"oneOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]},
            "method": {"const": "mcp.tool.invoke"},
            "params": params,
        }
    )
    result = _object({"jsonrpc": {"const": "2.0"}, "id": {}, "result": _ref(f"{tool.slug}.output")})
    responses = {"200": _json(result, "The result, as the contract promises.")}
    statuses = {row.http_status for row in TABLE.values()} | {403, 405, 408, 413, 415, 421}
    for status in sorted(statuses if secured else statuses - {401}):
        responses[str(status)] = _json(_ref("RpcError"), "A canonical error.")
    about = {**_about(tool), "operationId": f"invoke_{tool.slug}"}
    return {"post": {**about, "tags": ["Envelope"], "requestBody": {"required": True, **_content(request)},
                     "responses": responses}}  # fmt: skip


def _discovery(*, secured: bool) -> Json:
    responses = {"200": _json(_ref("Tools"), "The enabled tools."), "421": _error(["HOST_NOT_ALLOWED"], "Error")}
    if secured:
        responses["401"] = _error(["UNAUTHORIZED"], "Error")
    return {"get": {"operationId": "list_tools", "summary": "List the tools", "tags": ["REST"], "responses": responses}}


def _mcp(*, secured: bool) -> Json:
    statuses = ["400", *(["401"] if secured else []), "403", "404", "405", "408", "413", "415", "421"]
    content = {"application/json": {"schema": _ref("RpcAnswer")}, "text/event-stream": {"schema": {"type": "string"}}}
    responses: Json = {
        "200": {"description": "An answer, or a stream of progress that ends with it.", "content": content},
        "202": {"description": "A notification was heard."},
        **{status: _json(_ref("RpcError"), "A JSON-RPC error.") for status in statuses},
    }
    body = {"required": True, **_content(_ref("RpcMessage"))}
    return {"post": {"operationId": "mcp", "summary": "MCP over HTTP, both eras", "tags": ["MCP"],
                     "requestBody": body, "responses": responses}}  # fmt: skip


def _pages(*, secured: bool) -> Json:
    """Describe the pages without arguments; the health checks need no token, so that a load balancer can use them."""
    errors = {"403": _error(["ORIGIN_NOT_ALLOWED"], "Error"), "421": _error(["HOST_NOT_ALLOWED"], "Error")}
    if secured:
        errors["401"] = _error(["UNAUTHORIZED"], "Error")
    paths: Json = {}
    for path, (name, summary, key) in (PAGES | CHECKS).items():
        page = _json(_object({key: {"type": "string"}}, closed=False), "It is told.")
        about: Json = {"operationId": name, "summary": summary, "tags": ["Pages" if path in PAGES else "Health"]}
        if path in CHECKS:
            about["security"] = []
        possible = {status: error for status, error in errors.items() if path in PAGES or status != "401"}
        paths[path] = {"get": {**about, "responses": {"200": page, **possible}}}
    return paths


def _about(tool: Tool) -> Json:
    return {"operationId": tool.name, "summary": tool.title, "description": tool.description}


def _object(properties: Json, *, closed: bool = True) -> Json:
    shape: Json = {"type": "object", "properties": properties, "required": list(properties)}
    return {**shape, "additionalProperties": False} if closed else shape


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: Json) -> Json:
    return {"content": {"application/json": {"schema": schema}}}


def _json(schema: Json, description: str) -> Json:
    return {"description": description, **_content(schema)}


def _error(names: list[str], shape: str) -> Json:
    return _json(_ref(shape), " or ".join(names))


def _shared() -> Json:
    text = {"type": "string"}
    schema = {"type": "object"}
    entry = _object({"id": text, "name": text, "description": text, "inputSchema": schema})
    error = _object({"code": {"type": "integer"}, "message": text}, closed=False)
    version = {"const": "2.0"}
    request_id = {"type": ["string", "integer"]}
    message = _object({"jsonrpc": version, "method": text}, closed=False)
    # Any params are valid here: wrong params get a JSON-RPC error from their method.
    message["properties"] |= {"id": request_id, "params": {}}
    return {
        "Tools": _object({"tools": {"type": "array", "items": entry}}),
        "Error": _object({"success": {"const": False}, "error": _object({"code": text, "message": text})}),
        "FlatError": _object({"status": {"const": "error"}, "code": text, "message": text}),
        "RpcMessage": message,
        "RpcAnswer": _object({"jsonrpc": version, "id": {"type": ["string", "integer", "null"]}}, closed=False),
        "RpcError": _object({"jsonrpc": version, "id": {}, "error": error}),
    }
