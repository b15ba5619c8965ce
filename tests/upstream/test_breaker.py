"""A circuit breaker: when an upstream is left alone, when it is tried again, and by whom."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

import signet
from oj_harness import OjHarness
from own_toolsets import declared, echoing
from signet.app import build_server
from signet.commands.call import walk
from signet.kernel.errors import Code, Fault
from signet.kernel.turns import TurnsError
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.settings.model import Settings
from signet.upstream import pace
from signet.upstream.breaker import BreakerUpstream
from signet.upstream.pace import Pace

FAILED = Fault(Code.INTERNAL_ERROR, "request failed: nothing answers", name="UPSTREAM_FAILED", as_tool_result=False)
OK = UpstreamResponse(200, "", b"fine")
BUSY = UpstreamResponse(503, "", b"")
CUT = UpstreamResponse(200, "", b"fi", broken="the connection was closed")


class Service:
    """An upstream that answers as it is told, and waits if it is told to."""

    origin = "http://service.example"
    has_token = False

    def __init__(self) -> None:
        self.says: UpstreamResponse | Fault = OK
        self.asked = 0
        self.holds: asyncio.Event | None = None

    async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
        self.asked += 1
        if self.holds is not None:
            await self.holds.wait()
        if isinstance(self.says, Fault):
            raise self.says
        return self.says

    def warm(self) -> None: ...

    def forget(self, request: UpstreamRequest) -> None: ...

    async def close(self) -> None: ...


class Broken:
    """A breaker that opens after three failures, and its clock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.service = Service()
        self.lines: list[str] = []
        self.names: set[tuple[str, str, bool]] = set()
        log: Any = lambda event, **_: self.lines.append(event)  # noqa: E731 - it is one word
        self.breaker = BreakerUpstream(self.service, 3, "the Bank", log, lambda: self.now_s)

    async def ask(self) -> str:
        try:
            return str((await self.breaker.send(UpstreamRequest("/"))).status)
        except Fault as fault:
            self.names.add((fault.code, fault.name, fault.as_tool_result))
            return fault.message

    async def fail(self, times: int, says: UpstreamResponse | Fault = FAILED) -> None:
        self.service.says = says
        for _ in range(times):
            await self.ask()


@pytest.mark.parametrize("failure", [FAILED, BUSY, CUT])
def test_it_opens_after_failures_in_sequence_and_says_when_it_tries_again(failure: UpstreamResponse | Fault) -> None:
    async def scenario() -> None:
        broken = Broken()
        await broken.fail(3, failure)
        broken.service.says = OK

        at_once = await broken.ask()
        broken.now_s += 29.5
        later = await broken.ask()

        assert at_once == "request failed: the Bank failed 3 times in sequence, it is tried again in 30 s"
        assert later == "request failed: the Bank failed 3 times in sequence, it is tried again in 1 s"
        assert broken.service.asked == 3
        broken.now_s += 0.5
        assert [await broken.ask() for _ in range(2)] == ["200", "200"]
        assert broken.lines == ["upstream.open", "upstream.closed"]
        assert broken.names == {("INTERNAL_ERROR", "UPSTREAM_FAILED", False)}, "as a failure of the network is told"

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [400, 401, 404, 429])
def test_an_answer_that_refuses_is_no_failure_and_ends_the_sequence(status: int) -> None:
    async def scenario() -> None:
        broken = Broken()
        for _ in range(5):
            await broken.fail(2)
            await broken.fail(1, UpstreamResponse(status, "", b""))

        assert broken.service.asked == 15
        assert broken.lines == []

    asyncio.run(scenario())


def test_failures_that_are_rare_do_not_open_it() -> None:
    async def scenario() -> None:
        broken = Broken()
        for _ in range(10):
            await broken.fail(1)
            broken.now_s += 31

        assert broken.service.asked == 10

    asyncio.run(scenario())


def test_one_request_at_a_time_tries_it_and_a_failure_opens_it_again() -> None:
    async def scenario() -> None:
        broken = Broken()
        await broken.fail(3)
        broken.now_s += 30
        broken.service.holds = asyncio.Event()
        probe = asyncio.ensure_future(broken.ask())
        await asyncio.sleep(0)

        meanwhile = [await broken.ask() for _ in range(3)]
        broken.service.holds.set()
        await probe

        assert set(meanwhile) == {"request failed: the Bank failed 3 times in sequence, it is being tried just now"}
        assert broken.service.asked == 4
        assert (await broken.ask()).endswith("failed 4 times in sequence, it is tried again in 30 s")

    asyncio.run(scenario())


def test_requests_that_had_no_turn_say_nothing_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "PATIENCE_S", 0.0)

    class Away:
        async def take(self, *_: object) -> float:
            raise TurnsError("the store is away")

        async def start(self, *_: object) -> bool:
            raise TurnsError("the store is away")

        async def end(self, *_: object) -> None:
            raise TurnsError("the store is away")

    async def scenario() -> None:
        broken = Broken()
        turns = Pace(1.0, "the Bank", "bank", [Away()])
        send = broken.service.send

        async def paced(request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
            await turns.slot()
            return await send(request, wait)

        monkeypatch.setattr(broken.service, "send", paced)
        said = [await broken.ask() for _ in range(5)]
        assert all("no turn to ask the Bank" in text for text in said)
        assert broken.lines == []

        monkeypatch.setattr(broken.service, "send", send)
        await broken.fail(3)
        broken.now_s += 30
        monkeypatch.setattr(broken.service, "send", paced)
        assert "no turn" in await broken.ask()
        monkeypatch.setattr(broken.service, "send", send)
        broken.service.says = OK
        assert await broken.ask() == "200"
        assert broken.lines == ["upstream.open", "upstream.closed"]

    asyncio.run(scenario())


def test_a_try_that_is_cancelled_lets_the_next_one_try() -> None:
    async def scenario() -> None:
        broken = Broken()
        await broken.fail(3)
        broken.now_s += 30
        broken.service.says, broken.service.holds = OK, asyncio.Event()
        probe = asyncio.ensure_future(broken.ask())
        await asyncio.sleep(0)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        broken.service.holds = None

        assert await broken.ask() == "200"

    asyncio.run(scenario())


def ask_server(limits: dict[str, Any], toolset: str, name: str, times: int, **flags: Any) -> list[str]:
    """Make calls of one tool of a server, and return the messages of their faults."""
    settings = replace(Settings.read({}, {"toolsets": toolset, **flags}), limits=limits)

    async def run() -> list[str]:
        server = build_server(settings)
        try:
            outcomes = [await walk(server, name, {}) for _ in range(times)]
        finally:
            await server.close()
        return [outcome.fault.message if outcome.fault is not None else "" for outcome in outcomes]

    return asyncio.run(run())


def test_a_file_puts_it_before_the_upstream_of_a_toolset(judge: OjHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    judge.order("status", status=503)

    told = ask_server({"breaker": 2}, "oj", "get_platform_status", 4, oj_base_url=judge.url, oj_token="t")

    assert len(judge.requests()) == 2
    assert ["tried again" in one for one in told] == [False, False, True, True]


def test_without_the_setting_each_call_asks_the_upstream(judge: OjHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    judge.order("status", status=503)

    told = ask_server({}, "oj", "get_platform_status", 8, oj_base_url=judge.url, oj_token="t")

    assert len(judge.requests()) == 8
    assert len(set(told)) == 1


def test_a_file_puts_it_before_the_services_of_ones_own_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with echoing() as service:
        service.order("status", status=500)
        api = signet.Upstream(service.url, name="weather")

        async def forecast() -> int:
            """Say what comes."""
            return (await api.get("/today")).status

        with declared(forecast) as toolset:
            told = ask_server({"breaker": 2}, toolset, "forecast", 3)

        assert len(service.requests()) == 2
        assert told[2].startswith("request failed: weather failed 2 times in sequence")
