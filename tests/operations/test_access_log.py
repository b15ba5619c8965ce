"""The access log: one line for each HTTP request, without what is nobody's business."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from door_calls import invocation, rpc
from processes import SIGNET, Server, clean_env, serving

CANARY = "canary-55d0"
TOKEN = "token-of-the-access-log"
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": CANARY}})
ACCESS = re.compile(r"^\S+  INFO signet::access: request (.*)$", re.MULTILINE)


@pytest.fixture
def server() -> object:
    flags = ("--toolsets", "plantuml", "--access-log", "--log", "error")
    with serving(*flags, env={"SIGNET_TOKEN": TOKEN}) as server:
        yield server


def facts(line: str) -> dict[str, str]:
    pairs = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', line)
    return {name: json.loads(value) if value.startswith('"') else value for name, value in pairs}


def lines(server: Server, count: int) -> list[dict[str, str]]:
    """Return the lines of the log; the last request is marked by its id, so all before it are written."""
    server.ask("GET", "/healthz", headers={"x-request-id": "the-last"})
    server.wait_for("id=the-last ")
    found = [facts(line) for line in ACCESS.findall(server.stderr())]
    assert len(found) == count + 1, server.stderr()
    return found[:-1]


def test_a_line_tells_who_asked_for_what_through_which_door_and_what_became_of_it(server: Server) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "x-request-id": "call-1"}
    reply = server.post("/mcp", CALL, headers)

    (line,) = lines(server, 1)
    assert float(line.pop("ms")) > 0
    assert line.pop("principal")
    assert line == {
        "address": "127.0.0.1",
        "request": "POST /mcp",
        "status": "200",
        "bytes": str(len(reply.body)),
        "id": "call-1",
        "door": "http mcp",
        "tool": "plantuml.encode",
        "method": "tools/call",
    }


def test_what_is_refused_has_a_line_too(server: Server) -> None:
    server.post("/mcp", CALL)
    server.ask("GET", "/healthz", headers={"host": "evil.example"})
    with server.connect() as client:
        client.sendall(b"nonsense\r\n\r\n")
        client.recv(65_536)

    found = [(line["request"], line["status"], line["refusal"]) for line in lines(server, 3)]

    assert found == [
        ("POST /mcp", "401", "UNAUTHORIZED"),
        ("GET /healthz", "421", "HOST_NOT_ALLOWED"),
        ("-", "400", "BAD_REQUEST"),
    ]


def test_no_query_token_argument_or_control_character_is_written(server: Server) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "user-agent": CANARY, "traceparent": CANARY}
    server.ask("GET", f"/healthz?key={CANARY}", headers=headers)
    server.post("/mcp", CALL, headers)
    server.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", {"plantumlCode": CANARY}), headers)
    server.post("/mcp", CALL, {"authorization": f"Bearer {CANARY}"})
    with server.connect() as client:
        client.sendall(b"GET /\x9b31m\xe9%0aHost HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while client.recv(65_536):
            pass
    server.ask("GET", "/" + "x" * 5000, headers=headers)

    found = lines(server, 6)

    log = server.stderr()
    assert CANARY not in log
    assert TOKEN not in log
    assert "\x9b" not in log
    assert max(len(line["request"]) for line in found) <= 256


def test_without_the_flag_there_is_no_line() -> None:
    with serving("--toolsets", "plantuml", "--log", "debug") as server:
        server.post("/mcp", CALL, {"x-request-id": "call-1"})
        server.wait_for("call.done")

        assert ACCESS.findall(server.stderr()) == []


def test_a_reader_who_does_not_read_holds_nobody_and_is_told_what_he_missed() -> None:
    """A pipe of 64 KiB is full after some hundreds of lines; a server that waits for its reader answers no more."""
    command = [SIGNET, "serve", "--port", "0", "--toolsets", "plantuml", "--access-log", "--no-journal"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=clean_env()) as process:
        assert process.stderr is not None
        try:
            greeting = process.stderr.readline().decode()
            port = int(re.findall(r":(\d+)", greeting)[0])
            asked = Server(process, port, Path(os.devnull))
            assert {asked.ask("GET", "/healthz").status for _ in range(1000)} == {200}
            text = os.read(process.stderr.fileno(), 1 << 20).decode()
            asked.ask("GET", "/healthz", headers={"x-request-id": "the-last"})
            while "id=the-last " not in text:
                text += os.read(process.stderr.fileno(), 1 << 20).decode()
        finally:
            process.terminate()
    found = [facts(line) for line in ACCESS.findall(text)]
    dropped = sum(int(line.get("dropped", 0)) for line in found)
    assert dropped > 0
    assert len(found) + dropped == 1001
