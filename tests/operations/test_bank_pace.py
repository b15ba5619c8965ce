"""The Bank's pace over real processes, from the Bank's own log: never two requests within the interval.

Two machines are two instances of two workers whose users have folders of their own: only the store connects them.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from boj_harness import CODE, METADATA, BojHarness
from processes import LONG_TURN_WAITS, PATIENCE_S, Reply, Server, serving
from redis_server import RedisServer, redis_server
from upstream_harness import DIRECT

INTERVAL_MS = 400
APART_S = 0.2
"""What the Bank sees of that: one request may be longer on its way than the next, by far on a busy machine."""
CANARY = "pace-canary-42"


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server(password=CANARY) as server:
        yield server


@contextlib.contextmanager
def machine(
    bank: BojHarness, folder: Path, redis: RedisServer | None = None, more: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Run an instance of two workers, as on a machine of its own."""
    env = {
        **DIRECT,
        **(more or {}),
        "XDG_CACHE_HOME": str(folder),
        "BOJ_BASE_URL": bank.url,
        "BOJ_MIN_INTERVAL_MS": str(INTERVAL_MS),
        "BOJ_RETRY_MAX": "0",
    }
    if redis is not None:
        env["SIGNET_STORE"] = f"redis://:{CANARY}@127.0.0.1:{redis.port}/0"
    with serving("--toolsets", "boj", "--workers", "2", env=env) as server:
        yield server


@pytest.fixture(scope="module")
def machines(
    bank: BojHarness, redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """Two machines that share a store, and wait for it however long a busy machine takes to start it again."""
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    with machine(bank, first, redis, LONG_TURN_WAITS) as one, machine(bank, second, redis, LONG_TURN_WAITS) as other:
        yield one, other


def query_of(number: int) -> dict[str, Any]:
    """Return the arguments of a call that needs a request of its own."""
    return {"db": "FM08", "codes": ["FXERD01"], "start_date": f"{2000 + number}01", "end_date": "202610"}


@contextlib.contextmanager
def asking(servers: Sequence[Server], count: int) -> Iterator[list[Future[Reply]]]:
    """Make so many calls at once, each of which needs a request of its own, over as many connections."""
    with ThreadPoolExecutor(count) as pool:
        calls = []
        for number in range(count):
            server = servers[number % len(servers)]
            calls.append(pool.submit(server.post, f"/api/tools/{CODE}", query_of(number)))
        yield calls


def statuses(calls: Sequence[Future[Reply]]) -> list[int]:
    return [call.result(PATIENCE_S).status for call in calls]


def assert_spaced(bank: BojHarness, count: int) -> None:
    assert len(bank.targets()) == count
    assert [gap_s for gap_s in bank.gaps_s() if gap_s < APART_S] == []


def workers_of(server: Server) -> list[int]:
    """Return the process ids of an instance's two workers, when both are there."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        workers = [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        if len(workers) == 2:
            return workers
        time.sleep(0.02)
    raise AssertionError(f"there are no two workers: {server.stderr()}")


def connections_to_each(server: Server, count: int) -> list[http.client.HTTPConnection]:
    """Return so many connections to each of two workers: while one accepts, the other is stopped."""
    connections = []
    for stopped in workers_of(server):
        os.kill(stopped, signal.SIGSTOP)
        for _ in range(count):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            connections.append(connection)
        os.kill(stopped, signal.SIGCONT)
    return connections


@pytest.mark.spec("3.polite.spaced")
def test_the_workers_of_one_instance_share_a_turn_without_a_store(bank: BojHarness, tmp_path: Path) -> None:
    with machine(bank, tmp_path) as server:
        connections = connections_to_each(server, 3)
        for number, connection in enumerate(connections):
            body = json.dumps(query_of(number)).encode()
            connection.request("POST", f"/api/tools/{CODE}", body, {"content-type": "application/json"})
        assert [connection.getresponse().status for connection in connections] == [200] * 6
        for connection in connections:
            connection.close()

    assert_spaced(bank, 6)


def test_two_instances_of_one_user_share_a_turn_without_a_store(bank: BojHarness, tmp_path: Path) -> None:
    with machine(bank, tmp_path) as first, machine(bank, tmp_path) as second, asking([first, second], 6) as calls:
        assert statuses(calls) == [200] * 6

    assert_spaced(bank, 6)


def test_two_machines_share_a_turn_by_the_store(bank: BojHarness, machines: tuple[Server, Server]) -> None:
    with asking(machines, 8) as calls:
        assert statuses(calls) == [200] * 8

    assert_spaced(bank, 8)


def quiet_count(bank: BojHarness) -> int:
    """Wait until no request has come for longer than two intervals, and return how many there are."""
    seen = -1
    while len(bank.requests()) != seen:
        seen = len(bank.requests())
        time.sleep(1.0)
    return seen


@pytest.mark.parametrize("how", ["killed", "paused", "restarted"])
def test_while_the_store_is_away_nobody_rushes_and_calls_go_on_when_it_is_back(
    bank: BojHarness, machines: tuple[Server, Server], redis: RedisServer, how: str
) -> None:
    """Killed and restarted, it has lost its memory; paused, it answers late what nobody waits for any more."""
    with asking(machines, 8) as calls:
        bank.once(lambda seen: len(seen) >= 3)
        if how == "restarted":
            redis.restart()
        else:
            redis.pause() if how == "paused" else redis.kill()
            # Processes that did not wait for the store would go on until all 8 are sent.
            assert quiet_count(bank) < 8
            redis.resume() if how == "paused" else redis.start()
        assert statuses(calls) == [200] * 8

    assert_spaced(bank, 8)
    for server in machines:
        assert CANARY not in server.stderr()


def test_a_store_that_stays_away_is_a_fault_with_advice(bank: BojHarness, tmp_path: Path) -> None:
    with redis_server(password=CANARY) as gone:
        pass
    with machine(bank, tmp_path, gone) as server, asking([server], 4) as calls:
        replies = [call.result(PATIENCE_S) for call in calls]

    assert [reply.status for reply in replies] == [500] * 4
    for reply in replies:
        assert b"try again in some seconds" in reply.body
        assert f"127.0.0.1:{gone.port}".encode() in reply.body
        assert CANARY.encode() not in reply.body
    assert bank.targets() == []


def test_a_list_that_one_machine_has_asked_for_is_there_for_all(
    bank: BojHarness, machines: tuple[Server, Server], redis: RedisServer
) -> None:
    query = {"db": "FM01", "lang": "en"}
    replies = [server.post(f"/api/tools/{METADATA}", query) for server in machines for _ in range(4)]

    assert [reply.status for reply in replies] == [200] * 8
    assert len({reply.body for reply in replies}) == 1
    assert len(bank.targets()) == 1
    assert [name for name, left_ms in redis.keys().items() if left_ms <= 0] == []
    assert len([name for name in list(redis.keys()) if name.endswith(":cache")]) == 1
