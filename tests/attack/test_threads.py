"""Threads of plain functions: who makes slow calls, or leaves them, holds its own share and no other's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.clients import ATTACKER, BYSTANDER, SECOND_ATTACKER, connect, post, read_answers
from attack.observation import until
from attack.starving import SLOW_CALLS, STARTED, ask, holding, leave, serving_slow
from processes import Server

THREADS = 64


@pytest.fixture
def server() -> Iterator[Server]:
    with serving_slow("--call-timeout-s", "60") as running:
        yield running


def started(server: Server) -> int:
    return server.stderr().count(STARTED)


def thread_count(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


def test_an_address_with_130_slow_calls_holds_half_of_the_threads_and_others_are_answered(
    server: Server, tmp_path: Path
) -> None:
    with holding(server.port, SLOW_CALLS, tmp_path / "go"):
        until(lambda: started(server) == THREADS // 2, "half of the threads are held")
        statuses = [ask(server.port, "echo", {"text": "x"}).status for _ in range(20)]
        with holding(server.port, SLOW_CALLS, tmp_path / "go", SECOND_ATTACKER):
            until(lambda: started(server) == THREADS * 3 // 4, "half of the rest is held")
            statuses += [ask(server.port, "echo", {"text": "x"}).status for _ in range(20)]
            begun = started(server)

    assert statuses == [200] * 40
    assert begun == THREADS * 3 // 4
    # Nothing is forgotten: all that waited are run.
    until(lambda: started(server) == 2 * SLOW_CALLS, "all calls have run")


def test_calls_that_a_client_leaves_are_its_own_and_the_tool_is_there_for_others(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "go"
    for number in range(3):
        clients = [connect(server.port, ATTACKER) for _ in range(16)]
        for client in clients:
            client.sendall(post("/api/tools/block", {"file": str(file)}))
        if number == 0:
            until(lambda: started(server) == 16, "the calls run")
        for client in clients:
            leave(client)
    short = {"file": str(file), "seconds": 0.05}
    until(lambda: ask(server.port, "block", short, ATTACKER).status == 503, "its caller is refused")
    refused, begun = ask(server.port, "block", short, ATTACKER), started(server)
    other_tool = ask(server.port, "echo", {"text": "x"}, ATTACKER)
    with holding(server.port, 4, file, BYSTANDER):
        until(lambda: started(server) == begun + 4, "the others' calls of the same tool run")

    assert (refused.status, refused.json()["error"]["code"]) == (503, "TOO_MANY_CALLS_LEFT")
    assert refused.json()["error"]["message"].endswith("If they never end, the tool has to be mended")
    assert "of your earlier calls, which timed out or were left" in refused.json()["error"]["message"]
    assert other_tool.status == 200
    # They have ended now, and count no more.
    until(lambda: ask(server.port, "block", short, ATTACKER).status == 200, "it may call again")


def test_functions_that_a_tool_offloads_share_their_threads_too(server: Server, tmp_path: Path) -> None:
    """The server's own work off the loop goes through the same threads."""
    with holding(server.port, SLOW_CALLS, tmp_path / "go", tool="offloads"):
        until(lambda: started(server) == 4, "half of these threads are held")
        statuses = [ask(server.port, "echo_offloaded", {"text": "x"}).status for _ in range(20)]
        large = ask(server.port, "echo", {"text": "x" * 500_000}).status
        begun = started(server)

    assert (statuses, large, begun) == ([200] * 20, 200, 4)
    until(lambda: started(server) == SLOW_CALLS, "all calls have run")


def test_threads_are_bounded_however_many_addresses_hold_them(server: Server, tmp_path: Path) -> None:
    before = thread_count(server)
    with contextlib.ExitStack() as stack:
        for place in range(100):
            stack.enter_context(holding(server.port, 4, tmp_path / "go", f"127.0.1.{place + 1}"))
        until(lambda: started(server) == 2 * THREADS, "all threads are held")
        with contextlib.closing(connect(server.port, BYSTANDER)) as client:
            client.sendall(post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}))
            status = read_answers(client, 1)[0].status
        most = thread_count(server)

    assert status == 200
    assert most - before <= 2 * THREADS + 40
    until(lambda: started(server) == 400, "all calls have run")
