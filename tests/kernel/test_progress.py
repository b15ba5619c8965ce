"""Reports of progress: a heartbeat while a call waits, and the tool's own numbers undisturbed by it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from signet.kernel.progress import INTERVAL_S, WORKING, ProgressReports

Params = dict[str, Any]
LONGEST_S = 0.02
"""How long a test waits, three times over, for what must not be sent; intervals that are longer serve another end."""
Act = Callable[[ProgressReports, Callable[[int], Awaitable[None]]], Awaitable[None]]


def told(act: Act, interval_s: float = 0.01) -> list[Params]:
    """Return the reports while something goes on; it is given a function that waits for so many reports."""
    seen: list[Params] = []

    async def run() -> None:
        news = asyncio.Event()

        def send(message: bytes) -> None:
            seen.append(json.loads(message)["params"])
            news.set()

        async def until(count: int) -> None:
            while len(seen) < count:
                news.clear()
                await news.wait()

        reports = ProgressReports(send, "token", interval_s)
        await reports.during(act(reports, until))
        after = len(seen)
        reports.report(1e6)
        await asyncio.sleep(min(interval_s, LONGEST_S) * 3)
        assert len(seen) == after, "nothing is sent after the reply"

    asyncio.run(run())
    return seen


def assert_increasing(reports: list[Params]) -> None:
    numbers = [report["progress"] for report in reports]
    assert numbers == sorted(set(numbers)), numbers


def test_silence_is_at_most_five_seconds() -> None:
    assert 0 < INTERVAL_S < 5


def test_a_call_that_waits_is_told_again_and_again_with_what_holds_at_the_time() -> None:
    async def act(reports: ProgressReports, until: Callable[[int], Awaitable[None]]) -> None:
        await until(1)
        reports.waiting.now = "waiting for a turn"
        await until(2)
        counter = iter(range(10))
        reports.waiting.now = lambda: f"asked {next(counter)} times"
        await until(4)

    seen = told(act)

    assert [report["message"] for report in seen] == [WORKING, "waiting for a turn", "asked 0 times", "asked 1 times"]
    assert {report["progressToken"] for report in seen} == {"token"}
    assert_increasing(seen)


def test_a_call_that_ends_sooner_is_told_nothing() -> None:
    async def act(_: ProgressReports, __: Callable[[int], Awaitable[None]]) -> None:
        await asyncio.sleep(0)

    assert told(act, interval_s=0.05) == []


def test_a_tools_own_numbers_are_sent_as_they_are_between_heartbeats() -> None:
    async def act(reports: ProgressReports, until: Callable[[int], Awaitable[None]]) -> None:
        reports.report(0, 100, "begun")
        await until(3)
        reports.report(50, 100, "half")
        await until(5)
        reports.report(100, 100, "done")

    seen = told(act)
    own = [(report["progress"], report["message"]) for report in seen if report["message"] != WORKING]

    assert own == [(0, "begun"), (50, "half"), (100, "done")]
    assert {report["total"] for report in seen} == {100}
    assert_increasing(seen)


def test_numbers_that_a_tool_does_not_raise_are_raised_for_it() -> None:
    async def act(reports: ProgressReports, until: Callable[[int], Awaitable[None]]) -> None:
        await until(1)
        for done in (0, 0, -5, 1e300, 1e300):
            reports.report(done)

    seen = told(act)

    assert len(seen) == 6
    assert_increasing(seen)


def test_a_tool_that_reports_often_is_not_interrupted() -> None:
    async def act(reports: ProgressReports, _: Callable[[int], Awaitable[None]]) -> None:
        for done in range(20):
            reports.report(done)
            await asyncio.sleep(0.005)

    seen = told(act, interval_s=5)

    assert [report["progress"] for report in seen] == list(range(20))


def test_reports_that_are_no_numbers_are_left_out() -> None:
    async def act(reports: ProgressReports, _: Callable[[int], Awaitable[None]]) -> None:
        nonsense: list[Any] = ["abc", object(), None, True, float("nan"), float("inf"), 10**400]
        for done in nonsense:
            reports.report(done, 3, "no number")
        reports.report(1, nonsense[0], nonsense[1])
        reports.report(2, float("inf"), "\ud800")

    seen = told(act, interval_s=5)

    assert seen == [
        {"progressToken": "token", "progress": 1},
        {"progressToken": "token", "progress": 2, "message": "?"},
    ]


def test_a_report_may_come_before_anybody_waits_and_after_the_reply_sets_no_timer() -> None:
    seen: list[Params] = []
    reports = ProgressReports(lambda message: seen.append(json.loads(message)["params"]), "token", 3600)

    async def run() -> tuple[bool, bool]:
        await reports.during(asyncio.sleep(0))
        over = reports._timer is not None and reports._timer.cancelled()
        reports.report(2)
        return over, reports._timer is not None and reports._timer.cancelled()

    reports.report(1, 2, "early")
    assert asyncio.run(run()) == (True, True)
    assert seen == [{"progressToken": "token", "progress": 1, "total": 2, "message": "early"}]


def test_the_number_of_a_heartbeat_is_the_seconds_that_the_call_has_taken() -> None:
    times: list[float] = []

    async def act(_: ProgressReports, until: Callable[[int], Awaitable[None]]) -> None:
        times.append(time.monotonic())
        await until(1)
        times.append(time.monotonic())

    (report,) = told(act)

    assert 0.01 <= report["progress"] <= times[1] - times[0] + 0.02
