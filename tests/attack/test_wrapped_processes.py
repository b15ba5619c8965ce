"""One caller takes as many processes of a wrapped server as it can: the processes of others are left alone."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from attack.clients import ATTACKER, connect, post, read_answers
from attack.observation import Observed, until
from attack.wrapped_processes import ALICE, Session, wrapping
from signet.relay.pool import MAX_CALLS, MAX_SESSIONS, SPARE

ASKED = 40
"""More than the half of all places that one caller may have."""
HALF = 32
HALF_OF_CALLS = 24
ADDRESSES = [f"127.0.0.{place}" for place in range(2, 9)]
"""Seven addresses of attackers."""
WAIT = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}


def waiting(folder: Path) -> int:
    """Return the number of calls that have reached a process."""
    return len(list(folder.glob("waiting-*")))


def processes(server: Observed) -> int:
    """Return the number of the server's processes: beside each runs its guard."""
    names = []
    for pid in server.children():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
            names.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    return sum(b"odd_server" in name for name in names)


def test_the_process_of_a_session_outlives_all_sessions_of_another_caller(tmp_path: Path) -> None:
    assert MAX_SESSIONS == 2 * HALF
    with wrapping(tmp_path, "session") as server:
        alice = Session(server.port, ALICE)
        alice.open()
        before = alice.count()
        opened = [Session(server.port) for _ in range(2 * MAX_SESSIONS)]
        statuses = {session.open().status for session in opened}
        after = alice.count()
        until(lambda: processes(Observed(server.process.pid)) <= HALF + 1, "half of the processes are one caller's")
        last = [session.count()[1] for session in opened[-3:]]

    assert (before[1], after) == (1, (before[0], 2))
    assert (statuses, last) == ({200}, [1, 1, 1])


def test_busy_processes_are_not_ended_and_the_newcomer_is_told_to_come_again(tmp_path: Path) -> None:
    with wrapping(tmp_path, "session") as server, contextlib.ExitStack() as stack:
        busy = [Session(server.port) for _ in range(HALF)]
        for session in busy:
            session.open()
        clients = [stack.enter_context(session.sending(WAIT)) for session in busy]
        until(lambda: waiting(tmp_path) == HALF, "all are busy")
        refused = Session(server.port).open()
        alice = Session(server.port, ALICE)
        served = alice.open().status, alice.count()[1]
        (tmp_path / "go").touch()
        ended = [read_answers(client, 1)[0].json() for client in clients]

    assert (refused.status, refused.headers["retry-after"]) == (503, "2")
    assert refused.json()["error"]["message"] == (
        "32 processes of the server odd_server are in use, 32 of them are yours: end a session or wait for a call, "
        "then try again"
    )
    assert refused.json()["error"]["data"]["retryable"] is True
    assert served == (200, 1)
    assert all("result" in one for one in ended)


def test_calls_that_have_a_process_each_wait_in_a_line_of_their_caller(tmp_path: Path) -> None:
    assert (MAX_CALLS, MAX_CALLS + SPARE) == (2 * HALF_OF_CALLS, 64)
    call = post("/api/tools/wait", {})
    with wrapping(tmp_path, "call") as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(connect(server.port, ATTACKER))) for _ in range(2 * ASKED)]
        for client in clients:
            client.sendall(call)
        until(lambda: waiting(tmp_path) == HALF_OF_CALLS, "as many calls run as one caller may have")
        with contextlib.closing(connect(server.port, ALICE)) as alice:
            alice.sendall(post("/api/tools/count", {}))
            [answer] = read_answers(alice, 1)
        most = waiting(tmp_path), processes(Observed(server.process.pid)) <= HALF_OF_CALLS + 2
        (tmp_path / "go").touch()
        statuses = [read_answers(client, 1)[0].status for client in clients]

    assert json.loads(answer.json()["result"]["content"][0]["text"])["calls"] == 1
    assert most == (HALF_OF_CALLS, True)
    assert statuses == [200] * 2 * ASKED


def test_a_newcomer_has_a_process_though_sessions_of_seven_addresses_have_all_others(tmp_path: Path) -> None:
    with wrapping(tmp_path, "session") as server:
        for place, address in enumerate(ADDRESSES):
            assert {Session(server.port, address).open().status for _ in range((HALF >> place) + 1)} == {200}
        alice = Session(server.port, ALICE)
        served = alice.open().status, alice.count()[1]

    assert served == (200, 1)


def test_a_newcomer_has_a_process_though_calls_of_seven_addresses_have_all_others(tmp_path: Path) -> None:
    with wrapping(tmp_path, "call") as server, contextlib.ExitStack() as stack:
        for most, address in zip((24, 36, 42, 45, 47, 48, 49), ADDRESSES, strict=True):
            for _ in range(HALF_OF_CALLS + 1):
                client = stack.enter_context(contextlib.closing(connect(server.port, address)))
                client.sendall(post("/api/tools/wait", {}))
            until(lambda most=most: waiting(tmp_path) == most, "it has its share")  # type: ignore[misc]
        with contextlib.closing(connect(server.port, ALICE)) as alice:
            alice.sendall(post("/api/tools/count", {}))
            [answer] = read_answers(alice, 1)
        (tmp_path / "go").touch()

    assert answer.status == 200
