"""The OpenAPI 3.1 page, made from the contracts: every path, every shape, every error."""

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
)
"""What any REST call may meet."""

PRIVATE_ERRORS: Final = (
    ("INVALID_INPUT", 400),
    ("NOT_UNICODE", 400),
    ("ORIGIN_NOT_ALLOWED", 403),
    ("NOT_FOUND", 404),
    ("REQUEST_TOO_LARGE", 413),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
)
"""What a call of a tool that is not public may meet."""

PAGES: Final = {
    "/": ("read_about", "What is served here?", "name"),
    "/openapi.json": ("read_openapi", "How is it called?", "openapi"),
}
CHECKS: Final = {
    "/healthz": ("is_alive", "Is the process alive?", "status"),
    "/readyz": ("is_ready", "Are all contracts usable?", "status"),
}
"""Pages to be read: the operation's name, what it answers, and the text that its answer holds at least."""


def describe(pipeline: Pipeline, about: Json, legacy: Mapping[str, str], *, secured: bool) -> Json:
    """Describe the web doors of the enabled tools."""
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
    """Give a tool's two contracts as components, what each refers to inside itself put to where it now stands."""
    written = {f"{bundle.tool}.input": bundle.input, f"{bundle.tool}.output": bundle.output}
    return {name: _moved(schema_of(raw), _ref(name)["$ref"]) for name, raw in written.items()}


def _moved(part: Any, root: str) -> Any:
    if isinstance(part, list):
        return [_moved(one, root) for one in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(value, root) for key, value in part.items()}
    target = part.get("$ref")
    if isinstance(target, str) and (target == "#" or target.startswith("#/")):
        moved["$ref"] = root + target.removeprefix("#")
    return moved


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
    own = tool.rest_errors if tool.public else (*PRIVATE_ERRORS, *tool.rest_errors)
    responses = {"200": _json(success, "The result, as the contract promises.")}
    names: dict[int, list[str]] = {}
    # A set that keeps its order: a tool may state what the door may say as well.
    for name, status in dict.fromkeys((*own, *DOOR_ERRORS, *((("UNAUTHORIZED", 401),) if secured else ()))):
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
    answer = {"application/json": {"schema": _ref("RpcAnswer")}, "text/event-stream": {"schema": {"type": "string"}}}
    responses: Json = {
        "200": {"description": "An answer, or a stream of progress that ends with it.", "content": answer},
        "202": {"description": "A notification was heard."},
        **{status: _json(_ref("RpcError"), "A JSON-RPC error.") for status in statuses},
    }
    body = {"required": True, **_content(_ref("RpcMessage"))}
    return {"post": {"operationId": "mcp", "summary": "MCP over HTTP, both eras", "tags": ["MCP"],
                     "requestBody": body, "responses": responses}}  # fmt: skip


def _pages(*, secured: bool) -> Json:
    """Describe what is there to be read; a load balancer needs no token for its checks."""
    refusals = {"403": _error(["ORIGIN_NOT_ALLOWED"], "Error"), "421": _error(["HOST_NOT_ALLOWED"], "Error")}
    if secured:
        refusals["401"] = _error(["UNAUTHORIZED"], "Error")
    paths: Json = {}
    for path, (name, summary, key) in (PAGES | CHECKS).items():
        page = _json(_object({key: {"type": "string"}}, closed=False), "It is told.")
        about: Json = {"operationId": name, "summary": summary, "tags": ["Pages" if path in PAGES else "Health"]}
        if path in CHECKS:
            about["security"] = []
        told = {status: said for status, said in refusals.items() if path in PAGES or status != "401"}
        paths[path] = {"get": {**about, "responses": {"200": page, **told}}}
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
    listed = _object({"id": text, "name": text, "description": text, "inputSchema": schema})
    error = _object({"code": {"type": "integer"}, "message": text}, closed=False)
    version = {"const": "2.0"}
    request_id = {"type": ["string", "integer"]}
    message = _object({"jsonrpc": version, "method": text}, closed=False)
    # Params are the method's affair: where they are wrong, the answer is a JSON-RPC error.
    message["properties"] |= {"id": request_id, "params": {}}
    return {
        "Tools": _object({"tools": {"type": "array", "items": listed}}),
        "Error": _object({"success": {"const": False}, "error": _object({"code": text, "message": text})}),
        "FlatError": _object({"status": {"const": "error"}, "code": text, "message": text}),
        "RpcMessage": message,
        "RpcAnswer": _object({"jsonrpc": version, "id": {"type": ["string", "integer", "null"]}}, closed=False),
        "RpcError": _object({"jsonrpc": version, "id": {}, "error": error}),
    }
