"""A server that lists a tool or a prompt twice: all commands refuse it, in the same words."""

from __future__ import annotations

import http.server
import json
import sys
import threading
from pathlib import Path

import pytest

from processes import SIGNET, piping, run

from .doors import StdioDoor, ask

SERVER = """
import json, sys
twice = sys.argv[1]
names = {"tools": ["add", "other"], "prompts": ["greet", "part"]}
names[twice].append(names[twice][0])
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method", ""), message.get("id")
    if number is None:
        continue
    said = {"error": {"code": -32601, "message": "Method not found"}}
    kind = method.partition("/")[0]
    if method == "initialize":
        info = {"name": "twice", "version": "1"}
        able = {"tools": {}, "prompts": {}}
        said = {"result": {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": info}}
    elif kind in names and method.endswith("/list"):
        page = int(message.get("params", {}).get("cursor", 0)) if len(sys.argv) > 2 else None
        shown = names[kind] if page is None else names[kind][page : page + 1]
        more = {"nextCursor": str(page + 1)} if page is not None and page + 1 < len(names[kind]) else {}
        said = {"result": {kind: [{"name": one, "inputSchema": {"type": "object"}} for one in shown], **more}}
    elif method == "tools/call":
        said = {"result": {"content": []}}
    print(json.dumps({"jsonrpc": "2.0", "id": number, **said}), flush=True)
"""
SENTENCES = {"tools": "it lists the tool 'add' twice", "prompts": "it lists the prompt 'greet' twice"}


def command(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", SERVER, *words)


@pytest.mark.parametrize("pages", [(), ("one by one",)], ids=["one page", "several pages"])
@pytest.mark.parametrize("twice", SENTENCES)
def test_commands_refuse_a_server_that_lists_something_twice(
    twice: str, pages: tuple[str, ...], tmp_path: Path
) -> None:
    words = command(twice, *pages)
    commands = {
        "lock": (12, ("lock", "--lock-file", str(tmp_path / "signet.lock"), "--", *words)),
        "tools": (2, ("tools", "--", *words)),
        "call": (2, ("call", "add", "--", *words)),
    }

    done = {name: run(*given) for name, (_, given) in commands.items()}

    assert {name: one.returncode for name, one in done.items()} == {name: code for name, (code, _) in commands.items()}
    assert [SENTENCES[twice] in (one.stdout + one.stderr).decode() for one in done.values()] == [True] * 3
    assert not (tmp_path / "signet.lock").exists()


@pytest.mark.parametrize(
    ("twice", "methods"), [("tools", ["tools/list", "tools/call"]), ("prompts", ["prompts/list", "tools/list"])]
)
def test_the_wrapper_refuses_a_server_that_lists_something_twice(twice: str, methods: list[str]) -> None:
    with piping(SIGNET, "wrap", "--no-journal", "--", *command(twice)) as pipe:
        door = StdioDoor(pipe, "")
        params = {"tools/call": {"name": "add", "arguments": {}}}
        errors = [ask(door, method, **params.get(method, {}))["error"]["message"] for method in methods]

    assert [SENTENCES[twice] in error for error in errors] == [True] * len(methods)


def test_a_remote_server_that_lists_a_tool_twice_is_refused() -> None:
    class Twice(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            tool = {"name": "add", "inputSchema": {"type": "object"}}
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}}
            result = hello if message["method"] == "initialize" else {"tools": [tool, tool]}
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Twice) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = [
            run(*words, "--url", f"http://127.0.0.1:{server.server_port}/mcp")
            for words in (("tools",), ("call", "add"))
        ]
        server.shutdown()

    assert [(one.returncode, SENTENCES["tools"] in one.stderr.decode()) for one in done] == [(2, True)] * 2
    assert [b"an answer of http" in one.stderr for one in done] == [True] * 2
