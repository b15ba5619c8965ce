"""Several gates as one: in their order, at once where they can be, and all is given back on every path."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace

from limit_harness import call, entered, tool, until
from signet.kernel.caller import Caller, Principal
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.gate import Entry
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import Tool
from signet.operations.gates import Gates
from signet.settings.model import Settings, open_log
from signet.team.limiting import open_gate, open_key_gate

TOOL = tool()
FAULT = Fault(Code.UNAUTHORIZED, "no")
DONE = Outcome(call(), TOOL, {}, b"{}")


class Door:
    """A gate that notes who comes and goes."""

    def __init__(self, name: str, notes: list[str], says: Any = None, *, later: bool = False) -> None:
        self.name = name
        self.notes = notes
        self.says = says
        self.later = later

    def enter(self, _: Call, __: Tool) -> Entry | Awaitable[Entry]:
        return self._later() if self.later else self._now()

    def leave(self, outcome: Outcome | None) -> Awaitable[None] | None:
        self.notes.append(f"-{self.name}{'' if outcome is None else ' done'}")
        return asyncio.sleep(0) if self.later else None

    def _now(self) -> Entry:
        self.notes.append(f"+{self.name}")
        if isinstance(self.says, BaseException) and not isinstance(self.says, Fault):
            raise self.says
        passed: Entry = self if self.says == "pass" else self.says
        return passed

    async def _later(self) -> Entry:
        await asyncio.sleep(0)
        return self._now()


def test_gates_that_answer_at_once_are_answered_for_at_once() -> None:
    notes: list[str] = []

    assert Gates([Door("a", notes), Door("b", notes)]).enter(call(), TOOL) is None
    assert Gates([Door("c", notes), Door("d", notes, FAULT), Door("e", notes)]).enter(call(), TOOL) is FAULT
    assert Gates([Door("f", notes, DONE), Door("g", notes)]).enter(call(), TOOL) is DONE
    assert notes == ["+a", "+b", "+c", "+d", "+f"]


@pytest.mark.parametrize("later", [False, True])
def test_what_was_given_is_given_back_in_the_opposite_order(later: bool) -> None:
    async def scenario() -> None:
        notes: list[str] = []
        gates = Gates([Door(name, notes, "pass", later=later) for name in "abc"])

        entry = await entered(gates, call(), TOOL)
        assert entry is not None
        assert not isinstance(entry, Fault | Outcome)
        left = entry.leave(DONE)
        if left is not None:
            await left

        assert notes == ["+a", "+b", "+c", "-c done", "-b done", "-a done"]

    asyncio.run(scenario())


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("says", [FAULT, DONE])
def test_a_refusal_gives_back_what_was_given_before_it(later: bool, says: Any) -> None:
    async def scenario() -> None:
        notes: list[str] = []
        doors = [
            Door("a", notes, "pass", later=later),
            Door("b", notes, later=later),
            Door("c", notes, says, later=later),
        ]

        assert await entered(Gates([*doors, Door("d", notes)]), call(), TOOL) is says
        assert notes == ["+a", "+b", "+c", "-a"]

    asyncio.run(scenario())


def test_an_exception_and_a_cancellation_give_back_what_was_given() -> None:
    async def scenario() -> None:
        notes: list[str] = []
        with pytest.raises(ZeroDivisionError):
            await entered(
                Gates([Door("a", notes, "pass", later=True), Door("b", notes, ZeroDivisionError())]), call(), TOOL
            )
        assert notes == ["+a", "+b", "-a"]

        class Hanging(Door):
            async def _later(self) -> Entry:
                notes.append("hangs")
                await asyncio.Event().wait()
                return None

        notes.clear()
        gates = Gates([Door("a", notes, "pass"), Hanging("b", notes, later=True)])
        task = asyncio.ensure_future(entered(gates, call(), TOOL))
        await until(lambda: "hangs" in notes)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert notes == ["+a", "hangs", "-a"]

    asyncio.run(scenario())


def test_scopes_come_before_limits_and_a_call_that_they_refuse_costs_nothing() -> None:
    async def scenario() -> None:
        settings = Settings(tokens_file="tokens.jsonl", rate_limit="1/day")
        gate = open_gate(settings, open_log(settings), Events())
        assert gate is not None
        barred, free = Principal("alice", frozenset({"tools:call:odd.other"})), Principal("alice")

        said = [
            await entered(gate, replace(call(), caller=Caller(who), idempotency_key=key), TOOL)
            for who, key in ((barred, ""), (free, "k"), (free, "k"))
        ]

        assert [entry.name if isinstance(entry, Fault) else "" for entry in said] == [
            "INSUFFICIENT_SCOPE", "", "RATE_LIMITED",
        ]  # fmt: skip
        assert said[1] is not None, "the key is noted"

    asyncio.run(scenario())


@pytest.mark.parametrize("key", ["", "k"])
def test_a_call_that_finds_the_queue_full_costs_nothing(key: str) -> None:
    async def scenario() -> None:
        settings = Settings(limits={"rate": "4/day", "concurrency": 1, "queue": 1})
        gate = open_gate(settings, open_log(settings), Events())
        assert gate is not None

        def calling(number: int) -> asyncio.Future[Entry]:
            one = replace(call("alice"), idempotency_key=f"{key}{number}" if key else "")
            return asyncio.ensure_future(entered(gate, one, TOOL))

        calls = [calling(number) for number in range(6)]
        await until(lambda: sum(one.done() for one in calls) == 5)
        assert [isinstance(one.result(), Fault) for one in calls if one.done()] == [False, True, True, True, True]

        for one in calls[:2]:
            await leave(await one)
        for number in (6, 7):
            await leave(await calling(number))
        over = await calling(8)
        assert isinstance(over, Fault)
        assert "4 calls per day" in over.message
        for number in (9, 10, 11):
            assert "4 calls per day" in str(await calling(number)), "a refused call gives its seat back"

    async def leave(entry: Entry) -> None:
        assert entry is not None
        assert not isinstance(entry, Fault | Outcome)
        left = entry.leave(None)
        if left is not None:
            await left

    asyncio.run(asyncio.wait_for(scenario(), 20))


@pytest.mark.parametrize(("workers", "lines"), [(1, 0), (2, 1)])
@pytest.mark.parametrize("limits", [{}, {"rate": "9/s"}])
def test_workers_that_do_not_know_each_others_keys_say_so_once(
    workers: int, lines: int, limits: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        settings = Settings(workers=workers, limits=limits)
        log = open_log(settings)
        gate = open_gate(settings, log, Events()) or open_key_gate(settings, log)
        for key in ("", "a", "b"):
            if key or limits:
                await entered(gate, call("alice", key=key), TOOL)

    asyncio.run(scenario())

    assert capsys.readouterr().err.count("keys.unshared") == lines


def test_without_a_setting_there_is_no_gate() -> None:
    assert open_gate(Settings(), open_log(Settings()), Events()) is None
