"""The five tools of `oj-mcp-rs` over pipes: the result of each call, and the requests to the upstream."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from door_calls import rpc
from oj_harness import HIT, PAGE, PROBLEM, SAMPLE, SIMILAR, STATUS, TOOLS, OjHarness, call, encoded, serving_oj
from processes import Pipe
from signet.kernel.errors import Code, Fault
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.toolsets.oj import api, tools

TOKEN = "a-token-for-the-tools"
DAILY = {key: value for key, value in PROBLEM.items() if key != "source"} | {"date": "2026-02-27", "domain": "com"}
RESOLVED = {"source": "top", "id": "beside", "problem": PROBLEM}
SEARCH = "/api/v1/similar?q={}&limit=10&threshold=0"
LIKE = "/api/v1/similar/{}/{}?limit=10&threshold=0"

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).filter(
    lambda text: text.strip() not in {"", ".", ".."}
)
CALLS: dict[str, tuple[dict[str, Any], Any]] = {
    "get_daily_challenge": ({}, DAILY),
    "get_problem": ({"source": "leetcode", "id": "1"}, PROBLEM),
    "find_similar_problems": ({"query": "two numbers"}, SIMILAR),
    "resolve_problem": ({"query": "two-sum"}, RESOLVED),
    "get_platform_status": ({}, STATUS),
}
"""For each tool valid arguments, and a response of the upstream that it can read."""


@pytest.fixture(scope="module")
def process(judge: OjHarness) -> Iterator[Pipe]:
    with serving_oj(judge.url, "--token", TOKEN) as pipe:
        yield pipe


@pytest.fixture
def pipe(judge: OjHarness, process: Pipe) -> Pipe:
    """Start a server with a token."""
    return process


@pytest.fixture(scope="module")
def without_token(judge: OjHarness) -> Iterator[Pipe]:
    with serving_oj(judge.url) as pipe:
        yield pipe


def utc_day() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def error_text(result: tuple[str, Any]) -> str:
    """Return the text of a result that is an error."""
    assert result[0] == "told", result
    return str(result[1])


# --- all five


@pytest.mark.spec("2.common.markdown", "2.common.errors")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_answers_with_one_text_and_says_that_it_is_no_error(judge: OjHarness, pipe: Pipe, name: str) -> None:
    arguments, answer = CALLS[name]
    judge.answers(answer)

    result = pipe.ask(rpc("tools/call", {"name": name, "arguments": arguments}))["result"]

    assert set(result) == {"content", "isError"}
    assert result["isError"] is False
    assert [block["type"] for block in result["content"]] == ["text"]
    assert result["content"][0]["text"].startswith("# ")


@pytest.mark.spec("2.common.errors", "1.S4.3.template", "1.S4.2.4xx")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_shows_an_error_of_the_upstream_as_a_result(judge: OjHarness, pipe: Pipe, name: str) -> None:
    judge.order("status", status=404, detail="problem not found")

    assert call(pipe, name, **CALLS[name][0]) == ("told", "[404] Not Found: problem not found")


@pytest.mark.spec("2.common.errors", "1.S4.1.not-json")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_fails_on_json_that_is_none(judge: OjHarness, pipe: Pipe, name: str) -> None:
    judge.order("not_json", status=200)

    assert call(pipe, name, **CALLS[name][0]) == ("failed", -32603)


@pytest.mark.spec("2.common.unknown")
@pytest.mark.parametrize("name", TOOLS)
def test_an_argument_that_is_not_there_is_ignored_and_named(judge: OjHarness, pipe: Pipe, name: str) -> None:
    arguments, body = CALLS[name]
    judge.answers(body)

    reply = pipe.ask(rpc("tools/call", {"name": name, "arguments": {**arguments, "toolCallId": "x"}}))

    assert (reply["result"]["isError"], reply["result"]["_meta"]) == (False, {"ignored_arguments": ["toolCallId"]})
    assert len(judge.targets()) == 1


@pytest.mark.spec("2.common.unknown", "1.S4.2.parameters")
@pytest.mark.parametrize(
    ("name", "arguments", "known"),
    [
        ("get_daily_challenge", {"dte": "2026-01-31"}, "date"),
        ("get_problem", {"source": "leetcode", "ID": "1"}, "id"),
        ("find_similar_problems", {"query": "arrays", "limt": 5}, "limit"),
        ("find_similar_problems", {"query": "arrays", "sourceFilter": "luogu"}, "source_filter"),
        ("resolve_problem", {"qeury": "two-sum"}, "query"),
    ],
)
def test_a_near_miss_of_an_argument_is_refused_with_its_name_and_nothing_is_asked(
    judge: OjHarness, pipe: Pipe, name: str, arguments: dict[str, Any], known: str
) -> None:
    given = list(arguments)[-1]

    text = error_text(call(pipe, name, **arguments))

    assert text == f"Invalid arguments for {name}: unknown argument '{given}': did you mean '{known}'?"
    assert judge.targets() == []


def rules_of(part: dict[str, Any]) -> dict[str, Any]:
    """Return what a published parameter says of a value that is not null."""
    ((rules, null),) = [part["anyOf"]] if "anyOf" in part else [(part, {"type": "null"})]
    assert null == {"type": "null"}
    return dict(rules)


@pytest.mark.spec(
    "2.common.unknown", "2.T5.no-parameters", "2.T1.domain", "2.T1.domain-default", "2.T2.required",
    "2.T3.limit-range", "2.T3.threshold-range", "2.T4.required",
)  # fmt: skip
def test_the_published_parameters_are_the_printed_ones(pipe: Pipe) -> None:
    tools = pipe.ask(rpc("tools/list", {}))["result"]["tools"]

    types = {
        tool["name"]: {name: rules_of(part)["type"] for name, part in tool["inputSchema"]["properties"].items()}
        for tool in tools
    }
    required = {tool["name"]: tool["inputSchema"].get("required", []) for tool in tools}
    nullable = {
        tool["name"]: [name for name, part in tool["inputSchema"]["properties"].items() if "anyOf" in part]
        for tool in tools
    }
    similar = next(tool["inputSchema"]["properties"] for tool in tools if tool["name"] == "find_similar_problems")
    daily = next(tool["inputSchema"]["properties"] for tool in tools if tool["name"] == "get_daily_challenge")
    limit, threshold = rules_of(similar["limit"]), rules_of(similar["threshold"])
    assert types == {
        "get_daily_challenge": {"domain": "string", "date": "string"},
        "get_problem": {"source": "string", "id": "string"},
        "find_similar_problems": {
            "source": "string", "id": "string", "query": "string", "limit": "integer", "threshold": "number",
            "source_filter": "string",
        },
        "resolve_problem": {"query": "string"},
        "get_platform_status": {},
    }  # fmt: skip
    assert required == {name: [] for name in TOOLS} | {"get_problem": ["source", "id"], "resolve_problem": ["query"]}
    assert nullable == {
        **{name: [] for name in TOOLS},
        "get_daily_challenge": ["domain", "date"],
        "find_similar_problems": ["source", "id", "query", "limit", "threshold", "source_filter"],
    }
    assert (limit["minimum"], limit["maximum"], similar["limit"]["default"]) == (1, 50, 10)
    assert (threshold["minimum"], threshold["maximum"], similar["threshold"]["default"]) == (0, 1, 0)
    assert (rules_of(daily["domain"])["enum"], daily["domain"]["default"]) == (["com", "cn"], "com")
    assert all("additionalProperties" not in tool["inputSchema"] for tool in tools)


@pytest.mark.spec("2.common.described")
def test_every_parameter_and_every_tool_is_described(pipe: Pipe) -> None:
    for tool in pipe.ask(rpc("tools/list", {}))["result"]["tools"]:
        assert tool["description"]
        assert tool["title"]
        assert all(part["description"] for part in tool["inputSchema"]["properties"].values())


@pytest.mark.spec("2.common.optional")
@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        ("get_daily_challenge", {"domain": None, "date": "2026-01-01"}, "/api/v1/daily?domain=com&date=2026-01-01"),
        (
            "find_similar_problems",
            {"query": None, "source": "a", "id": "1", "limit": None, "threshold": None, "source_filter": None},
            "/api/v1/similar/a/1?limit=10&threshold=0",
        ),
    ],
)
def test_an_optional_parameter_that_is_null_counts_as_left_out(
    judge: OjHarness, pipe: Pipe, name: str, arguments: dict[str, Any], target: str
) -> None:
    judge.answers(CALLS[name][1])

    result = call(pipe, name, **arguments)

    assert result[0] == "answer"
    assert judge.targets() == [target]


@pytest.mark.spec("2.common.optional", "2.T5.no-parameters")
def test_arguments_may_be_left_out_altogether(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(STATUS)

    answer = pipe.ask(rpc("tools/call", {"name": "get_platform_status"}))

    assert answer["result"]["isError"] is False


@pytest.mark.spec("2.common.unicode")
@pytest.mark.parametrize("name", ["get_problem", "find_similar_problems", "resolve_problem", "get_daily_challenge"])
def test_half_a_surrogate_pair_is_refused_and_the_next_call_served(judge: OjHarness, pipe: Pipe, name: str) -> None:
    half = b'{"source":"\\ud800","id":"\\ud800","query":"\\ud800\\ud800\\ud800","date":"\\ud800"}'

    refusal = pipe.ask(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%b","arguments":%b}}'
                       % (name.encode(), half))  # fmt: skip

    assert refusal["error"]["code"] in {-32700, -32602}
    assert judge.targets() == []
    judge.answers(STATUS)
    assert call(pipe, "get_platform_status")[0] == "answer"


@pytest.mark.spec("1.S5.2.any-response", "1.S5.2.suffix", "1.S5.2.outside", "1.S5.2.utf8")
def test_a_text_over_the_limit_is_cut_on_the_wire_too(judge: OjHarness, pipe: Pipe) -> None:
    """A bar takes two bytes in a cell, so that a small response makes a large text."""
    judge.answers({"rewritten_query": "q", "results": [{**HIT, "title": "|" * 60_000}]})

    kind, text = call(pipe, "find_similar_problems", query="abc")

    assert kind == "answer"
    assert text.endswith("\n\n... (truncated)")
    assert len(text.encode()) == 102_417


@pytest.mark.spec("1.S5.2.limit", "1.S5.2.utf8")
@pytest.mark.parametrize(
    ("letters", "bytes_shown"),
    [("x" * 102_247, 102_400), ("x" * 102_248, 102_417), ("漢" * 40_000, 102_416)],
    ids=["as long as may be", "a letter more", "three bytes a letter"],
)
def test_a_page_of_102400_bytes_is_whole_and_a_longer_one_ends_with_a_character(
    judge: OjHarness, pipe: Pipe, letters: str, bytes_shown: int
) -> None:
    """The lines above the statement have 153 bytes."""
    judge.answers({**PROBLEM, "content": letters})

    kind, text = call(pipe, "get_problem", source="leetcode", id="1")

    head = PAGE.removesuffix("Add **two** numbers.")
    statement = text.removeprefix(head).removesuffix("\n\n... (truncated)")
    assert (kind, len(head), len(text.encode())) == ("answer", 153, bytes_shown)
    assert letters.startswith(statement)


# --- T1: get_daily_challenge


@pytest.mark.spec("2.T1.endpoint", "2.T1.template", "2.T1.success", "2.T1.source", "2.T1.converted", "1.S1.1.appended")
def test_the_daily_challenge_is_asked_for_and_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(DAILY)

    result = call(pipe, "get_daily_challenge", domain="cn", date="2026-01-01")

    assert result == ("answer", PAGE)
    assert judge.targets() == ["/api/v1/daily?domain=cn&date=2026-01-01"]
    assert result[1].splitlines()[0].startswith("# ")
    assert "Source:" in result[1].splitlines()[2]


@pytest.mark.spec("2.T1.source", "2.T1.success")
@pytest.mark.parametrize("sent", [{}, {"source": None}, {"source": ""}])
def test_a_daily_challenge_without_a_source_is_leetcodes(judge: OjHarness, pipe: Pipe, sent: dict[str, Any]) -> None:
    judge.answers({**DAILY, **sent})

    assert "- Source: leetcode | ID: 1 |" in call(pipe, "get_daily_challenge")[1]


@pytest.mark.spec("2.T1.domain-default", "2.T1.domain")
@pytest.mark.parametrize(("arguments", "domain"), [({}, "com"), ({"domain": "com"}, "com"), ({"domain": "cn"}, "cn")])
def test_the_domain_is_com_unless_given(judge: OjHarness, pipe: Pipe, arguments: dict[str, Any], domain: str) -> None:
    judge.answers(DAILY)

    call(pipe, "get_daily_challenge", date="2026-01-01", **arguments)

    assert judge.targets() == [f"/api/v1/daily?domain={domain}&date=2026-01-01"]


@pytest.mark.spec("2.T1.domain", "1.S4.2.parameters")
@pytest.mark.parametrize("domain", ["COM", "Cn", "", " com", "org", "com&date=2020-01-01", 5, ["com"]])
def test_another_domain_is_told_and_nothing_is_asked(judge: OjHarness, pipe: Pipe, domain: Any) -> None:
    text = error_text(call(pipe, "get_daily_challenge", domain=domain))

    assert "domain" in text
    assert judge.targets() == []


@pytest.mark.spec("2.T1.date-default", "2.T1.utc-only")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize("domain", ["com", "cn"])
def test_without_a_date_it_is_the_day_in_utc_wherever_the_machine_stands(
    judge: OjHarness, zone: str, domain: str
) -> None:
    """Fourteen hours ahead and twelve behind: at any moment one of the two zones has another day than UTC."""
    judge.answers(DAILY)

    with serving_oj(judge.url, env={"TZ": zone}) as pipe:
        before = utc_day()
        result = call(pipe, "get_daily_challenge", domain=domain)
        after = utc_day()

    assert result[0] == "answer"
    assert judge.targets() in [[f"/api/v1/daily?domain={domain}&date={day}"] for day in (before, after)]


@pytest.mark.spec("2.T1.date-format", "2.T1.date-refused", "1.S4.2.parameters")
@pytest.mark.parametrize(
    "date",
    [
        "", " ", "today", "2026-1-1", "2026-01-1", " 2026-01-01", "2026-01-01 ", "2026-01-01\n", "+2026-01-01",
        "-2026-01-01", "12026-01-01", "20260101", "2026-W01-1", "2026-001", "2026-02-29", "2026-13-01", "2026-00-10",
        "2026-01-32", "2026-01-01T00:00:00", "2026/01/01", "\uff12026-01-01", "2026-01-0\u0661", "2026-01-01&domain=cn",
        "2026-01-01#", "2026-01-01%20", "2026\u201001\u201001", "x" * 100_000,
    ],
    ids=lambda date: repr(date[:30]),
)  # fmt: skip
def test_a_date_that_is_none_is_told_with_the_format_and_nothing_is_asked(
    judge: OjHarness, pipe: Pipe, date: str
) -> None:
    text = error_text(call(pipe, "get_daily_challenge", date=date))

    assert "YYYY-MM-DD" in text
    assert judge.targets() == []


@pytest.mark.spec("2.T1.date-format", "2.T1.domain-default")
@pytest.mark.parametrize("date", ["2024-02-29", "2020-04-01", "1999-12-31", "9999-12-31", "0001-01-01"])
def test_a_day_of_the_calendar_is_asked_for_as_written(judge: OjHarness, pipe: Pipe, date: str) -> None:
    judge.answers(DAILY)

    call(pipe, "get_daily_challenge", date=date)

    assert judge.targets() == [f"/api/v1/daily?domain=com&date={date}"]


@pytest.mark.spec("2.T1.fetching", "2.T1.retry-after", "1.S4.5.not-an-error", "1.S4.5.retry")
def test_202_is_told_as_information_with_the_time_to_wait(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({"retry_after": 37, "status": "fetching"}, status=202)

    kind, text = call(pipe, "get_daily_challenge")

    assert kind == "answer"
    assert "being fetched" in text
    assert text.endswith("retry after 37 seconds.")


@pytest.mark.spec("2.T1.fetching", "2.T1.retry-after", "1.S4.5.not-an-error")
@pytest.mark.parametrize("body", ["", "<html>", "null", '{"retry_after":"soon"}', '{"retry_after":-1}'])
@pytest.mark.parametrize("type_", ["application/json", "text/html", None])
def test_202_is_information_whatever_it_holds(judge: OjHarness, pipe: Pipe, body: str, type_: str | None) -> None:
    judge.order("answer", status=202, body=body, type=type_)

    kind, text = call(pipe, "get_daily_challenge")

    assert kind == "answer"
    assert text.endswith("retry later.")


@pytest.mark.spec("2.T1.fetching", "1.S4.2.other-status")
@pytest.mark.parametrize("name", [name for name in TOOLS if name != "get_daily_challenge"])
def test_202_from_any_other_endpoint_is_an_error(judge: OjHarness, pipe: Pipe, name: str) -> None:
    judge.answers({"retry_after": 30}, status=202)

    assert error_text(call(pipe, name, **CALLS[name][0])) == '[202] {"retry_after": 30}'


@pytest.mark.spec("2.T1.nullable")
def test_what_the_backend_leaves_null_is_shown_as_not_there(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({**dict.fromkeys(PROBLEM), "id": "1"})

    _, text = call(pipe, "get_problem", source="leetcode", id="1")

    assert text.splitlines() == [
        "# N/A",
        "",
        "- Source: N/A | ID: 1 | Difficulty: N/A",
        "- Tags: N/A",
        "- Link: N/A",
        "- AC Rate: N/A",
        "",
        "---",
        "",
        "No description available.",
    ]


@pytest.mark.spec("2.T1.one-line")
def test_line_ends_inside_a_value_are_spaces_above_the_rule(judge: OjHarness, pipe: Pipe) -> None:
    odd = {"title": "Two\nSum", "source": "leet\r\ncode", "difficulty": "E\u2028asy", "tags": ["Ar\rray"]}
    judge.answers({**PROBLEM, **odd, "link": "a\nb"})

    _, text = call(pipe, "get_problem", source="leetcode", id="1")

    assert text.splitlines()[:8] == [
        "# Two Sum",
        "",
        "- Source: leet code | ID: 1 | Difficulty: E asy",
        "- Tags: Ar ray",
        "- Link: a b",
        "- AC Rate: 57.1%",
        "",
        "---",
    ]


# --- T2: get_problem


@pytest.mark.spec("2.T2.endpoint", "2.T2.template", "2.T2.title")
def test_a_problem_is_asked_for_and_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(PROBLEM)

    result = call(pipe, "get_problem", source="leetcode", id="1")

    assert result == ("answer", PAGE)
    assert result[1].startswith("# Two Sum\n")
    assert judge.targets() == ["/api/v1/problems/leetcode/1"]


@pytest.mark.spec("2.T2.encoded", "2.common.encoded", "2.common.unicode")
@given(source=names, problem_id=names)
def test_any_source_and_id_stand_encoded_on_the_request_line(
    judge: OjHarness, process: Pipe, source: str, problem_id: str
) -> None:
    judge.clear()
    judge.answers(PROBLEM)

    result = call(process, "get_problem", source=f"x{source}x", id=f"x{problem_id}x")

    assert result == ("answer", PAGE)
    assert judge.targets() == [f"/api/v1/problems/x{encoded(source)}x/x{encoded(problem_id)}x"]


@pytest.mark.spec("2.T2.encoded", "2.T2.trimmed")
@pytest.mark.parametrize(
    ("source", "problem_id", "path"),
    [
        ("a/b", "c d", "a%2Fb/c%20d"),
        ("codeforces", "1920/A", "codeforces/1920%2FA"),
        (" leetcode\t", "\u3000P1\u2003\n", "leetcode/P1"),
        ("%2F", "a?b#c", "%252F/a%3Fb%23c"),
        ("題", "😀", "%E9%A1%8C/%F0%9F%98%80"),
        ("a+b", "~._-", "a%2Bb/~._-"),
        ("...", ".a", ".../.a"),
    ],
)
def test_source_and_id_are_trimmed_and_encoded(
    judge: OjHarness, pipe: Pipe, source: str, problem_id: str, path: str
) -> None:
    judge.answers(PROBLEM)

    call(pipe, "get_problem", source=source, id=problem_id)

    assert judge.targets() == [f"/api/v1/problems/{path}"]


@pytest.mark.spec("2.T2.blank", "2.T2.handler", "1.S4.2.parameters")
@pytest.mark.parametrize("blank", ["", "  ", "\t\r\n", "\u3000\u00a0\u2028"])
@pytest.mark.parametrize("which", ["source", "id"])
def test_a_blank_source_or_id_is_told_by_the_tool_and_nothing_is_asked(
    judge: OjHarness, pipe: Pipe, which: str, blank: str
) -> None:
    text = error_text(call(pipe, "get_problem", **{"source": "leetcode", "id": "1", which: blank}))

    assert which in text
    assert "Invalid arguments" not in text
    assert judge.targets() == []


@pytest.mark.spec("2.T2.handler", "2.T2.blank")
@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize("which", ["source", "id"])
def test_a_blank_source_or_id_is_refused_by_the_tool_where_no_schema_is_looked_at(which: str, blank: str) -> None:
    asked: list[UpstreamRequest] = []

    class Backend:
        has_token = True

        async def send(self, ask: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
            asked.append(ask)
            return UpstreamResponse(200, "application/json", b"{}")

    found = next(tool for tool in tools.TOOLS if tool.name == "get_problem")
    arguments = msgspec.convert({"source": "leetcode", "id": "1", which: blank}, found.args)
    with pytest.raises(Fault, match=which) as caught:
        asyncio.run(found.run(arguments, msgspec.structs.replace(QUIET_CONTEXT, upstream=Backend())))

    assert caught.value.as_tool_result
    assert asked == []


@pytest.mark.spec("2.common.encoded")
@pytest.mark.parametrize("dots", [".", "..", " .. "])
@pytest.mark.parametrize("which", ["source", "id"])
def test_a_segment_of_dots_is_told_and_nothing_is_asked(judge: OjHarness, pipe: Pipe, which: str, dots: str) -> None:
    for name in ("get_problem", "find_similar_problems"):
        assert which in error_text(call(pipe, name, **{"source": "leetcode", "id": "1", which: dots}))

    assert judge.targets() == []


@pytest.mark.spec("2.T2.required", "1.S4.2.parameters")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, ["source", "id"]),
        ({"source": "leetcode"}, ["id"]),
        ({"id": "1"}, ["source"]),
        ({"source": "leetcode", "id": 1}, ["id"]),
        ({"source": None, "id": "1"}, ["source"]),
        ({"source": ["leetcode"], "id": {}}, ["source", "id"]),
    ],
)
def test_source_and_id_are_required_strings(
    judge: OjHarness, pipe: Pipe, arguments: dict[str, Any], named: list[str]
) -> None:
    text = error_text(call(pipe, "get_problem", **arguments))

    assert [name for name in ("source", "id") if name in text.removeprefix("Invalid arguments for")] == named
    assert judge.targets() == []


# --- T3: find_similar_problems


@pytest.mark.spec("2.T3.by-query", "2.T3.limit-default", "2.T3.threshold-default", "2.T3.table", "2.T3.rewritten-query")
def test_a_search_by_text_is_asked_for_and_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(SIMILAR)

    kind, text = call(pipe, "find_similar_problems", query="arrays")

    assert kind == "answer"
    assert text.startswith("# Similar Problems\n\nQuery: pairs that add up\n\n| # | Source |")
    assert text.endswith("\n| 1 | leetcode | 167 | Two Sum II | Medium | 79.0% | https://x.example/167 |\n")
    assert judge.targets() == [SEARCH.format("arrays")]


@pytest.mark.spec("2.T3.by-id", "2.T3.limit-default", "2.T3.threshold-default")
def test_a_search_by_problem_is_asked_for_and_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(SIMILAR)

    kind, text = call(pipe, "find_similar_problems", source="leetcode", id="1")

    assert kind == "answer"
    assert "| 1 | leetcode | 167 |" in text
    assert judge.targets() == [LIKE.format("leetcode", "1")]


@pytest.mark.spec("2.T3.query-decides")
@pytest.mark.parametrize("other", [{"source": "leetcode", "id": "1"}, {"source": ".."}, {"id": ""}])
def test_a_query_decides_and_source_and_id_are_not_looked_at(
    judge: OjHarness, pipe: Pipe, other: dict[str, str]
) -> None:
    judge.answers(SIMILAR)

    call(pipe, "find_similar_problems", query="arrays", **other)

    assert judge.targets() == [SEARCH.format("arrays")]


@pytest.mark.spec("2.T3.query-short", "2.T3.query-long", "2.T3.no-fallback", "2.T3.query-scalars", "2.T3.query-trimmed")
@pytest.mark.parametrize(
    "query",
    ["ab", "a", "  ab  ", "\u3000ab\n", "😀😀", "漢字", "x" * 2001, "😀" * 2001, "e\u0301"],
    ids=lambda query: f"{len(query)} of {query[:4]!r}",
)
@pytest.mark.parametrize("other", [{}, {"source": "leetcode", "id": "1"}], ids=["alone", "with source and id"])
def test_a_query_of_a_wrong_length_is_told_and_nothing_is_asked(
    judge: OjHarness, pipe: Pipe, query: str, other: dict[str, str]
) -> None:
    text = error_text(call(pipe, "find_similar_problems", query=query, **other))

    assert "query" in text
    assert ("3" in text, "2000" in text) == (True, True)
    assert judge.targets() == []


@pytest.mark.spec("2.T3.query-bounds", "2.T3.query-scalars", "2.T3.query-encoded", "2.T3.query-trimmed")
@pytest.mark.parametrize(
    "query",
    ["abc", "x" * 2000, "😀😀😀", "漢" * 2000, " abc ", "x" * 2000 + " " * 50, "a b&c=d#+"],
    ids=lambda query: f"{len(query)} of {query[:4]!r}",
)
def test_a_query_within_the_bounds_is_sent_trimmed_and_encoded(judge: OjHarness, pipe: Pipe, query: str) -> None:
    judge.answers(SIMILAR)

    result = call(pipe, "find_similar_problems", query=query)

    assert result[0] == "answer"
    assert judge.targets() == [SEARCH.format(encoded(query.strip()))]


@pytest.mark.spec("2.T3.blank-query", "2.T3.needs-both", "2.T3.by-id", "2.T3.encoded")
@pytest.mark.parametrize("blank", [{}, {"query": None}, {"query": ""}, {"query": " \u3000\n"}])
def test_a_blank_query_leaves_the_search_to_source_and_id(judge: OjHarness, pipe: Pipe, blank: dict[str, Any]) -> None:
    judge.answers(SIMILAR)

    call(pipe, "find_similar_problems", source=" a b ", id="\tc/d", **blank)

    assert judge.targets() == [LIKE.format("a%20b", "c%2Fd")]


@pytest.mark.spec("2.T3.needs-both", "1.S4.2.parameters")
@pytest.mark.parametrize("blank", [{}, {"query": ""}, {"query": "  "}])
@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"source": "leetcode"},
        {"id": "1"},
        {"source": "leetcode", "id": ""},
        {"source": "", "id": "1"},
        {"source": " ", "id": "\n"},
        {"source": None, "id": None},
    ],
)
def test_without_a_query_both_source_and_id_are_needed(
    judge: OjHarness, pipe: Pipe, blank: dict[str, str], rest: dict[str, Any]
) -> None:
    text = error_text(call(pipe, "find_similar_problems", **blank, **rest))

    assert all(word in text for word in ("query", "source", "id"))
    assert judge.targets() == []


@pytest.mark.spec("2.T3.encoded")
@given(source=names, problem_id=names)
def test_any_source_and_id_to_compare_with_stand_encoded_on_the_request_line(
    judge: OjHarness, process: Pipe, source: str, problem_id: str
) -> None:
    judge.clear()
    judge.answers(SIMILAR)

    call(process, "find_similar_problems", source=f"x{source}x", id=f"x{problem_id}x")

    assert judge.targets() == [LIKE.format(f"x{encoded(source)}x", f"x{encoded(problem_id)}x")]


@pytest.mark.spec("2.T3.limit-range", "2.T3.threshold-range", "1.S4.2.parameters")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", 0), ("limit", 51), ("limit", -1), ("limit", 2**32), ("limit", 2**64), ("limit", -(2**64)),
        ("limit", 10.5), ("limit", "10"), ("limit", True), ("limit", []),
        ("threshold", -0.1), ("threshold", 1.1), ("threshold", 2), ("threshold", -1), ("threshold", 1e308),
        ("threshold", 1.0000000000000002), ("threshold", "0.5"), ("threshold", False), ("threshold", {}),
    ],
)  # fmt: skip
def test_a_number_out_of_range_is_told_and_nothing_is_asked(
    judge: OjHarness, pipe: Pipe, name: str, value: Any
) -> None:
    text = error_text(call(pipe, "find_similar_problems", query="arrays", **{name: value}))

    assert name in text
    assert judge.targets() == []


@pytest.mark.spec("2.T3.threshold-range", "2.T3.limit-range")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_is_no_number_in_json_never_reaches_the_upstream(judge: OjHarness, pipe: Pipe, number: str) -> None:
    for name in ("limit", "threshold"):
        head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_similar_problems","arguments":'
        answer = pipe.ask(head + f'{{"query":"abc","{name}":{number}}}}}}}'.encode())

        assert "error" in answer or answer["result"]["isError"]

    assert judge.targets() == []


@pytest.mark.spec("2.T3.limit-range", "2.T3.threshold-range")
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"limit": 1}, "limit=1&threshold=0"),
        ({"limit": 50}, "limit=50&threshold=0"),
        ({"threshold": 0.0}, "limit=10&threshold=0"),
        ({"threshold": 0}, "limit=10&threshold=0"),
        ({"threshold": 1.0}, "limit=10&threshold=1"),
        ({"threshold": 1}, "limit=10&threshold=1"),
        ({"threshold": 1e-7}, "limit=10&threshold=0.0000001"),
        ({"limit": 7, "threshold": 0.25}, "limit=7&threshold=0.25"),
    ],
)
def test_a_number_in_range_is_sent(judge: OjHarness, pipe: Pipe, arguments: dict[str, Any], options: str) -> None:
    judge.answers(SIMILAR)

    call(pipe, "find_similar_problems", query="arrays", **arguments)

    assert judge.targets() == [f"/api/v1/similar?q=arrays&{options}"]


@pytest.mark.spec("2.T3.numbers-first")
@pytest.mark.parametrize("rest", [{"query": "ab"}, {}, {"source": "leetcode"}, {"query": "x" * 2001}])
@pytest.mark.parametrize(("name", "value"), [("limit", 0), ("threshold", 2)])
def test_numbers_are_checked_before_anything_else(
    judge: OjHarness, pipe: Pipe, name: str, value: int, rest: dict[str, Any]
) -> None:
    text = error_text(call(pipe, "find_similar_problems", **{name: value}, **rest))

    assert name in text
    assert "query" not in text
    assert judge.targets() == []


BOTH_WRONG: dict[str, Any] = {"limit": 51, "threshold": -0.5, "query": "ab", "source": "leetcode", "id": "1"}


@pytest.mark.spec("2.T3.numbers-first", "2.T3.no-fallback", "2.T3.query-decides")
def test_the_rules_of_a_search_are_taken_one_after_the_other(judge: OjHarness, pipe: Pipe) -> None:
    """Each fault is mended in turn, and what is told next belongs to the next rule."""
    wrong, told = dict(BOTH_WRONG), []
    for name, value in (("limit", 50), ("threshold", 1.0), ("query", "arrays")):
        text = error_text(call(pipe, "find_similar_problems", **wrong))
        told.append([word for word in ("limit", "threshold", "query") if word in text])
        wrong[name] = value
    assert judge.targets() == []
    judge.answers(SIMILAR)

    call(pipe, "find_similar_problems", **wrong)

    assert [told[0][0], *told[1:]] == ["limit", ["threshold"], ["query"]]
    assert "query" not in told[0]
    assert judge.targets() == ["/api/v1/similar?q=arrays&limit=50&threshold=1"]


@pytest.mark.spec(
    "2.T3.query-short", "2.T3.query-long", "2.T3.query-bounds", "2.T3.no-fallback", "2.T3.blank-query",
    "2.T3.query-decides",
)  # fmt: skip
def test_the_length_of_a_query_decides_what_becomes_of_a_search(judge: OjHarness, pipe: Pipe) -> None:
    """Source and id stand beside each query, and only one that is blank leaves the search to them."""
    judge.answers(SIMILAR)
    became = {}
    for length in (0, 1, 2, 3, 4, 1999, 2000, 2001, 2002, 5000):
        before = len(judge.targets())
        kind, _ = call(pipe, "find_similar_problems", query="x" * length, source="leetcode", id="1")
        became[length] = (kind, [target.partition("?")[0] for target in judge.targets()[before:]])

    told, by_query = ("told", []), ("answer", ["/api/v1/similar"])
    assert became == {
        0: ("answer", ["/api/v1/similar/leetcode/1"]),
        **dict.fromkeys([1, 2, 2001, 2002, 5000], told),
        **dict.fromkeys([3, 4, 1999, 2000], by_query),
    }


@pytest.mark.spec("2.T3.filter-encoded", "2.T3.by-query", "2.T3.by-id")
@pytest.mark.parametrize(
    ("source_filter", "sent"),
    [
        ("leetcode", "&source=leetcode"),
        ("leetcode,luogu", "&source=leetcode%2Cluogu"),
        ("a&limit=50", "&source=a%26limit%3D50"),
        ("洛谷", "&source=%E6%B4%9B%E8%B0%B7"),
        ("", ""),
        ("  ", ""),
        (None, ""),
    ],
)
def test_a_source_filter_is_sent_encoded_unless_it_is_blank(
    judge: OjHarness, pipe: Pipe, source_filter: str | None, sent: str
) -> None:
    judge.answers(SIMILAR)

    call(pipe, "find_similar_problems", query="arrays", source_filter=source_filter)
    call(pipe, "find_similar_problems", source="a", id="1", source_filter=source_filter)

    assert judge.targets() == [SEARCH.format("arrays") + sent, LIKE.format("a", "1") + sent]


@pytest.mark.spec("2.T3.similarity", "2.T3.numbered", "2.T3.cells", "2.T3.table")
def test_rows_are_numbered_and_safe_and_show_a_percentage(judge: OjHarness, pipe: Pipe) -> None:
    odd = {"source": "luogu", "id": "P1", "title": "a|b\nc", "difficulty": None, "link": None, "similarity": 1.0}
    judge.answers({"rewritten_query": None, "results": [{**HIT, "similarity": 0.791}, odd]})

    _, text = call(pipe, "find_similar_problems", query="arrays")

    assert text.splitlines()[2] == "Query: N/A"
    assert text.splitlines()[-2:] == [
        "| 1 | leetcode | 167 | Two Sum II | Medium | 79.1% | https://x.example/167 |",
        r"| 2 | luogu | P1 | a\|b c | N/A | 100.0% | N/A |",
    ]


# --- T4: resolve_problem


@pytest.mark.spec("2.T4.endpoint", "2.T4.encoded", "2.T4.template", "2.T4.nested")
def test_a_url_is_resolved_as_one_segment_and_the_nested_problem_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(RESOLVED)

    result = call(pipe, "resolve_problem", query="https://leetcode.com/problems/two-sum/?a=1#b")

    assert result == ("answer", PAGE)
    assert judge.targets() == ["/api/v1/resolve/https%3A%2F%2Fleetcode.com%2Fproblems%2Ftwo-sum%2F%3Fa%3D1%23b"]


@pytest.mark.spec("2.T4.nested")
def test_a_nested_problem_without_a_source_does_not_borrow_the_one_beside_it(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({"source": "top", "id": "beside", "problem": {"id": "9", "title": "t"}})

    _, text = call(pipe, "resolve_problem", query="t")

    assert text.splitlines()[2] == "- Source: N/A | ID: 9 | Difficulty: N/A"


@pytest.mark.spec("2.T4.nested")
@pytest.mark.parametrize("beside", [{}, {"source": None, "id": None}, {"source": None, "id": 7}])
def test_what_stands_beside_a_nested_problem_does_not_count(
    judge: OjHarness, pipe: Pipe, beside: dict[str, Any]
) -> None:
    judge.answers({**beside, "problem": PROBLEM})
    found = call(pipe, "resolve_problem", query="two-sum")
    judge.clear()
    judge.answers({**beside, "problem": None})
    missing = call(pipe, "resolve_problem", query="two-sum")

    assert found == ("answer", PAGE)
    assert missing[0] == "told"
    assert "'two-sum' names no problem of a known judge" in missing[1]


@pytest.mark.spec("2.T4.encoded")
@given(query=names)
def test_any_query_to_resolve_stands_encoded_on_the_request_line(judge: OjHarness, process: Pipe, query: str) -> None:
    judge.clear()
    judge.answers(RESOLVED)

    result = call(process, "resolve_problem", query=f"{query}x")

    assert result == ("answer", PAGE)
    assert judge.targets() == [f"/api/v1/resolve/{encoded(query)}x"]


@pytest.mark.spec("2.T4.required", "1.S4.2.parameters")
@pytest.mark.parametrize("arguments", [{}, {"query": ""}, {"query": " \n\u3000"}, {"query": None}, {"query": 5},
                                       {"query": ".."}, {"query": "."}])  # fmt: skip
def test_a_query_that_is_none_is_told_and_nothing_is_asked(
    judge: OjHarness, pipe: Pipe, arguments: dict[str, Any]
) -> None:
    text = error_text(call(pipe, "resolve_problem", **arguments))

    assert "query" in text
    assert judge.targets() == []


@pytest.mark.spec("2.T4.unknown")
def test_a_problem_that_nobody_knows_is_told_by_name(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({"source": "leetcode", "id": "no-such-slug", "problem": None})

    text = error_text(call(pipe, "resolve_problem", query="leetcode:no-such-slug"))

    assert "was not found: the backend has no problem 'no-such-slug' of leetcode. " in text


@pytest.mark.spec("2.T4.unknown", "1.S4.1.not-json")
def test_an_answer_that_says_nothing_of_a_problem_is_malformed(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers({"source": "leetcode", "id": "no-such-slug"})

    assert call(pipe, "resolve_problem", query="no-such-slug") == ("failed", -32603)


@pytest.mark.spec("2.T2.trimmed", "2.T4.required")
def test_white_space_counts_for_no_limit_of_length(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(PROBLEM)
    problem = call(pipe, "get_problem", source=" " * 300 + "leetcode", id="1" + "\n" * 300)
    judge.clear()
    judge.answers(RESOLVED)
    resolved = call(pipe, "resolve_problem", query="two-sum" + " " * 9_000)

    assert problem == resolved == ("answer", PAGE)
    assert judge.targets() == ["/api/v1/resolve/two-sum"]


@pytest.mark.spec("2.T4.unknown")
def test_a_query_of_no_known_judge_is_told(judge: OjHarness, pipe: Pipe) -> None:
    query = "https://example.com/problem/1"
    judge.answers({"source": "unknown", "id": query, "problem": None})

    assert query in error_text(call(pipe, "resolve_problem", query=query))


# --- T5: get_platform_status


@pytest.mark.spec("2.T5.endpoint", "2.T5.heading", "2.T5.columns", "2.T5.rows", "2.T5.order", "2.T5.grouped")
def test_the_platforms_are_asked_for_at_the_root_and_shown(judge: OjHarness, pipe: Pipe) -> None:
    judge.answers(STATUS)

    kind, text = call(pipe, "get_platform_status")

    assert kind == "answer"
    assert text.splitlines() == [
        "# OJ Platform Status (v1.2.3)",
        "",
        "| Platform | Problems | Missing Content | Not Embedded |",
        "|----------|----------|-----------------|--------------|",
        "| spoj | 12,984 | 100 | 1,000 |",
        "| atcoder | 0 | 0 | 0 |",
        "| leetcode | 1,234,567 | 999 | 8,356 |",
    ]
    assert judge.targets() == ["/status"]


@pytest.mark.spec("2.T5.needs-token", "2.T5.before-request", "1.S4.2.token")
def test_without_a_token_the_platforms_are_refused_before_any_request(judge: OjHarness, without_token: Pipe) -> None:
    text = error_text(call(without_token, "get_platform_status"))

    assert "authentication is required" in text
    assert judge.targets() == []


@pytest.mark.spec("2.T5.needs-token", "1.S1.2.optional")
def test_the_other_tools_need_no_token(judge: OjHarness, without_token: Pipe) -> None:
    for name in TOOLS[:4]:
        judge.answers(CALLS[name][1], times=1)

        assert call(without_token, name, **CALLS[name][0])[0] == "answer"

    assert len(judge.targets()) == 4


# --- the samples that the sandbox itself has


@pytest.mark.spec("2.T2.template", "2.T4.template", "2.T1.success", "2.T3.table", "2.T5.rows", "2.T5.endpoint")
def test_the_samples_come_through_every_tool(judge: OjHarness, pipe: Pipe) -> None:
    source, problem_id = SAMPLE

    answers = [
        call(pipe, "get_daily_challenge", date="2024-01-01"),
        call(pipe, "get_problem", source=source, id=problem_id),
        call(pipe, "find_similar_problems", source=source, id=problem_id, limit=3),
        call(pipe, "resolve_problem", query=f"{source}:{problem_id}"),
        call(pipe, "get_platform_status"),
    ]

    assert [kind for kind, _ in answers] == ["answer"] * 5
    assert answers[1] == answers[3]
    assert f"- Source: {source} | ID: {problem_id} |" in answers[1][1]
    assert len(answers[2][1].splitlines()) == 6 + 3
    assert judge.targets()[-1] == "/status"


@pytest.mark.spec("2.T1.fetching")
def test_the_samples_day_that_is_never_ready_is_information(judge: OjHarness, pipe: Pipe) -> None:
    kind, text = call(pipe, "get_daily_challenge", date="2024-02-29")

    assert kind == "answer"
    assert text.endswith("retry after 30 seconds.")


@pytest.mark.spec("2.common.errors", "1.S4.3.template")
def test_the_samples_refusals_are_shown_by_the_template(judge: OjHarness, pipe: Pipe) -> None:
    assert error_text(call(pipe, "get_problem", source="nobody", id="1")) == "[400] Bad Request: invalid source: nobody"
    assert error_text(call(pipe, "get_problem", source="leetcode", id="0")) == "[404] Not Found: problem not found"
    assert json.dumps(judge.targets()) == '["/api/v1/problems/nobody/1", "/api/v1/problems/leetcode/0"]'


@pytest.mark.parametrize("name", CALLS)
def test_every_response_is_decoded_beside_the_event_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response may have a mebibyte of whatever its sender likes."""
    threads: list[int] = []

    class Backend:
        has_token = True

        async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
            return UpstreamResponse(200, "application/json", b"{}")

    def noted(*_: object) -> Any:
        threads.append(threading.get_ident())
        raise Fault(Code.NOT_FOUND, "nothing")

    monkeypatch.setattr(api, "read", noted)
    found = next(tool for tool in tools.TOOLS if tool.name == name)
    context = msgspec.structs.replace(QUIET_CONTEXT, upstream=Backend(), today=lambda: "2026-11-15")

    with pytest.raises(Fault):
        asyncio.run(found.run(msgspec.convert(CALLS[name][0], found.args), context))

    assert len(threads) == 1
    assert threads != [threading.get_ident()]
