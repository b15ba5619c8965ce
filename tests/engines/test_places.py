"""Places: as many diagrams as there are processes are drawn, a bounded number waits, and who leaves frees its place."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator

import pytest

from signet.engines.places import MAX_WAITING, DrawingPlaces
from signet.engines.pool import Pool
from signet.kernel.errors import Fault
from signet.system.piped_process import ChildEndedError, KillHandle, PipedProcess
from system.test_piped_process import FAR_S, is_running, python

SILENT = "import sys\nsys.stdin.read()"
Work = Callable[[KillHandle], None]


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(lambda folder: PipedProcess(python(SILENT), {}, cwd=folder), idle_s=60)
    yield pool
    pool.close()


def endless(pool: Pool, begun: list[int], ended: list[int]) -> Work:
    """Return work with a child that never answers."""

    def wait(child: PipedProcess) -> None:
        begun.append(child.pid)
        try:
            child.read(1, time.monotonic() + FAR_S)
        finally:
            ended.append(child.pid)

    return lambda hold: pool.use(wait, hold)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a thread changes it
        await asyncio.sleep(0.01)


async def leave(*calls: asyncio.Task[None]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


def test_who_leaves_ends_the_child_and_frees_the_place(pool: Pool) -> None:
    async def scene() -> tuple[list[int], str]:
        places, begun, ended = DrawingPlaces(1, "test"), list[int](), list[int]()
        call = asyncio.ensure_future(places.run(endless(pool, begun, ended)))
        await until(lambda: bool(begun))
        await leave(call)
        return begun, await places.run(lambda _: f"drawn after {len(ended)}")

    begun, drawn = asyncio.run(asyncio.wait_for(scene(), FAR_S / 2))

    assert drawn == "drawn after 1"
    assert not is_running(begun[0])


def test_those_who_leave_while_they_wait_begin_nothing(pool: Pool) -> None:
    async def scene() -> list[int]:
        places, begun = DrawingPlaces(1, "test"), list[int]()
        first = asyncio.ensure_future(places.run(endless(pool, begun, [])))
        await until(lambda: bool(begun))
        for _ in range(3 * MAX_WAITING):
            waiting = asyncio.ensure_future(places.run(endless(pool, begun, [])))
            await asyncio.sleep(0)
            await leave(waiting)
        await leave(first)
        await places.run(lambda _: None)
        return begun

    assert len(asyncio.run(asyncio.wait_for(scene(), FAR_S / 2))) == 1


def test_one_more_than_may_wait_is_told_to_come_again(pool: Pool) -> None:
    async def scene() -> Fault:
        places, begun = DrawingPlaces(1, "test"), list[int]()
        calls = [asyncio.ensure_future(places.run(endless(pool, begun, []))) for _ in range(1 + MAX_WAITING)]
        await until(lambda: bool(begun))
        with pytest.raises(Fault) as raised:
            await places.run(lambda _: None)
        await leave(*reversed(calls))
        return raised.value

    fault = asyncio.run(asyncio.wait_for(scene(), FAR_S / 2))

    assert (fault.name, fault.status, fault.as_tool_result) == ("ENGINE_BUSY", 503, True)


def test_a_hold_that_has_ended_kills_the_child_that_comes_later_and_none_that_was_given_back(pool: Pool) -> None:
    early, late = KillHandle(), KillHandle()
    early.end()
    with pytest.raises(ChildEndedError):
        pool.use(lambda child: child.read(1, time.monotonic() + FAR_S), early)

    pid = pool.use(lambda child: child.pid, late)
    late.end()

    assert pool.use(lambda child: child.pid) == pid
    os.kill(pid, 0)
