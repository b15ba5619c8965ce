"""A server of the handshake era on stdio whose schemas are dear to compile or to check, beside tools of an honest one.

Its tool `nested` gives a result of as many levels as it is asked for, which breaks its contract.
"""

from __future__ import annotations

import json
import sys

AND = {"and": {"type": "array", "items": {"$ref": "#/$defs/f"}}}
EQ = {"eq": {"type": "string"}}
CIRCLE = {
    "type": "object",
    "properties": {"f": {"$ref": "#/$defs/f"}},
    "$defs": {
        "f": {
            "anyOf": [
                {"type": "object", "properties": AND, "required": ["x"]},
                {"type": "object", "properties": AND, "required": ["y"]},
                {"type": "object", "properties": EQ, "required": ["eq"], "additionalProperties": False},
            ]
        }
    },
}
DOUBLING = {
    "type": "object",
    "allOf": [{"$ref": "#/$defs/d0"}],
    "$defs": {
        **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(26)},
        "d26": {"type": "object"},
    },
}
PATTERNS = {"type": "object", "properties": {f"p{n}": {"pattern": f"{n}\\p{{L}}{{200}}"} for n in range(100)}}
PARTS = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(26)}
TWINS = {
    "type": "object",
    "$ref": "http://a/x",
    "$defs": {
        "one": {"$id": "http://a/x", "$ref": "#/$defs/d0", "$defs": {**PARTS, "d26": {"type": "object"}}},
        "two": {"$id": "http://b/x", "type": "object"},
    },
}
BUNDLE = {
    "$id": "http://x/root",
    "type": "object",
    "$ref": "http://x/a0",
    "$defs": {
        **{
            f"{name}{n}": {
                "$id": f"http://x/{name}{n}",
                "properties": {to: {"$ref": f"http://x/{to}{n + 1}"} for to in "ab"},
            }
            for name in "ab"
            for n in range(18)
        },
        **{f"{name}18": {"$id": f"http://x/{name}18"} for name in "ab"},
    },
}
BACK = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(9)}
for number, back in enumerate(BACK.values()):
    back["additionalProperties"] = {"$ref": f"#/$defs/d{max(0, number - 1)}"}
BACK_AND_FORTH = {
    "type": "object",
    "properties": {"b": {"$ref": "#/$defs/d8"}, "a": {"$ref": "#/$defs/d0"}},
    "$defs": {**BACK, "d9": {"type": "object"}},
}
AGAIN = {"properties": {"x": {"$dynamicRef": "#n"}}}
DYNAMIC = {
    "$id": "http://a/root",
    "$dynamicAnchor": "n",
    "type": "object",
    "$ref": "tree",
    "anyOf": [{**AGAIN, "required": ["y"]}, {**AGAIN, "required": ["z"]}],
    "$defs": {"t": {"$id": "http://a/tree", "$dynamicAnchor": "n", **AGAIN}},
}
ANY = {"type": "object"}
CELL = {"allOf": [{"properties": {f"s{n}": {"type": ["string", "number"]}}} for n in range(90)]}
CELLS = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "array", "items": CELL}}}}
LISTS = {"type": "object", "properties": {"ids": {"type": "array", "uniqueItems": True}}}
READ = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"text": {"type": "string", "contentMediaType": "application/json"}},
}
TOOLS = [
    {"name": "filter", "inputSchema": CIRCLE},
    {"name": "nested", "inputSchema": ANY, "outputSchema": CIRCLE},
    {"name": "doubling", "inputSchema": DOUBLING},
    {"name": "patterns", "inputSchema": PATTERNS},
    {"name": "dynamic", "inputSchema": DYNAMIC},
    {"name": "twins", "inputSchema": TWINS},
    {"name": "bundle", "inputSchema": BUNDLE},
    {"name": "back-and-forth", "inputSchema": BACK_AND_FORTH},
    {"name": "promises", "inputSchema": ANY, "outputSchema": DOUBLING},
    {"name": "fine", "inputSchema": ANY},
    {"name": "cells", "inputSchema": CELLS},
    {"name": "lists", "inputSchema": LISTS},
    {"name": "read", "inputSchema": READ},
]


def nested(levels):
    """Return a value that no branch of the circle takes."""
    value = {"eq": 1}
    for _ in range(levels):
        value = {"and": [value]}
    return {"f": value}


def say(message):
    """Send one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main():
    """Answer until the input ends."""
    for line in sys.stdin:
        got = json.loads(line)
        method = got.get("method")
        if method == "initialize":
            info = {"name": "hostile", "version": "1.0.0"}
            version = got["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            levels = got["params"]["arguments"].get("levels", 0)
            value = nested(levels) if got["params"]["name"] == "nested" else {"ran": got["params"]["name"]}
            result = {"content": [{"type": "text", "text": "said"}], "structuredContent": value}
        else:
            if "id" in got:
                say({"id": got["id"], "error": {"code": -32601, "message": "Method not found"}})
            continue
        say({"id": got["id"], "result": result})


if __name__ == "__main__":
    main()
