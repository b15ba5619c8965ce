"""A server of the handshake era on stdio with odd manners: `odd_server.py FOLDER [MANNER]`.

Its tool `count` tells the id of its process and how often it was called, `wait` answers when FOLDER has a file `go`,
and `stray` starts processes that leave its process group and tells their ids. A MANNER that FOLDER has a file of (any
without a file: always) makes lists odd: `silent` answers none, `endless` has a next page in each answer, `changing`
tells of a changed list with each answer.

A client may declare the experimental capability `odd`: with `{"refuse": true}` the server refuses to begin, with
`{"mute": true}` it answers no list of that client.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
MANNER = sys.argv[2] if len(sys.argv) > 2 else ""
PAUSE_S = 0.02
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("count", "wait", "stray")]
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}},
    "serverInfo": {"name": "odd", "version": "1"},
}
SLEEP = "import time; time.sleep(120)"
DAEMON = f"""
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
with open(sys.argv[1] + ".new", "w") as file: file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
{SLEEP}
"""
WRITING = threading.Lock()
calls = 0
asked: dict[str, Any] = {}
"""What the client has declared as its experimental capability `odd`."""


def say(**message: Any) -> None:
    """Write one message."""
    with WRITING:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def stray() -> str:
    """Start a process that leads a session of its own, and one that has forked twice; return their ids."""
    told = FOLDER / f"daemon-of-{os.getpid()}"
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    leader = subprocess.Popen([sys.executable, "-S", "-c", SLEEP], start_new_session=True, **quiet)  # type: ignore[call-overload]
    subprocess.Popen([sys.executable, "-S", "-c", DAEMON, str(told)], **quiet).wait()  # type: ignore[call-overload]
    while not told.exists():
        time.sleep(PAUSE_S)
    return json.dumps([leader.pid, int(told.read_text())])


def call(number: int, name: str) -> None:
    """Answer a call."""
    global calls  # noqa: PLW0603 - the state of the process is what tests look at
    calls += 1
    text = json.dumps({"pid": os.getpid(), "calls": calls})
    if name == "wait":
        (FOLDER / f"waiting-{os.getpid()}-{number}").touch()
        while not (FOLDER / "go").exists():
            time.sleep(PAUSE_S)
    elif name == "stray":
        text = stray()
    say(id=number, result={"content": [{"type": "text", "text": text}]})


def listed(number: int, method: str) -> None:
    """Answer a request for a list, or not."""
    is_odd = MANNER and ((FOLDER / MANNER).exists() or not (FOLDER / "mannered").exists())
    if asked.get("mute") or (is_odd and MANNER == "silent"):
        return
    result: dict[str, Any] = {"tools": TOOLS} if method == "tools/list" else {method.split("/", maxsplit=1)[0]: []}
    if is_odd and MANNER == "endless":
        time.sleep(PAUSE_S)
        result["nextCursor"] = f"page {number}"
    say(id=number, result=result)
    if is_odd and MANNER == "changing":
        say(method="notifications/tools/list_changed")


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None or method is None:
            continue
        if method == "initialize":
            asked.update(message["params"]["capabilities"].get("experimental", {}).get("odd", {}))
            if asked.get("refuse"):
                say(id=number, error={"code": -32602, "message": "refused"})
            else:
                say(id=number, result=HELLO)
        elif method == "tools/call":
            threading.Thread(target=call, args=(number, message["params"]["name"]), daemon=True).start()
        elif method.endswith("/list"):
            threading.Thread(target=listed, args=(number, method), daemon=True).start()
        elif method == "prompts/get":
            say(id=number, result={"messages": []})
        elif method in ("ping", "resources/subscribe", "resources/unsubscribe"):
            say(id=number, result={})
        else:
            say(id=number, error={"code": -32601, "message": "Method not found"})


main()
