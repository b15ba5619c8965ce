"""A call behind a gate: refused, answered already, or run, with what the gate gave given back in every case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest

from limit_harness import call, tool
from signet.kernel.errors import Code, Fault
from signet.kernel.gate import Entry, run_behind_gate
from signet.kernel.outcome import Outcome

TOOL = tool()
UNANSWERED = Outcome(call(), TOOL)
DONE = Outcome(call(), TOOL, {}, b"{}")
KEPT = Outcome(call(), TOOL, {"n": 1}, b'{"n":1}')
FAULT = Fault(Code.UNAUTHORIZED, "not now")


class Ticket:
    """A pass that notes how it came back."""

    def __init__(self, *, later: bool = False) -> None:
        self.left: list[Outcome | None] = []
        self.later = later

    def leave(self, outcome: Outcome | None) -> Awaitable[None] | None:
        if self.later:
            return self._leave(outcome)
        self.left.append(outcome)
        return None

    async def _leave(self, outcome: Outcome | None) -> None:
        await asyncio.sleep(0)
        self.left.append(outcome)


class Told:
    """What became of calls."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.runs = 0

    def notify(self, outcome: Outcome) -> Outcome:
        self.outcomes.append(outcome)
        return outcome

    def run(self) -> Outcome | Coroutine[Any, Any, Outcome]:
        self.runs += 1
        return DONE


async def later(entry: Entry) -> Entry:
    await asyncio.sleep(0)
    return entry


async def behind(entry: Entry | Awaitable[Entry], told: Told, run: Any = None) -> Outcome:
    outcome = run_behind_gate(UNANSWERED, entry, run or told.run, told.notify)
    return outcome if isinstance(outcome, Outcome) else await outcome


def test_a_refusal_is_told_at_once_and_makes_no_call_a_coroutine() -> None:
    told = Told()

    refused = run_behind_gate(UNANSWERED, FAULT, told.run, told.notify)

    assert isinstance(refused, Outcome)
    assert (refused.fault, told.outcomes, told.runs) == (FAULT, [refused], 0)


def test_an_answer_that_is_there_is_told_and_the_call_not_run() -> None:
    told = Told()

    assert asyncio.run(behind(KEPT, told)) is KEPT
    assert (told.outcomes, told.runs) == ([KEPT], 0)


@pytest.mark.parametrize("entry", [FAULT, KEPT, None])
def test_an_entry_may_come_later(entry: Entry) -> None:
    async def scenario() -> None:
        told = Told()

        outcome = await behind(later(entry), told)

        assert told.runs == (entry is None)
        assert outcome.fault is (entry if isinstance(entry, Fault) else None)
        assert outcome.result == (KEPT if isinstance(entry, Outcome) else outcome).result

    asyncio.run(scenario())


@pytest.mark.parametrize("ticket", [Ticket(), Ticket(later=True)])
def test_a_pass_comes_back_with_the_outcome(ticket: Ticket) -> None:
    assert asyncio.run(behind(ticket, Told())) is DONE
    assert ticket.left == [DONE]


@pytest.mark.parametrize("ticket", [Ticket(), Ticket(later=True)])
def test_a_pass_comes_back_from_a_call_that_was_given_up(ticket: Ticket) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def hang() -> Outcome:
            started.set()
            await asyncio.Event().wait()
            return DONE

        task = asyncio.ensure_future(behind(ticket, Told(), hang))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert ticket.left == [None]

    asyncio.run(scenario())
