"""The backend's API without a network: requests byte for byte, and values or faults from responses."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oj_harness import PROBLEM, encoded
from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.recording import utc_today
from signet.toolsets.oj import api
from signet.toolsets.oj.models import Fetching, Problem, Resolved, Similar, Status
from signet.toolsets.oj.render import problem_page

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
SUFFIX = "\n\n... (truncated)"
PLATFORM = {"source": "a", "total": 0, "missing_content": 0, "not_embedded": 0}

WHITE_SPACE = [
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
]  # fmt: skip
"""The code points that Unicode gives the property White_Space."""
NOT_WHITE_SPACE = [0x00, 0x1C, 0x1D, 0x1E, 0x1F, 0x180E, 0x200B, 0x2060, 0xFEFF]

scalars = st.text(st.characters(exclude_categories=["Cs"]))
"""Any text that JSON can carry: Python's strings may hold surrogates, JSON's may not."""


def stripped(text: str) -> str:
    """Remove Unicode's white space from both ends, independently of what is tested."""
    return text.strip("".join(map(chr, WHITE_SPACE)))


names = scalars.filter(lambda text: stripped(text) not in {"", ".", ".."})
statuses = st.integers(200, 599).filter(lambda status: status != 200)


def refused(answer: UpstreamResponse, shape: Any = Problem) -> Fault:
    with pytest.raises(Fault) as caught:
        api.read(answer, shape)
    return caught.value


# --- requests


@pytest.mark.spec("2.T2.encoded", "2.common.encoded", "2.T2.endpoint")
@given(names, names)
def test_any_source_and_id_become_two_segments_that_decode_to_them(source: str, problem_id: str) -> None:
    target = api.ask_problem(source, problem_id).target

    assert re.fullmatch(r"/api/v1/problems/(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+/(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+", target)
    decoded = [unquote(part, errors="strict") for part in target.split("/")[-2:]]
    assert decoded == [stripped(source), stripped(problem_id)]


@pytest.mark.spec("2.T2.encoded")
def test_the_printed_example_of_encoding_holds() -> None:
    assert api.ask_problem("a/b", "c d") == UpstreamRequest("/api/v1/problems/a%2Fb/c%20d")


@pytest.mark.spec("2.T4.encoded", "2.T4.endpoint")
@given(names)
def test_any_query_to_resolve_becomes_one_segment(query: str) -> None:
    assert api.ask_resolve(query) == UpstreamRequest(f"/api/v1/resolve/{encoded(query)}")


@pytest.mark.spec("2.T3.encoded", "2.T3.by-id")
@given(names, names)
def test_any_source_and_id_to_compare_with_are_encoded(source: str, problem_id: str) -> None:
    request = api.ask_similar_to(source, problem_id, "limit=10&threshold=0")

    assert request == UpstreamRequest(f"/api/v1/similar/{encoded(source)}/{encoded(problem_id)}?limit=10&threshold=0")


@pytest.mark.spec("2.T3.query-encoded", "2.T3.by-query")
@given(names)
def test_any_query_to_search_for_is_encoded(query: str) -> None:
    request = api.ask_similar_with(query, "limit=10&threshold=0")

    assert request == UpstreamRequest(f"/api/v1/similar?q={encoded(query)}&limit=10&threshold=0")


@pytest.mark.spec("2.T3.filter-encoded")
@given(names)
def test_any_source_filter_is_encoded(source_filter: str) -> None:
    assert api.similar_options(3, 0.5, source_filter) == f"limit=3&threshold=0.5&source={encoded(source_filter)}"


@pytest.mark.spec("2.T3.filter-encoded")
def test_a_blank_source_filter_is_left_out() -> None:
    assert api.similar_options(3, 0.5, "") == "limit=3&threshold=0.5"


@pytest.mark.spec("2.common.encoded")
@pytest.mark.parametrize("dots", [".", "..", " .. "])
def test_a_segment_that_a_url_would_swallow_is_refused(dots: str) -> None:
    for ask in (
        lambda: api.ask_problem("leetcode", dots),
        lambda: api.ask_problem(dots, "1"),
        lambda: api.ask_similar_to(api.trim(dots), "1", ""),
        lambda: api.ask_resolve(api.trim(dots)),
    ):
        with pytest.raises(Fault) as caught:
            ask()
        assert (caught.value.code, caught.value.as_tool_result) == ("INVALID_INPUT", True)


@pytest.mark.spec("2.T2.trimmed", "2.T3.query-trimmed")
@pytest.mark.parametrize("point", WHITE_SPACE, ids=hex)
def test_unicodes_white_space_is_trimmed(point: int) -> None:
    assert api.trim(f"{chr(point)}x{chr(point)}y{chr(point)}") == f"x{chr(point)}y"


@pytest.mark.spec("2.T2.trimmed")
@pytest.mark.parametrize("point", NOT_WHITE_SPACE, ids=hex)
def test_what_unicode_does_not_call_white_space_is_kept(point: int) -> None:
    assert api.trim(f"{chr(point)}x{chr(point)}") == f"{chr(point)}x{chr(point)}"


@pytest.mark.spec("2.T2.trimmed")
def test_nothing_trimmed_is_an_empty_text() -> None:
    assert api.trim(None) == ""


@pytest.mark.spec("2.T1.date-format", "2.T1.endpoint")
@given(st.dates())
def test_any_day_of_the_calendar_is_asked_for_as_it_is_written(day: date) -> None:
    written = f"{day.year:04}-{day.month:02}-{day.day:02}"

    assert api.ask_daily("cn", written) == UpstreamRequest(f"/api/v1/daily?domain=cn&date={written}")


@pytest.mark.spec("2.T1.date-format", "2.T1.date-refused")
@given(scalars | st.text(alphabet="0123456789-+ TW&=#%\n\u0660\uff11", max_size=12))
def test_any_text_is_a_date_of_ten_ascii_characters_or_is_refused(text: str) -> None:
    try:
        outcome = api.ask_daily("com", text).target
    except Fault as fault:
        outcome = fault.message

    assert (
        re.fullmatch(r"/api/v1/daily\?domain=com&date=[0-9]{4}-[0-9]{2}-[0-9]{2}", outcome) or "YYYY-MM-DD" in outcome
    )


@pytest.mark.spec("2.T3.threshold-default")
@pytest.mark.parametrize(
    ("threshold", "written"),
    [(0.0, "0"), (-0.0, "0"), (0, "0"), (1.0, "1"), (1, "1"), (0.5, "0.5"), (0.10, "0.1"), (1e-7, "0.0000001"),
     (0.1 + 0.2, "0.30000000000000004"), (2**-20, "0.00000095367431640625")],
)  # fmt: skip
def test_a_threshold_is_written_in_its_shortest_decimal_form(threshold: float, written: str) -> None:
    assert api.similar_options(10, threshold, "") == f"limit=10&threshold={written}"


@pytest.mark.spec("2.T3.threshold-default")
@given(st.floats(0, 1))
def test_any_threshold_is_written_without_exponent_and_means_the_same(threshold: float) -> None:
    written = api.similar_options(10, threshold, "").removeprefix("limit=10&threshold=")

    assert re.fullmatch(r"0|1|0\.[0-9]*[1-9]", written)
    assert float(written) == threshold


# --- responses


REFUSALS = {
    "whole": ({"type": "about:blank", "title": "Not Found", "status": 404, "detail": "problem not found"},
              "[404] Not Found: problem not found"),
    "printed": ({"status": 404, "title": "Not Found", "detail": "problem not found"},
                "[404] Not Found: problem not found"),
    "the body's status wins": ({"title": "Teapot", "status": 418, "detail": "short and stout"},
                               "[418] Teapot: short and stout"),
    "no status": ({"title": "Not Found", "detail": "d"}, "[404] Not Found: d"),
    "null status": ({"title": "Not Found", "status": None, "detail": "d"}, "[404] Not Found: d"),
    "status zero": ({"title": "t", "status": 0, "detail": "d"}, "[0] t: d"),
    "the largest status": ({"title": "t", "status": 65535, "detail": "d"}, "[65535] t: d"),
    "no detail": ({"title": "Not Found", "status": 404}, "[404] Not Found: "),
    "null detail": ({"title": "Not Found", "status": 404, "detail": None}, "[404] Not Found: "),
    "title alone": ({"title": "t"}, "[404] t: "),
    "empty title": ({"title": "", "detail": "d"}, "[404] : d"),
    "more keys": ({"title": "t", "detail": "d", "errors": [1], "instance": {}}, "[404] t: d"),
    "not ASCII": ({"title": "見つかりません", "detail": "😀\n| x"}, "[404] 見つかりません: 😀\n| x"),
}  # fmt: skip
NO_REFUSALS: dict[str, Any] = {
    "no title": {"status": 404, "detail": "d"},
    "null title": {"title": None, "detail": "d"},
    "a title that is no text": {"title": 5, "detail": "d"},
    "a detail that is no text": {"title": "t", "detail": ["d"]},
    "a status that is text": {"title": "t", "status": "404"},
    "a status that is too large": {"title": "t", "status": 65536},
    "a negative status": {"title": "t", "status": -1},
    "a status that is a truth": {"title": "t", "status": True},
    "a list": ["title"],
    "a text": "title",
    "null": None,
}


@pytest.mark.spec("1.S4.3.template", "1.S4.3.as-is", "1.S4.3.status", "1.S4.3.shape")
@pytest.mark.parametrize("kind", [JSON, PROBLEM_JSON, "application/problem+json; charset=utf-8"])
@pytest.mark.parametrize("row", REFUSALS)
def test_a_problem_document_is_shown_as_status_title_and_detail(row: str, kind: str) -> None:
    document, shown = REFUSALS[row]

    fault = refused(UpstreamResponse(404, kind, json.dumps(document).encode()))

    assert (fault.message, fault.as_tool_result, fault.code) == (shown, True, "NOT_FOUND")


@pytest.mark.spec("1.S4.3.template", "1.S4.3.as-is")
@given(st.integers(0, 65_535), scalars, scalars)
def test_any_problem_document_is_shown_by_the_template(status: int, title: str, detail: str) -> None:
    body = json.dumps({"status": status, "title": title, "detail": detail}).encode()

    assert refused(UpstreamResponse(500, PROBLEM_JSON, body)).message == f"[{status}] {title}: {detail}"


@pytest.mark.spec("1.S4.3.shape", "1.S4.4.template")
@pytest.mark.parametrize("row", NO_REFUSALS)
def test_json_that_is_no_problem_document_is_shown_as_it_came(row: str) -> None:
    body = json.dumps(NO_REFUSALS[row]).encode()

    assert refused(UpstreamResponse(404, PROBLEM_JSON, body)).message == f"[404] {body.decode()}"


@pytest.mark.spec("1.S2.3.error-gate", "1.S2.3.gate")
@pytest.mark.parametrize(
    "kind", ["", "text/plain", "text/json", "application/x-json", "application/xml", "application"]
)
def test_a_problem_document_of_another_content_type_is_not_read(kind: str) -> None:
    body = json.dumps({"title": "t", "status": 1, "detail": "d"})

    assert refused(UpstreamResponse(404, kind, body.encode())).message == f"[404] {body}"


@pytest.mark.spec("1.S4.4.template", "1.S4.4.cut", "1.S4.4.no-suffix", "1.S4.4.unicode")
@given(statuses, st.binary(max_size=40).map(lambda part: part * 60) | scalars.map(lambda text: (text * 60).encode()))
def test_any_other_body_is_shown_up_to_500_characters(status: int, body: bytes) -> None:
    fault = refused(UpstreamResponse(status, "text/plain", body))

    assert fault.message == f"[{status}] {body.decode(errors='replace')[:500]}"
    assert fault.as_tool_result


@pytest.mark.spec("1.S4.4.cut", "1.S4.4.no-suffix", "1.S4.4.unicode")
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("x" * 1000, "x" * 500),
        ("x" * 499 + "😀", "x" * 499 + "😀"),
        ("x" * 499 + "😀😀", "x" * 499 + "😀"),
        ("x" * 500 + "😀", "x" * 500),
        ("😀" * 501, "😀" * 500),
        ("漢" * 501, "漢" * 500),
        ("", ""),
        (" \n ", " \n "),
    ],
)
def test_the_500_are_characters_and_none_is_cut_in_two(body: str, shown: str) -> None:
    assert refused(UpstreamResponse(500, "text/plain", body.encode())).message == f"[500] {shown}"


@pytest.mark.spec("1.S4.2.any-status", "1.S4.2.other-status", "1.S4.1.not-utf8", "2.common.errors")
@given(statuses, st.sampled_from(["", JSON, PROBLEM_JSON, "text/html"]), st.binary())
def test_any_other_status_than_200_is_told_whatever_its_body_is(status: int, kind: str, body: bytes) -> None:
    fault = refused(UpstreamResponse(status, kind, body))

    assert fault.as_tool_result
    assert fault.message.startswith(f"[{status}] ")


@pytest.mark.spec("1.S4.2.canonical")
def test_each_status_has_its_canonical_code() -> None:
    others = dict.fromkeys(range(201, 600), "INTERNAL_ERROR")

    codes = {status: refused(UpstreamResponse(status, JSON, b"{}")).code for status in others}

    assert codes == others | {
        400: "INVALID_INPUT", 422: "INVALID_INPUT", 401: "UNAUTHORIZED", 403: "UNAUTHORIZED", 404: "NOT_FOUND",
    }  # fmt: skip


@pytest.mark.spec("1.S5.2.any-response", "1.S5.2.suffix", "1.S5.2.outside")
@pytest.mark.parametrize("filler", ["x", "漢", "😀"])
def test_an_error_text_too_keeps_to_the_limit(filler: str) -> None:
    body = json.dumps({"title": "t", "status": 500, "detail": filler * 200_000}, ensure_ascii=False).encode()

    shown = refused(UpstreamResponse(500, PROBLEM_JSON, body)).message

    assert shown.startswith(f"[500] t: {filler}")
    assert shown.endswith(f"{filler}{SUFFIX}")
    assert 102_400 - 3 <= len(shown.encode()) - 17 <= 102_400


@pytest.mark.spec("1.S2.3.gate")
@pytest.mark.parametrize("kind", [JSON, PROBLEM_JSON, "application/json; charset=utf-8", "application/json-seq"])
def test_json_is_read_where_the_content_type_starts_so(kind: str) -> None:
    assert api.read(UpstreamResponse(200, kind, json.dumps(PROBLEM).encode()), Problem).title == "Two Sum"


@pytest.mark.spec("1.S2.3.fallback", "1.S2.3.gate", "1.S2.3.never-parsed")
@given(
    st.sampled_from(["", "text/html", "text/html; charset=utf-8", "text/plain", "application/octet-stream"]),
    st.sampled_from([json.dumps(PROBLEM), "<html>...</html>", "{broken", ""]),
)
def test_200_of_another_content_type_is_shown_by_the_fallback_and_never_parsed(kind: str, body: str) -> None:
    fault = refused(UpstreamResponse(200, kind, body.encode()))

    assert (fault.message, fault.as_tool_result, fault.code) == (f"[200] {body[:500]}", True, "INTERNAL_ERROR")


BROKEN = {
    "nothing": b"",
    "no JSON": b"{broken",
    "cut": json.dumps(PROBLEM).encode()[:-1],
    "more than JSON": json.dumps(PROBLEM).encode() + b"x",
    "a list": b"[]",
    "null": b"null",
    "no id": b'{"title":"t"}',
    "a title that is no text": b'{"id":"1","title":5}',
    "a rate that is no number": b'{"id":"1","ac_rate":"57"}',
    "nested too deeply": b'{"id":"1","tags":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "half a surrogate pair": b'{"id":"1","title":"\\ud800"}',
    "not a number": b'{"id":"1","ac_rate":NaN}',
}


@pytest.mark.spec("1.S4.1.not-json", "1.S5.1.stops")
@pytest.mark.parametrize("row", BROKEN)
def test_200_with_broken_json_is_a_protocol_error(row: str) -> None:
    fault = refused(UpstreamResponse(200, JSON, BROKEN[row]))

    assert (fault.as_tool_result, fault.code, fault.mcp_code) == (False, "INTERNAL_ERROR", -32603)


@pytest.mark.spec("1.S4.1.not-json")
@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (Similar, {"rewritten_query": "q"}),
        (Similar, {"results": [{"source": "a", "id": "1"}]}),
        (Similar, {"results": [{"source": "a", "id": "1", "similarity": None}]}),
        (Similar, {"results": [{"source": None, "id": "1", "similarity": 0.5}]}),
        (Resolved, {"problem": {"title": "no id"}}),
        (Status, {"version": None, "platforms": []}),
        (Status, {"version": "1"}),
        (Status, {"version": "1", "platforms": [{**PLATFORM, "total": -1}]}),
        (Status, {"version": "1", "platforms": [{**PLATFORM, "total": 0.5}]}),
        (Status, {"version": "1", "platforms": [{**PLATFORM, "total": None}]}),
        (Status, {"version": "1", "platforms": [{**PLATFORM, "source": None}]}),
    ],
)
def test_json_of_another_shape_is_a_protocol_error(shape: Any, value: object) -> None:
    fault = refused(UpstreamResponse(200, JSON, json.dumps(value).encode()), shape)

    assert (fault.as_tool_result, fault.mcp_code) == (False, -32603)


@pytest.mark.spec("1.S4.1.not-utf8")
@given(st.data())
def test_bytes_that_are_no_utf8_are_a_protocol_error_wherever_they_stand(data: st.DataObject) -> None:
    """Also in fields that are not shown: the body as a whole is malformed."""
    body = json.dumps({**PROBLEM, "slug": "a-slug", "unheard-of": ["of"]}).encode()
    places = [place.end() for place in re.finditer(rb'"(?=[a-zA-Z<])', body)]
    place = data.draw(st.sampled_from(places))
    wrong = data.draw(st.sampled_from([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]))

    fault = refused(UpstreamResponse(200, JSON, body[:place] + wrong + body[place:]))

    assert (fault.as_tool_result, fault.mcp_code) == (False, -32603)


@pytest.mark.spec("2.T1.nullable")
def test_what_is_not_shown_may_be_anything() -> None:
    odd = {"id": 7, "rating": "?", "contest": [], "paid_only": {}, "similar_questions": None, "unheard-of": 1}

    problem = api.read(UpstreamResponse(200, JSON, json.dumps(odd).encode()), Problem)

    assert problem_page(problem) == (
        "# N/A\n\n- Source: N/A | ID: 7 | Difficulty: N/A\n- Tags: N/A\n- Link: N/A\n- AC Rate: N/A\n\n---\n\n"
        "No description available."
    )


@pytest.mark.spec("2.T1.fetching", "2.T1.retry-after", "1.S2.3.never-parsed")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"retry_after":30,"status":"fetching"}', Fetching(30)),
        (b'{"retry_after":0}', Fetching(0)),
        (b'{"status":"fetching"}', Fetching()),
        (b'{"retry_after":null}', Fetching()),
        (b'{"retry_after":"soon"}', Fetching()),
        (b'{"retry_after":-1}', Fetching()),
        (b"<html>", Fetching()),
        (b"\xff", Fetching()),
        (b"", Fetching()),
    ],
)
@pytest.mark.parametrize("kind", [JSON, "text/html", ""])
def test_202_says_that_a_problem_is_on_its_way_whatever_it_holds(kind: str, body: bytes, expected: Fetching) -> None:
    assert api.fetching(UpstreamResponse(202, kind, body)) == (expected if kind == JSON else Fetching())


@pytest.mark.spec("1.S4.2.other-status")
@given(st.integers(200, 599).filter(lambda status: status != 202))
def test_no_other_status_says_so(status: int) -> None:
    assert api.fetching(UpstreamResponse(status, JSON, b'{"retry_after":30}')) is None


@pytest.mark.spec("1.S2.2.body-cap")
def test_the_limits_are_the_printed_ones() -> None:
    assert (api.MAX_BODY_BYTES, api.MAX_FALLBACK_CHARS) == (1_048_576, 500)


@pytest.mark.spec("2.T1.date-default", "2.T1.utc-only")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_today_is_the_day_in_utc_in_whatever_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen hours ahead and twelve behind: at any moment one of the two zones has another day than UTC."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        days = [f"{datetime.now(UTC):%Y-%m-%d}", utc_today(), f"{datetime.now(UTC):%Y-%m-%d}"]
    finally:
        monkeypatch.undo()
        time.tzset()

    assert days[1] in {days[0], days[2]}


def sent(body: str) -> UpstreamResponse:
    return UpstreamResponse(200, "application/json", body.encode())


@pytest.mark.parametrize("item", ["0", "[]", "{}", "1.7976931348623157e308"])
def test_a_response_with_more_values_than_any_problem_has_is_not_decoded(item: str) -> None:
    few = f'{{"id":"1","tags":[{",".join([item] * 1_900)}]}}'
    many = f'{{"id":"1","tags":[{",".join([item] * 4_000)}]}}'

    assert api.read(sent(few), Problem).id == "1"
    with pytest.raises(Fault) as caught:
        api.read(sent(many), Problem)

    assert caught.value.message == "the backend's answer is too large to be read: it has more than 4,000 values"


@pytest.mark.spec("1.S4.1.not-json")
def test_valid_json_that_is_nested_too_deep_is_not_called_invalid() -> None:
    with pytest.raises(Fault) as caught:
        api.read(sent(f'{{"id":"1","x":{"[" * 2_000}{"]" * 2_000}}}'), Problem)

    assert caught.value.message == "the backend's answer is too large to be read: its values are nested too deep"


def test_the_commas_and_brackets_of_a_statement_are_no_values() -> None:
    body = json.dumps({"id": "1", "content": ",[{" * 100_000})

    assert api.read(sent(body), Problem).content == ",[{" * 100_000
