"""A small, well-behaved server of the handshake era on stdio: `weather_server.py [SEEN]`.

It writes the name of each tool that it is called by to the file SEEN, a line each.
"""

from __future__ import annotations

import json
import sys

SEEN = sys.argv[1] if len(sys.argv) > 1 else ""
CITY = {"city": {"type": "string", "minLength": 1, "description": "Name of the city."}}
WEATHER = {
    "name": "weather",
    "title": "Weather",
    "description": "Return the weather of a city, as it was measured last.",
    "inputSchema": {"type": "object", "properties": CITY, "required": ["city"], "additionalProperties": False},
    "outputSchema": {
        "type": "object",
        "properties": {"celsius": {"type": "number"}, "sky": {"type": "string"}},
        "required": ["celsius", "sky"],
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
SAY = {
    "name": "say",
    "description": "Return a sentence on the weather of a city, for people.",
    "inputSchema": {"type": "object", "properties": CITY, "required": ["city"]},
    "annotations": {"readOnlyHint": True},
}
NOTE = {
    "name": "note",
    "description": "Write down what somebody saw of the weather in a city.",
    "inputSchema": {"type": "object", "properties": CITY, "required": ["city"]},
}
LIAR = {**WEATHER, "name": "liar", "description": "Return something else than the contract of its output promises."}
LISTS = {
    "tools/list": {"tools": [WEATHER, SAY, NOTE, LIAR]},
    "resources/list": {"resources": [{"uri": "weather://today", "name": "today", "mimeType": "text/plain"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": [{"name": "report", "description": "Write a report.", "arguments": []}]},
    "resources/read": {"contents": [{"uri": "weather://today", "text": "clear"}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "Write a report."}}]},
}


def called(params):
    """Return the result of a call."""
    name = params["name"]
    if SEEN:
        with open(SEEN, "a", encoding="utf-8") as seen:
            seen.write(f"{name}\n")
    city = params.get("arguments", {}).get("city", "")
    if name in {"weather", "liar"}:
        value = {"celsius": 21.5, "sky": "clear"} if name == "weather" else {"celsius": "warm"}
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    is_error = city == "Atlantis"
    text = "no such city" if is_error else f"it is warm in {city}"
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def answer(method, params):
    """Return the result of a request."""
    if method == "initialize":
        capabilities = {"tools": {}, "resources": {}, "prompts": {}}
        info = {"name": "weather", "version": "1.0.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
    return called(params) if method == "tools/call" else LISTS.get(method)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    body = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
