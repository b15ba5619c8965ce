"""Whose a task is: ids that are given again, times to live, numbers, and results that tell of none."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from signet.kernel.errors import Fault
from signet.mcp.session import Answer
from signet.relay.tasks import MAX_KEPT_S, MAX_OF_ONE, Tasks


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def named(name: str) -> Raw:
    return Raw(msgspec.json.encode(name))


def task(name: str, **facts: Any) -> bytes:
    return msgspec.json.encode({"task": {"taskId": name, "status": "working", **facts}})


def test_an_id_that_is_given_again_belongs_to_its_new_holder() -> None:
    tasks = Tasks(Clock())

    assert tasks.begun("alice", task("1"))
    assert tasks.begun("bob", task("1"))

    assert tasks.holder_of(named("1")) == "bob"


@pytest.mark.parametrize(
    ("ttl", "kept_s"),
    [(5000, 5), (None, MAX_KEPT_S), (10**18, MAX_KEPT_S), (-1, MAX_KEPT_S), ("x", MAX_KEPT_S), (True, MAX_KEPT_S)],
)
def test_a_task_is_known_for_its_time_to_live(ttl: Any, kept_s: float) -> None:
    clock = Clock()
    tasks = Tasks(clock)
    tasks.begun("alice", task("1", ttl=ttl))

    clock.now_s += kept_s - 1
    assert tasks.holder_of(named("1")) == "alice"
    clock.now_s += 2
    assert tasks.holder_of(named("1")) is None


def test_the_state_of_a_task_may_be_a_result_of_its_own() -> None:
    """As the extension of the modern era has it."""
    tasks = Tasks(Clock())

    assert tasks.begun("alice", b'{"resultType":"task","taskId":"t","status":"working","ttl":1000}')
    assert tasks.begun("alice", b'{"content":[]}')
    assert tasks.begun("alice", b"[]")

    assert tasks.holder_of(named("t")) == "alice"
    assert tasks.holder_of(Raw(b"7")) is None
    assert tasks.holder_of(None) is None


def test_long_ids_are_kept_short_and_apart() -> None:
    tasks = Tasks(Clock())
    one, other = "x" * 100_000 + "1", "x" * 100_000 + "2"

    tasks.begun("alice", task(one))

    assert (tasks.holder_of(named(one)), tasks.holder_of(named(other))) == ("alice", None)
    assert all(len(name) < 100 for name in tasks._tasks)


def test_many_holders_share_what_there_is() -> None:
    """Each may have at most what is left for all others; a place comes back when a time to live is over."""
    clock = Clock()
    tasks = Tasks(clock)
    for holder in range(40):
        for number in range(MAX_OF_ONE):
            if not tasks.begun(f"holder {holder}", task(f"{holder} {number}", ttl=1000)):
                break

    assert len(tasks._tasks) <= 4096
    assert not tasks.begun("holder 0", task("one more"))
    with pytest.raises(Fault) as caught:
        tasks.check_room("holder 0")
    assert caught.value.name == "RATE_LIMITED"
    clock.now_s += 2
    tasks.check_room("holder 0")
    assert tasks.begun("holder 0", task("one more"))
    assert len(tasks._tasks) == 1


def test_a_list_without_an_end_ends() -> None:
    tasks, asked = Tasks(Clock()), 0
    tasks.begun("alice", task("never listed"))

    async def ask(_: Raw) -> Answer:
        nonlocal asked
        asked += 1
        return Answer(Raw(msgspec.json.encode({"tasks": [{"taskId": "other"}], "nextCursor": str(asked)})))

    capabilities = Raw(b'{"tasks":{}}')
    answer = asyncio.run(tasks.answer("tasks/list", Raw(b"{}"), "alice", capabilities, ask))

    assert bytes(answer.result or b"") == b'{"tasks":[]}'
    assert asked == 100
    answer = asyncio.run(tasks.answer("tasks/list", Raw(b"{}"), "bob", Raw(b"{}"), ask))
    assert b"-32601" in bytes(answer.error or b"")


def test_the_sessions_of_one_address_have_one_share_and_those_of_another_find_room() -> None:
    tasks = Tasks(Clock())
    for session in range(40):
        for number in range(MAX_OF_ONE):
            tasks.begun(f"session {session}", task(f"{session} {number}"), "address 127.0.0.2")
    assert len(tasks._tasks) == 2048
    with pytest.raises(Fault):
        tasks.check_room("session 41", "address 127.0.0.2")
    tasks.noted(msgspec.json.encode({"taskId": "7 7", "status": "completed"}))
    tasks.check_room("session 41", "address 127.0.0.2")

    for number in range(MAX_OF_ONE):
        tasks.check_room("session alice", "address 127.0.0.1")
        assert tasks.begun("session alice", task(f"alice {number}"), "address 127.0.0.1")
    with pytest.raises(Fault):
        tasks.check_room("session alice", "address 127.0.0.1")


def test_the_tasks_of_a_session_go_with_it() -> None:
    tasks = Tasks(Clock())
    for name in "abc":
        tasks.begun("session one", task(name), "address 127.0.0.2")
    tasks.begun("session two", task("d"), "address 127.0.0.2")

    tasks.forget("session one")
    tasks.forget("never there")

    assert [*tasks._tasks] == ["d"]
    assert (tasks._shares.held, [*tasks._of]) == (1, ["session two"])
