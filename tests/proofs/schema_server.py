"""A small MCP server on stdio whose tool `weather` has a hostile input schema: `schema_server.py [WORD]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any


def doubling(keyword: str) -> dict[str, Any]:
    """Return a schema of 24 definitions, each of which refers twice to the next."""
    parts: dict[str, Any] = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(24)}
    return {**of({"$ref": "#/$defs/d0"}), "$defs": {**parts, "d24": {"type": "string", "minLength": 1}}}


def of(city: object) -> dict[str, Any]:
    """Return the schema of an argument."""
    return {"type": "object", "properties": {"city": city}, "required": ["city"]}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def chain() -> dict[str, Any]:
    """Return a schema of 3,000 definitions, each of which refers to the next."""
    parts: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3000)}
    return {**of({"$ref": "#/$defs/d0"}), "$defs": {**parts, "d3000": {"type": "string"}}}


def recursive() -> dict[str, Any]:
    """Return a schema of a tree with eight branches in one place."""
    node = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["x"]}
    return {**of({"$ref": "#/$defs/n"}), "$defs": {"n": {"anyOf": [node] * 8}}}


PATTERN = "^([a-z]{1,100}){1,100}$"
"""A pattern of 23 characters; with a least length, it takes minutes to compare."""
SCHEMAS: dict[str, Any] = {
    "": of({"type": "string"}),
    "longer": of({"type": "string", "maxLength": 1_000_000}),
    "optional": {"type": "object", "properties": {"city": {"type": "string"}}},
    "doubling": doubling("allOf"),
    "doubling-choices": doubling("anyOf"),
    "pattern": of({"type": "string", "pattern": PATTERN, "minLength": 9_000}),
    "classes": of({"allOf": [{"pattern": f"\\p{{L}}{{200}}{n}"} for n in range(100)]}),
    "deep": deep(190),
    "deep-300": deep(300),
    "deep-450": deep(450),
    "chain": chain(),
    "recursive": recursive(),
    "alternatives": {**of({"$ref": "#/$defs/n"}), "$defs": {"n": {"anyOf": [{"$ref": "#/$defs/n"}] * 60}}},
    "choices": of({"enum": [f"value {n}" for n in range(50_000)]}),
    "text": of({"type": "string", "description": "a (" * 340_000}),
    "malformed": {"type": "object", "properties": 5, "required": 7, "enum": "x", "title": [1]},
}


def answers(word: str) -> Iterator[str]:
    """Yield an answer to each request."""
    tools = [{"name": "weather", "inputSchema": SCHEMAS[word]}, {"name": "time", "inputSchema": {"type": "object"}}]
    hello = {"capabilities": {"tools": {}}, "serverInfo": {"name": "schemas", "version": "1"}}
    for line in sys.stdin:
        message = json.loads(line)
        known = {
            "initialize": {"protocolVersion": "2025-11-25", **hello},
            "tools/list": {"tools": tools},
            "tools/call": {"content": [{"type": "text", "text": "called"}]},
        }
        if "id" in message:
            result = known.get(message.get("method"))
            said = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
            yield json.dumps({"jsonrpc": "2.0", "id": message["id"], **said})


if __name__ == "__main__":
    for answer in answers("".join(sys.argv[1:])):
        print(answer, flush=True)
