"""A server of the handshake era on stdio that answers calls side by side: `asking_server.py [PARTIES]`.

Its tool `ask` asks the caller, `other` ends as soon as something was asked. The first PARTIES calls of `ask` ask when
all of them have come, and end when all have an answer. `late` asks when a call of `beside` has come, and `beside` ends
when `late` has an answer; neither waits for the other for longer than a second.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "other", "late", "beside")]
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "asking", "version": "1"},
}
WRITING = threading.Lock()
ASKED = threading.Event()
TOGETHER = threading.Semaphore(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
FIRST = threading.Barrier(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
COME, ANSWERED = threading.Semaphore(0), threading.Semaphore(0)
WAIT_S = 1.0
ANSWERS: dict[str, Any] = {}
ARRIVED = threading.Condition()


def say(**message: Any) -> None:
    """Write one message."""
    with WRITING:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(number: int) -> str:
    """Ask the caller, and return what it said."""
    is_first = TOGETHER.acquire(blocking=False)
    if is_first:
        FIRST.wait()
    key = f"question of {number}"
    schema = {"type": "object", "properties": {}}
    say(id=key, method="elicitation/create", params={"message": "Who?", "requestedSchema": schema})
    ASKED.set()
    with ARRIVED:
        ARRIVED.wait_for(lambda: key in ANSWERS)
    answer = ANSWERS[key]
    if is_first:
        FIRST.wait()
    return str(answer["result"]["action"] if "result" in answer else answer["error"]["message"])


def call(number: int, name: str) -> None:
    """Answer a call."""
    if name == "other":
        ASKED.wait()
    elif name == "late":
        COME.acquire(timeout=WAIT_S)
    elif name == "beside":
        while ANSWERED.acquire(blocking=False):
            pass
        COME.release()
        ANSWERED.acquire(timeout=WAIT_S)
    text = ask(number) if name in {"ask", "late"} else "done"
    if name == "late":
        ANSWERED.release()
    say(id=number, result={"content": [{"type": "text", "text": text}]})


def main() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method is None:
            with ARRIVED:
                ANSWERS[number] = message
                ARRIVED.notify_all()
        elif method == "tools/call":
            threading.Thread(target=call, args=(number, message["params"]["name"]), daemon=True).start()
        elif method == "initialize":
            say(id=number, result=HELLO)
        elif method == "tools/list":
            say(id=number, result={"tools": TOOLS})
        elif number is not None:
            say(id=number, error={"code": -32601, "message": "Method not found"})


main()
