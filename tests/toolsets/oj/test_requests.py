"""The tools of the judge with a played backend: what each asks for, what it returns, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.kernel.waiting import Waiting
from signet.toolsets.oj import api, tools
from signet.toolsets.oj.models import Problem
from signet.toolsets.oj_practice import tools as practice

BY_NAME: dict[str, Tool] = {tool.name: tool for tool in (*tools.TOOLS, *practice.TOOLS)}
PROBLEM = {"id": "1", "title": "Two Sum", "source": "leetcode", "content": "Text."}
SIMILAR = {"rewritten_query": "q", "results": [{"source": "a", "id": "7", "similarity": 0.5, "title": "Seven"}]}
STATUS = {"version": "1", "platforms": [{"source": "a", "total": 1, "missing_content": 0, "not_embedded": 0}]}


class PlayedBackend:
    """Notes what it is asked for, and answers with one value."""

    def __init__(self, value: Any, status: int = 200, *, has_token: bool = True) -> None:
        self.asked: list[str] = []
        self.has_token = has_token
        self._response = UpstreamResponse(status, "application/json", json.dumps(value).encode())

    async def send(self, request: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
        self.asked.append(request.target)
        return self._response


def run(backend: PlayedBackend | None, name: str, **arguments: Any) -> Any:
    tool = BY_NAME[name]
    context = msgspec.structs.replace(QUIET_CONTEXT, upstream=backend, today=lambda: "2026-11-15")

    async def walk() -> Any:
        return await tool.run(msgspec.convert(arguments, tool.args), context)  # type: ignore[misc]

    return msgspec.to_builtins(asyncio.run(walk()))


def refused(backend: PlayedBackend | None, name: str, **arguments: Any) -> tuple[Any, ...]:
    with pytest.raises(Fault) as caught:
        run(backend, name, **arguments)
    return caught.value.code, caught.value.as_tool_result, caught.value.message


SEARCH = "/api/v1/similar?q={}&limit=10&threshold=0"


@pytest.mark.parametrize(
    ("name", "arguments", "value", "target", "shown"),
    [
        ("get_daily_challenge", {}, PROBLEM, "/api/v1/daily?domain=com&date=2026-11-15", "# Two Sum\n"),
        ("get_daily_challenge", {"domain": "cn", "date": "2020-04-01"}, PROBLEM,
         "/api/v1/daily?domain=cn&date=2020-04-01", "# Two Sum\n"),
        ("get_problem", {"source": " leetcode ", "id": " 1 "}, PROBLEM, "/api/v1/problems/leetcode/1", "# Two Sum\n"),
        ("resolve_problem", {"query": "two sum"}, {"problem": PROBLEM}, "/api/v1/resolve/two%20sum", "# Two Sum\n"),
        ("find_similar_problems", {"query": "abc"}, SIMILAR, SEARCH.format("abc"), "# Similar Problems\n"),
        ("find_similar_problems", {"query": "x" * 2_000}, SIMILAR, SEARCH.format("x" * 2_000), "# Similar Problems\n"),
        ("find_similar_problems", {"query": "abc", "source": "a", "id": "1"}, SIMILAR, SEARCH.format("abc"),
         "# Similar Problems\n"),
        ("find_similar_problems", {"source": "a", "id": "1", "limit": 50, "threshold": 1.0}, SIMILAR,
         "/api/v1/similar/a/1?limit=50&threshold=1", "# Similar Problems\n"),
        ("find_similar_problems", {"source": "a", "id": "1", "limit": 1, "source_filter": "b,c"}, SIMILAR,
         "/api/v1/similar/a/1?limit=1&threshold=0&source=b%2Cc", "# Similar Problems\n"),
        ("get_platform_status", {}, STATUS, "/status", "# OJ Platform Status (v1)\n"),
    ],
)  # fmt: skip
def test_a_tool_asks_for_one_thing_and_shows_it(
    name: str, arguments: dict[str, Any], value: Any, target: str, shown: str
) -> None:
    backend = PlayedBackend(value)

    page = run(backend, name, **arguments)

    assert backend.asked == [target]
    assert list(page) == ["markdown"]
    assert page["markdown"].startswith(shown)


def test_a_daily_challenge_is_of_leetcode_and_may_not_be_there_yet() -> None:
    without = {key: one for key, one in PROBLEM.items() if key != "source"}

    shown = run(PlayedBackend(without), "get_daily_challenge")["markdown"]
    waiting = run(PlayedBackend({"retry_after": 30}, 202), "get_daily_challenge", date="2026-11-14")["markdown"]

    assert "- Source: leetcode |" in shown
    assert waiting == (
        "The daily challenge of 2026-11-14 is being fetched by the backend and is not there yet; "
        "retry after 30 seconds."
    )


NOTHING = "nothing to search for: give a query, or both source and id"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("find_similar_problems", {"query": "abc", "limit": 0}, "limit is 0; give 1 to 50"),
        ("find_similar_problems", {"query": "abc", "limit": 51}, "limit is 51; give 1 to 50"),
        ("find_similar_problems", {"query": "abc", "threshold": -0.1}, "threshold is -0.1; give 0 to 1"),
        ("find_similar_problems", {"query": "abc", "threshold": 1.1}, "threshold is 1.1; give 0 to 1"),
        ("find_similar_problems", {"query": " ab "}, "query has 2 characters; write 3 to 2000"),
        ("find_similar_problems", {"query": "x" * 2_001}, "query has 2001 characters; write 3 to 2000"),
        ("find_similar_problems", {}, NOTHING),
        ("find_similar_problems", {"query": " ", "source": "a"}, NOTHING),
        ("find_similar_problems", {"id": "1", "source": " "}, NOTHING),
        ("get_problem", {"source": " ", "id": "1"}, "source must not be empty"),
        ("get_problem", {"source": "a", "id": ""}, "id must not be empty"),
        ("get_problem", {"source": "a", "id": ".."}, "id must not be '..': a URL would lose it"),
        ("get_samples", {"source": ".", "id": "1"}, "source must not be '.': a URL would lose it"),
        ("resolve_problem", {"query": " "}, "query must not be empty; give a problem's URL, slug or id"),
        ("get_daily_challenge", {"date": "2026-02-30"},
         "'2026-02-30' is not a date; write it as YYYY-MM-DD, for example 2026-01-31"),
        ("get_daily_challenge", {"date": "x" * 51},
         f"'{'x' * 50}' is not a date; write it as YYYY-MM-DD, for example 2026-01-31"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_told_and_nothing_is_asked(name: str, arguments: dict[str, Any], words: str) -> None:
    backend = PlayedBackend(PROBLEM)

    assert refused(backend, name, **arguments) == (Code.INVALID_INPUT, True, words)
    assert backend.asked == []


KNOWN_JUDGES = (
    "The judges and the shapes of their ids are: leetcode (1), codeforces (1900A), atcoder (abc300_a), luogu (P1001), "
    "spoj (SP1); give judge:id, a URL or a slug."
)
LINK = "https://leetcode.cn/problems/x/"
NO_LEETCODE = "was not found: the backend has no problem '{}' of leetcode"
GUESS = "was not found; it names no judge, and the guess that LeetCode is meant found nothing"


@pytest.mark.parametrize(
    ("query", "answer", "words"),
    [
        ("two", {}, "'two' names no problem of a known judge"),
        ("two", {"source": "unknown", "id": "5"}, "'two' names no problem of a known judge"),
        ("two", {"source": ["leetcode"], "id": 5}, "'two' names no problem of a known judge"),
        ("P1", {"source": "luogu", "id": "P1"}, "'P1' was not found: the backend has no problem 'P1' of luogu"),
        ("typical90_a", {"source": "leetcode", "id": "typical90_a"}, f"'typical90_a' {GUESS}"),
        ("leetcode/pairs", {"source": "leetcode", "id": "leetcode/pairs"}, f"'leetcode/pairs' {GUESS}"),
        ("cf:9001A", {"source": "leetcode", "id": "cf:9001a"}, f"'cf:9001A' {GUESS}"),
        (
            "LeetCode:pairs",
            {"source": "leetcode", "id": "pairs"},
            f"'LeetCode:pairs' {NO_LEETCODE.format('pairs')}",
        ),
        ("leetcode: 1", {"source": "leetcode", "id": " 1"}, f"'leetcode: 1' {NO_LEETCODE.format(' 1')}"),
        (LINK, {"source": "leetcode", "id": "x"}, f"'{LINK}' {NO_LEETCODE.format('x')}"),
        ("x" * 300, {}, f"'{'x' * 200}' names no problem of a known judge"),
    ],
)
def test_a_name_of_no_problem_is_not_found_and_a_guess_is_no_fact(
    query: str, answer: dict[str, Any], words: str
) -> None:
    answer = {"problem": None, **answer}

    assert refused(PlayedBackend(answer), "resolve_problem", query=query) == (
        Code.NOT_FOUND, True, f"{words}. {KNOWN_JUDGES}",
    )  # fmt: skip


@pytest.mark.parametrize("backend", [None, PlayedBackend(STATUS, has_token=False)], ids=["none", "without a token"])
def test_the_platforms_need_a_token(backend: PlayedBackend | None) -> None:
    words = "authentication is required: start the server with --oj-token or OJ_TOKEN"

    assert refused(backend, "get_platform_status") == (Code.UNAUTHORIZED, True, words)


def test_a_judge_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    backend = PlayedBackend({"title": "Bad Request", "status": 400, "detail": "invalid source: LeetCode"}, status=400)

    _, _, words = refused(backend, "get_problem", source="LeetCode", id="1")

    assert words.startswith("[400] Bad Request: invalid source: LeetCode. The judges and the shapes of their ids are: ")


@pytest.mark.parametrize(
    ("source_filter", "note"),
    [
        (None, ""),
        ("leetcode, spoj", ""),
        ("topcoder,leetcode", " source_filter has names of no judge (topcoder); the judges are: leetcode, codeforces,"),
    ],
)
def test_a_search_that_found_nothing_names_the_judges_that_there_are_not(source_filter: str | None, note: str) -> None:
    backend = PlayedBackend({"rewritten_query": "q", "results": []})

    shown = run(backend, "find_similar_problems", query="abc", source_filter=source_filter)["markdown"]

    assert f"|\n\nNo similar problems were found.{note}" in shown


def test_both_forms_of_the_daily_challenge_are_read() -> None:
    old = {**PROBLEM, "date": "2026-02-27", "domain": "cn"}
    new = {"date": "2026-02-27", "source": "leetcode.cn", "problems": [PROBLEM, {"id": "2"}]}
    none = {"date": "2026-02-27", "source": "leetcode.com", "problems": []}

    shown = [run(PlayedBackend(it), "get_daily_challenge", date="2026-02-27")["markdown"] for it in (old, new)]

    assert shown[0] == shown[1]
    assert "\n- Daily challenge: 2026-02-27 (leetcode.cn)\n" in shown[0]
    assert refused(PlayedBackend(none), "get_daily_challenge", date="2026-02-27") == (
        Code.NOT_FOUND, True, "the backend has no daily challenge of 2026-02-27",
    )  # fmt: skip


@pytest.mark.parametrize("name", BY_NAME)
def test_a_tool_states_its_errors_and_what_it_is(name: str) -> None:
    tool = BY_NAME[name]

    assert tuple(tool.rest_errors) == (("UNAUTHORIZED", 401), ("UPSTREAM_FAILED", 500), ("UPSTREAM_BROKEN", 500))
    assert tool.annotations["readOnlyHint"]
    assert tool.annotations["openWorldHint"]


def test_arguments_are_tidied_of_white_space_and_of_blanks() -> None:
    tidy = BY_NAME["find_similar_problems"].tidy
    assert tidy is not None

    assert tidy({"query": " a ", "id": " ", "source": "", "limit": 5}) == {"query": "a", "limit": 5}
    assert tidy({"limit": "", "threshold": " "}) == {"limit": "", "threshold": " "}


@pytest.mark.parametrize(
    ("response", "name", "words"),
    [
        (UpstreamResponse(200, "application/json", b"{}", broken="it ended early"), "UPSTREAM_FAILED",
         "request failed: it ended early"),
        (UpstreamResponse(200, "application/json", b"{"), "UPSTREAM_BROKEN",
         "invalid JSON from the backend: Input data was truncated"),
        (UpstreamResponse(200, "application/json", b"{", cut=True), "UPSTREAM_BROKEN",
         "invalid JSON from the backend: Input data was truncated (only the first 1048576 bytes were read)"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_answer_is_a_fault_with_a_name(response: UpstreamResponse, name: str, words: str) -> None:
    with pytest.raises(Fault) as caught:
        api.read(response, Problem)

    fault = caught.value
    assert (fault.code, fault.name, fault.as_tool_result) == (Code.INTERNAL_ERROR, name, False)
    assert fault.message == words


@pytest.mark.parametrize(("values", "is_read"), [(4_000, True), (4_001, False)])
def test_an_answer_has_at_most_4000_values(values: int, is_read: bool) -> None:
    body = json.dumps({"id": "1", "tags": ["x"] * (values - 3)}).encode()

    try:
        found = bool(api.read(UpstreamResponse(200, "application/json", body), Problem))
    except Fault:
        found = False

    assert found is is_read


def test_samples_are_read_by_the_tool() -> None:
    content = "Time limit: 1 s\n\n## Sample Input 1\n```\n1\n```\n## Sample Output 1\n```\n2\n```\n"
    backend = PlayedBackend({**PROBLEM, "id": 1, "link": "https://a.example", "content": content})

    found = run(backend, "get_samples", source="leetcode", id="1")

    assert backend.asked == ["/api/v1/problems/leetcode/1"]
    assert found == {
        "source": "leetcode", "id": "1", "title": "Two Sum", "link": "https://a.example",
        "samples": [{"input": "1", "output": "2", "explanation": None}], "time_limit_ms": 1000,
        "memory_limit_mb": None, "reason": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "source", "why"),
    [
        ({"id": "1", "content": " ", "paid_only": 1}, "", "it is a paid problem"),
        ({"id": "1", "source": "a", "content": None, "paid_only": 0}, "a", "it was not crawled, or the judge hides it"),
        ({"id": "1"}, "", "it was not crawled, or the judge hides it"),
    ],
)
def test_a_problem_without_a_statement_says_why(problem: dict[str, Any], source: str, why: str) -> None:
    found = run(PlayedBackend(problem), "get_samples", source="a", id="1")

    assert (found["source"], found["samples"]) == (source, [])
    assert found["reason"] == f"the backend has no statement of this problem: {why}"


JUDGES = "leetcode (1), codeforces (1900A), atcoder (abc300_a), luogu (P1001), spoj (SP1)"


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (404, Code.NOT_FOUND, ("[404] T: d. The judges and the shapes of their ids are: "
         f"{JUDGES}; resolve_problem finds a problem by its URL.")),
        (422, Code.INVALID_INPUT, ("[422] T: d. The judges and the shapes of their ids are: "
         f"{JUDGES}; resolve_problem finds a problem by its URL.")),
        (403, Code.UNAUTHORIZED, ("[403] T: d. Problems of a contest that is running may be refused, since judges "
         "forbid help then: ask when it ended.")),
        (401, Code.UNAUTHORIZED, "[401] T: d."),
        (503, Code.INTERNAL_ERROR, "[503] T: d."),
    ],
)  # fmt: skip
def test_a_refusal_of_samples_is_told_with_advice(status: int, code: Code, words: str) -> None:
    backend = PlayedBackend({"title": "T", "detail": "d."}, status)

    assert refused(backend, "get_samples", source="a", id="1") == (code, True, words)
