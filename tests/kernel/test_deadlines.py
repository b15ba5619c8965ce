"""Deadlines: each wait ends with its task or when its time is over, and one timer serves all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signet.kernel.pipeline import Deadlines


class HandWoundLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still, and whose timers go off when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 100.0
        self.timers: list[tuple[float, Callable[..., Any]]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when: float, callback: Callable[..., Any], *_: Any, **__: Any) -> Any:
        self.timers.append((when, callback))

    def wind(self, now_s: float) -> None:
        """Move the clock on, and let the timers go off that are due."""
        self.now_s = now_s
        due = [one for one in self.timers if one[0] <= now_s]
        self.timers = [one for one in self.timers if one[0] > now_s]
        for _, callback in due:
            callback()


@pytest.fixture
def loop() -> Any:
    loop = HandWoundLoop()
    yield loop
    loop.close()


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Run what is ready."""
    loop.call_soon(loop.stop)
    loop.run_forever()


def test_a_wait_ends_with_its_task(loop: HandWoundLoop) -> None:
    task = loop.create_future()
    wait = Deadlines(loop, 10.0).wait_for(task)
    turn(loop)
    assert not wait.done()

    task.set_result("value")
    turn(loop)

    assert wait.done()


def test_each_wait_is_over_at_its_own_time(loop: HandWoundLoop) -> None:
    deadlines, waits = Deadlines(loop, 10.0), []
    for now_s in (100.0, 103.0, 106.0):
        loop.wind(now_s)
        waits.append(deadlines.wait_for(loop.create_future()))

    ended = []
    for now_s in (109.9, 110.0, 112.9, 113.0, 116.0):
        loop.wind(now_s)
        ended.append([wait.done() for wait in waits])

    no, yes = False, True
    assert ended == [[no, no, no], [yes, no, no], [yes, no, no], [yes, yes, no], [yes, yes, yes]]


def test_many_waits_have_one_timer(loop: HandWoundLoop) -> None:
    deadlines = Deadlines(loop, 10.0)
    waits = [deadlines.wait_for(loop.create_future()) for _ in range(50)]
    assert [when for when, _ in loop.timers] == [110.0]
    loop.wind(104.0)
    last = deadlines.wait_for(loop.create_future())
    for wait in waits:
        deadlines.forget(wait)

    loop.wind(110.0)

    assert not last.done()
    assert [when for when, _ in loop.timers] == [114.0]


def test_after_a_pause_there_is_a_timer_again(loop: HandWoundLoop) -> None:
    deadlines = Deadlines(loop, 10.0)
    deadlines.forget(deadlines.wait_for(loop.create_future()))
    loop.wind(110.0)
    assert loop.timers == []

    loop.wind(300.0)
    wait = deadlines.wait_for(loop.create_future())
    loop.wind(310.0)

    assert wait.done()


def test_a_timer_that_goes_off_a_little_early_is_not_set_again(loop: HandWoundLoop) -> None:
    """Those of some event loops count in milliseconds."""
    deadlines = Deadlines(loop, 10.0)
    wait = deadlines.wait_for(loop.create_future())
    (_, go_off), *_ = loop.timers
    loop.timers.clear()

    loop.now_s = 109.9995
    go_off()

    assert wait.done()
    assert loop.timers == []


def test_a_task_that_ends_after_its_time_disturbs_nobody(loop: HandWoundLoop) -> None:
    complaints: list[Any] = []
    loop.set_exception_handler(lambda _, facts: complaints.append(facts))
    task = loop.create_future()
    wait = Deadlines(loop, 10.0).wait_for(task)
    loop.wind(110.0)

    task.set_result(None)
    turn(loop)

    assert wait.done()
    assert complaints == []


def test_a_wait_that_its_caller_gave_up_is_left_alone(loop: HandWoundLoop) -> None:
    deadlines = Deadlines(loop, 10.0)
    wait, other = (deadlines.wait_for(loop.create_future()) for _ in range(2))
    wait.cancel()

    loop.wind(110.0)

    assert wait.cancelled()
    assert other.done()
