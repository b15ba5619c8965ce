"""Frames: JSON-RPC messages of both eras, as a grammar, with the mistakes that clients make."""

from __future__ import annotations

import random
from typing import Any

from fuzz.odd_values import Verbatim, json_text, json_value, number, text

__all__ = ["TOKENS", "frame", "frame_text", "good_frames"]

META = "_meta"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/initialized",
    "notifications/cancelled",
    "resources/list", "prompts/list", "logging/setLevel", "completion/complete", "subscriptions/listen",
    "mcp.tool.invoke",
    "notifications/progress", "tools/unknown", "", "rpc.discover",
)  # fmt: skip
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01", "")
TOOLS = (
    "encodePlantUML",
    "repeat",
    "wait_a_turn",
    "fail",
    "plantuml.encode",
    "mcp.tool:plantuml.encode",
    "fuzzed.repeat",
    "nothing",
)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"plantumlCode": "A -> B"},
    {"plantumlCode": "@startuml\nA -> B\n@enduml"},
    {"text": "a", "times": 3},
    {"value": {"a": [1, 2]}},
    {"why": "because"},
    {},
)
TOKENS = (
    *tuple(
        f'"{word}"'.encode()
        for word in (
            *METHODS,
            *VERSIONS,
            *TOOLS,
            *MODERN,
            "jsonrpc",
            "2.0",
            "id",
            "params",
            "result",
            "error",
            "arguments",
        )
    ),
    b"null",
    b"\\ud800",
    b"1e400",
    b"\xff",
    b"[[[[",
    b"{}",
    b"\n",
    b"\r\n",
    b"\x00",
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
)


def _id(chance: random.Random) -> Any:
    kind = chance.randrange(8)
    if kind < 4:
        return chance.randrange(5)
    return (text(chance), number(chance), json_value(chance, 1), "a")[kind - 4]


def _params(chance: random.Random, method: str) -> Any:
    params: dict[str, Any] = {}
    if method == "initialize":
        params = {
            "protocolVersion": chance.choice(VERSIONS),
            "capabilities": {},
            "clientInfo": {"name": "fuzz", "version": "1"},
        }
    elif method == "tools/call":
        params = {"name": chance.choice(TOOLS), "arguments": dict(chance.choice(ARGUMENTS))}
    elif method == "mcp.tool.invoke":
        params = {"tool": chance.choice(TOOLS), "input": dict(chance.choice(ARGUMENTS))}
    elif method == "notifications/cancelled":
        params = {"requestId": _id(chance), "reason": text(chance)}
    if chance.random() < 0.3:
        params[META] = {**MODERN, "progressToken": _id(chance)}
    if chance.random() < 0.2 and params:
        params[chance.choice(list(params))] = json_value(chance)
    if isinstance(params.get("arguments"), dict) and chance.random() < 0.3:
        params["arguments"][text(chance)] = json_value(chance)
    return json_value(chance) if chance.random() < 0.05 else params


def frame(chance: random.Random) -> Any:
    """Return one message."""
    method = chance.choice(METHODS)
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": _id(chance), "method": method, "params": _params(chance, method)}
    if chance.random() < 0.1:
        message.pop(chance.choice(list(message)))
    if chance.random() < 0.1:
        message[chance.choice(("jsonrpc", "id", "method", "params", "result", "error", "extra"))] = json_value(chance)
    if chance.random() < 0.03:
        return [message, frame(chance)]
    if chance.random() < 0.02:
        return Verbatim("[" * chance.choice((10, 2000)) + "]" * chance.choice((10, 2000)))
    return message


def frame_text(chance: random.Random) -> bytes:
    """Return one message as bytes."""
    return json_text(frame(chance), chance).encode("utf-8", "surrogatepass").replace(b"\n", b" ")


def good_frames() -> list[bytes]:
    """Return a message of each method, and a call of each tool, in both eras."""
    found = []
    for meta in ({}, {META: MODERN}):
        for method in METHODS[:13]:
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "a", "version": "1"},
                **meta,
            }
            found.append(json_text({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        for name in TOOLS:
            for arguments in ARGUMENTS[:5]:
                params = {"name": name, "arguments": arguments, **meta}
                found.append(
                    json_text({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}).encode()
                )
    return found
