"""One call through each door, its reply reduced to one form: a result, or a canonical error code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from processes import PATIENCE_S, Pipe, Reply, Server, clean_env

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
REST_CODES = {
    "EMPTY_CODE": "INVALID_INPUT",
    "CODE_TOO_LARGE": "INVALID_INPUT",
    "TOOL_NOT_FOUND": "NOT_FOUND",
}
"""The canonical code behind each code that only REST has."""

Said = tuple[str, Any]
"""("result", value) or ("error", canonical code)."""


def rpc(method: str, params: dict[str, Any], *, modern: bool = False, request_id: Any = 1) -> dict[str, Any]:
    """Return a JSON-RPC request of either era."""
    meta = {"_meta": META} if modern else {}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, **meta}}


INITIALIZE = rpc(
    "initialize",
    {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "witness", "version": "1"}},
)


def run_on_one_message(
    command: str, *args: str, stdin: object = INITIALIZE, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a stdio server on one message to its end; return the exit status, stdout and stderr."""
    message = json.dumps(stdin).encode() + b"\n"
    done = subprocess.run(
        [command, *args], input=message, capture_output=True, env=clean_env(env), timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def modern_headers(method: str, name: str | None = None) -> dict[str, str]:
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "accept": "application/json, text/event-stream",
    }
    return headers | ({"mcp-name": name} if name is not None else {})


def invocation(slug: str, arguments: Any, request_id: Any = 1) -> dict[str, Any]:
    params = {"tool": f"mcp.tool:{slug}", "input": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "mcp.tool.invoke", "params": params}


def said_by_mcp(answer: dict[str, Any]) -> Said:
    if "error" in answer:
        return "error", answer["error"]["data"]["canonical_code"]
    result = answer["result"]
    if result["isError"]:
        return "error", result["_meta"]["canonical_code"]
    text = result["content"][0]["text"]
    if "structuredContent" not in result:
        return "result", {"markdown": text}
    assert json.loads(text) == result["structuredContent"]
    return "result", result["structuredContent"]


def said_by_envelope(answer: dict[str, Any]) -> Said:
    if "error" in answer:
        return "error", answer["error"]["data"]["canonical_code"]
    return "result", answer["result"]


def said_by_rest(reply: Reply) -> Said:
    answer = reply.json()
    if answer["success"]:
        return "result", answer["result"]
    return "error", REST_CODES.get(answer["error"]["code"], answer["error"]["code"])


def doors(server: Server, pipe: Pipe) -> dict[str, Callable[[str, str, Any], Said]]:
    """Return a function (name, slug, arguments) for each way in."""

    def stdio(name: str, _: str, arguments: Any, *, modern: bool = False) -> Said:
        return said_by_mcp(pipe.ask(rpc("tools/call", {"name": name, "arguments": arguments}, modern=modern)))

    def http(name: str, _: str, arguments: Any, *, modern: bool = False) -> Said:
        headers = modern_headers("tools/call", name) if modern else {}
        message = rpc("tools/call", {"name": name, "arguments": arguments}, modern=modern)
        return said_by_mcp(server.post("/mcp", message, headers).json())

    return {
        "stdio, handshake": stdio,
        "stdio, modern": lambda *call: stdio(*call, modern=True),
        "http, handshake": http,
        "http, modern": lambda *call: http(*call, modern=True),
        "rest": lambda name, _, arguments: said_by_rest(server.post(f"/api/tools/{name}", arguments)),
        "envelope, stdio": lambda _, slug, arguments: said_by_envelope(pipe.ask(invocation(slug, arguments))),
        "envelope, http": lambda _, slug, arguments: said_by_envelope(
            server.post(f"/mcp/tool/{slug}", invocation(slug, arguments)).json()
        ),
    }
