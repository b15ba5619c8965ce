"""Queues: one address fills the queue of a tool, or the turns at a wrapped server, and another one is served."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.clients import ATTACKER, BYSTANDER, allow_descriptors, connect, connections, post, read_answers
from attack.observation import until
from attack.starving import STARTED, TOOLS, ask, holding
from channels import modern_headers, rpc
from processes import ROOT, SIGNET, Server, serving, serving_command

LIMITS = """\
[limits.tools.block]
concurrency = 1
queue = 4
"""
SCRIPTED = (sys.executable, str(ROOT / "tests/wrap/scripted_server.py"), "handshake")


@contextlib.contextmanager
def limited(folder: Path) -> Iterator[Server]:
    """Serve the slow tools, one of which has a queue."""
    (folder / "signet.toml").write_text(LIMITS)
    with serving("--toolsets", TOOLS, "--config", str(folder / "signet.toml")) as server:
        yield server


def test_who_comes_after_twelve_calls_of_another_address_is_next(tmp_path: Path) -> None:
    """The others are its equals: one of each runs in turn."""
    files = {name: tmp_path / name for name in ("mine", "theirs")}
    with limited(tmp_path) as server, holding(server.port, 12, files["theirs"]):
        until(lambda: server.stderr().count(STARTED) == 1, "one call runs")
        with contextlib.closing(connect(server.port, BYSTANDER)) as client:
            client.sendall(post("/api/tools/block", {"file": str(files["mine"])}))
            health = ask(server.port, "echo", {"text": "x"})
            files["theirs"].touch()
            until(lambda: server.stderr().count(STARTED) >= 2, "the next call runs")
            files["mine"].touch()
            answer = read_answers(client, 1)[0]

    assert (health.status, answer.status) == (200, 200)


@pytest.mark.parametrize("door", ["rest", "mcp"])
def test_an_address_with_300_calls_at_a_wrapped_server_leaves_turns_to_others(door: str) -> None:
    allow_descriptors(4096)
    wait = post("/api/tools/wait", {"label": "forever"})
    if door == "mcp":
        message = rpc("tools/call", {"name": "wait", "arguments": {"label": "forever"}}, modern=True)
        wait = post("/mcp", message, modern_headers("tools/call", "wait").items())
    flags = ("--serve", "--port", "0", "--no-console", "--no-journal", "--name", "scripted")
    with serving_command(SIGNET, "wrap", *flags, "--", *SCRIPTED) as server:
        assert ask(server.port, "seen", {"label": "nothing"}).status == 200
        with connections(server.port, 300, ATTACKER) as clients:
            for client in clients:
                client.sendall(wait)
            statuses = [ask(server.port, "seen", {"label": "nothing"}, BYSTANDER).status for _ in range(5)]

    assert statuses == [200] * 5
