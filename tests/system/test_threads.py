"""The threads of offloaded work: each caller its share, and nothing is kept of a job that nobody waits for."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, wait
from contextvars import copy_context
from typing import Any
from weakref import ref

import pytest

from processes import PATIENCE_S
from signet.kernel.caller import CALLER, Caller, holder_now
from signet.system.threads import SPARE, THREADS, FairExecutor

THREADS_HERE, SPARE_HERE = 4, 2


class Large:
    """A value whose end can be seen."""


class FailedError(Exception):
    """An error whose end can be seen."""


class Gate:
    """Functions that begin and then wait until they are let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.count = 0
        self._open = threading.Event()

    def __call__(self, _: object = None) -> Large:
        self.count += 1
        self.begun.release()
        assert self._open.wait(PATIENCE_S)
        return Large()

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=PATIENCE_S)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def pool(gate: Gate) -> Iterator[FairExecutor]:
    executor = FairExecutor(holder_now, THREADS_HERE, SPARE_HERE)
    yield executor
    gate.open()
    executor.shutdown()


@pytest.fixture
def no_collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    if was_enabled:
        gc.enable()


def submit_as(pool: FairExecutor, address: str, *call: Any) -> Future[Any]:
    """Hand in a function as part of the call of an address."""

    def submit() -> Future[Any]:
        CALLER.set(Caller(address=address))
        return pool.submit(*call)

    return copy_context().run(submit)


def settled(pool: FairExecutor) -> tuple[int, int]:
    """Return how many jobs run and wait when all threads have ended."""
    pool.shutdown()
    return pool._line.held, pool._line.count


def fail(_: object) -> None:
    raise FailedError("of the function")


def test_there_are_as_many_threads_as_are_documented() -> None:
    assert (THREADS, SPARE) == (8, 24)


def test_what_a_function_returns_and_raises_comes_back(pool: FairExecutor) -> None:
    assert pool.submit(max, 1, 2).result(PATIENCE_S) == 2
    with pytest.raises(FailedError, match="of the function"):
        pool.submit(fail, 1).result(PATIENCE_S)


def test_a_caller_has_half_of_the_threads_and_another_finds_one(pool: FairExecutor, gate: Gate) -> None:
    jobs = [submit_as(pool, "127.0.0.2", gate) for _ in range(20)]
    gate.wait_for(2)
    others = [submit_as(pool, f"127.0.0.{number}", gate) for number in (3, 4, 5, 6)]
    gate.wait_for(4)
    begun = gate.count

    refused = submit_as(pool, "127.0.0.7", max, 1, 2)
    waits = not refused.done()
    gate.open()
    done = wait([*jobs, *others, refused], PATIENCE_S)

    assert (begun, waits) == (THREADS_HERE + SPARE_HERE, True)
    assert not done.not_done
    assert settled(pool) == (0, 0)


def test_outside_of_a_call_all_threads_can_be_had(pool: FairExecutor, gate: Gate) -> None:
    for _ in range(10):
        pool.submit(gate)

    gate.wait_for(THREADS_HERE)

    assert pool._line.held == THREADS_HERE


def test_a_job_that_is_cancelled_while_it_waits_leaves_the_line_and_never_runs(pool: FairExecutor, gate: Gate) -> None:
    called: list[int] = []
    for _ in range(THREADS_HERE):
        pool.submit(gate)
    gate.wait_for(THREADS_HERE)
    waiting = [pool.submit(called.append, number) for number in range(3)]

    assert waiting[1].cancel()
    assert waiting[1].cancel()
    count, told = pool._line.count, wait([waiting[1]], PATIENCE_S)
    gate.open()
    wait(waiting, PATIENCE_S)

    assert (count, sorted(called)) == (2, [0, 2])
    assert told.done == {waiting[1]}
    with pytest.raises(CancelledError):
        waiting[1].result(0)


def test_a_job_that_runs_is_not_cancelled_and_has_its_thread_until_it_returns(pool: FairExecutor, gate: Gate) -> None:
    async def leave() -> None:
        loop = asyncio.get_running_loop()
        left = asyncio.ensure_future(asyncio.wrap_future(pool.submit(gate), loop=loop))
        await asyncio.get_running_loop().run_in_executor(None, gate.wait_for, 1)
        left.cancel()
        await asyncio.wait([left])

    asyncio.run(leave())
    held = pool._line.held
    job = pool.submit(gate)
    gate.wait_for(1)
    is_cancelled = job.cancel()
    gate.open()

    assert (held, is_cancelled) == (1, False)
    assert type(job.result(PATIENCE_S)) is Large
    assert settled(pool) == (0, 0)


@pytest.mark.usefixtures("no_collector")
def test_the_result_and_the_arguments_of_a_job_are_freed_with_its_last_reference(
    pool: FairExecutor, gate: Gate
) -> None:
    argument = Large()
    job = pool.submit(gate, argument)
    gate.open()
    seen = [ref(argument), ref(job.result(PATIENCE_S)), ref(job)]

    del argument
    pool.shutdown()
    kept = [one() is not None for one in seen]
    del job

    assert kept == [False, True, True]
    assert [one() for one in seen] == [None, None, None]


@pytest.mark.usefixtures("no_collector")
def test_a_job_that_raised_is_freed_with_its_last_reference(pool: FairExecutor) -> None:
    argument = Large()
    job = pool.submit(fail, argument)
    error = job.exception(PATIENCE_S)
    assert error is not None
    seen = [ref(argument), ref(error), ref(job)]

    pool.shutdown()
    del argument, error, job

    assert [one() for one in seen] == [None, None, None]


@pytest.mark.usefixtures("no_collector")
def test_the_arguments_of_a_job_that_is_cancelled_in_the_line_are_freed_at_once(pool: FairExecutor, gate: Gate) -> None:
    for _ in range(THREADS_HERE):
        pool.submit(gate)
    gate.wait_for(THREADS_HERE)
    argument = Large()
    job = pool.submit(max, argument)
    seen = [ref(argument), ref(job)]

    del argument
    job.cancel()
    kept = seen[0]()
    del job

    assert kept is None
    assert seen[1]() is None


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("function", [lambda argument: argument, fail])
def test_what_was_awaited_on_an_event_loop_is_freed_too(pool: FairExecutor, function: Any) -> None:
    async def ask() -> list[Any]:
        argument = Large()
        seen = [ref(argument)]
        loop = asyncio.get_running_loop()
        loop.set_default_executor(pool)
        try:
            seen.append(ref(await asyncio.to_thread(function, argument)))
        except FailedError as error:
            seen.append(ref(error))
        return seen

    seen = asyncio.run(ask())

    assert [one() for one in seen] == [None, None]


def test_a_pool_that_is_closed_takes_no_job_and_keeps_none(pool: FairExecutor) -> None:
    pool.shutdown()

    with pytest.raises(RuntimeError):
        pool.submit(max, 1, 2)

    assert settled(pool) == (0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_whenever_jobs_are_cancelled_each_runs_once_or_not_at_all_and_no_place_is_lost(
    pool: FairExecutor, seed: int
) -> None:
    chance, ran = random.Random(seed), list[int]()
    jobs = [submit_as(pool, f"127.0.0.{chance.randrange(5)}", ran.append, number) for number in range(300)]
    order = chance.sample(jobs, 200)
    start = threading.Barrier(2)

    def cancel_all() -> None:
        start.wait(PATIENCE_S)
        for job in order:
            job.cancel()

    threads = [threading.Thread(target=cancel_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = wait(jobs, PATIENCE_S)

    assert not told.not_done
    assert sorted(ran) == [number for number, job in enumerate(jobs) if not job.cancelled()]
    assert settled(pool) == (0, 0)
