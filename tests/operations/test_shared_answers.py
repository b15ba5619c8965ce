"""Kept answers and limits with a greedy caller beside an honest one: real servers, real sockets, a real Redis."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.clients import ATTACKER, BYSTANDER, Answer, connect, post, read_answers
from attack.observation import Observed
from processes import Server, serving
from redis_server import RedisServer, redis_server

MIB = 1 << 20
TOOLS = '''\
import os
import time

import signet

runs = 0


@signet.tool
def pay(amount: int) -> str:
    """Pay, and count how often."""
    global runs
    runs += 1
    return f"paid {amount}, {runs}"


@signet.tool
def slow_pay(file: str) -> str:
    """Pay when a file is there."""
    global runs
    runs += 1
    number = runs
    print(f"paying {number}", flush=True)
    while not os.path.exists(file):
        time.sleep(0.005)
    return f"paid {number}"


@signet.tool
def large(number: int) -> str:
    """Say nearly as much as is kept."""
    return f"{number} " + "x" * 260_000
'''
LIMITS = """\
[limits.tools.pay]
rate = "30/h"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "signet.toml").write_text(LIMITS)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with serving(str(folder / "tools.py"), "--no-console") as running:
        yield running


def ask(server: Server, tool: str, value: object, key: str = "", source: str = BYSTANDER) -> Answer:
    """Return the answer to one call."""
    return ask_all(server, tool, [(value, key)], source)[0]


def ask_all(server: Server, tool: str, calls: list[tuple[object, str]], source: str) -> list[Answer]:
    """Make calls with keys one after the other, on one connection."""
    answers = []
    with contextlib.closing(connect(server.port, source)) as client:
        for value, key in calls:
            client.sendall(post(f"/api/tools/{tool}", value, [("Idempotency-Key", key)] if key else ()))
            answers += read_answers(client, 1)
    return answers


def flood(server: Server, count: int, source: str = ATTACKER) -> list[int]:
    """Make calls with keys whose answers are as large as is kept."""
    calls: list[tuple[object, str]] = [({"number": number}, f"key {number}") for number in range(count)]
    return [answer.status for answer in ask_all(server, "large", calls, source)]


def test_a_caller_with_many_large_answers_pushes_out_its_own_alone(server: Server) -> None:
    first = ask(server, "pay", {"amount": 7}, "pay")
    before = Observed(server.process.pid).memory()

    statuses = flood(server, 300) + flood(server, 300, "127.0.0.3")

    again = ask(server, "pay", {"amount": 7}, "pay")
    assert set(statuses) == {200}
    assert (again.status, again.body) == (200, first.body)
    # Their newest are kept still.
    assert ask(server, "large", {"number": 5}, "key 299", ATTACKER).status == 409
    assert Observed(server.process.pid).memory() - before < 128 * MIB


def test_a_call_that_runs_is_pushed_out_by_nobody(server: Server, folder: Path) -> None:
    value = {"file": str(folder / "go")}
    with (
        contextlib.closing(connect(server.port, BYSTANDER)) as client,
        contextlib.closing(connect(server.port, BYSTANDER)) as twin,
    ):
        client.sendall(post("/api/tools/slow_pay", value, [("Idempotency-Key", "pay")]))
        server.wait_for("paying 1")
        statuses = flood(server, 300)
        twin.sendall(post("/api/tools/slow_pay", value, [("Idempotency-Key", "pay")]))
        statuses += flood(server, 10)
        (folder / "go").touch()
        answers = [read_answers(one, 1)[0] for one in (client, twin)]

    assert set(statuses) == {200}
    assert [answer.json()["result"]["result"] for answer in answers] == ["paid 1", "paid 1"]
    assert "paying 2" not in server.stderr()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server("--maxmemory", "30mb", "--maxmemory-policy", "noeviction") as running:
        yield running


@contextlib.contextmanager
def sharing(folder: Path, redis: RedisServer) -> Iterator[Server]:
    """Serve the tools with limits and keys in Redis."""
    flags = ("--no-console", "--config", str(folder / "signet.toml"), "--toolsets", str(folder / "tools.py"))
    with serving(*flags, env={"SIGNET_STORE": redis.url}) as running:
        yield running


def let_in(server: Server, source: str) -> int:
    """Return how many of 60 calls at once are let in."""
    calls: list[tuple[object, str]] = [({"amount": 1}, "")] * 60
    return sum(answer.status == 200 for answer in ask_all(server, "pay", calls, source))


def fill(redis: RedisServer) -> None:
    """Take all memory of a server, so that it takes no more keys."""
    redis.cli("EVAL", "for i = 1, 400 do redis.call('SET', 'others:' .. i, string.rep('y', 100000)) end", "0")
    for number in range(40):
        redis.cli("SET", f"others:rest:{number}", "y" * 90_000)
    assert "OOM" in redis.cli("SET", "one:more", "x")


def used(redis: RedisServer) -> int:
    info = redis.cli("INFO", "memory")
    return int(next(line.split(":")[1] for line in info.splitlines() if line.startswith("used_memory:")))


def test_kept_answers_of_one_caller_fill_no_redis_and_limits_hold(folder: Path, redis: RedisServer) -> None:
    with sharing(folder, redis) as server:
        before = let_in(server, "127.0.0.5")
        first = ask(server, "pay", {"amount": 7}, "pay")
        statuses = flood(server, 150)
        after = let_in(server, "127.0.0.6")
        again = ask(server, "pay", {"amount": 7}, "pay")
        stderr = server.stderr()

    assert (before, after) == (30, 30)
    assert set(statuses) == {200}
    assert again.body == first.body
    assert used(redis) < 10 * MIB
    assert "limits.unchecked" not in stderr
    assert {name for name, left_ms in redis.keys().items() if left_ms <= 0} == set()


def test_a_full_redis_lifts_no_limit_and_calls_with_keys_are_run_once(folder: Path, redis: RedisServer) -> None:
    with sharing(folder, redis) as server:
        kept = ask(server, "pay", {"amount": 7}, "before")
        fill(redis)
        counts = [let_in(server, "127.0.0.5"), let_in(server, "127.0.0.5"), let_in(server, "127.0.0.6")]
        again = ask(server, "pay", {"amount": 7}, "before")
        first, second = [ask(server, "pay", {"amount": 8}, "while it is full") for _ in range(2)]
        stderr = server.stderr()

    assert counts == [30, 0, 30]
    assert again.body == kept.body
    assert (first.status, second.status) == (200, 409)
    assert second.json()["error"]["code"] == "IDEMPOTENCY_NOT_KEPT"
    assert "limits.unchecked" not in stderr


def test_what_an_earlier_version_kept_stops_nothing(folder: Path, redis: RedisServer) -> None:
    with sharing(folder, redis) as server:
        ask(server, "pay", {"amount": 7}, "pay")
        [entries] = [name for name, _ in redis.keys().items() if ":entries:" in name]
        [key] = redis.cli("HKEYS", entries).split()
        head = redis.cli(
            "EVAL", r"return string.match(redis.call('HGET', KEYS[1], ARGV[1]), '^[^\n]*')", "1", entries, key
        )
        redis.cli("HSET", entries, key, f"{head.strip()}\n\x05what is this")
        unreadable = ask(server, "pay", {"amount": 7}, "pay")
        redis.cli("HSET", entries, key, "something else")
        fresh = ask(server, "pay", {"amount": 7}, "pay")
        other = ask(server, "pay", {"amount": 7}, "other")

    assert (unreadable.status, unreadable.json()["error"]["code"]) == (409, "IDEMPOTENCY_NOT_KEPT")
    assert (fresh.status, other.status) == (200, 200)
