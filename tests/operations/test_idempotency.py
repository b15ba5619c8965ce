"""Idempotency keys: a call is run once and answered as often as it is made, to its own caller alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from limit_counts import LimitCounts
from limit_harness import Clock, Elsewhere, call, entered, tool, until
from signet.kernel.errors import Code, Fault, rate_limited, too_slow
from signet.kernel.gate import Entry, Pass
from signet.kernel.outcome import Call, Outcome
from signet.kernel.wire import encode
from signet.operations.limits.idempotency import IdempotencyGate, _key_of
from signet.operations.limits.outage import StoreOutage
from signet.operations.limits.unsaved import UnsavedAnswers
from signet.operations.store.store import StoreError

TOOL = tool()
BOUND_S = 5.0


class Keyed:
    """A gate whose waiting turns its clock."""

    def __init__(self, timeout_s: float = 50.0, *, denies: bool = False) -> None:
        self.clock = Clock()
        self.store = Elsewhere(self.clock.store())
        self.figures = LimitCounts()
        self.slept: list[float] = []
        outage = StoreOutage(self.figures.events)
        self.gate = IdempotencyGate(self.store, outage, timeout_s, denies=denies, sleep=self._sleep)

    def another(self) -> IdempotencyGate:
        """Return the gate of another process that has the same store."""
        return IdempotencyGate(self.store, StoreOutage(LimitCounts().events), 0.0, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.turn(seconds)
        await asyncio.sleep(0)

    async def enter(self, one: Call, of: Any = TOOL) -> Entry:
        return await entered(self.gate, one, of)

    async def run(self, one: Call, outcome: Outcome | None) -> None:
        """Run a call to an end."""
        entry = await self.enter(one)
        assert not isinstance(entry, Fault | Outcome)
        assert entry is not None, "its key is not known"
        left = entry.leave(outcome)
        assert left is not None
        await left


def scenario(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), BOUND_S * 4))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def done(one: Call, value: Any) -> Outcome:
    return Outcome(one, TOOL, value, encode(value), ignored=("extra",))


def test_a_call_without_a_key_passes_at_once() -> None:
    assert Keyed().gate.enter(call("alice"), TOOL) is None


@scenario
async def test_the_same_call_has_the_same_answer() -> None:
    keyed = Keyed()
    one = call("alice", key="k", arguments={"a": 1, "b": [1.5, "é"]})
    await keyed.run(one, done(one, {"n": 1, "x": 0.1}))

    again = call("alice", address="10.0.0.9", key="k", arguments={"b": [1.5, "é"], "a": 1})
    entry = await keyed.enter(again)

    assert entry == Outcome(again, TOOL, {"n": 1, "x": 0.1}, b'{"n":1,"x":0.1}', ignored=("extra",))
    keyed.clock.turn(86_399)
    assert isinstance(await keyed.enter(again), Outcome)
    keyed.clock.turn(1)
    assert not isinstance(await keyed.enter(again), Outcome)


@scenario
async def test_other_arguments_or_another_tool_are_a_conflict() -> None:
    keyed = Keyed()
    one = call("alice", key="k", arguments={"a": 1})
    await keyed.run(one, done(one, {}))

    entries = [await keyed.enter(call("alice", key="k", arguments={"a": 2})), await keyed.enter(one, tool("odd.other"))]

    for entry in entries:
        assert isinstance(entry, Fault)
        assert (entry.code, entry.name, entry.status) == (Code.INVALID_INPUT, "IDEMPOTENCY_CONFLICT", 409)


@scenario
async def test_nobody_gets_the_answer_of_another() -> None:
    keyed = Keyed()
    callers = [
        {"who": "a"}, {"who": "a:b"}, {"who": ""}, {"address": "a"}, {"address": "b"}, {}, {"who": '","k'},
        {"subject": "a"},
    ]  # fmt: skip
    for number, who in enumerate(callers):
        one = call(**who, key="k")
        await keyed.run(one, done(one, {"n": number}))
    await keyed.run(call("a", key="b:k"), done(call("a", key="b:k"), {"n": -1}))

    answers = [await keyed.enter(call(**who, key="k")) for who in callers]

    assert [answer.result for answer in answers if isinstance(answer, Outcome)] == [{"n": n} for n in range(8)]


@pytest.mark.parametrize("fault", [
    Fault(Code.INVALID_INPUT, "a must be a number", name="ODD", status=422, mcp_code=-32000, data={"x": [1]}),
    Fault(Code.NOT_FOUND, "no such problem", as_tool_result=False),
])  # fmt: skip
def test_a_fault_of_the_call_itself_is_an_answer_too(fault: Fault) -> None:
    async def test() -> None:
        keyed, one = Keyed(), call("alice", key="k")
        await keyed.run(one, Outcome(one, TOOL, fault=fault))

        entry = await keyed.enter(one)

        assert isinstance(entry, Outcome)
        assert entry.fault is not None
        assert vars(entry.fault) == vars(fault)

    asyncio.run(test())


@pytest.mark.parametrize(
    "fault", [too_slow("odd", 50, ""), rate_limited("later", 1), Fault(Code.INVALID_OUTPUT, "odd"), None]
)
def test_a_call_that_failed_or_was_left_may_be_made_again(fault: Fault | None) -> None:
    async def test() -> None:
        keyed, one = Keyed(), call("alice", key="k")
        await keyed.run(one, Outcome(one, TOOL, fault=fault) if fault is not None else None)
        await keyed.run(one, done(one, {"n": 2}))

        entry = await keyed.enter(one)

        assert isinstance(entry, Outcome)
        assert entry.result == {"n": 2}

    asyncio.run(test())


@scenario
async def test_an_answer_that_is_too_large_is_not_kept_and_the_call_not_run_again() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    fits, large = "x" * (262_144 - 2), "x" * (262_144 - 1)
    await keyed.run(one, Outcome(one, TOOL, large, encode(large)))
    other = call("alice", key="other")
    await keyed.run(other, Outcome(other, TOOL, fits, encode(fits)))

    entry, kept = await keyed.enter(one), await keyed.enter(other)

    assert isinstance(entry, Fault)
    assert (entry.code, entry.name, entry.status) == (Code.INVALID_INPUT, "IDEMPOTENCY_NOT_KEPT", 409)
    assert isinstance(kept, Outcome)
    assert kept.result == fits


@scenario
async def test_a_call_whose_twin_runs_waits_for_the_twins_answer() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    seconds = [asyncio.ensure_future(keyed.enter(one)) for _ in range(3)]
    await until(lambda: len(keyed.slept) >= 9)

    await _leave(first, done(one, {"n": 1}))

    assert [entry.result for entry in await asyncio.gather(*seconds) if isinstance(entry, Outcome)] == [{"n": 1}] * 3


@scenario
async def test_one_of_those_who_wait_runs_the_call_if_the_first_one_failed() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    waiting = [asyncio.ensure_future(keyed.enter(one)) for _ in range(3)]
    await until(lambda: len(keyed.slept) >= 3)
    await _leave(first, None)

    ended, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert len(ended) == 1
    await _leave(ended.pop().result(), done(one, {"n": 2}))

    entries = [one.result() for one in waiting if await asyncio.wait([one])]
    assert [entry.result for entry in entries if isinstance(entry, Outcome)] == [{"n": 2}] * 2


@scenario
async def test_the_wait_for_a_twin_is_no_longer_than_a_call_and_a_dead_one_is_forgotten() -> None:
    keyed, one = Keyed(timeout_s=2.0), call("alice", key="k")
    assert await keyed.enter(one) is not None

    entry = await keyed.enter(one)

    assert isinstance(entry, Fault)
    assert (entry.name, entry.data["retry_after_seconds"]) == ("RATE_LIMITED", 1)
    assert 2.0 <= sum(keyed.slept) < 2.3
    assert keyed.slept[:7] == [0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.25]
    keyed.clock.turn(30)
    await keyed.run(one, done(one, {}))


@scenario
async def test_a_waiting_call_that_is_cancelled_leaves_nothing() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    waiting = asyncio.ensure_future(keyed.enter(one))
    await until(lambda: bool(keyed.slept))

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await _leave(first, done(one, {"n": 1}))

    assert isinstance(await keyed.enter(one), Outcome)
    assert keyed.gate._waiting.held == 0


@scenario
async def test_while_the_store_is_away_a_key_is_passed_over_or_refused() -> None:
    one = call("alice", key="k")
    allowing, denying = Keyed(), Keyed(denies=True)
    allowing.store.is_away = denying.store.is_away = True

    let_in, refused = await allowing.enter(one), await denying.enter(one)

    assert let_in is not None
    assert not isinstance(let_in, Fault | Outcome), "the store is to learn how the call ended"
    assert isinstance(refused, Fault)
    assert refused.name == "RATE_LIMITED"
    assert (allowing.figures.fail_open, denying.figures.fail_closed) == (1, 1)


@scenario
async def test_an_answer_that_the_store_did_not_get_is_given_here_and_told_to_it_when_it_is_back() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    keyed.store.is_away = True
    await _leave(first, done(one, {"n": 1}))

    for _ in range(2):
        again = await keyed.enter(one)
        assert isinstance(again, Outcome)
        assert again.result == {"n": 1}
    conflict = await keyed.enter(call("alice", key="k", arguments={"a": 2}))
    assert isinstance(conflict, Fault)
    assert conflict.name == "IDEMPOTENCY_CONFLICT"
    assert keyed.figures.store_errors == 1

    keyed.store.is_away = False
    await until(lambda: keyed.gate._unsaved.find(_key_of(one)) is None)
    elsewhere = await entered(keyed.another(), one, TOOL)
    assert isinstance(elsewhere, Outcome)
    assert elsewhere.result == {"n": 1}


@scenario
async def test_a_key_whose_call_failed_while_the_store_was_away_is_free_again() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    keyed.store.is_away = True
    await _leave(first, None)
    keyed.store.is_away = False

    second = await keyed.enter(one)
    assert not isinstance(second, Fault | Outcome), "it runs in place of the one that failed"
    await _leave(second, done(one, {"n": 2}))

    assert isinstance(await entered(keyed.another(), one, TOOL), Outcome)


@scenario
async def test_while_the_store_is_away_a_call_that_runs_here_is_waited_for() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    keyed.store.is_away = True
    second = asyncio.ensure_future(keyed.enter(one))
    await until(lambda: len(keyed.slept) >= 2)

    await _leave(first, done(one, {"n": 1}))

    entry = await second
    assert isinstance(entry, Outcome)
    assert entry.result == {"n": 1}


@pytest.mark.parametrize("denies", [False, True])
def test_a_key_that_the_store_noted_without_an_answer_is_locked_for_nobody(denies: bool) -> None:
    async def test() -> None:
        keyed, one = Keyed(denies=denies), call("alice", key="k")
        keyed.store.is_deaf = True
        first = await keyed.enter(one)
        keyed.store.is_deaf = False
        if denies:
            assert isinstance(first, Fault)
            await until(lambda: keyed.gate._unsaved.find(_key_of(one)) is None)
        else:
            await _leave(first, done(one, {"n": 1}))

        entry = await entered(keyed.another(), one, TOOL)

        assert not isinstance(entry, Fault)
        assert isinstance(entry, Outcome) is not denies

    asyncio.run(asyncio.wait_for(test(), BOUND_S * 4))


@scenario
async def test_a_call_that_is_cancelled_while_the_store_notes_its_key_frees_it() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    keyed.store.holds = asyncio.Event()
    first = asyncio.ensure_future(keyed.enter(one))
    await until(lambda: keyed.store.held)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await until(lambda: keyed.gate._unsaved.find(_key_of(one)) is None)
    keyed.store.holds = None

    assert not isinstance(await entered(keyed.another(), one, TOOL), Fault | Outcome)


@scenario
async def test_unsaved_answers_have_a_bound() -> None:
    clock = Clock()
    store = Elsewhere(clock.store())
    store.is_away = True
    unsaved = UnsavedAnswers(store, clock_ns=clock)
    unsaved.add("honest", "digest", "runner", b"x", 60, holder="principal alice")
    for number in range(100):
        unsaved.add(str(number), "digest", "runner", bytes(250_000), 60, holder="principal mallory")
    kept = [number for number in range(100) if unsaved.find(str(number)) is not None]

    # One half of 16 MiB is the share of one caller, whose own oldest go.
    assert kept == list(range(67, 100))
    assert unsaved.find("honest") is not None
    clock.turn(60)
    assert unsaved.find("99") is None


async def _leave(entry: Entry, outcome: Outcome | None) -> None:
    assert not isinstance(entry, Fault | Outcome)
    runner: Pass | None = entry
    left = runner.leave(outcome) if runner is not None else None
    assert left is not None
    await left


@pytest.mark.parametrize(("waiting", "waits"), [(255, True), (256, False)])
def test_no_more_than_256_calls_wait_for_their_twins(waiting: int, waits: bool) -> None:
    @scenario
    async def one_more() -> None:
        keyed, one = Keyed(timeout_s=2.0), call("alice", key="k")
        assert await keyed.enter(one) is not None
        keyed.gate._waiting.hold("others", waiting)

        entry = await keyed.enter(one)

        assert isinstance(entry, Fault)
        assert (entry.name, bool(keyed.slept)) == ("RATE_LIMITED", waits)

    one_more()


@scenario
async def test_one_task_tells_the_store_of_all_unsaved_answers() -> None:
    store = Elsewhere(Clock().store())
    store.is_away = True
    unsaved = UnsavedAnswers(store)
    before = asyncio.all_tasks()

    for key in ("a", "b", "c"):
        unsaved.add(key, "digest", "runner", b"x", 60)
        await asyncio.sleep(0)

    (teller,) = asyncio.all_tasks() - before
    teller.cancel()


@scenario
async def test_a_store_that_is_back_is_told_of_all_answers_without_a_pause() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        store.is_away = False

    store = Elsewhere(Clock().store())
    store.is_away = True
    unsaved = UnsavedAnswers(store, sleep=sleep)
    for key in ("a", "b", "c"):
        unsaved.add(key, "digest", "runner", b"x", 60)
    await until(lambda: unsaved.find("c") is None)

    assert len(slept) == 1


@scenario
async def test_whoever_runs_a_call_is_taken_for_dead_30_s_after_the_time_of_a_call() -> None:
    keyed, one = Keyed(timeout_s=50.0), call("alice", key="k")
    assert await keyed.enter(one) is not None

    keyed.clock.turn(79.999)
    running = await entered(keyed.another(), one, TOOL)
    keyed.clock.turn(0.001)
    free = await entered(keyed.another(), one, TOOL)

    assert isinstance(running, Fault)
    assert running.message == (
        "A call with the same idempotency key still runs: wait 1 s, then make the same call again"
    )
    assert running.data["retryAfterMs"] == 1_000
    assert not isinstance(free, Fault | Outcome)


@scenario
async def test_a_call_that_failed_is_told_to_the_store_as_long_as_it_takes_the_call_to_run() -> None:
    keyed, one = Keyed(timeout_s=5_000.0), call("alice", key="k")
    first = await keyed.enter(one)
    keyed.store.is_away = True
    await _leave(first, None)

    end = keyed.gate._unsaved.find(_key_of(one))

    assert end is not None
    assert 5_000 < (end.until_ns - time.monotonic_ns()) / 1e9 <= 5_030


@scenario
async def test_a_store_that_goes_away_while_it_is_asked_leaves_the_answer_that_came_meanwhile() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    first = await keyed.enter(one)
    keyed.store.holds = asyncio.Event()
    second = asyncio.ensure_future(keyed.enter(one))
    await until(lambda: keyed.store.held)
    keyed.store.is_away = keyed.store.is_deaf = True
    await _leave(first, done(one, {"n": 1}))
    keyed.store.holds.set()

    entry = await second

    assert isinstance(entry, Outcome)
    assert entry.result == {"n": 1}


@scenario
async def test_the_store_is_asked_less_and_less_and_then_told_all_at_once() -> None:
    clock, slept = Clock(), list[float]()
    store = Elsewhere(clock.store())
    store.is_away = True

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.turn(seconds)
        store.is_away = len(slept) < 6
        await asyncio.sleep(0)

    unsaved = UnsavedAnswers(store, sleep, clock)
    for key in ("a", "b", "c"):
        unsaved.add(key, "digest", "runner", b"x", 60)
    await until(lambda: not any(unsaved.find(key) for key in ("a", "b", "c")))

    assert slept == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    clock.turn(60 - sum(slept) - 0.001)
    assert [(await store.begin(key, "digest", "other", 60)).state for key in "abc"] == ["done"] * 3
    clock.turn(0.001)
    assert [(await store.begin(key, "digest", "other", 60)).state for key in "abc"] == ["new"] * 3


@pytest.mark.parametrize(("size", "is_kept"), [(16_776_704, True), (16_776_705, False)])
def test_unsaved_answers_have_a_size(size: int, is_kept: bool) -> None:
    @scenario
    async def adding() -> None:
        store = Elsewhere(Clock().store())
        store.is_away = True
        unsaved = UnsavedAnswers(store)
        unsaved.add("a", "digest", "runner", bytes(size), 60)

        assert (unsaved.find("a") is not None) is is_kept

    adding()


@scenario
async def test_an_answer_that_is_kept_here_is_not_lost_to_a_later_end() -> None:
    store = Elsewhere(Clock().store())
    store.is_away = True
    unsaved = UnsavedAnswers(store)
    unsaved.add("a", "digest", "first", b"x", 60)
    unsaved.add("a", "digest", "second", None, 60)
    unsaved.add("b", "digest", "first", None, 60)
    unsaved.add("b", "digest", "second", b"y", 60)

    ends = [unsaved.find(key) for key in ("a", "b")]

    assert [(end.runner, end.body) for end in ends if end is not None] == [("first", b"x"), ("second", b"y")]


class Failing(Elsewhere):
    """A store that fails, or waits, when it is told how a call ended."""

    def __init__(self, clock: Clock, *, waits: bool) -> None:
        super().__init__(clock.store())
        self.waits = waits
        self.asked = asyncio.Event()

    def finish(self, *_: Any, **__: Any) -> Any:
        if not self.waits:
            raise StoreError("Connection refused")
        self.asked.set()
        return asyncio.Event().wait()


@scenario
async def test_an_answer_that_the_store_refuses_at_once_is_kept_here_and_denied_to_nobody() -> None:
    keyed, one = Keyed(denies=True), call("alice", key="k")
    keyed.gate._store = Failing(keyed.clock, waits=False)
    first = await keyed.enter(one)
    assert first is not None
    assert not isinstance(first, Fault | Outcome)

    assert first.leave(done(one, {"n": 1})) is None

    end = keyed.gate._unsaved.find(_key_of(one))
    assert end is not None
    assert end.body is not None
    assert (keyed.figures.fail_open, keyed.figures.fail_closed) == (1, 0), "the call has been made"


@scenario
async def test_a_call_that_is_cancelled_while_its_answer_is_told_is_cancelled() -> None:
    keyed, one = Keyed(), call("alice", key="k")
    store = Failing(keyed.clock, waits=True)
    keyed.gate._store = store
    first = await keyed.enter(one)
    leaving = asyncio.ensure_future(_leave(first, done(one, {"n": 1})))
    await store.asked.wait()
    leaving.cancel()

    with pytest.raises(asyncio.CancelledError):
        await leaving
