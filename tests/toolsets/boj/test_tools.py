"""The three tools of spec 3 as they are declared: what is cached, what a fault becomes, what a call waits for."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.upstream import NOT_GZIP, UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.toolsets.boj import BojSettings
from signet.toolsets.boj.faults import refused, transport
from signet.toolsets.boj.tools import TOOLS, delay_ms, get_metadata, may_cache
from signet.toolsets.boj.tools import _retry_words as retry_words
from signet.toolsets.boj_explore.tools import TOOLS as EXPLORING

LIST = UpstreamRequest("/api/v1/getMetadata?db=FM08")
DATA = UpstreamRequest("/api/v1/getDataCode?db=FM08&code=A")
GOOD = b'{"STATUS":200,"MESSAGEID":"M181000I"}'


@pytest.mark.parametrize(
    ("request_", "body", "more", "kept"),
    [
        (LIST, GOOD, {}, True),
        (LIST, b"STATUS,200\r\nMESSAGEID,M181000I", {}, True),
        (LIST, b'\xef\xbb\xbf{ "STATUS" : "200" }', {}, True),
        (LIST, b" " * 187 + b'{"STATUS":200}', {}, True),
        (LIST, b" " * 188 + b'{"STATUS":200}', {}, False),
        (LIST, b'{"STATUS":400}', {}, False),
        (LIST, b'{"STATUS":2000}', {}, False),
        (LIST, b"", {}, False),
        (LIST, GOOD, {"cut": True}, False),
        (LIST, GOOD, {"broken": "the connection broke"}, False),
        (LIST, GOOD, {"cut": True, "broken": "the connection broke"}, False),
        (DATA, GOOD, {}, False),
    ],
)
def test_only_a_whole_list_of_series_is_cached(
    request_: UpstreamRequest, body: bytes, more: dict[str, Any], kept: bool
) -> None:
    assert may_cache(request_, UpstreamResponse(200, "application/json", body, **more)) is kept


@pytest.mark.spec("3.errors.validation", "3.errors.data")
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.slug)
def test_arguments_that_the_pipeline_refuses_are_a_validation_error(tool: Any) -> None:
    fault = tool.adapt_fault(Fault(Code.INVALID_INPUT, "db is missing"))

    assert (fault.code, fault.as_tool_result, fault.message) == ("INVALID_INPUT", True, "db is missing")
    assert fault.data == {"error_type": "VALIDATION_ERROR", "message": "db is missing"}


@pytest.mark.spec("3.errors.data")
@pytest.mark.parametrize("code", [Code.INTERNAL_ERROR, Code.INVALID_OUTPUT])
def test_another_fault_of_the_pipeline_is_an_internal_error_with_its_cause(code: Code) -> None:
    cause = ValueError("why")
    given = Fault(code, "it broke")
    given.__cause__ = cause

    fault = get_metadata.adapt_fault(given)

    assert (fault.code, fault.as_tool_result, fault.message, fault.__cause__) == (code, True, "it broke", cause)
    assert fault.data == {"error_type": "INTERNAL_ERROR", "message": "it broke"}


def test_a_fault_of_the_toolset_is_left_as_it_is() -> None:
    given = transport("no answer within 10 s")

    assert get_metadata.adapt_fault(given) is given


@pytest.mark.parametrize("tool", EXPLORING, ids=lambda tool: tool.slug)
def test_every_fault_of_the_exploring_tools_is_read_by_the_model(tool: Any) -> None:
    cause = ValueError("why")
    given = Fault(Code.NOT_FOUND, "there is no series", name="NO_SERIES", status=404, data={"a": 1})
    given.__cause__ = cause
    shown = Fault(Code.NOT_FOUND, "there is no series", as_tool_result=True)

    fault = tool.adapt_fault(given)

    assert (fault.code, fault.message, fault.as_tool_result) == ("NOT_FOUND", "there is no series", True)
    assert (fault.name, fault.status, fault.data, fault.__cause__) == ("NO_SERIES", 404, {"a": 1}, cause)
    assert tool.adapt_fault(shown) is shown


@pytest.mark.parametrize("tool", [*TOOLS, *EXPLORING], ids=lambda tool: tool.slug)
def test_the_tools_read_from_a_world_that_changes(tool: Any) -> None:
    assert tool.name == tool.slug.replace(".", "_")
    assert tool.annotations["readOnlyHint"] is True
    assert tool.annotations["openWorldHint"] is True
    assert tool.public is False


@pytest.mark.parametrize("tool", [*TOOLS, EXPLORING[2]], ids=lambda tool: tool.slug)
def test_a_large_result_is_bounded_and_validated_beside_the_event_loop(tool: Any) -> None:
    assert tool.max_result_bytes == 4 * 1024 * 1024
    assert tool.validate_in_thread is True


@pytest.mark.parametrize("note", ["", "the list was cut"])
def test_a_result_says_its_note(note: str) -> None:
    search, _, series = EXPLORING

    assert [tool.remark({"note": note}) for tool in (search, series)] == [note, note]
    assert search.remark({}) == ""


@pytest.mark.spec("3.retry.backoff")
def test_a_delay_has_the_limit_of_a_timer() -> None:
    settings = BojSettings(retry_max=1_000, retry_backoff_ms=3)

    delays = [delay_ms(settings, attempt, transport("refused")) for attempt in (61, 62, 999)]

    assert delays == [3 * 2**61, 2**63 - 1, 2**63 - 1]


@pytest.mark.spec("3.retry.count")
def test_the_last_attempt_is_the_one_after_the_last_retry() -> None:
    fault = refused(503, "M181091S", "…")

    assert [delay_ms(BojSettings(retry_max=1), attempt, fault) for attempt in (0, 1)] == [200, None]


@pytest.mark.parametrize(("ends_s", "left"), [(90.0, 90), (-5.0, 0)])
def test_a_call_between_two_attempts_says_when_it_tries_again(ends_s: float, left: int) -> None:
    async def said() -> str:
        return retry_words("answered 503", asyncio.get_running_loop().time() + ends_s, "2 of 3")

    assert asyncio.run(said()) == f"the Bank of Japan answered 503: trying again in {left} s (2 of 3)"


BUSY = b'{"STATUS":503,"MESSAGEID":"M181091S","MESSAGE":"busy"}'
EMPTY = b'{"STATUS":200,"MESSAGEID":"M181000I","MESSAGE":"ok","RESULTSET":[]}'
UNREADABLE = b'{"STATUS":'


class PlayedBank:
    """Answers one request after the other; notes what each call waited for before it, and what it is to forget."""

    has_token = False
    origin = "played"

    def __init__(self, *answers: bytes | UpstreamResponse | Fault) -> None:
        self.waited: list[str] = []
        self.forgotten: list[str] = []
        self._answers = list(answers)

    async def send(self, _: UpstreamRequest, wait: Waiting) -> UpstreamResponse:
        self.waited.append(wait.text())
        answer = self._answers.pop(0)
        if isinstance(answer, Fault):
            raise answer
        return UpstreamResponse(200, "application/json", answer) if isinstance(answer, bytes) else answer

    def forget(self, request: UpstreamRequest) -> None:
        self.forgotten.append(request.target)


def fetch(bank: PlayedBank, **settings: int) -> Any:
    own = BojSettings(retry_backoff_ms=0, **settings)
    context = msgspec.structs.replace(QUIET_CONTEXT, upstream=bank, settings=own, wait=Waiting())
    return asyncio.run(get_metadata.run(get_metadata.args(db="FM08"), context))


@pytest.mark.parametrize(
    ("answer", "kind", "forgotten"),
    [
        (UNREADABLE, "DECODE_ERROR", ["/api/v1/getMetadata?db=FM08"]),
        (b'{"STATUS":400,"MESSAGEID":"M181005E","MESSAGE":"no"}', "API_ERROR", []),
        (b"<html>", "DECODE_ERROR", ["/api/v1/getMetadata?db=FM08"]),
    ],
)
def test_an_answer_that_cannot_be_read_is_not_kept(answer: bytes, kind: str, forgotten: list[str]) -> None:
    bank = PlayedBank(answer)

    with pytest.raises(Fault) as caught:
        fetch(bank, retry_max=0)

    assert caught.value.data["error_type"] == kind
    assert (bank.forgotten, len(bank.waited)) == (forgotten, 1)


def test_a_call_that_is_tried_again_says_why_and_how_often() -> None:
    bank = PlayedBank(BUSY, Fault(Code.INTERNAL_ERROR, "refused"), EMPTY)

    assert list(fetch(bank).rows) == []
    assert bank.waited == [
        "",
        "the Bank of Japan answered 503: trying again in 0 s (2 of 3)",
        "the Bank of Japan could not be asked: trying again in 0 s (3 of 3)",
    ]
    assert bank.forgotten == []


@pytest.mark.spec("3.retry.count")
def test_the_last_failure_is_told_when_every_attempt_has_failed() -> None:
    bank = PlayedBank(BUSY, BUSY, UpstreamResponse(200, "", b"", broken="the connection broke"), EMPTY)

    with pytest.raises(Fault) as caught:
        fetch(bank)

    told = caught.value.data
    assert (told["error_type"], told["message"]) == ("TRANSPORT_ERROR", "the connection broke")
    assert len(bank.waited) == 3


def test_a_body_that_is_no_gzip_cannot_be_read_and_is_not_asked_for_again() -> None:
    bank = PlayedBank(UpstreamResponse(200, "", b"", broken=NOT_GZIP), EMPTY)

    with pytest.raises(Fault) as caught:
        fetch(bank)

    told = caught.value.data
    assert (told["error_type"], told["message"]) == ("DECODE_ERROR", "the body is not the gzip that it claims to be")
    assert len(bank.waited) == 1
