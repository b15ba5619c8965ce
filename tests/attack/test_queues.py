"""Queues of a tool, and of turns at a wrapped server or a service: one address fills them, and another is served."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.clients import ATTACKER, BYSTANDER, allow_descriptors, connect, connections, post, read_answers
from attack.observation import until
from attack.starving import STARTED, TOOLS, ask, holding
from door_calls import modern_headers, rpc
from own_toolsets import echoing
from processes import ROOT, SIGNET, Server, serving, serving_command

LIMITS = """\
[limits.tools.block]
concurrency = 1
queue = 4
"""
ASKING = """\
import signet

api = signet.Upstream("{}", rate=4)


@signet.tool
async def find(name: str) -> int:
    \"\"\"Ask the service.\"\"\"
    return (await api.get(f"/{{name}}")).status
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


def test_an_address_with_twelve_calls_of_a_service_delays_another_by_one_of_them(tmp_path: Path) -> None:
    tools = tmp_path / "tools.py"
    with echoing() as service, contextlib.ExitStack() as stack:
        tools.write_text(ASKING.format(service.url))
        server = stack.enter_context(serving("--toolsets", str(tools)))
        theirs = stack.enter_context(connections(server.port, 12))
        for client in theirs:
            client.sendall(post("/api/tools/find", {"name": "theirs"}))
        until(lambda: len(service.targets()) > 0, "the first is sent")
        before = len(service.targets())
        mine = ask(server.port, "find", {"name": "mine"})
        place = service.targets().index("/mine")
        statuses = [read_answers(client, 1)[0].status for client in theirs]

    assert (mine.status, statuses) == (200, [200] * 12)
    assert place <= before + 2
