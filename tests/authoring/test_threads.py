"""The threads of plain functions: as many as jobs that block, up to a bound; a call given up leaves no trace."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest

from processes import PATIENCE_S
from signet.authoring.threads import MAX_LOST, Job, Threads, threads_of


def test_jobs_that_block_run_at_once() -> None:
    """Each waits for all others."""
    barrier = threading.Barrier(32)

    def meet(_: Job) -> bool:
        barrier.wait(PATIENCE_S)
        return True

    async def main() -> list[Any]:
        threads = Threads(limit=32)
        return await asyncio.gather(*[threads.run(meet) for _ in range(32)])

    assert asyncio.run(main()) == [True] * 32


def test_there_are_no_more_threads_than_the_limit() -> None:
    lock = threading.Lock()
    now, most = 0, 0

    def count(_: Job) -> None:
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        threading.Event().wait(0.002)
        with lock:
            now -= 1

    async def main() -> None:
        threads = Threads(limit=3)
        await asyncio.gather(*[threads.run(count) for _ in range(40)])

    asyncio.run(main())

    assert 1 < most <= 3


def test_jobs_that_come_one_after_the_other_are_all_run() -> None:
    async def main() -> list[Any]:
        threads = Threads()
        one_by_one = [await threads.run(lambda _, own=number: own) for number in range(50)]
        await asyncio.sleep(0.01)
        return [*one_by_one, *await asyncio.gather(*[threads.run(lambda _: "late") for _ in range(200)])]

    assert asyncio.run(main()) == [*range(50), *["late"] * 200]


def test_what_a_function_raises_is_the_value() -> None:
    error = SystemExit(3)

    def leave(_: Job) -> None:
        raise error

    async def main() -> Any:
        return await Threads().run(leave)

    assert asyncio.run(main()) is error


def test_a_call_that_was_given_up_while_it_waited_never_runs_and_one_that_runs_can_see_it() -> None:
    ran: list[str] = []
    begun, seen = threading.Event(), threading.Event()

    def hold(job: Job) -> None:
        begun.set()
        while not job.is_abandoned:
            threading.Event().wait(0.001)
        seen.set()

    async def main() -> None:
        threads = Threads(limit=1)
        held = threads.run(hold)
        waiting = threads.run(lambda _: ran.append("waiting"))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        waiting.cancel()
        held.cancel()
        await asyncio.to_thread(seen.wait, PATIENCE_S)
        await threads.run(lambda _: ran.append("next"))

    asyncio.run(main())

    assert ran == ["next"]


def test_jobs_that_were_given_up_are_forgotten_although_no_thread_is_free() -> None:
    """What they hold is freed, and those between them keep their turn."""
    go = threading.Event()
    ran: list[int] = []

    class Held:
        """A value that can be watched."""

    async def main() -> int:
        threads = Threads(limit=1)
        stuck = threads.run(lambda _: go.wait(PATIENCE_S))
        held = [Held() for _ in range(50)]
        alive = [weakref.ref(one) for one in held]
        given_up = [threads.run(lambda _, one=one: one) for one in held]
        kept = [threads.run(lambda _, own=number: ran.append(own)) for number in range(3)]
        del held[:]
        for future in given_up:
            future.cancel()
        del given_up[:], future
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gc.collect()
        left = sum(one() is not None for one in alive)
        go.set()
        await asyncio.gather(stuck, *kept)
        return left

    assert asyncio.run(main()) == 0
    assert ran == [0, 1, 2]


def test_the_loop_is_not_woken_again_and_again_while_all_threads_are_held() -> None:
    go = threading.Event()
    looked: list[None] = []

    class Counting(Threads):
        def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
            looked.append(None)
            super()._watch(loop)

    async def main() -> list[Any]:
        threads = Counting(limit=1)
        jobs = [threads.run(lambda _: go.wait(PATIENCE_S)), threads.run(lambda _: "served")]
        await asyncio.sleep(0.1)
        go.set()
        return await asyncio.gather(*jobs)

    assert asyncio.run(main()) == [True, "served"]
    assert len(looked) <= 2


def test_a_thread_whose_loop_has_ended_tells_nobody() -> None:
    go, begun, done = threading.Event(), threading.Event(), threading.Event()

    def hold(_: Job) -> None:
        begun.set()
        go.wait(PATIENCE_S)
        done.set()

    async def main() -> None:
        threads.run(hold)
        await asyncio.to_thread(begun.wait, PATIENCE_S)

    threads = Threads()
    asyncio.run(main())
    go.set()

    assert done.wait(PATIENCE_S)


def test_each_loop_has_threads_of_its_own() -> None:
    async def main() -> tuple[Threads, Any]:
        threads = threads_of(asyncio.get_running_loop())
        assert threads is threads_of(asyncio.get_running_loop())
        return threads, await threads.run(lambda _: "served")

    first, second = asyncio.run(main()), asyncio.run(main())

    assert first[0] is not second[0]
    assert first[1] == second[1] == "served"


def test_a_thread_without_work_ends_and_another_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signet.authoring.threads.IDLE_S", 0.01)

    async def main() -> list[Any]:
        threads = Threads()
        names = []
        for _ in range(3):
            names.append(await threads.run(lambda _: threading.current_thread()))
            await asyncio.to_thread(names[-1].join, PATIENCE_S)
        return names

    assert len(set(asyncio.run(main()))) == 3


def test_a_thread_that_never_returns_is_replaced_until_its_tool_has_lost_too_many() -> None:
    go = threading.Event()

    async def main() -> list[Any]:
        threads = Threads(limit=8)
        seen: list[Any] = []
        for _ in range(MAX_LOST // 8):
            seen.append(threads.lost_by("", "hangs"))
            await lose(threads, go, "", 8)
            seen.append(await threads.run(lambda _: "served", "other"))
        seen += [threads.lost_by("", "hangs"), threads.lost_by("", "other")]
        go.set()
        while threads.lost_by("", "hangs"):  # noqa: ASYNC110 - other threads change it
            await asyncio.sleep(0.01)
        return seen

    assert asyncio.run(main()) == [0, "served", 0, "served", 16, 0]


async def lose(threads: Threads, go: threading.Event, holder: str, count: int, tool: str = "hangs") -> None:
    """Begin calls, and give them up when they run."""
    begun = threading.Barrier(count + 1)

    def begin(_: Job) -> None:
        begun.wait(PATIENCE_S)
        go.wait(PATIENCE_S)

    held = [threads.run(begin, tool, holder) for _ in range(count)]
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    for one in held:
        one.cancel()
    await asyncio.sleep(0)


def test_one_caller_leaves_threads_to_the_others_and_who_has_fewest_is_next() -> None:
    go = threading.Event()
    began: list[str] = []

    def hold(who: str) -> Any:
        def run(_: Job) -> None:
            began.append(who)
            go.wait(PATIENCE_S)

        return run

    async def main() -> list[int]:
        threads = Threads(limit=8)
        jobs = [threads.run(hold("a"), "", "address a") for _ in range(50)]
        while began.count("a") < 4:  # noqa: ASYNC110 - other threads change it
            await asyncio.sleep(0.001)
        jobs += [threads.run(hold("b"), "", "address b") for _ in range(50)]
        jobs += [threads.run(hold(f"{number}"), "", f"address {number}") for number in range(9)]
        while len(set(began)) < 11:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.001)
        counts = [began.count("a"), len(began)]
        go.set()
        await asyncio.gather(*jobs)
        return counts

    # One half of 8 threads for the first, and one for each that has none, although there are more of these than 8.
    mine, at_once = asyncio.run(main())
    assert (mine, len(began)) == (4, 109)
    assert at_once <= 16


def test_calls_that_were_left_count_to_who_left_them() -> None:
    go = threading.Event()

    async def main() -> list[int]:
        threads = Threads(limit=64)
        await lose(threads, go, "address a", 16)
        seen = [threads.lost_by(holder, "hangs") for holder in ("address a", "address b", "")]
        await lose(threads, go, "address a", 16, "second")
        await lose(threads, go, "address a", 16, "third")
        await lose(threads, go, "address a", 16, "fourth")
        # One half of all that may be lost is the share of one caller.
        seen += [threads.lost_by("address a", "fifth"), threads.lost_by("address b", "fifth")]
        go.set()
        while threads.lost_by("address a", "hangs"):  # noqa: ASYNC110 - other threads change it
            await asyncio.sleep(0.001)
        return seen

    assert asyncio.run(main()) == [16, 0, 0, 64, 0]


def test_there_is_a_bound_to_all_threads_however_many_are_left() -> None:
    go = threading.Event()

    async def main() -> int:
        threads = Threads(limit=4)
        threads._lost.total = 8
        for number in range(40):
            holder = f"address {number}"
            calls = [threads.run(lambda _: go.wait(PATIENCE_S), "hangs", holder) for _ in range(3)]
            await asyncio.sleep(0.005)
            for one in calls:
                one.cancel()
            await asyncio.sleep(0)
        most = tool_threads()
        go.set()
        return most

    before = tool_threads()

    assert asyncio.run(main()) - before <= 4 + 4 + 8


def tool_threads() -> int:
    return sum(thread.name == "signet-tool" for thread in threading.enumerate())
