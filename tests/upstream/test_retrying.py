"""An upstream that asks again: what, how often, and after which pauses; none of them is waited for here."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.upstream.retrying import RetryingUpstream

FAILED = Fault(Code.INTERNAL_ERROR, "request failed: nothing answers", name="UPSTREAM_FAILED")
OK = UpstreamResponse(200, "", b"fine")


def answered(status: int, retry_after: str = "") -> UpstreamResponse:
    return UpstreamResponse(status, "", b"", retry_after=retry_after)


class Script:
    """An upstream that gives the steps of a script, the last one again and again."""

    origin = "http://script.example"
    has_token = False

    def __init__(self, *steps: UpstreamResponse | Fault) -> None:
        self.steps = list(steps)
        self.asked = 0

    async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
        self.asked += 1
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Fault):
            raise step
        return step

    def warm(self) -> None: ...

    def forget(self, request: UpstreamRequest) -> None: ...

    async def close(self) -> None: ...


def ask(
    script: Script, *, method: str = "GET", retries: int = 2
) -> tuple[UpstreamResponse | Fault, list[float], list[str]]:
    """Return what comes of a request, its pauses, and what the caller was told in each."""
    pauses: list[float] = []
    told: list[str] = []
    wait = Waiting()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        told.append(wait.text())

    spec = UpstreamSpec(base_url=script.origin, called="the script", retries=retries)
    upstream = RetryingUpstream(script, spec, sleep=pause)
    try:
        return asyncio.run(upstream.send(UpstreamRequest("/x", method), wait)), pauses, told
    except Fault as fault:
        return fault, pauses, told


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_status_that_may_pass_is_asked_again(status: int) -> None:
    script = Script(answered(status), OK)

    assert ask(script) == (OK, [0.5], [f"waiting 0.5 s to ask the script again: it answered with status {status}"])


@pytest.mark.parametrize("status", [200, 301, 400, 401, 404, 500, 501])
def test_any_other_status_is_an_answer(status: int) -> None:
    script = Script(answered(status), OK)

    assert ask(script) == (answered(status), [], [])


def test_a_failure_of_the_network_is_asked_again() -> None:
    assert ask(Script(FAILED, OK)) == (OK, [0.5], ["waiting 0.5 s to ask the script again: the network failed"])


def test_an_answer_that_ended_early_is_asked_again() -> None:
    broken = UpstreamResponse(200, "", b"fi", broken="it hung up")

    assert ask(Script(broken, OK))[:2] == (OK, [0.5])


def test_the_last_failure_is_what_comes_of_it() -> None:
    script = Script(FAILED)

    assert ask(script)[0] is FAILED
    assert script.asked == 3


def test_the_last_answer_is_returned_as_it_is() -> None:
    script = Script(answered(503))

    assert ask(script, retries=0)[0] == answered(503)
    assert script.asked == 1


def test_pauses_double_up_to_a_bound_and_end_in_time() -> None:
    """No request begins more than 30 s after the first, however many there may be; here no time passes."""
    assert ask(Script(answered(503)), retries=7)[1] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_may_change_something_is_sent_once(method: str) -> None:
    script = Script(answered(503), OK)

    assert ask(script, method=method)[0] == answered(503)
    assert script.asked == 1


def test_a_head_is_asked_again() -> None:
    assert ask(Script(answered(503), OK), method="HEAD")[0] == OK


@pytest.mark.parametrize(
    ("asked", "pause"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("20", 20.0),
        ("soon", 0.5),
        ("-1", 0.5),
        ("", 0.5),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", 0.5),
        ("Mon, 01 Jan 2024 00:00:00 -9999", 0.5),
    ],
)
def test_the_pause_is_the_one_that_the_service_asks_for(asked: str, pause: float) -> None:
    assert ask(Script(answered(503, asked), OK))[:2] == (OK, [pause])


@pytest.mark.parametrize("asked", ["21", "3600", "9" * 5000, "Fri, 31 Dec 9999 23:59:59 -2359"])
def test_a_service_that_asks_for_too_long_a_pause_is_not_asked_again(asked: str) -> None:
    script = Script(answered(429, asked), OK)

    assert ask(script) == (answered(429, asked), [], [])


def test_the_pause_may_be_a_date() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    future = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)

    assert ask(Script(answered(503, past), OK))[:2] == (OK, [0.0])
    assert ask(Script(answered(503, future), OK))[:2] == (answered(503, future), [])


def test_nothing_is_asked_again_when_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(answered(503))
    moments = iter([0.0, *[29.8] * 5])

    async def run() -> Any:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: next(moments, 29.8), raising=False)
        spec = UpstreamSpec(base_url=script.origin, retries=2)
        return await RetryingUpstream(script, spec).send(UpstreamRequest("/x"))

    assert asyncio.run(run()) == answered(503)
    assert script.asked == 1
