"""A server of the handshake era on stdio whose messages have 17 MiB: `long_lines_server.py [METHOD]`.

Each tool is named by the place at which its answer has the id. METHOD is a list that is too long.
"""

from __future__ import annotations

import json
import sys

LONG = "x" * (17 << 20)
LISTS = {"tools/list": "tools", "prompts/list": "prompts"}
TOOLS = ("first", "last", "decoy", "hidden", "waits", "asks", "notifies", "echo")
WAITING: list[int] = []
"""The ids of the calls of `waits`."""


def write(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(number: int, text: str) -> None:
    """Answer a call."""
    write(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}}))


def respond(number: int, name: str) -> None:
    """Answer a call of a tool."""
    content = json.dumps({"content": [{"type": "text", "text": LONG}]})
    match name:
        case "first":
            write(f'{{"jsonrpc":"2.0","id":{number},"result":{content}}}')
        case "last":
            write(f'{{"result":{content},"id":{number},"jsonrpc":"2.0"}}')
        case "decoy":
            other = WAITING.pop()
            write(f'{{"jsonrpc":"2.0","result":{{"_meta":{{"id":{other}}},"content":[],"x":"{LONG}"}},"id":{number}}}')
            answer(other, "waited")
        case "hidden":
            write(f'{{"jsonrpc":"2.0","result":{content},"id":{number},"more":["{"y" * 1000}"]}}')
        case "waits":
            WAITING.append(number)
        case "asks":
            write(
                f'{{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{{"id":{number},"x":"{LONG}"}}}}'
            )
            said = json.loads(sys.stdin.readline())
            answer(number, f"{said['id']}: {said['error']['message']}")
        case "notifies":
            write(f'{{"jsonrpc":"2.0","method":"notifications/message","params":{{"id":{number},"data":"{LONG}"}}}}')
            answer(number, "notified")
        case _:
            answer(number, "echoed")


def entries(method: str) -> list[dict[str, object]]:
    """Return what a list holds."""
    more = {"description": LONG} if method in sys.argv else {}
    return [{"name": name, "inputSchema": {"type": "object"}, **more} for name in TOOLS] if "tools" in method else []


def main() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None or method is None:
            continue
        if method == "initialize":
            able = {"tools": {}, "prompts": {}}
            hello = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "l", "version": "1"}}
            write(json.dumps({"jsonrpc": "2.0", "id": number, "result": hello}))
        elif method in LISTS:
            more = {"description": LONG} if method in sys.argv else {}
            listed = entries(method) or [{"name": "p", **more}]
            write(json.dumps({"jsonrpc": "2.0", "id": number, "result": {LISTS[method]: listed}}))
        elif method == "tools/call":
            respond(number, message["params"]["name"])
        else:
            error = {"code": -32601, "message": "Method not found"}
            write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}))


main()
