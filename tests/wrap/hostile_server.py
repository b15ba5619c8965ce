"""A server of the handshake era on stdio that misbehaves as it is told: `hostile_server.py MODE MARKER [WORD]`.

Its tool `echo` (read-only) always answers rightly, as far as its mode lets it. Its tool `hurt` does what the mode says.
The marker is there for the test to find the process and its children by.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

MODE, MARKER, *WORDS = sys.argv[1:]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
BAD_SCHEMAS = {
    "bad schema": {"type": "nonsense"},
    "older draft": {"$schema": "http://json-schema.org/draft-07/schema#", **TEXT},
    "schema elsewhere": {"type": "object", "properties": {"text": {"$ref": WORDS[0] if WORDS else ""}}},
}
LINGER = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def write(data):
    while data:
        data = data[os.write(1, data) :]


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def text_of(text, **more):
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"text": text}, **more}


def answer(request_id, text, **more):
    send({"id": request_id, "result": text_of(text, **more)})


def reply_to(request_id, method, params=None):
    """Send a request to the client, and return its response."""
    send({"id": request_id, "method": method, **({} if params is None else {"params": params})})
    while True:
        message = json.loads(sys.stdin.buffer.readline())
        if "method" not in message:
            return message
        WAITING.append(message)


WAITING = []
"""Requests that came while a response was waited for."""


# --- what a mode does at the start


def dies_at_start():
    sys.exit("cannot read the licence, token=abcdefgh12345678")


def hangs_at_start():
    while True:
        time.sleep(600)


def is_deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def linger(**how):
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", LINGER, MARKER], **how)


STARTS = {
    "dies at start": dies_at_start,
    "exits at once": lambda: sys.exit(0),
    "hangs at start": hangs_at_start,
    "heeds nothing": is_deaf,
    "has grandchildren": linger,
    "has a daemon": lambda: linger(start_new_session=True),
    "stray lines at first": lambda: write(b"Hostile Server v1.0\n\n{half a line}\n[]\nnull\n"),
}


# --- what a mode does in a call of `hurt`


def stray_lines(request_id):
    for line in (b"debug: called", b"", b"[]", b"42", b"null", b'"text"', b'{"a":1}', b"{", b"\x00\xff\xfe", b"\r"):
        write(line + b"\n")
    answer(request_id, "hurt")
    write(b"debug: answered\n{}\n")


def unknown_notifications(request_id):
    send({"method": "notifications/no-such", "params": {"a": [1]}})
    send({"method": "$/odd"})
    send({"method": "notifications/progress", "params": {"progressToken": "nobody's", "progress": 1}})
    send({"method": "notifications/progress", "params": {"progress": "much"}})
    send({"method": "notifications/cancelled", "params": {"requestId": 123456}})
    send({"method": "notifications/cancelled", "params": {"requestId": [{}]}})
    for method in ("cancelled", "progress", "message", "tools/list_changed", "elicitation/complete", "tasks/status"):
        for params in ("not an object", [], None, 5):
            send({"method": f"notifications/{method}", "params": params})
    send({"method": "notifications/resources/updated", "params": {"uri": 5}})
    send({"method": 5})
    answer(request_id, "hurt")


def unknown_ids(request_id):
    for odd in (999_999, -1, "abc", None, 1.5, [1], {"a": 1}, True, 2**70):
        send({"id": odd, "result": text_of("wrong")})
    send({"result": text_of("wrong")})
    send({"id": str(request_id), "result": text_of("wrong")})
    answer(request_id, "hurt")


def answers_twice(request_id):
    answer(request_id, "hurt")
    answer(request_id, "wrong")
    send({"id": request_id, "error": {"code": -32000, "message": "wrong"}})


def invalid_utf8(request_id):
    line = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": text_of("@")})
    write(line.encode().replace(b"@", b"\xff\xfe") + b"\n")


def deep(request_id):
    nested = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    line = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": text_of("hurt", deep="@")})
    write(line.encode().replace(b'"@"', nested) + b"\n")


def dies_after_half_an_answer(request_id):
    write(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": text_of("hurt")}).encode()[:40])
    os.kill(os.getpid(), signal.SIGKILL)


def floods_notifications(request_id):
    for number in range(20_000):
        send({"method": "notifications/message", "params": {"level": "info", "data": number}})
    answer(request_id, "hurt")


def floods_replies(request_id):
    for number in range(20_000):
        send({"id": 1_000_000 + number, "result": {}})
    answer(request_id, "hurt")


def floods_questions(request_id):
    for number in range(5_000):
        send({"id": f"q{number}", "method": "roots/list"})
    for _ in range(5_000):
        sys.stdin.buffer.readline()
    answer(request_id, "hurt")


def floods_stderr(request_id):
    for _ in range(200):
        os.write(2, b"noise\n" * 10_000)
    answer(request_id, "hurt")


def writes_long_lines_to_stderr(request_id):
    for text in (b'"' * 8000,) * 60 + ("\u202e".encode() * 2600,) * 60:
        os.write(2, text + b"\n")
    answer(request_id, "hurt")


def floods_stdout(request_id):
    for _ in range(30):
        write(b"x" * 1_000_000)
    write(b"\n")
    answer(request_id, "hurt")


def asks_with_one_id_for_all(request_id):
    for method in ("ping", "roots/list", "ping"):
        send({"id": 1, "method": method})
    found = [json.loads(sys.stdin.buffer.readline()) for _ in range(3)]
    answer(request_id, f"{len(found)} responses to {sorted({str(one.get('id')) for one in found})}")


def asks_for_the_unknown(request_id):
    codes = [reply_to(number, method)["error"]["code"] for number, method in ((1, "no/such"), ("x", "tools/call"))]
    answer(request_id, f"codes {codes}")


def changes_its_list(request_id):
    TOOLS.append(tool("added"))
    send({"method": "notifications/tools/list_changed"})
    answer(request_id, "hurt")


HURTS = {
    "stray lines": stray_lines,
    "unknown notifications": unknown_notifications,
    "unknown ids": unknown_ids,
    "answers twice": answers_twice,
    "invalid UTF-8": invalid_utf8,
    "half a surrogate": lambda n: write(
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud800"}],'
        b'"structuredContent":{"text":"\\udfff"}}}\n' % n
    ),
    "long line": lambda n: answer(n, "x" * 20_000_000),
    "deep nesting": deep,
    "never answers": lambda _: None,
    "dies in a call": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "dies after half an answer": dies_after_half_an_answer,
    "floods stderr": floods_stderr,
    "long lines on stderr": writes_long_lines_to_stderr,
    "floods notifications": floods_notifications,
    "floods stdout": floods_stdout,
    "floods replies": floods_replies,
    "floods questions": floods_questions,
    "asks with one id": asks_with_one_id_for_all,
    "asks for the unknown": asks_for_the_unknown,
    "breaks its schema": lambda n: send({"id": n, "result": {"content": [], "structuredContent": {"text": 5}}}),
    "error with content": lambda n: send(
        {"id": n, "result": {"content": [{"type": "text", "text": "no"}], "structuredContent": {}, "isError": True}}
    ),
    "no object": lambda n: send({"id": n, "result": 5}),
    "error without words": lambda n: send({"id": n, "error": "bad"}),
    "tells its id": lambda n: answer(n, str(os.getpid())),
    "null for an error": lambda n: send({"id": n, "result": text_of("hurt"), "error": None}),
    "changes its list": changes_its_list,
}


# --- the server


def tool(name, **annotations):
    schema = BAD_SCHEMAS.get(MODE, TEXT)
    given = {"inputSchema": {"type": "object"}, "outputSchema": schema, "annotations": annotations}
    return {"name": name, "description": f"The tool {name}.", **given}


TOOLS = [tool("echo", readOnlyHint=True), tool("hurt")]


def initialize(request_id, _):
    capabilities = {"tools": {"listChanged": True}, "logging": {}}
    info = {"name": "hostile", "version": "1"}
    result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
    send({"id": request_id, "result": result})


HELD = []
"""Calls that are answered in the opposite order, three at a time."""


def call(request_id, params):
    text = params.get("arguments", {}).get("text", "")
    if params["name"] == "echo" and MODE == "out of order":
        HELD.append((request_id, text))
        if len(HELD) == 3 or text == "after":
            while HELD:
                answer(*HELD.pop())
    elif params["name"] == "hurt":
        HURTS.get(MODE, lambda n: answer(n, "hurt"))(request_id)
        if MODE == "never reads":
            time.sleep(600)
    else:
        answer(request_id, text)


METHODS = {
    "initialize": initialize,
    "tools/list": lambda n, _: send({"id": n, "result": {"tools": TOOLS}}),
    "tools/call": call,
    "ping": lambda n, _: send({"id": n, "result": {}}),
    "logging/setLevel": lambda n, _: send({"id": n, "result": {}}),
}


def take(message):
    if "method" not in message or "id" not in message:
        return
    if (method := METHODS.get(message["method"])) is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    else:
        method(message["id"], message.get("params") or {})


def main():
    STARTS.get(MODE, lambda: None)()
    while line := sys.stdin.buffer.readline():
        take(json.loads(line))
        while WAITING:
            take(WAITING.pop(0))
    while MODE == "heeds nothing":
        time.sleep(600)


if __name__ == "__main__":
    main()
