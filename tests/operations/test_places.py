"""Places: so many calls of a tool at once, a queue with a bound, first come, first served."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec import structs

from limit_counts import LimitCounts
from limit_harness import call, entered, tool
from signet.kernel.errors import Fault
from signet.kernel.gate import Entry
from signet.kernel.outcome import Outcome
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.waiting import Waiting
from signet.operations.limits.places import PlaceGate, Places, SeatGate
from signet.operations.limits.policy import read_policy

TOOL = tool()


def gate_of(table: dict[str, Any], queue_s: float = 60.0) -> tuple[PlaceGate, LimitCounts]:
    figures = LimitCounts()
    return PlaceGate(read_policy(table), figures.events, queue_s), figures


def entering(gate: PlaceGate | SeatGate, who: str | None = None) -> asyncio.Future[Entry]:
    return asyncio.ensure_future(entered(gate, call(who), TOOL))


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def leave(entry: Entry) -> None:
    assert entry is not None
    assert not isinstance(entry, Fault | Outcome)
    assert entry.leave(None) is None


def places_of(gate: PlaceGate) -> Places:
    places = gate.places_of(TOOL)
    assert places is not None
    return places


def test_a_tool_without_a_limit_passes_at_once() -> None:
    gate, _ = gate_of({"tools": {"odd.other": {"concurrency": 1}}})

    assert gate.enter(call(), TOOL) is None
    pending = gate.enter(call(), tool("odd.other"))
    assert isinstance(pending, Awaitable)
    assert asyncio.run(entered(gate, call(), tool("odd.other"))) is not None
    pending.close()  # type: ignore[attr-defined] # it is a coroutine


def test_some_run_some_wait_in_their_order_and_the_rest_is_refused() -> None:
    async def scenario() -> None:
        gate, figures = gate_of({"concurrency": 2, "queue": 3})
        calls = [entering(gate) for _ in range(7)]
        await settled()
        refused = [one.result() for one in calls[5:]]

        assert [one.done() for one in calls] == [True, True, False, False, False, True, True]
        assert all(isinstance(fault, Fault) and fault.name == "RATE_LIMITED" for fault in refused)
        assert figures.decisions["refused", "concurrency"] == 2
        for number in range(3):
            leave(calls[number].result())
            await settled()
            assert [one.done() for one in calls[:5]] == [True] * (3 + number) + [False] * (2 - number)
        for number in (3, 4):
            leave(calls[number].result())
        assert (places_of(gate).running, places_of(gate).waiting) == (0, 0)

    asyncio.run(scenario())


def test_a_waiting_call_that_is_cancelled_leaves_the_queue() -> None:
    async def scenario() -> None:
        gate, _ = gate_of({"concurrency": 1, "queue": 2})
        first, second, third = [entering(gate) for _ in range(3)]
        await settled()
        second.cancel()
        await settled()
        fourth = entering(gate)
        await settled()
        leave(first.result())
        await settled()

        assert (second.cancelled(), third.done(), fourth.done()) == (True, True, False)
        leave(third.result())
        await settled()
        leave(fourth.result())
        assert places_of(gate).running == 0

    asyncio.run(scenario())


def test_a_call_that_is_cancelled_as_its_place_comes_passes_it_on() -> None:
    async def scenario() -> None:
        gate, _ = gate_of({"concurrency": 1, "queue": 2})
        first, second, third = [entering(gate) for _ in range(3)]
        await settled()
        leave(first.result())
        second.cancel()
        await settled()

        assert second.cancelled()
        leave(third.result())
        assert (places_of(gate).running, places_of(gate).waiting) == (0, 0)

    asyncio.run(scenario())


def test_the_wait_in_the_queue_has_an_end() -> None:
    async def scenario() -> None:
        gate, _ = gate_of({"concurrency": 1}, queue_s=0.01)
        first = await entered(gate, call(), TOOL)

        late = await entered(gate, call(), TOOL)
        leave(first)

        assert isinstance(late, Fault)
        assert late.message == ("The place for calls of odd_fine is taken: wait 1 s, then make the same call again")
        assert (places_of(gate).running, places_of(gate).waiting) == (0, 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(5))
def test_whatever_becomes_of_calls_all_places_come_back(seed: int) -> None:
    import random

    chance = random.Random(seed)

    async def one(gate: PlaceGate) -> None:
        entry = await entered(gate, call(), TOOL)
        if isinstance(entry, Fault):
            return
        assert places_of(gate).running <= 3
        try:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        finally:
            leave(entry)
            leave(entry)

    async def scenario() -> None:
        gate, _ = gate_of({"concurrency": 3, "queue": 5}, queue_s=0.001)
        tasks = [asyncio.ensure_future(one(gate)) for _ in range(300)]
        while not all(task.done() for task in tasks):
            chance.choice(tasks).cancel()
            await asyncio.sleep(0)

        assert (places_of(gate).running, places_of(gate).waiting) == (0, 0)

    asyncio.run(scenario())


def test_a_call_in_the_queue_says_what_it_waits_for() -> None:
    async def scenario() -> None:
        gate, _ = gate_of({"concurrency": 2, "queue": 1})
        waits = [Waiting() for _ in range(3)]
        made = [structs.replace(call(), context=structs.replace(NULL_CONTEXT, wait=wait)) for wait in waits]
        calls = [asyncio.ensure_future(entered(gate, one, TOOL)) for one in made]
        await settled()

        assert [wait.text() for wait in waits] == ["", "", "waiting for a place: 2 calls of the tool run at once"]
        for one in calls:
            leave(await one)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("count", "taken"),
    [(1, "The place for calls of odd_fine is taken"), (2, "All 2 places for calls of odd_fine are taken")],
)
def test_a_call_without_a_place_is_told_to_come_again(count: int, taken: str) -> None:
    gate, figures = gate_of({"concurrency": count})

    fault = gate.refuse(TOOL, places_of(gate))

    assert fault.message == f"{taken}: wait 1 s, then make the same call again"
    assert (fault.name, fault.status, fault.data["retryAfterMs"]) == ("RATE_LIMITED", 429, 1_000)
    assert figures.decisions["refused", "concurrency"] == 1


def test_a_place_and_a_seat_are_given_back_once() -> None:
    gate, _ = gate_of({"concurrency": 2, "queue": 3})

    async def scenario() -> None:
        for one in (gate, SeatGate(gate)):
            entry = await entered(one, call(), TOOL)
            leave(entry)
            leave(entry)

    asyncio.run(scenario())

    assert (places_of(gate).running, places_of(gate).seats.held) == (0, 0)


def test_a_place_goes_to_the_caller_that_has_fewest() -> None:
    async def scenario() -> None:
        gate, _ = gate_of({"concurrency": 2, "queue": 8})
        first = [entering(gate, "mallory") for _ in range(6)]
        await settled()
        second = [entering(gate, "alice") for _ in range(2)]
        await settled()
        calls = (*first, *second)
        assert [one.done() for one in calls] == [True] * 2 + [False] * 6

        # Who ends, and whose turn it is then: alice comes last, and has none.
        for ended, begun in ((0, 6), (1, 2), (6, 7), (2, 3), (7, 4), (3, 5)):
            before = [one.done() for one in calls]
            leave(calls[ended].result())
            await settled()
            assert [place for place in range(8) if calls[place].done() and not before[place]] == [begun]
        for one in (first[4], first[5]):
            leave(one.result())
        assert (places_of(gate).running, places_of(gate).waiting) == (0, 0)

    asyncio.run(scenario())


def test_one_caller_has_all_places_and_a_share_of_the_queue() -> None:
    async def scenario() -> None:
        gate, figures = gate_of({"concurrency": 2, "queue": 4})
        seats = SeatGate(gate)
        mallory = [entering(seats, "mallory") for _ in range(6)]
        others = [entering(seats, name) for name in ("alice", "bob", "carol", "dave", "erin")]
        await settled()
        results = [one.result() for one in mallory]

        assert [isinstance(one, Fault) for one in results] == [False] * 3 + [True] * 3
        refusal = results[-1]
        assert isinstance(refusal, Fault)
        assert refusal.message == (
            "You have 3 calls of odd_fine here, and others need room: wait 1 s, then make the same call again"
        )
        # Who has nothing finds a seat, although all six are taken.
        assert [isinstance(one.result(), Fault) for one in others] == [False] * 5
        again = await entered(seats, call("erin"), TOOL)
        assert isinstance(again, Fault)
        assert again.message.startswith("All 2 places for calls of odd_fine are taken")
        assert figures.decisions["refused", "concurrency"] == 4
        for one in (*mallory[:3], *others):
            leave(one.result())
        assert places_of(gate).seats.held == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(("table", "alone"), [
    ({"concurrency": 1, "queue": 0}, 1), ({"concurrency": 4, "queue": 0}, 4), ({"concurrency": 1, "queue": 1}, 2),
    ({"concurrency": 8, "queue": 16}, 12), ({"concurrency": 1, "queue": 16}, 9),
])  # fmt: skip
def test_the_seats_that_one_caller_finds(table: dict[str, Any], alone: int) -> None:
    gate, _ = gate_of(table)
    places = places_of(gate)

    assert sum(places.sit("principal mallory") for _ in range(100)) == alone
    assert places.sit("principal alice") is True
    process, _ = gate_of(table)
    assert sum(places_of(process).sit("") for _ in range(100)) == table["concurrency"] + table["queue"]
