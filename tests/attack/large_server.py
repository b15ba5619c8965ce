"""An MCP server on stdio with one tool, whose answer has as many bytes as its caller asks for."""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}, "reports": {"type": "integer"}}}
TOOL = {"name": "large", "description": "Answers with many bytes.", "inputSchema": SCHEMA}
INFO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "large", "version": "1.0.0"},
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for a notification."""
    if "id" not in message:
        return None
    if message["method"] == "initialize":
        return INFO
    if message["method"] == "tools/list":
        return {"tools": [TOOL]}
    return {}


def large(message: dict[str, Any]) -> bytes:
    """Return the reply to a call; made by hand, since it shall cost the server more than us."""
    size = message["params"]["arguments"].get("size", 1)
    start = (
        b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"' % json.dumps(message["id"]).encode()
    )
    return start + b"x" * size + b'"}]}}\n'


def main() -> None:
    out = sys.stdout.buffer
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "tools/call":
            out.write(large(message))
        elif (result := answer(message)) is not None:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            out.write(json.dumps(reply).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
