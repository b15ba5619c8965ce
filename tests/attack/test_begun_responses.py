"""Calls whose responses begin before they end, on streams and in sessions: each counts until its end."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.clients import ATTACKER, BYSTANDER, Answer, allow_descriptors, connect, connections, post, read_answers
from attack.observation import until
from attack.wrapped_processes import Session
from door_calls import rpc
from processes import ROOT, SIGNET, Server, run, serving, serving_command

TOOLS = str(Path(__file__).with_name("telling_tools.py"))
STREAM = ("Accept", "application/json, text/event-stream")
HALF = 512
"""What one address may have in flight."""
TELL = rpc("tools/call", {"name": "tell", "arguments": {}, "_meta": {"progressToken": 1}})
SHARED = (sys.executable, str(ROOT / "tests/wrap/shared_server.py"))


@pytest.fixture
def server() -> Iterator[Server]:
    allow_descriptors(8192)
    with serving("--toolsets", TOOLS, "--no-console", "--call-timeout-s", "60") as running:
        yield running


def ask(server: Server, sent: bytes, source: str = BYSTANDER) -> Answer:
    with contextlib.closing(connect(server.port, source)) as client:
        client.sendall(sent)
        return read_answers(client, 1)[0]


def test_calls_that_have_told_of_progress_are_in_flight(server: Server) -> None:
    turn = post("/api/tools/turn", {})
    with connections(server.port, HALF) as streams:
        for client in streams:
            client.sendall(post("/mcp", TELL, [STREAM]))
        until(lambda: server.stderr().count("tell: started") == HALF, "all run")
        until(lambda: ask(server, turn, ATTACKER).status == 503, "all are counted")

        refused = ask(server, post("/mcp", TELL, [STREAM]), ATTACKER)
        others = [ask(server, turn).status for _ in range(20)]
        notified = ask(server, post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}), ATTACKER)
        answered = ask(server, post("/mcp", {"jsonrpc": "2.0", "id": 1, "result": {}}), ATTACKER)

    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert others == [200] * 20
    # What ends calls, and answers to what their tools ask, is never refused.
    assert (notified.status, answered.status) == (202, 202)
    until(lambda: ask(server, turn, ATTACKER).status == 200, "all have ended")
    assert server.stderr().count("tell: started") == HALF


def test_calls_of_sessions_and_through_other_doors_have_one_share(tmp_path: Path) -> None:
    """The rest of the share of an address that has calls in sessions is all that it has through REST."""
    allow_descriptors(8192)
    config = tmp_path / "signet.toml"
    command = f"command = {SHARED[0]!r}\nargs = [{SHARED[1]!r}]"
    config.write_text(f"[servers.shared]\n{command}\n")
    toolsets = ("--toolsets", TOOLS, "--config", str(config))
    with serving_command(SIGNET, "serve", "--port", "0", "--no-journal", "--no-console", *toolsets) as server:
        sessions = [Session(server.port) for _ in range(2)]
        for one in sessions:
            assert one.open().status == 200
        with connections(server.port, HALF // 2) as first, connections(server.port, HALF // 2) as second:
            for place, client in enumerate(first):
                named = ("Mcp-Session-Id", sessions[place % 2].id)
                client.sendall(post("/mcp", TELL, [STREAM, named]))
            until(lambda: server.stderr().count("tell: started") == HALF // 2, "the calls of sessions run")
            for client in second:
                client.sendall(post("/api/tools/tell", {}))
            until(lambda: server.stderr().count("tell: started") == HALF, "all run")
            refused = [
                ask(server, post("/api/tools/turn", {}), ATTACKER).status,
                ask(server, post("/mcp", TELL, [STREAM]), ATTACKER).status,
                sessions[0].send(TELL).status,
            ]
            others = [ask(server, post("/api/tools/turn", {})).status for _ in range(20)]

    assert refused == [503] * 3
    assert others == [200] * 20


def test_a_principal_with_many_addresses_has_half_of_all_calls(tmp_path: Path) -> None:
    allow_descriptors(8192)
    file = str(tmp_path / "tokens")
    made = [run("token", "new", name, "--scopes", "tools:call", "--tokens-file", file) for name in ("mallory", "alice")]
    mallory, alice = [("Authorization", f"Bearer {one.stdout.decode().split()[-1]}") for one in made]
    flags = ("--toolsets", TOOLS, "--no-console", "--call-timeout-s", "60", "--tokens-file", file)
    with serving(*flags) as server, contextlib.ExitStack() as stack:
        for place in range(4):
            for client in stack.enter_context(connections(server.port, HALF // 4, f"127.0.0.{place + 2}")):
                client.sendall(post("/api/tools/tell", {}, [mallory]))
        until(lambda: server.stderr().count("tell: started") == HALF, "all run")
        refused = ask(server, post("/api/tools/turn", {}, [mallory]), "127.0.0.9")
        statuses = [ask(server, post("/api/tools/turn", {}, [alice]), "127.0.0.2").status for _ in range(20)]

    assert refused.status == 503
    assert refused.json()["error"]["message"].startswith("This principal has 512 calls in flight")
    assert statuses == [200] * 20
