"""A server on stdio whose results have text, an image and `_meta`, written in its own way: `picture_server.py SEEN`.

It writes a line to the file SEEN for each call, and its answers have the number of the call.
"""

from __future__ import annotations

import json
import sys

SEEN = sys.argv[1]
TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}}
    for name in ("blocks", "structured", "missing")
]
BLOCKS = (
    '{"_meta":{"vendor/x":{"b":1.50,"a":2e-7}},"content":[{"type":"text","text":"caf\\u00e9 \\/ %d"},'
    '{"data":"iVBORw0KGgo=","type":"image","mimeType":"image/png","_meta":{"k":1.0}}]}'
)
STRUCTURED = '{"structuredContent":{"z":1.50,"a":[1E3,-0.0],"n":%d},"content":[{"type":"text","text":"see there"}]}'
MISSING = '{"code":-32602,"message":"no such thing %d","data":{"b":1.50}}'


def main() -> None:
    calls = 0
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        member = "result"
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            text = json.dumps({
                "protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}
            })  # fmt: skip
        elif message["method"] == "tools/list":
            text = json.dumps({"tools": TOOLS})
        elif message["method"] == "tools/call":
            calls += 1
            name = message["params"]["name"]
            with open(SEEN, "a", encoding="utf-8") as seen:
                seen.write(f"{name}\n")
            member = "error" if name == "missing" else "result"
            text = {"blocks": BLOCKS, "structured": STRUCTURED, "missing": MISSING}[name] % calls
        else:
            member, text = "error", '{"code":-32601,"message":"Method not found"}'
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},"{member}":{text}}}\n')
        sys.stdout.flush()


main()
