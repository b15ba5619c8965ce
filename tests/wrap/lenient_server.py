"""A server of the handshake era on stdio that reads names as lenient parsers do: `lenient_server.py RULE SEEN`.

The rule `folding` takes a name for one that it knows in whatever case it is written, and up to U+0000, and the last one
counts; with `first` the first of equal names counts. It appends each line that it is sent to the file SEEN.
"""

from __future__ import annotations

import json
import sys
from typing import Any

RULE, SEEN = sys.argv[1:3]
PATH = {"path": {"type": "string", "pattern": "^/ok"}}
NODE = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "kids": {"$ref": "#/$defs/kids"}, "pAth": {}},
}
SAFE = {
    "type": "object",
    "properties": {
        **PATH,
        "words": {"type": "object", "additionalProperties": {"type": "integer"}},
        "tree": {"$ref": "#/$defs/node"},
        "exact": {},
    },
    "$defs": {"node": NODE, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
}
TOOLS = [
    {"name": "safe", "inputSchema": SAFE},
    {"name": "danger", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}},
    {"name": "twice", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": PATH}},
]
TWICE = {
    "above": '{"content":[],"structuredContent":{"path":"/etc"},"structuredContent":{"path":"/ok"}}',
    "below": '{"content":[],"structuredContent":{"path":"/etc","path":"/ok"}}',
    "deep": '{"content":[],"structuredContent":{"path":"/ok","more":[{"a":1,"b":{"c":1, "c" : 2}}]}}',
    "failed": '{"content":[],"isError":false,"isError":true,"structuredContent":{"path":"/etc"}}',
    "once": '{"content":[],"structuredContent":{"path":"/ok","more":[{"a":1},{"a":1}], "\\u0062":"\\u0022:"}}',
}
PROMPT = {"name": "report", "arguments": [{"name": "topic", "required": True}]}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}},
    "serverInfo": {"name": "lenient", "version": "1"},
}


def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object by the rule."""
    if RULE == "first":
        return dict(reversed(pairs))
    return {name.partition("\0")[0].casefold(): value for name, value in pairs}


def answer(method: str, params: dict[str, Any]) -> str:
    """Return the result of a request, as JSON."""
    if method == "tools/call" and params["name"] == "twice":
        return TWICE[params["arguments"]["form"]]
    if method == "tools/call":
        text = f"ran {params['name']} on {params.get('arguments', {}).get('path')}"
        return json.dumps({"content": [{"type": "text", "text": text}]})
    if method == "prompts/get":
        return json.dumps({"messages": [], "description": str(params.get("arguments", {}).get("topic"))})
    if method == "resources/read":
        return json.dumps({"contents": [{"uri": params["uri"], "text": "read"}]})
    results: dict[str, Any] = {
        "initialize": HELLO,
        "tools/list": {"tools": TOOLS},
        "prompts/list": {"prompts": [PROMPT]},
        "resources/list": {"resources": []},
        "resources/templates/list": {"resourceTemplates": []},
        "completion/complete": {"completion": {"values": []}},
    }
    return json.dumps(results.get(method, {}))


def main() -> None:
    for line in sys.stdin:
        with open(SEEN, "a", encoding="utf-8") as seen:
            seen.write(line)
        message = json.loads(line, object_pairs_hook=read)
        if message.get("id") is not None and "method" in message:
            reply = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{answer(message["method"], message["params"])}}}'
            sys.stdout.write(reply + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
