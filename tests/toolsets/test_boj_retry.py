"""When the Bank of Japan is asked again and when not, from its own log of requests."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boj_harness import (
    CALL_RATE,
    CALLS,
    CODE,
    DATE,
    LAYER,
    METADATA,
    SPOT,
    SPOT_TARGET,
    TARGETS,
    TOOLS,
    BojHarness,
    boj_sandbox,
    call,
    cancellation,
    failure,
    kind_of,
    request,
    serving_boj,
)
from boj_messages import MANUAL, order_of
from processes import Pipe
from upstream_harness import listening

REFUSED, FAILED = (-32602, "API_ERROR"), (-32603, "API_ERROR")
TRANSPORT, DECODE = (-32603, "TRANSPORT_ERROR"), (-32603, "DECODE_ERROR")
SENTINEL: dict[str, Any] = {"db": "MD01", "codes": ["MABS1AN11"], "start_date": "202401"}
SENTINEL_TARGET = "/api/v1/getDataCode?db=MD01&startDate=202401&code=MABS1AN11"


@pytest.fixture(scope="module")
def process(bank: BojHarness) -> Iterator[Pipe]:
    with serving_boj(bank.url, "--retry-backoff-ms", "0", "--cache-s", "0") as pipe:
        yield pipe


@pytest.fixture(scope="module")
def impatient_process(bank: BojHarness) -> Iterator[Pipe]:
    with serving_boj(bank.url, "--retry-backoff-ms", "0", "--cache-s", "0", "--timeout-ms", "700") as pipe:
        yield pipe


@pytest.fixture(scope="module")
def single_process(bank: BojHarness) -> Iterator[Pipe]:
    with serving_boj(bank.url, "--retry-max", "0", "--cache-s", "0") as pipe:
        yield pipe


@pytest.fixture
def pipe(bank: BojHarness, process: Pipe) -> Pipe:
    """A server that asks again twice, without a pause."""
    return process


@pytest.fixture
def impatient(bank: BojHarness, impatient_process: Pipe) -> Pipe:
    """The like, whose attempts may take less than a second."""
    return impatient_process


@pytest.fixture
def single(bank: BojHarness, single_process: Pipe) -> Pipe:
    """A server that never asks again."""
    return single_process


def said(message_id: str, **changes: Any) -> dict[str, Any]:
    """The order for one of the Bank's messages, under the HTTP status that goes with it or another."""
    return {**order_of(message_id), **changes}


def mislabelled(body: str, status: int) -> dict[str, Any]:
    """The order for a body that claims to be gzip and is not."""
    headers = {"content-type": "text/html", "content-encoding": "gzip"}
    return {"fault": "answer", "status": status, "body": body, "headers": headers}


PASSING: dict[str, tuple[dict[str, Any], tuple[int, str]]] = {
    "a closed connection": ({"fault": "close"}, TRANSPORT),
    "a connection torn down": ({"fault": "reset"}, TRANSPORT),
    "a body cut short": ({"fault": "cut"}, TRANSPORT),
    "a chunk cut short": ({"fault": "cut_chunked"}, TRANSPORT),
    "noise": ({"fault": "garbage"}, TRANSPORT),
    "a gateway's page": ({"fault": "html", "status": 502}, TRANSPORT),
    "a broken body under HTTP 502": ({"fault": "not_json", "status": 502}, TRANSPORT),
    "no body under HTTP 500": ({"fault": "empty", "status": 500}, TRANSPORT),
    "no body that claims to be gzip under HTTP 503": (mislabelled("", 503), TRANSPORT),
    "a gateway's page that claims to be gzip under HTTP 502": (mislabelled("<html></html>", 502), TRANSPORT),
    "STATUS 500": (said("M181090S"), FAILED),
    "STATUS 500 under HTTP 200": (said("M181090S", status=200), FAILED),
    "STATUS 503": (said("M181091S"), FAILED),
    "STATUS 503 under HTTP 200": (said("M181091S", status=200), FAILED),
    "STATUS 503 with a time to wait": (said("M181091S", headers={"retry-after": "3600"}), FAILED),
}
"""What may pass by itself, and what it is told as when it does not."""


# --- how often


@pytest.mark.spec("3.retry.only", "3.retry.count", "3.retry.default", "3.errors.transport")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("row", PASSING)
def test_what_may_pass_is_asked_three_times_and_then_told(bank: BojHarness, pipe: Pipe, row: str, name: str) -> None:
    order, kind = PASSING[row]
    bank.order(**order)

    error = failure(pipe, name, **CALLS[name])

    assert kind_of(error) == kind
    assert bank.targets() == [TARGETS[name]] * 3


@pytest.mark.spec("3.retry.backoff", "3.polite.spaced")
def test_the_pace_of_calls_does_not_hold_up_their_retries(tmp_path: Path) -> None:
    """At this pace the second attempt would come after a minute, when the test has failed."""
    # All processes of a user keep one pace, by a file in this folder.
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    with boj_sandbox() as other:
        other.order("close")
        with serving_boj(other.url, "--min-interval-ms", "60000", "--retry-backoff-ms", "1", env=environ) as pipe:
            error = failure(pipe, CODE, **SPOT)

        assert kind_of(error) == TRANSPORT
        assert other.targets() == [SPOT_TARGET] * 3


@pytest.mark.spec("3.retry.only", "3.retry.count", "3.config.timeout")
@pytest.mark.parametrize("order", [{"fault": "hang"}, {"fault": "drip", "rate": 20}, {"fault": "slow", "delay_s": 60}])
def test_an_attempt_that_outlasts_its_time_is_made_again(
    bank: BojHarness, impatient: Pipe, order: dict[str, Any]
) -> None:
    """The time is an attempt's, not the call's: each has as much."""
    bank.order(**order)

    error = failure(impatient, CODE, **SPOT)

    assert kind_of(error) == TRANSPORT
    assert "no answer within 0.7 s" in error["data"]["message"]
    assert bank.targets() == [SPOT_TARGET] * 3
    assert [seen.end for seen in bank.settled()] == ["gone"] * 3


@pytest.mark.spec("3.retry.only", "3.retry.count")
def test_a_loop_of_redirects_is_gone_round_three_times(bank: BojHarness, pipe: Pipe) -> None:
    """Ten redirects are followed in each attempt."""
    bank.order("redirect_loop")

    assert kind_of(failure(pipe, CODE, **SPOT)) == TRANSPORT
    assert bank.targets().count(SPOT_TARGET) == 3
    assert len(bank.targets()) == 3 * 11


@pytest.mark.spec("3.retry.only")
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("message_id", [one for one, (status, _, _) in MANUAL.items() if status == 400])
def test_a_question_that_the_bank_refuses_is_not_asked_again(
    bank: BojHarness, pipe: Pipe, message_id: str, name: str
) -> None:
    bank.refuses(message_id)

    assert kind_of(failure(pipe, name, **CALLS[name])) == REFUSED
    assert bank.targets() == [TARGETS[name]]


LASTING: dict[str, tuple[dict[str, Any], tuple[int, str]]] = {
    **{
        f"STATUS {status}": ({"fault": "answer", "status": 200, "body": f'{{"STATUS":{status}}}'}, FAILED)
        for status in (201, 401, 404, 408, 429, 501, 502, 504)
    },
    "STATUS 502 under HTTP 502": ({"fault": "answer", "status": 502, "body": '{"STATUS":502}'}, FAILED),
    "STATUS 429 under HTTP 503": ({"fault": "answer", "status": 503, "body": '{"STATUS":429}'}, FAILED),
    "a body that is none": ({"fault": "not_json"}, DECODE),
    "no body": ({"fault": "empty"}, DECODE),
    "bytes that are no text": ({"fault": "invalid_utf8"}, DECODE),
    "a broken body under HTTP 404": ({"fault": "not_json", "status": 404}, DECODE),
    "another JSON": ({"fault": "answer", "body": '{"fine":true}'}, DECODE),
    **{f"a page under HTTP {status}": ({"fault": "html", "status": status}, DECODE) for status in (200, 403, 404, 429)},
    "no gzip under HTTP 404": (mislabelled("<html></html>", 404), DECODE),
    "no gzip": ({"fault": "answer", "body": "{}", "headers": {"content-encoding": "gzip"}}, DECODE),
}
"""What does not pass by itself."""


@pytest.mark.spec("3.retry.only", "3.errors.decode", "3.errors.api-other")
@pytest.mark.parametrize("row", LASTING)
def test_what_does_not_pass_is_asked_once(bank: BojHarness, pipe: Pipe, row: str) -> None:
    order, kind = LASTING[row]
    bank.order(**order)

    assert kind_of(failure(pipe, METADATA, **CALL_RATE)) == kind
    assert bank.targets() == [TARGETS[METADATA]]


EMPTY = b'{"STATUS":200,"MESSAGEID":"M181000I","MESSAGE":"OK","DB":"FM01","RESULTSET":[]}'
PACKED = gzip.compress(EMPTY, mtime=0)


def packed(body: bytes) -> bytes:
    """A whole HTTP response with a body that claims to be gzip."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\nconnection: close\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.spec("3.retry.only", "3.errors.transport")
@pytest.mark.parametrize(
    "body", [PACKED[:-1], PACKED[:20], PACKED[:3], PACKED[:-8] + b"wrongsum", PACKED[:30] + b"\xff" + PACKED[31:]]
)
def test_gzip_that_was_cut_or_damaged_on_its_way_is_asked_for_again(body: bytes) -> None:
    with listening(packed(body), hangs_up=True) as bank, serving_boj(bank.url, "--retry-backoff-ms", "0") as pipe:
        error = failure(pipe, METADATA, **CALL_RATE)

    assert kind_of(error) == TRANSPORT
    assert len(bank.connections) == 3


@pytest.mark.spec("3.output.tolerant")
@pytest.mark.parametrize("rest", [b"x", b"\r\n", b"\0\0\0", b"\0\0rest", b"x" * 100_000])
def test_what_follows_gzip_is_ignored(rest: bytes) -> None:
    with listening(packed(PACKED + rest), hangs_up=True) as bank, serving_boj(bank.url) as pipe:
        result = call(pipe, METADATA, **CALL_RATE)

    assert (result["entries"], len(bank.connections)) == ([], 1)


@pytest.mark.spec("3.retry.only")
def test_an_answer_is_asked_for_once(bank: BojHarness, pipe: Pipe) -> None:
    for name, arguments in CALLS.items():
        call(pipe, name, **arguments)

    assert bank.targets() == list(TARGETS.values())


@pytest.mark.spec("3.retry.count", "3.config.retry-max")
@pytest.mark.parametrize("row", PASSING)
def test_with_no_retries_there_is_one_attempt(bank: BojHarness, single: Pipe, row: str) -> None:
    order, kind = PASSING[row]
    bank.order(**order)

    assert kind_of(failure(single, CODE, **SPOT)) == kind
    assert bank.targets() == [SPOT_TARGET]


@pytest.mark.spec("3.retry.library")
@pytest.mark.parametrize("fault", ["close", "reset", "cut", "cut_chunked", "garbage"])
def test_the_http_library_asks_no_second_time_on_a_kept_connection(bank: BojHarness, single: Pipe, fault: str) -> None:
    """A second try would be answered, since the fault is ordered once."""
    call(single, CODE, **SPOT)
    bank.clear()
    bank.order(fault, times=1)

    assert kind_of(failure(single, CODE, **SPOT)) == TRANSPORT
    assert bank.targets() == [SPOT_TARGET]


@pytest.mark.spec("3.retry.library")
@pytest.mark.parametrize("fault", ["close", "reset", "cut"])
def test_the_http_library_asks_no_second_time_on_a_new_connection(bank: BojHarness, fault: str) -> None:
    bank.order(fault, times=1)

    with serving_boj(bank.url, "--retry-max", "0") as pipe:
        assert kind_of(failure(pipe, CODE, **SPOT)) == TRANSPORT

    assert bank.targets() == [SPOT_TARGET]


# --- what comes of it


@pytest.mark.spec("3.retry.only", "3.retry.outcome")
@pytest.mark.parametrize("troubles", [1, 2])
@pytest.mark.parametrize("row", PASSING)
def test_an_answer_to_a_later_attempt_is_an_answer(bank: BojHarness, pipe: Pipe, row: str, troubles: int) -> None:
    plain = call(pipe, LAYER, **CALLS[LAYER])
    bank.clear()
    bank.order(**{**PASSING[row][0], "times": troubles})

    assert call(pipe, LAYER, **CALLS[LAYER]) == plain
    assert bank.targets() == [TARGETS[LAYER]] * (troubles + 1)


@pytest.mark.spec("3.retry.count", "3.retry.outcome")
def test_troubles_of_all_kinds_count_together_and_the_last_is_told(bank: BojHarness, pipe: Pipe) -> None:
    for order in ({"fault": "close"}, {"fault": "html"}, said("M181091S")):
        bank.order(**{**order, "times": 1})

    error = failure(pipe, CODE, **SPOT)

    assert (kind_of(error), error["data"]["status"]) == (FAILED, 503)
    assert bank.targets() == [SPOT_TARGET] * 3


@pytest.mark.spec("3.retry.only", "3.retry.outcome")
@pytest.mark.parametrize(
    ("order", "kind"), [(said("M181005E"), REFUSED), ({"fault": "not_json"}, DECODE)], ids=["refused", "unreadable"]
)
def test_what_does_not_pass_ends_the_retries(
    bank: BojHarness, pipe: Pipe, order: dict[str, Any], kind: tuple[int, str]
) -> None:
    bank.order("close", times=1)
    bank.order(**order)

    assert kind_of(failure(pipe, CODE, **SPOT)) == kind
    assert bank.targets() == [SPOT_TARGET] * 2


@pytest.mark.spec("3.retry.count")
def test_every_call_has_its_own_attempts(bank: BojHarness, pipe: Pipe) -> None:
    bank.order("close", times=5)

    assert kind_of(failure(pipe, CODE, **SPOT)) == TRANSPORT
    assert call(pipe, CODE, **SPOT)["meta"]["date"] == DATE
    assert bank.targets() == [SPOT_TARGET] * 6


# --- how long between


@pytest.mark.spec(
    "3.retry.backoff",
    "3.retry.default",
    "3.config.base-url",
    "3.config.timeout",
    "3.config.retry-max",
    "3.config.retry-backoff",
)
@pytest.mark.parametrize("row", ["a closed connection", "a gateway's page", "STATUS 500", "STATUS 503"])
def test_told_nothing_it_waits_at_least_200_and_then_400_ms(bank: BojHarness, row: str) -> None:
    bank.order(**PASSING[row][0])

    with serving_boj(bank.url) as pipe:
        failure(pipe, METADATA, **CALL_RATE)

    first, second = bank.gaps_s()
    assert first >= 0.2
    assert second >= 0.4


@pytest.mark.spec("3.retry.backoff", "3.config.retry-backoff", "3.config.retry-max")
def test_each_wait_is_at_least_twice_the_one_before(bank: BojHarness) -> None:
    bank.order("close")

    with serving_boj(bank.url, "--retry-backoff-ms", "40", "--retry-max", "5") as pipe:
        failure(pipe, CODE, **SPOT)

    gaps_s = bank.gaps_s()
    assert len(gaps_s) == 5
    assert [gap_s >= 0.04 * 2**n for n, gap_s in enumerate(gaps_s)] == [True] * 5


@pytest.mark.spec("3.retry.backoff", "3.config.timeout")
def test_the_wait_begins_when_the_attempt_has_ended(bank: BojHarness) -> None:
    bank.order("hang", times=1)

    with serving_boj(bank.url, "--retry-backoff-ms", "150", "--timeout-ms", "2000") as pipe:
        call(pipe, CODE, **SPOT)

    hung, answered = bank.settled()
    assert (hung.end, answered.end) == ("gone", "answered")
    assert answered.time_s - hung.time_s >= 0.15


@pytest.mark.spec("3.retry.backoff", "3.runtime.concurrent")
def test_a_wait_holds_up_nobody_else(bank: BojHarness) -> None:
    bank.order("close", match=SPOT_TARGET)

    with serving_boj(bank.url, "--retry-backoff-ms", "3600000") as pipe:
        pipe.send(request(CODE, SPOT, "waits"))
        bank.once(lambda seen: [one.end for one in seen] == ["answered"])

        assert call(pipe, METADATA, **CALL_RATE)["db"] == "FM01"
        assert bank.targets() == [SPOT_TARGET, TARGETS[METADATA]]


# --- cancelling


@pytest.mark.spec("3.retry.cancel")
def test_cancelling_a_call_in_its_wait_ends_its_retries(bank: BojHarness) -> None:
    """The sentinel fails like the first call and waits as long: once it is told, what was cancelled is overdue."""
    bank.order("close")

    with serving_boj(bank.url, "--retry-backoff-ms", "400") as pipe:
        pipe.send(request(CODE, SPOT, "gone"))
        bank.once(lambda seen: [one.end for one in seen] == ["answered"])
        pipe.send(cancellation("gone"), request(CODE, SENTINEL, "sentinel"))
        answer = pipe.receive()

    assert (answer["id"], answer["error"]["code"]) == ("sentinel", -32603)
    assert bank.targets() == [SPOT_TARGET] + [SENTINEL_TARGET] * 3


@pytest.mark.spec("3.retry.cancel")
def test_cancelling_a_call_in_its_request_ends_that_and_its_retries(bank: BojHarness) -> None:
    bank.order("hang", match=SPOT_TARGET)
    bank.order("close", match=SENTINEL_TARGET)

    with serving_boj(bank.url, "--retry-backoff-ms", "50") as pipe:
        pipe.send(request(CODE, SPOT, "gone"))
        bank.once(lambda seen: len(seen) == 1)
        pipe.send(cancellation("gone"), request(CODE, SENTINEL, "sentinel"))
        answer = pipe.receive()

    assert answer["id"] == "sentinel"
    assert [(seen.target, seen.end) for seen in bank.settled()] == [
        (SPOT_TARGET, "gone"),
        *[(SENTINEL_TARGET, "answered")] * 3,
    ]


@pytest.mark.spec("3.retry.cancel")
def test_a_call_that_is_cancelled_is_never_answered(bank: BojHarness) -> None:
    bank.order("close")

    with serving_boj(bank.url, "--retry-backoff-ms", "500") as pipe:
        pipe.send(request(CODE, SPOT, "gone"))
        bank.once(lambda seen: len(seen) == 1)
        pipe.send(cancellation("gone"))

        assert pipe.finish() == (0, b"", b"")
    assert bank.targets() == [SPOT_TARGET]


@pytest.mark.spec("3.retry.cancel")
def test_after_a_cancelled_call_the_same_question_is_asked_anew(bank: BojHarness) -> None:
    bank.order("hang", times=1)

    with serving_boj(bank.url) as pipe:
        pipe.send(request(CODE, SPOT, "gone"))
        bank.once(lambda seen: len(seen) == 1)
        pipe.send(cancellation("gone"))
        bank.settled()
        answer = call(pipe, CODE, **SPOT)

    assert answer["meta"]["date"] == DATE
    assert [seen.end for seen in bank.requests()] == ["gone", "answered"]
