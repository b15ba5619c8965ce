"""A server of the handshake era on stdio whose results break their contracts in several ways, or ask a question."""

from __future__ import annotations

import json
import sys

OUTPUT = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        "name": {"type": "string"},
    },
    "required": ["rows"],
}
RESULTS = {
    "nested": {"structuredContent": {"rows": [{"id": 1}, {"id": "hidden-value"}]}},
    "incomplete": {"structuredContent": {"name": "a"}},
    "bare": {},
    "many": {"structuredContent": {"rows": [{"id": "x"}] * 5}},
    "good": {"structuredContent": {"rows": []}},
    "failing": {"content": [{"type": "text", "text": "no such row"}], "isError": True},
}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": OUTPUT} for name in (*RESULTS, "asking")]
QUESTION = {"message": "Which row?", "requestedSchema": {"type": "object", "properties": {"row": {"type": "integer"}}}}


def say(message):
    """Send one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


asked = None
for line in sys.stdin:
    got = json.loads(line)
    method = got.get("method")
    if method == "initialize":
        capabilities = {"tools": {}}
        info = {"name": "breaking", "version": "1.0.0"}
        version = got["params"]["protocolVersion"]
        say({"id": got["id"], "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}})
    elif method == "tools/list":
        say({"id": got["id"], "result": {"tools": TOOLS}})
    elif method == "tools/call" and got["params"]["name"] == "asking":
        asked = got["id"]
        say({"id": "question", "method": "elicitation/create", "params": QUESTION})
    elif method == "tools/call":
        content = [{"type": "text", "text": "said in words"}]
        say({"id": got["id"], "result": {"content": content, **RESULTS[got["params"]["name"]]}})
    elif method is None and asked is not None:
        say({"id": asked, "result": {"content": [{"type": "text", "text": "refused"}], "isError": True}})
    elif method is not None and "id" in got:
        say({"id": got["id"], "error": {"code": -32601, "message": "Method not found"}})
