"""Answers of the Bank of Japan that are large: whole up to a limit that is a setting, and never in anybody's way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from boj_harness import (
    CALL_RATE,
    CALLS,
    CODE,
    DEPOSITS,
    LAYER,
    METADATA,
    SPOT,
    TOOLS,
    BojHarness,
    call,
    error_of,
    failure,
    kind_of,
    peak_mib,
    request,
    result_of,
    serving_boj,
)
from processes import Pipe, serving
from signet.sandbox.message import SandboxRequest
from upstream_harness import DIRECT

MIB = 1_048_576
MAX_BODY_BYTES, MAX_RESULT_BYTES = 16 * MIB, 4 * MIB
DECODE = (-32603, "DECODE_ERROR")
WHOLE = {"db": "CO_WHOLE"}
"""The list of the TANKAN's series in its real size: about 100 MB."""
FLOWS = {"db": "FF_WHOLE"}
"""The list of the flow of funds in its real size: about 20 MB."""
FLOWS_ROWS = 33_863
"""Its series, and four headings."""
LOW = ("--max-body-mb", "16", "--max-result-mb", "4")
"""The limits that `signet` has unless it is told others."""
LONG: dict[str, Any] = {"db": "IR01", "codes": ["MADR1Z@D"], "start_date": "186202"}
"""One series of a little more than 60,000 days; the Bank cuts between series only."""
ROOM_MIB = 4 * MAX_BODY_BYTES / MIB
"""What reading an answer up to the limit may take: it is held at most four times at any moment."""


@pytest.fixture(scope="module")
def process(bank: BojHarness) -> Iterator[Pipe]:
    with serving_boj(bank.url, "--timeout-ms", "60000", "--cache-s", "0", *LOW) as pipe:
        yield pipe


@pytest.fixture
def pipe(bank: BojHarness, process: Pipe) -> Pipe:
    """A server that keeps nothing, and has low limits."""
    return process


@pytest.fixture
def fresh(bank: BojHarness) -> Iterator[Pipe]:
    """A server that has made one small call, so that what it holds is what it needs for any."""
    with serving_boj(bank.url, "--timeout-ms", "60000", *LOW) as pipe:
        call(pipe, CODE, **SPOT)
        bank.clear()
        yield pipe


@pytest.fixture
def drop_in(bank: BojHarness) -> Iterator[Pipe]:
    """A server with the limits that it has by itself, after one small call."""
    with serving_boj(bank.url, "--timeout-ms", "60000") as pipe:
        call(pipe, CODE, **SPOT)
        bank.clear()
        yield pipe


def pongs_beside(pipe: Pipe, request_id: str) -> tuple[int, dict[str, Any]]:
    """Ping again and again until a call is answered; give how many were answered before it."""
    ping = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
    count = 0
    while (message := pipe.ask(ping))["id"] != request_id:
        count += 1
    assert pipe.receive() == {"jsonrpc": "2.0", "id": "ping", "result": {}}
    return count, message


# --- every database at its real size


@pytest.mark.spec("3.limits.whole", "3.limits.memory")
@pytest.mark.parametrize("lang", ["jp", "en"])
@pytest.mark.parametrize("layout", ["json", "csv"])
def test_a_list_of_20_mb_is_answered_whole_in_little_room(drop_in: Pipe, layout: str, lang: str) -> None:
    answer = drop_in.ask(request(METADATA, {**FLOWS, "format": layout, "lang": lang}))

    assert peak_mib(drop_in) < 200
    result = answer["result"]
    listed = result["structuredContent"]
    assert (listed["db"], listed["entries_count"], len(listed["entries"])) == ("CO", FLOWS_ROWS, FLOWS_ROWS)
    [block] = result["content"]
    # Not shown in full when it fails: it is twenty million characters.
    same = json.loads(block["text"]) == listed
    assert same
    last = listed["entries"][-1]
    assert (last["series_code"], last["name_of_time_series"], last["layer2"]) == (
        "TK00S1032358GCQ00000",
        "D.I./Sample Item/All Enterprises/All Industries/Actual result/Series 1032358/Made by Rule",
        1_032_358,
    )
    assert (last["name_of_time_series_j"] is None) == (lang == "en")


@pytest.mark.spec("3.limits.whole")
def test_a_list_has_the_same_rows_in_each_format(drop_in: Pipe) -> None:
    first, second = (
        drop_in.ask(request(METADATA, {**FLOWS, "format": layout}))["result"]["structuredContent"]
        for layout in ("json", "csv")
    )

    # Not shown in full when it fails.
    same = first["entries"] == second["entries"]
    assert same


@pytest.mark.spec("3.limits.whole", "3.output.raw")
@pytest.mark.parametrize("layout", ["json", "csv"])
def test_a_list_of_20_mb_has_the_text_of_the_bank_beside_it(bank: BojHarness, drop_in: Pipe, layout: str) -> None:
    asked = {**FLOWS, "format": layout, "lang": "en", "include_raw": True}

    listed = drop_in.ask(request(METADATA, asked))["result"]["structuredContent"]

    [target] = bank.targets()
    # A slice of the body is generated; the body by itself is not.
    same = listed["raw"].encode() == bank.sandbox.handler(SandboxRequest("GET", target)).body[:]
    assert same
    assert len(listed["entries"]) == FLOWS_ROWS


@pytest.mark.spec("3.limits.whole", "3.output.raw")
def test_a_full_page_in_csv_of_over_16_mib_is_answered_with_its_text(bank: BojHarness, drop_in: Pipe) -> None:
    name = "Outstanding of " + "a rather long name of a series, " * 8
    rows = [f'S{code},"{name}",{date},105.3' for code in range(250) for date in range(202001, 202241)]
    head = "STATUS,200\nMESSAGEID,M181000I\nMESSAGE,OK\nSERIES_CODE,NAME_OF_TIME_SERIES,SURVEY_DATES,VALUES\n"
    table = head + "\n".join(rows) + "\n"
    bank.order("answer", body=table, type="text/csv; charset=utf-8")

    answer = drop_in.ask(request(CODE, {**SPOT, "format": "csv", "lang": "en", "include_raw": True}))

    page = answer["result"]["structuredContent"]
    assert len(table) > MAX_BODY_BYTES
    assert (page["series_count"], sum(len(series["points"]) for series in page["series"])) == (250, 60_000)
    same = page["raw"] == table
    assert same
    assert peak_mib(drop_in) < 400


@pytest.mark.spec("3.limits.whole")
def test_other_answers_come_behind_a_large_one(bank: BojHarness, drop_in: Pipe) -> None:
    """The client reads nothing until all are asked for; the answers are whole, in whatever order they come."""
    drop_in.send(request(METADATA, {**FLOWS, "lang": "en"}, "large"), request(CODE, SPOT, "small"))
    drop_in.send(*({"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(50)))

    answers = {answer["id"]: answer for answer in (drop_in.receive() for _ in range(52))}

    assert len(answers["large"]["result"]["structuredContent"]["entries"]) == FLOWS_ROWS
    assert result_of(answers["small"], CODE)["series_count"] == 1
    assert [answers[number]["result"] for number in range(50)] == [{}] * 50


@pytest.mark.spec("3.limits.read")
def test_signet_keeps_its_limits_and_names_the_settings_that_raise_them(bank: BojHarness) -> None:
    environ = {**DIRECT, "BOJ_BASE_URL": bank.url, "BOJ_TIMEOUT_MS": "60000"}

    with serving("--toolsets", "boj", env=environ) as server:
        read = server.post(f"/api/tools/{METADATA}", FLOWS).json()
    with serving("--toolsets", "boj", env={**environ, "BOJ_MAX_BODY_MB": "64"}) as server:
        passed_on = server.post(f"/api/tools/{METADATA}", FLOWS).json()

    assert "it has more than the 16,777,216 bytes that are read (BOJ_MAX_BODY_MB raises this limit). " in str(read)
    limit = "the result has more than the 4,194,304 bytes that are passed on (BOJ_MAX_RESULT_MB raises this limit). "
    assert limit in str(passed_on)


@pytest.mark.spec("3.limits.read", "3.limits.whole")
def test_signet_answers_the_whole_where_its_limits_are_raised(bank: BojHarness) -> None:
    environ = {**DIRECT, "BOJ_BASE_URL": bank.url, "BOJ_TIMEOUT_MS": "60000"}
    raised = {"BOJ_MAX_BODY_MB": "64", "BOJ_MAX_RESULT_MB": "64"}
    arguments = {**FLOWS, "lang": "en"}

    with serving("--toolsets", "boj", env={**environ, **raised}) as server:
        rest = server.post(f"/api/tools/{METADATA}", arguments).json()
        headers = {"mcp-protocol-version": "2025-06-18"}
        told = server.post("/mcp", request(METADATA, arguments), headers).json()["result"]

    assert len(rest["result"]["entries"]) == FLOWS_ROWS
    assert len(told["structuredContent"]["entries"]) == FLOWS_ROWS
    [block] = told["content"]
    assert block["text"].startswith("33,863 entries in the database CO. ")
    assert "TK00S1032358GCQ00000" in block["text"]


# --- more than is read


@pytest.mark.spec("3.limits.read", "3.errors.decode")
@pytest.mark.parametrize("arguments", [{}, {"lang": "en", "format": "csv"}, {"include_raw": True}], ids=str)
def test_the_list_of_the_tankan_is_refused_with_a_way_to_ask_for_less(
    bank: BojHarness, pipe: Pipe, arguments: dict[str, Any]
) -> None:
    error = failure(pipe, METADATA, **WHOLE, **arguments)

    hint = error["data"]["hint"]
    told = f"it has more than the {MAX_BODY_BYTES:,} bytes that are read (BOJ_MAX_BODY_MB raises this limit)"
    assert error["data"] == {
        "canonical_code": "INTERNAL_ERROR",
        "error_type": "DECODE_ERROR",
        "message": told,
        "hint": hint,
    }
    assert error["message"] == f"The answer of the Bank of Japan is too large: {told}. {hint}"
    assert "lang=en" in hint
    assert "boj_get_data_layer" in hint
    assert len(bank.targets()) == 1


@pytest.mark.spec("3.limits.read")
@pytest.mark.parametrize(("name", "way"), [(CODE, "start_date"), (LAYER, "start_date"), (METADATA, "lang=en")])
def test_of_a_body_of_100_mb_no_more_than_the_limit_is_taken(
    bank: BojHarness, fresh: Pipe, name: str, way: str
) -> None:
    """The Bank counts what it could get rid of: the limit, and what fits into the buffers between."""
    bank.order("huge", size=100_000_000)
    before = peak_mib(fresh)

    error = failure(fresh, name, **CALLS[name])

    [seen] = bank.settled()
    assert kind_of(error) == DECODE
    assert way in error["data"]["hint"]
    assert seen.end == "gone"
    assert MAX_BODY_BYTES <= seen.body_bytes < MAX_BODY_BYTES + 8 * MIB
    assert peak_mib(fresh) - before < ROOM_MIB


@pytest.mark.spec("3.limits.read")
def test_the_list_of_the_tankan_asked_for_again_and_again_takes_no_more_room(bank: BojHarness, fresh: Pipe) -> None:
    before = peak_mib(fresh)

    kinds = [kind_of(failure(fresh, METADATA, **WHOLE)) for _ in range(3)]

    assert kinds == [DECODE] * 3
    assert len(bank.targets()) == 3
    assert peak_mib(fresh) - before < ROOM_MIB


@pytest.mark.spec("3.limits.read")
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_body_of_exactly_the_limit_is_read_whole(bank: BojHarness, pipe: Pipe, chunked: bool) -> None:
    plain = call(pipe, CODE, **SPOT)
    bank.order("huge", size=MAX_BODY_BYTES, chunked=chunked)

    assert call(pipe, CODE, **SPOT) == plain


@pytest.mark.spec("3.limits.read")
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_body_of_one_byte_more_is_refused(bank: BojHarness, pipe: Pipe, chunked: bool) -> None:
    bank.order("huge", size=MAX_BODY_BYTES + 1, chunked=chunked)

    error = failure(pipe, CODE, **SPOT)

    assert "bytes that are read" in error["data"]["message"]
    assert "hint" in error["data"]


# --- more than is answered


@pytest.mark.spec("3.limits.answered")
@pytest.mark.parametrize("name", TOOLS)
def test_a_raw_body_of_more_than_is_passed_on_is_refused_and_without_it_there_is_an_answer(
    bank: BojHarness, pipe: Pipe, name: str
) -> None:
    plain = call(pipe, name, **CALLS[name])
    bank.clear()
    bank.order("huge", size=MAX_RESULT_BYTES + 1, match="format=json")

    error = failure(pipe, name, **CALLS[name], format="json", include_raw=True)

    assert kind_of(error) == DECODE
    assert f"{MAX_RESULT_BYTES:,}" in error["data"]["message"]
    assert "include_raw" in error["data"]["hint"]
    answer = call(pipe, name, **CALLS[name], format="json")
    assert answer["meta"] == plain["meta"]


@pytest.mark.spec("3.limits.answered")
def test_a_result_of_more_than_is_passed_on_is_refused(bank: BojHarness, pipe: Pipe) -> None:
    """Neither the table as text nor what is made of it is over the limit by itself."""
    asked = {"db": "IR01", "codes": ["MADR1Z@D"], "start_date": "195501", "format": "csv", "lang": "en"}

    error = failure(pipe, CODE, **asked, include_raw=True)

    [target] = bank.targets()
    assert len(bank.body(target)) < MAX_RESULT_BYTES
    assert kind_of(error) == DECODE
    told = rf"the result has [0-9,]+ bytes, and at most {MAX_RESULT_BYTES:,} are passed on \(.*\)"
    assert re.fullmatch(told, error["data"]["message"])
    assert "start_date" in error["data"]["hint"]


# --- as much as the Bank gives at once


@pytest.mark.spec("3.limits.points", "3.output.formats", "3.output.structured")
def test_60000_points_pass_in_either_format(pipe: Pipe) -> None:
    answer = call(pipe, CODE, **LONG)
    table = pipe.ask(request(CODE, {**LONG, "format": "csv"}))["result"]["structuredContent"]

    [series] = answer["series"]
    dates = [point["survey_date"] for point in series["points"]]
    assert len(dates) > 60_000
    assert (dates[0], dates[-1]) == ("18620201", "20260607")
    # Not shown in full when it fails: it is three million characters.
    same = table == {**answer, "parameter": {**answer["parameter"], "format": "CSV"}}
    assert same


@pytest.mark.spec("3.limits.points", "3.output.next-position")
def test_a_page_that_60000_points_end_says_where_to_go_on(pipe: Pipe) -> None:
    codes = [f"FXERD0{number}" for number in range(1, 8)]

    first = pipe.ask(request(CODE, {"db": "FM08", "codes": codes}))["result"]["structuredContent"]
    rest = pipe.ask(request(CODE, {"db": "FM08", "codes": codes, "start_position": 6}))["result"]["structuredContent"]

    found = [[series["series_code"] for series in page["series"]] for page in (first, rest)]
    assert found == [codes[:5], codes[5:]]
    assert (first["next_position"], rest["next_position"]) == (6, None)


# --- in nobody's way


@pytest.mark.spec("3.runtime.concurrent")
def test_pings_are_answered_while_60000_points_are_decoded(bank: BojHarness, pipe: Pipe) -> None:
    """Counted from when the Bank has sent all of its answer."""
    pipe.send(request(CODE, LONG, "long"))
    bank.once(lambda seen: [one.end for one in seen] == ["answered"])

    count, answer = pongs_beside(pipe, "long")

    assert answer["result"]["structuredContent"]["series_count"] == 1
    assert count >= 10


@pytest.mark.spec("3.runtime.concurrent")
def test_pings_are_answered_while_100_mb_are_on_their_way(pipe: Pipe) -> None:
    pipe.send(request(METADATA, WHOLE, "whole"))

    count, answer = pongs_beside(pipe, "whole")

    assert kind_of(error_of(answer)) == DECODE
    assert count >= 10


@pytest.mark.spec("3.runtime.concurrent")
def test_another_call_is_answered_while_60000_points_are_decoded(bank: BojHarness, pipe: Pipe) -> None:
    pipe.send(request(CODE, LONG, "long"))
    bank.once(lambda seen: [one.end for one in seen] == ["answered"])
    pipe.send(request(LAYER, {**DEPOSITS, "layers": ["0"]}, "refused"))
    pipe.send(request(METADATA, CALL_RATE, "quick"))

    answers = {answer["id"]: answer for answer in (pipe.receive() for _ in range(3))}

    assert next(iter(answers)) == "refused"
    assert result_of(answers["quick"], METADATA)["db"] == "FM01"
    assert answers["long"]["result"]["structuredContent"]["series_count"] == 1


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "table",
    [
        "SERIES_CODE,SURVEY_DATES,VALUES" + "," * 1_000_000 + "\n" + "A,202401,1\n" * 1_000,
        "SERIES_CODE,SURVEY_DATES,VALUES\nA,202401,1" + "," * 1_000_000 + "\n",
    ],
    ids=["names", "row"],
)
def test_a_table_of_a_million_columns_takes_no_more_room_than_its_text(
    bank: BojHarness, fresh: Pipe, name: str, table: str
) -> None:
    bank.order("answer", body=f"STATUS,200\nMESSAGEID,M181000I\nMESSAGE,OK\n{table}", type="text/csv")
    before = peak_mib(fresh)

    error = failure(fresh, name, **CALLS[name])

    assert (kind_of(error), error["data"]["message"]) == (DECODE, "a row has more than 10,000 commas")
    assert peak_mib(fresh) - before < 24
    bank.clear()
    assert call(fresh, CODE, **SPOT)["series_count"] == 1
