"""Good manners towards the Bank of Japan, from its own log of requests: spaced, shared, kept, and never seen."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

from boj_harness import (
    CALL_RATE,
    CALL_RATE_TARGET,
    CALLS,
    CODE,
    DEPOSITS,
    LAYER,
    METADATA,
    SPOT,
    SPOT_TARGET,
    TARGETS,
    TOOLS,
    BojHarness,
    call,
    cancellation,
    error_of,
    failure,
    kind_of,
    request,
    result_of,
    serving_boj,
)
from processes import PATIENCE_S, Pipe
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.recording import LiveRun
from signet.settings.model import Settings, open_log
from signet.toolsets.boj import BojSettings, interval_s
from signet.toolsets.boj.tools import may_cache
from signet.upstream.caching import CachingUpstream
from signet.upstream.http import HttpUpstream
from signet.upstream.origin import parse_origin

MIB = 1_048_576
INTERVAL_MS = 600
APART_S = 0.3
"""What the Bank sees of that: requests start so far apart, and one may be longer on its way than the next."""
REFUSED, FAILED = (-32602, "API_ERROR"), (-32603, "API_ERROR")
TRANSPORT, DECODE = (-32603, "TRANSPORT_ERROR"), (-32603, "DECODE_ERROR")


@pytest.fixture(scope="module")
def pipe(bank: BojHarness) -> Iterator[Pipe]:
    """A server with the default rate limit and cache."""
    with serving_boj(bank.url) as process:
        yield process


# --- spaced


@pytest.mark.spec("3.polite.spaced", "3.polite.settable")
def test_requests_asked_for_at_once_come_apart(bank: BojHarness) -> None:
    """From the very first: what the client has yet to load does not bring the second closer to it."""
    with serving_boj(bank.url, "--min-interval-ms", str(INTERVAL_MS)) as pipe:
        pipe.send(*(request(name, arguments, name) for name, arguments in CALLS.items()))
        answers = {answer["id"]: answer for answer in (pipe.receive() for _ in CALLS)}

    assert [result_of(answers[name], name)["meta"]["status"] for name in TOOLS] == [200] * 3
    assert sorted(bank.targets()) == sorted(TARGETS.values())
    assert [gap_s >= APART_S for gap_s in bank.gaps_s()] == [True, True], bank.gaps_s()


@pytest.mark.spec("3.polite.spaced")
def test_requests_asked_for_one_after_the_other_come_apart(bank: BojHarness) -> None:
    with serving_boj(bank.url, "--min-interval-ms", str(INTERVAL_MS)) as pipe:
        for name, arguments in CALLS.items():
            call(pipe, name, **arguments)

    assert bank.targets() == list(TARGETS.values())
    assert [gap_s >= APART_S for gap_s in bank.gaps_s()] == [True, True], bank.gaps_s()


@pytest.mark.spec("3.polite.spaced", "3.retry.backoff")
def test_the_next_call_comes_apart_from_the_last_retry(bank: BojHarness) -> None:
    bank.order("close", times=2)

    with serving_boj(bank.url, "--min-interval-ms", str(INTERVAL_MS), "--retry-backoff-ms", "0") as pipe:
        call(pipe, CODE, **SPOT)
        call(pipe, LAYER, **DEPOSITS)

    assert bank.targets() == [*[SPOT_TARGET] * 3, TARGETS[LAYER]]
    assert bank.gaps_s()[-1] >= APART_S, bank.gaps_s()


@pytest.mark.spec("3.polite.spaced", "3.retry.cancel")
def test_a_call_that_is_cancelled_before_its_turn_asks_for_nothing(bank: BojHarness) -> None:
    """The sentinel's turn comes after the one that was given up."""
    with serving_boj(bank.url, "--min-interval-ms", "200") as pipe:
        pipe.send(
            request(CODE, SPOT, "first"),
            request(LAYER, DEPOSITS, "gone"),
            cancellation("gone"),
            request(METADATA, CALL_RATE, "sentinel"),
        )
        answers = [pipe.receive()["id"], pipe.receive()["id"]]

    assert answers == ["first", "sentinel"]
    assert bank.targets() == [SPOT_TARGET, CALL_RATE_TARGET]


@pytest.mark.spec("3.polite.spaced", "3.polite.settable")
@pytest.mark.parametrize(
    "url",
    [
        "https://www.stat-search.boj.or.jp",
        "https://www.stat-search.boj.or.jp/",
        "HTTPS://WWW.Stat-Search.BOJ.or.jp:443",
        "http://www.stat-search.boj.or.jp",
        "https://www.stat-search.boj.or.jp/mirror",
    ],
)
def test_the_public_host_is_asked_once_a_second_unless_told_otherwise(url: str) -> None:
    origin = parse_origin(url, with_path=True)

    assert interval_s(BojSettings(base_url=origin)) == 1.0
    chosen = [interval_s(BojSettings(base_url=origin, min_interval_ms=ms)) for ms in (0, 250, 60_000)]
    assert chosen == [0.0, 0.25, 60.0]


@pytest.mark.spec("3.polite.spaced", "3.polite.settable")
@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "https://example.com", "https://boj.or.jp.example.com"])
def test_other_hosts_are_asked_as_often_as_one_likes_unless_told_otherwise(url: str) -> None:
    assert interval_s(BojSettings(base_url=url)) == 0.0
    assert interval_s(BojSettings(base_url=url, min_interval_ms=250)) == 0.25


@pytest.mark.spec("3.polite.spaced")
def test_told_nothing_a_server_has_the_manners_of_the_public_host() -> None:
    settings = Settings()
    (boj,) = (one for one in settings.enabled() if one.toolset.name == "boj")

    upstream = LiveRun(settings, open_log(settings)).runtime(boj).upstream

    assert isinstance(upstream, CachingUpstream)
    assert upstream.origin == "https://www.stat-search.boj.or.jp"
    assert upstream._spec.cache_s == 3600
    done = UpstreamResponse(200, "application/json", b'{"STATUS":200}')
    kept = [upstream._spec.may_cache(UpstreamRequest(target), done) for target in TARGETS.values()]
    assert dict(zip(TOOLS, kept, strict=True)) == {CODE: False, LAYER: False, METADATA: True}


# --- shared


@pytest.mark.spec("3.polite.shared", "3.polite.unseen")
@pytest.mark.parametrize("name", TOOLS)
def test_equal_questions_in_flight_are_one_request(bank: BojHarness, name: str) -> None:
    bank.order("slow", delay_s=0.5)
    asked = [request(name, CALLS[name], number) for number in range(20)]

    with serving_boj(bank.url, "--cache-s", "0") as pipe:
        pipe.send(*asked)
        answers = [pipe.receive() for _ in asked]
        targets = bank.targets()
        bank.clear()
        alone = pipe.ask(request(name, CALLS[name]))

    assert targets == [TARGETS[name]]
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert [{**answer, "id": 1} for answer in answers] == [alone] * 20
    result_of(alone, name)


@pytest.mark.spec("3.polite.shared", "3.polite.unseen", "3.output.raw")
def test_who_asked_for_the_raw_body_has_it_and_who_did_not_has_not(bank: BojHarness, pipe: Pipe) -> None:
    bank.order("slow", delay_s=0.3)

    pipe.send(request(CODE, {**SPOT, "include_raw": True}, "raw"), request(CODE, SPOT, "plain"))
    answers = {answer["id"]: answer for answer in (pipe.receive(), pipe.receive())}

    raw, plain = (result_of(answers[one], CODE) for one in ("raw", "plain"))
    assert bank.targets() == [SPOT_TARGET]
    assert raw == {**plain, "raw": bank.body(SPOT_TARGET).decode()}


@pytest.mark.spec("3.polite.shared")
def test_questions_that_differ_are_not_shared(bank: BojHarness, pipe: Pipe) -> None:
    bank.order("slow", delay_s=0.3)
    asked = [{**SPOT, "start_date": f"2026{month:02}"} for month in range(1, 9)]

    pipe.send(*(request(CODE, arguments, number) for number, arguments in enumerate(asked)))
    answers = {answer["id"]: answer for answer in (pipe.receive() for _ in asked)}

    assert len(set(bank.targets())) == len(bank.targets()) == 8
    starts = [result_of(answers[number], CODE)["parameter"]["start_date"] for number in range(8)]
    assert starts == [arguments["start_date"] for arguments in asked]


@pytest.mark.spec("3.polite.shared")
def test_a_question_asked_again_after_its_answer_is_a_new_request(bank: BojHarness, pipe: Pipe) -> None:
    call(pipe, CODE, **SPOT)
    call(pipe, CODE, **SPOT)

    assert bank.targets() == [SPOT_TARGET] * 2


@pytest.mark.spec("3.polite.shared", "3.retry.cancel")
@pytest.mark.parametrize("leaver", [0, 1, 4], ids=["the first", "another", "the last"])
def test_a_caller_who_leaves_takes_nothing_from_the_others(bank: BojHarness, pipe: Pipe, leaver: int) -> None:
    bank.order("slow", delay_s=2.5)

    pipe.send(*(request(CODE, SPOT, number) for number in range(5)))
    bank.once(lambda seen: len(seen) == 1)
    pipe.send(cancellation(leaver))
    answers = {answer["id"]: answer for answer in (pipe.receive() for _ in range(4))}

    assert set(answers) == {0, 1, 2, 3, 4} - {leaver}
    assert {result_of(answer, CODE)["series_count"] for answer in answers.values()} == {1}
    assert [(seen.target, seen.end) for seen in bank.settled()] == [(SPOT_TARGET, "answered")]


@pytest.mark.spec("3.polite.shared", "3.retry.cancel")
def test_when_all_callers_leave_the_request_is_given_up(bank: BojHarness, pipe: Pipe) -> None:
    bank.order("hang", match=SPOT_TARGET)

    pipe.send(*(request(CODE, SPOT, number) for number in range(5)))
    bank.once(lambda seen: len(seen) == 1)
    pipe.send(*(cancellation(number) for number in range(5)))
    [seen] = bank.settled()
    bank.clear()

    assert (seen.target, seen.end) == (SPOT_TARGET, "gone")
    assert call(pipe, CODE, **SPOT)["series_count"] == 1
    assert bank.targets() == [SPOT_TARGET]


class Slow:
    """A way out that answers when it is told to, and counts what is under way."""

    origin = "http://slow.example"
    has_token = False

    def __init__(self) -> None:
        self.as_tool_result = asyncio.Event()
        self.asked = self.under_way = self.most = 0

    async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
        self.asked += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.as_tool_result.wait()
            return UpstreamResponse(200, "", b"")
        finally:
            self.under_way -= 1

    def warm(self) -> None:
        """Be ready."""

    def forget(self, ask: UpstreamRequest) -> None:
        """Keep nothing."""

    async def close(self) -> None:
        """Hold nothing."""


@pytest.mark.spec("3.polite.shared", "3.retry.cancel")
def test_a_request_that_was_given_up_takes_nothing_from_the_one_after_it() -> None:
    """Who asks anew at once is joined by who asks next, although the first is only now at its end."""
    slow, ask = Slow(), UpstreamRequest(SPOT_TARGET)

    async def converse() -> list[UpstreamResponse]:
        polite = CachingUpstream(slow, UpstreamSpec(base_url=None))

        async def anew() -> UpstreamResponse:
            with contextlib.suppress(asyncio.CancelledError):
                await gone
            return await polite.send(ask)

        gone = asyncio.ensure_future(polite.send(ask))
        second = asyncio.ensure_future(anew())
        await turns()
        gone.cancel()
        await turns()
        third = asyncio.ensure_future(polite.send(ask))
        await turns()
        slow.as_tool_result.set()
        return await asyncio.gather(second, third)

    answers = asyncio.run(converse())

    assert answers == [UpstreamResponse(200, "", b"")] * 2
    assert (slow.asked, slow.most) == (2, 1)


async def turns() -> None:
    """Let everything that is ready have its turns."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.spec("3.polite.shared")
def test_a_trouble_is_shared_like_an_answer(bank: BojHarness) -> None:
    bank.order("hang")

    with serving_boj(bank.url, "--timeout-ms", "2000", "--retry-max", "0") as pipe:
        pipe.send(*(request(CODE, SPOT, number) for number in range(5)))
        errors = [error_of(pipe.receive()) for _ in range(5)]

    assert [kind_of(error) for error in errors] == [TRANSPORT] * 5
    assert bank.targets() == [SPOT_TARGET]


# --- kept


@pytest.mark.spec("3.polite.kept", "3.polite.unseen")
def test_a_list_is_asked_for_once_and_given_again(bank: BojHarness) -> None:
    with serving_boj(bank.url) as pipe:
        answers = [pipe.ask(request(METADATA, CALL_RATE)) for _ in range(3)]
    with serving_boj(bank.url, "--cache-s", "0") as forgetful:
        fresh = forgetful.ask(request(METADATA, CALL_RATE))

    assert answers == [fresh] * 3
    assert result_of(fresh, METADATA)["db"] == "FM01"
    assert bank.targets() == [CALL_RATE_TARGET] * 2


@pytest.mark.spec("3.polite.kept", "3.output.raw")
def test_a_kept_list_has_its_raw_body_for_whoever_asks(bank: BojHarness) -> None:
    with serving_boj(bank.url) as pipe:
        plain = call(pipe, METADATA, **CALL_RATE)
        raw = call(pipe, METADATA, **CALL_RATE, include_raw=True)

    assert raw == {**plain, "raw": bank.body(CALL_RATE_TARGET).decode()}
    assert bank.targets() == [CALL_RATE_TARGET]


@pytest.mark.spec("3.polite.kept")
def test_another_format_or_language_is_another_list(bank: BojHarness) -> None:
    asked: list[dict[str, Any]] = [
        {},
        {"lang": "en"},
        {"lang": "jp"},
        {"format": "csv"},
        {"lang": "en", "format": "csv"},
    ]

    with serving_boj(bank.url) as pipe:
        answers = [call(pipe, METADATA, db="FM01", **arguments) for arguments in asked + asked]

    assert answers[:5] == answers[5:]
    assert len(bank.targets()) == 5


@pytest.mark.spec("3.polite.kept")
@pytest.mark.parametrize("name", [CODE, LAYER])
def test_data_are_never_kept(bank: BojHarness, pipe: Pipe, name: str) -> None:
    for _ in range(3):
        call(pipe, name, **CALLS[name])

    assert bank.targets() == [TARGETS[name]] * 3


@pytest.mark.spec("3.polite.kept", "3.polite.settable")
def test_a_list_is_asked_for_anew_when_its_time_is_over_and_not_before(bank: BojHarness) -> None:
    deadline = time.monotonic() + PATIENCE_S
    with serving_boj(bank.url, "--cache-s", "1") as pipe:
        while len(bank.targets()) < 2:
            call(pipe, METADATA, **CALL_RATE)
            assert time.monotonic() < deadline

    [gap_s] = bank.gaps_s()
    assert gap_s >= 1.0


FAILURES: dict[str, tuple[dict[str, Any], tuple[int, str]]] = {
    "a refusal": ({"fault": "answer", "status": 400, "body": '{"STATUS":400}'}, REFUSED),
    "trouble at the Bank": ({"fault": "answer", "status": 200, "body": '{"STATUS":500}'}, FAILED),
    "a page": ({"fault": "html", "status": 200}, DECODE),
    "a closed connection": ({"fault": "close"}, TRANSPORT),
    "a body cut short": ({"fault": "cut"}, TRANSPORT),
    "a chunk cut short": ({"fault": "cut_chunked"}, TRANSPORT),
    "no body": ({"fault": "empty"}, DECODE),
    "no JSON": ({"fault": "not_json"}, DECODE),
    "half a JSON": ({"fault": "answer", "body": '{"STATUS":200,"DB":"FM01","RESULTSET":['}, DECODE),
    "rows that are none": ({"fault": "answer", "body": '{"STATUS":200,"DB":"FM01","RESULTSET":{}}'}, DECODE),
    "more than is read": ({"fault": "huge", "size": 20 * MIB}, DECODE),
}


@pytest.mark.spec("3.polite.kept", "3.polite.not-kept")
@pytest.mark.parametrize("row", FAILURES)
def test_what_went_wrong_is_not_kept(bank: BojHarness, row: str) -> None:
    order, kind = FAILURES[row]
    bank.order(**{**order, "times": 1})

    with serving_boj(bank.url, "--retry-max", "0", "--max-body-mb", "16") as pipe:
        error = failure(pipe, METADATA, **CALL_RATE)
        second = pipe.ask(request(METADATA, CALL_RATE))

    assert kind_of(error) == kind
    assert bank.targets() == [CALL_RATE_TARGET] * 2
    assert result_of(second, METADATA)["entries_count"] == 5


@pytest.mark.spec("3.polite.not-kept", "3.retry.outcome")
@pytest.mark.parametrize("fault", ["close", "cut", "cut_chunked", "html"])
def test_a_list_that_broke_off_is_asked_for_again(bank: BojHarness, fault: str) -> None:
    bank.order(fault, times=2)

    with serving_boj(bank.url, "--retry-backoff-ms", "0") as pipe:
        answer = pipe.ask(request(METADATA, CALL_RATE))

    assert bank.targets() == [CALL_RATE_TARGET] * 3
    assert result_of(answer, METADATA)["entries_count"] == 5


@pytest.mark.spec("3.polite.bounded")
def test_what_is_kept_has_a_bound_and_the_oldest_goes_first(bank: BojHarness) -> None:
    """Five lists of 16 MiB are more than there is room for; the first makes way for the last."""
    targets = [f"{CALL_RATE_TARGET}&n={number}" for number in range(5)]
    bank.order("huge", size=16 * MIB)

    async def ask() -> int:
        spec = UpstreamSpec(base_url=bank.url, max_body_bytes=20 * MIB, cache_s=3600, may_cache=may_cache)
        polite = CachingUpstream(HttpUpstream(spec), spec)
        try:
            for target in [*targets, targets[4], targets[1], targets[0]]:
                answer = await polite.send(UpstreamRequest(target))
                assert (len(answer.body), answer.cut) == (16 * MIB, False)
            return sum(len(kept.body) for _, kept in polite._cache.values())
        finally:
            await polite.close()

    held_bytes = asyncio.run(ask())

    assert bank.targets() == [*targets, targets[0]]
    assert held_bytes == 64 * MIB


@pytest.mark.spec("3.polite.bounded")
def test_a_list_that_made_way_for_others_is_asked_for_anew(bank: BojHarness, pipe: Pipe) -> None:
    """Five lists of 15 MiB are more than there is room for, and the first of them is the one that goes."""
    bank.order("huge", size=15 * MIB)
    lists = ["CO", "BP01", "MD10", "FM08", "OT"]

    for db in [*lists, "OT", "BP01", "CO"]:
        call(pipe, METADATA, db=db)

    assert bank.targets() == [f"/api/v1/getMetadata?db={db}" for db in [*lists, "CO"]]


@pytest.mark.spec("3.polite.bounded")
def test_a_list_that_is_larger_than_the_room_is_not_kept_and_takes_the_place_of_no_other(bank: BojHarness) -> None:
    with serving_boj(bank.url, "--timeout-ms", "60000") as pipe:
        call(pipe, METADATA, **CALL_RATE)
        bank.order("huge", size=65 * MIB, match="db=CO")

        for db in ["CO", "CO"]:
            call(pipe, METADATA, db=db)
        call(pipe, METADATA, **CALL_RATE)

    large = "/api/v1/getMetadata?db=CO"
    assert bank.targets() == [CALL_RATE_TARGET, large, large]
