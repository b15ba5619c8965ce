"""The console's own threads: few, bounded, and none of the doors'."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from weakref import ref

import pytest

from processes import PATIENCE_S, ROOT
from signet.console.work import work
from signet.kernel.errors import Fault
from signet.system.threads import BusyError, WorkThreads

STUCK_AT_THE_END = """
import asyncio, threading
from signet.console.work import work

async def main():
    started = threading.Event()
    asyncio.ensure_future(work(lambda: (started.set(), threading.Event().wait())))
    while not started.is_set():
        await asyncio.sleep(0.001)

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
print("ended")
"""


def run(test: Coroutine[object, object, None]) -> None:
    asyncio.run(asyncio.wait_for(test, PATIENCE_S))


async def until(state: threading.Event) -> None:
    assert await asyncio.to_thread(state.wait, PATIENCE_S)


class Stuck:
    """A function that does not return until it is let go."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.freed = threading.Event()

    def __call__(self) -> str:
        self.started.set()
        assert self.freed.wait(PATIENCE_S)
        return threading.current_thread().name


def test_results_and_errors_come_back() -> None:
    async def test() -> None:
        assert await work(max, 1, 2) == 2
        with pytest.raises(ZeroDivisionError):
            await work(divmod, 1, 0)
        with pytest.raises(Fault, match="of the view"):
            await work(_refuse)

    run(test())


def _refuse() -> None:
    from signet.kernel.errors import Code

    raise Fault(Code.NOT_FOUND, "of the view")


class _SeenError(Exception):
    """An error whose end can be seen."""


def _raise_seen() -> None:
    raise _SeenError


def test_an_error_is_freed_with_its_last_reference() -> None:
    async def test() -> None:
        loop, freed = asyncio.get_running_loop(), asyncio.Event()
        try:
            await work(_raise_seen)
        except _SeenError as error:
            seen = ref(error, lambda _: loop.call_soon_threadsafe(freed.set))
        # Its thread lets go of it soon after it was told.
        await freed.wait()
        assert seen() is None

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        run(test())
    finally:
        if was_enabled:
            gc.enable()


def test_one_that_is_stuck_leaves_the_other_thread() -> None:
    async def test() -> None:
        threads, stuck = WorkThreads("test", 2, 4), Stuck()
        waiting = asyncio.ensure_future(threads.run("", stuck))
        await until(stuck.started)

        assert [await threads.run("", partial(max, number, 0)) for number in range(20)] == list(range(20))

        stuck.freed.set()
        assert (await waiting).startswith("test-")

    run(test())


def test_one_more_than_may_wait_is_refused() -> None:
    async def test() -> None:
        threads, stuck = WorkThreads("test", 2, 3), [Stuck() for _ in range(2)]
        held = [asyncio.ensure_future(threads.run("", one)) for one in stuck]
        for one in stuck:
            await until(one.started)
        waiting = [asyncio.ensure_future(threads.run("", partial(max, number, 0))) for number in range(3)]
        await asyncio.sleep(0)

        with pytest.raises(BusyError):
            await threads.run("", partial(max, 1, 0))

        stuck[0].freed.set()
        assert await asyncio.gather(*waiting) == [0, 1, 2]
        stuck[1].freed.set()
        assert len(set(await asyncio.gather(*held))) == 2
        assert await threads.run("", partial(max, 1, 0)) == 1

    run(test())


def test_who_leaves_frees_the_place_and_is_never_called() -> None:
    async def test() -> None:
        threads, stuck, called = WorkThreads("test", 1, 1), Stuck(), []
        held = asyncio.ensure_future(threads.run("", stuck))
        await until(stuck.started)
        gone = asyncio.ensure_future(threads.run("", partial(called.append, "gone")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])

        here = asyncio.ensure_future(threads.run("", partial(called.append, "here")))
        await asyncio.sleep(0)
        stuck.freed.set()
        await asyncio.gather(held, here)

        assert called == ["here"]

    run(test())


def test_the_doors_have_their_threads_while_the_console_has_none_left() -> None:
    async def test() -> None:
        stuck = [Stuck() for _ in range(34)]
        held = [asyncio.ensure_future(work(one)) for one in stuck]
        await until(stuck[0].started)
        await until(stuck[1].started)
        with pytest.raises(Fault) as refused:
            await work(max, 1, 0)

        assert (refused.value.status, refused.value.name) == (503, "CONSOLE_BUSY")
        assert refused.value.message == "The console is busy with other requests: ask again in a few seconds"
        assert await asyncio.to_thread(max, 1, 0) == 1

        for one in stuck:
            one.freed.set()
        await asyncio.gather(*held)

    run(test())


def test_no_thread_keeps_the_process_from_ending() -> None:
    command = [sys.executable, "-c", STUCK_AT_THE_END]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    assert ended.stdout == "ended\n"


def test_no_view_takes_a_thread_of_the_doors() -> None:
    sources = {path.name: path.read_text() for path in Path(ROOT / "src/signet/console").glob("*.py")}

    assert [name for name, text in sources.items() if "to_thread" in text or "run_in_executor" in text] == []
