"""An MCP server on stdio with one tool, whose answer has as many bytes as its caller asks for."""

from __future__ import annotations

import json
import sys

SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}, "reports": {"type": "integer"}}}
TOOL = {"name": "large", "description": "Answers with many bytes.", "inputSchema": SCHEMA}
INFO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "large", "version": "1.0.0"},
}


def answer(message: dict[str, object]) -> dict[str, object] | None:
    """Return the result of a request, or None for a notification."""
    if "id" not in message:
        return None
    if message["method"] == "initialize":
        return INFO
    if message["method"] == "tools/list":
        return {"tools": [TOOL]}
    if message["method"] == "tools/call":
        size = message["params"]["arguments"].get("size", 1)  # type: ignore[index] # as our caller writes it
        return {"content": [{"type": "text", "text": "x" * size}]}
    return {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        result = answer(message)
        if result is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
