"""A server of one era with all that a tape must hold: progress, questions, resources, prompts. Standard library only.

python recorded_server.py handshake|modern
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

ERA = sys.argv[1]
IS_MODERN = ERA == "modern"
INFO = {"name": "recorded", "version": "3"}
CAPABILITIES = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
OBJECT = {"type": "object"}
TOOLS = [
    {"name": name, "description": f"The tool {name}.", "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}}
    for name in ("echo", "count", "ask", "think", "leak")
]
QUESTIONS = {
    "ask": (
        "elicitation/create",
        {
            "message": "Who?",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
    ),
    "think": (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Think."}}], "maxTokens": 50},
    ),
}
calls = 0


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def messages() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def text(value: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def called(params: dict[str, Any], incoming: Iterator[dict[str, Any]]) -> dict[str, Any]:
    global calls  # noqa: PLW0603 - a server has a state
    name, arguments = params["name"], params.get("arguments", {})
    calls += 1
    if name == "echo":
        return {**text(arguments), "structuredContent": {"call": calls, "ratio": 0.5}}
    if name == "leak":
        return text({"says": os.environ.get("CANARY_TOKEN"), "api_key": "labelled-canary"})
    if name == "count":
        token = params.get("_meta", {}).get("progressToken")
        for done in (1, 2) if token is not None else ():
            send(method="notifications/progress", params={"progressToken": token, "progress": done, "total": 2})
        return text("counted")
    method, question = QUESTIONS[name]
    if IS_MODERN:
        if "inputResponses" not in params:
            asked = {"q": {"method": method, "params": question}}
            return {"resultType": "input_required", "inputRequests": asked, "requestState": "the state"}
        return text(params["inputResponses"]["q"])
    send(id=f"q{calls}", method=method, params=question)
    answer = next(message for message in incoming if message.get("id") == f"q{calls}" and "method" not in message)
    return text(answer["result"])


RESULTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "tools/list": lambda _: {"tools": TOOLS},
    "resources/list": lambda _: {"resources": [{"uri": "memo://one", "name": "one"}]},
    "resources/templates/list": lambda _: {"resourceTemplates": [{"uriTemplate": "memo://{x}", "name": "t"}]},
    "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": "a memo"}]},
    "prompts/list": lambda _: {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]},
    "prompts/get": lambda params: {
        "messages": [{"role": "user", "content": {"type": "text", "text": f"Hi {params['arguments']['who']}"}}]
    },
    "completion/complete": lambda _: {"completion": {"values": ["Ann", "Bob"]}},
}


def main() -> None:
    incoming = messages()
    for message in incoming:
        if "id" not in message or "method" not in message:
            continue
        method, params = message["method"], message.get("params") or {}
        if method == "initialize" and not IS_MODERN:
            result: Any = {"protocolVersion": "2025-11-25", "serverInfo": INFO, "capabilities": CAPABILITIES}
        elif method == "server/discover" and IS_MODERN:
            result = {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES}
        elif method == "tools/call":
            result = called(params, incoming)
        else:
            result = RESULTS[method](params) if method in RESULTS else None
        if result is None:
            send(id=message["id"], error={"code": -32601, "message": "Method not found"})
            continue
        if IS_MODERN:
            meta = {"io.modelcontextprotocol/serverInfo": INFO}
            cached = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
            result = {"resultType": "complete", **cached, **result, "_meta": meta}
        send(id=message["id"], result=result)


main()
