"""Count what a start and a call enter: the real command, in a process that imports the package of one tree.

main thread:    signet stdio | serve | wrap ── its calls are counted while a request is under way
client thread:  one request after another, over a pipe or a socket

A figure is `calls / functions / modules / module changes`; bodies of modules and classes do not count. A request is
made several times, and the shortest walk counts: a timer of the event loop may fire during one of them. A start is
counted from the first line of the command until the list of its tools is written and nothing more is done.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Final

__all__ = ["SUBJECTS", "walks_in"]

TIMEOUT_S: Final = 60
TIMES: Final = 7
"""How often a request is made; the first one does the lazy imports."""
QUIET_S: Final = 0.02
"""The time without a further call after which a request is over."""
DIAGRAM = {"plantumlCode": "A"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "encodePlantUML", "arguments": DIAGRAM}}
INVOKE = {**CALL, "method": "mcp.tool.invoke", "params": {"tool": "mcp.tool:plantuml.encode", "input": DIAGRAM}}
LIST = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}},
}
HTTP: Final = {"/mcp": CALL, "/api/tools/encodePlantUML": DIAGRAM, "/mcp/tool/plantuml.encode": INVOKE}
OWN_TOOL = """
import signet

@signet.tool(name="encodePlantUML")
def encode(plantumlCode: str) -> dict[str, str]:
    return {"text": "plantuml.com"}
"""
CHILD = """
import json, sys

TOOL = {"name": "encodePlantUML", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "child", "version": "1"}},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "plantuml.com"}]},
    }.get(message["method"])
    body = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""
SUBJECTS: Final = {
    "build_server": ("build_server",),
    "start": ("start to tools/list: imports", "start to tools/list: calls", "walk through stdio"),
    "http": tuple(f"walk through {path}" for path in HTTP),
    "own": ("walk of an own tool",),
    "wrapped": ("walk of a wrapped call",),
}
"""The processes, and the figures that each of them finds."""

Entry = tuple[str, str, int]
"""A function that was entered: its module, its name, and the thread."""


class Walk:
    """Notes each function of ours that is entered, by module, in all threads."""

    def __init__(self) -> None:
        self.entered: list[Entry] = []

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("signet."):
                self.entered.append((module, frame.f_code.co_qualname, threading.get_ident()))

    def taken(self) -> list[Entry]:
        """Return what was entered since the last time, when nothing more is."""
        seen = -1
        while seen != len(self.entered):
            seen = len(self.entered)
            time.sleep(QUIET_S)
        entered, self.entered = self.entered, []
        return entered


def figure_of(entered: list[Entry]) -> str:
    """Return calls, functions, modules and module changes; the changes of each thread count for themselves."""
    modules = [module for module, _, _ in entered]
    threads = {thread for _, _, thread in entered}
    roads = [[module for module, _, one in entered if one == thread] for thread in threads]
    functions = {(module, name) for module, name, _ in entered}
    return (
        f"{len(modules)} / {len(functions)} / {len(set(modules))} / {sum(len(list(groupby(road))) for road in roads)}"
    )


def usual(walk: Walk, ask: Callable[[], bytes]) -> str:
    """Make a request several times and return the figure of the shortest walk, leaving out the first one."""
    walks = []
    for _ in range(TIMES):
        reply = ask()
        if b"plantuml.com" not in reply:
            raise RuntimeError(f"the reply holds no diagram: {reply!r}")
        walks.append(walk.taken())
    return figure_of(min(walks[1:], key=len))


def run(walk: Walk, words: tuple[str, ...], client: Callable[[], dict[str, str]], said: int) -> None:
    """Run a command in this thread and its client in another one; print what the client finds, and end the process."""

    def talk() -> None:
        try:
            found = json.dumps(client())
        except Exception as error:  # noqa: BLE001 - the process has one way to tell it
            found = f"{type(error).__name__}: {error}"
        os.write(said, found.encode())
        os._exit(0)

    threading.Thread(target=talk, daemon=True).start()
    sys.argv = ["signet", *words]
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    importlib.import_module("signet.commands.cli").main()


def on_stdio(walk: Walk, subject: str, *words: str) -> None:
    """Talk to a command on stdio."""
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    replies = os.fdopen(our_in, "rb")

    def ask(message: object) -> bytes:
        os.write(our_out, json.dumps(message).encode() + b"\n")
        return replies.readline()

    def client() -> dict[str, str]:
        ask(LIST if subject == "start" else HELLO)
        start = figure_of(walk.taken()).split(" / ")[0]
        loaded = str(sum(name.startswith("signet.") for name in list(sys.modules)))
        figures = (loaded, start) if subject == "start" else ()
        return dict(zip(SUBJECTS[subject], (*figures, usual(walk, lambda: ask(CALL))), strict=True))

    said = os.dup(1)
    os.dup2(their_in, 0)
    os.dup2(their_out, 1)
    run(walk, words, client, said)


def on_http(walk: Walk) -> None:
    """Talk to a server over HTTP, on one connection."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def client() -> dict[str, str]:
        connection = opened(port)
        return {
            f"walk through {path}": usual(walk, partial(ask, connection, path, json.dumps(HTTP[path]))) for path in HTTP
        }

    def ask(connection: socket.socket, path: str, body: str) -> bytes:
        fields = (f"Host: 127.0.0.1:{port}", "Content-Type: application/json", f"Content-Length: {len(body)}")
        # In one piece: a server that reads the head before the body comes takes more steps.
        connection.sendall("\r\n".join((f"POST {path} HTTP/1.1", *fields, "", body)).encode())
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        return response.read()

    run(walk, ("serve", "--port", str(port), "--toolsets", "plantuml", "--no-console", "--quiet"), client, os.dup(1))


def opened(port: int) -> socket.socket:
    """Connect to a server that is about to listen."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        except ConnectionRefusedError:
            time.sleep(QUIET_S)


def of_composition(walk: Walk) -> None:
    """Build a server twice, and count the second time."""
    app = importlib.import_module("signet.app")
    settings = settings_class().read({}, {})
    app.build_server(settings)
    sys.setprofile(walk.note)
    app.build_server(settings)
    sys.setprofile(None)
    print(json.dumps({"build_server": figure_of(walk.entered)}))


def settings_class() -> type:
    """Return the settings of the process, which older revisions keep in another module."""
    with contextlib.suppress(ImportError):
        return importlib.import_module("signet.settings.model").Settings
    return importlib.import_module("signet.settings").Settings


def walk_of(subject: str) -> None:
    """Find the figures of a subject in this process, and print them."""
    walk = Walk()
    if subject == "build_server":
        of_composition(walk)
    elif subject == "http":
        on_http(walk)
    elif subject == "start":
        on_stdio(walk, subject, "stdio", "--toolsets", "plantuml")
    elif subject == "own":
        Path("tools.py").write_text(OWN_TOOL, encoding="utf-8")
        on_stdio(walk, subject, "stdio", "tools.py")
    else:
        Path("child.py").write_text(CHILD, encoding="utf-8")
        on_stdio(walk, subject, "wrap", "--", sys.executable, "child.py")


def walks_in(root: Path) -> dict[str, str]:
    """Measure all subjects, each in a process of its own that imports the package from this tree."""
    with ThreadPoolExecutor(len(SUBJECTS)) as threads:
        found = threads.map(lambda subject: _in_process(root, subject), SUBJECTS)
        return {name: figure for figures in found for name, figure in figures.items()}


def _in_process(root: Path, subject: str) -> dict[str, str]:
    # Variables of the shell, settings and coverage among them, are left out.
    environment = {"PYTHONPATH": str(root.resolve() / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, __file__, subject]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
            return json.loads(done.stdout)
        except (ValueError, subprocess.TimeoutExpired) as error:
            reason = (
                [str(error)]
                if isinstance(error, subprocess.TimeoutExpired)
                else (done.stdout + done.stderr).splitlines()
            )
            print(f"{root}: {subject}:", *reason[-1:], file=sys.stderr)
    return dict.fromkeys(SUBJECTS[subject], "-")


if __name__ == "__main__":
    walk_of(sys.argv[1])
