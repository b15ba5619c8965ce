"""The online-judge sandbox: endpoints, shapes, errors and texts of the backend, over the sample problems."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from long_oj_statement import sandbox_with_long_statement
from oj_harness import call, serving_oj
from processes import PATIENCE_S, Reply, clean_env
from signet.sandbox import build
from signet.sandbox.hosting import host_in_thread
from signet.sandbox.server import Running
from signet.settings.catalogue import find_toolset
from signet.toolsets.oj.sandbox.api import build as build_oj

TOKEN = "a-token-of-forty-two"
NOON = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
"""Today in UTC; eight hours east of it, tomorrow has begun."""
FIELDS = [
    "id", "source", "slug", "title", "title_cn", "difficulty", "ac_rate", "rating", "contest", "problem_index", "tags",
    "link", "category", "paid_only", "content", "content_cn", "similar_questions",
]  # fmt: skip
IDS = {
    "atcoder": ["abc300_a", "abc901_a", "abc901_b", "abc901_c", "abc901_d", "agc901_a", "arc901_a", "typical91_a"],
    "codeforces": ["1900A", "9001A", "9001B", "9001C1", "9001C2", "9002A", "9002D", "9002E"],
    "leetcode": ["1", *(str(number) for number in range(9001, 9012))],
    "luogu": ["B92001", "P1001", "P90001", "P90002", "P90003", "P90004", "P90005", "P90006"],
    "spoj": ["SP1", "SP90001", "SP90002", "SP90003", "SP90004", "SP90005"],
}
EVERY = [(source, problem_id) for source, ids in IDS.items() for problem_id in ids]


@pytest.fixture(scope="module")
def oj() -> Iterator[Running]:
    running, stop = host_in_thread(build_oj(clock=lambda: NOON))
    yield running
    stop()


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    running, stop = host_in_thread(build(find_toolset("oj"), TOKEN))
    yield running
    stop()


def ask(running: Running, path: str, method: str = "GET", **headers: str) -> Reply:
    connection = http.client.HTTPConnection(running.url.removeprefix("http://"), timeout=PATIENCE_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def get(running: Running, path: str) -> Any:
    """Return the JSON of a response with status 200."""
    reply = ask(running, path)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json"), reply.body
    return reply.json()


def problem(status: int, title: str, detail: str) -> tuple[int, str, dict[str, Any]]:
    fields = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return status, "application/problem+json", fields


def refused(running: Running, path: str, **headers: str) -> tuple[int, str, dict[str, Any]]:
    reply = ask(running, path, **headers)
    return reply.status, reply.headers["content-type"], reply.json()


def sample(running: Running, source: str, problem_id: str) -> Any:
    return get(running, f"/api/v1/problems/{source}/{problem_id}")


# --- problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "problem_id"), EVERY)
def test_a_problem_has_every_field_in_its_type(oj: Running, source: str, problem_id: str) -> None:
    fields = sample(oj, source, problem_id)

    assert list(fields) == FIELDS
    assert (fields["source"], fields["id"]) == (source, problem_id)
    for name in ("id", "source", "slug"):
        assert isinstance(fields[name], str)
    for name in ("title", "title_cn", "difficulty", "contest", "problem_index", "link", "category", "content"):
        assert fields[name] is None or isinstance(fields[name], str), name
    for name in ("ac_rate", "rating"):
        assert fields[name] is None or isinstance(fields[name], float), name
    for name in ("tags", "similar_questions"):
        assert all(isinstance(item, str) for item in fields[name])
    assert fields["paid_only"] in (None, 0, 1)


@pytest.mark.parametrize(("source", "problem_id"), EVERY)
def test_each_source_fills_the_fields_that_it_fills(oj: Running, source: str, problem_id: str) -> None:
    fields = sample(oj, source, problem_id)

    if source in ("atcoder", "codeforces"):
        assert (fields["difficulty"], fields["ac_rate"]) == (None, None)
    if source in ("atcoder", "luogu", "spoj"):
        assert fields["rating"] is None
    if source == "leetcode":
        assert fields["difficulty"] in (None, "Easy", "Medium", "Hard")
    if fields["content"] is not None:
        assert (re.search(r"</\w+>", fields["content"]) is not None) == (source == "leetcode") or problem_id == "9002E"


@pytest.mark.parametrize(("source", "problem_id"), EVERY)
def test_a_link_and_every_image_leads_to_example_com(oj: Running, source: str, problem_id: str) -> None:
    fields = sample(oj, source, problem_id)

    addresses = re.findall(r"https?://([^/\s)\"]+)", f"{fields['link']} {fields['content']}")

    assert set(addresses) <= {"example.com"}


@pytest.mark.parametrize(("source", "problem_id"), EVERY)
def test_a_link_resolves_to_its_problem(oj: Running, source: str, problem_id: str) -> None:
    fields = sample(oj, source, problem_id)
    if fields["link"] is None:
        assert (source, problem_id) == ("leetcode", "9007")
        return

    resolved = get(oj, f"/api/v1/resolve/{quote(fields['link'], safe='')}")

    assert resolved == {"source": source, "id": problem_id, "problem": fields}


def test_the_search_index_is_built_when_a_search_first_asks_for_it() -> None:
    entered: list[str] = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_qualname) if event == "call" else None)
    sandbox = build_oj()
    sys.setprofile(None)
    known = len([name for name in entered if name.startswith("SearchIndex")])

    running, stop = host_in_thread(sandbox)
    found = [get(running, "/api/v1/similar?q=shortest%20path")["results"] for _ in range(2)]
    stop()

    assert known == 0
    assert found[0] == found[1] != []


def test_the_samples_cover_what_a_client_must_bear(oj: Running) -> None:
    texts = {key: sample(oj, *key) for key in EVERY}
    content = {problem_id: fields["content"] for (_, problem_id), fields in texts.items()}

    assert (texts["leetcode", "9006"]["paid_only"], content["9006"], content["agc901_a"]) == (1, None, None)
    nameless = texts["leetcode", "9007"]
    blank = ("title", "difficulty", "ac_rate", "rating", "link", "category", "paid_only")
    assert [nameless[name] for name in blank] == [None] * 7
    assert nameless["tags"] == []
    assert texts["leetcode", "9003"]["title"] == "Ferry | Queue"
    assert texts["leetcode", "9004"]["title"] == "Tide Table\r\nof One | Harbour"
    assert texts["luogu", "P90006"]["title"] == "甲|乙\t与丙"
    assert texts["leetcode", "9001"]["content_cn"].startswith("<p>一条街上")
    for mark in ("<table", "<img", "<sup>", "<sub>", "<ol>", "<pre>", "<script>", "<style>", "$f(r, c, p)", "&nbsp;"):
        assert any(mark in text for text in content.values() if text), mark
    markdown = [
        fields["content"] for (source, _), fields in texts.items() if source != "leetcode" and fields["content"]
    ]
    for mark in ("```", "| ", "![", "$$", "  - ", "<br>", "~~~", "    4 2"):
        assert any(mark in text for text in markdown), mark


def test_a_statement_far_longer_than_may_be_shown_is_served_whole_and_truncated_by_the_tool() -> None:
    """Longer even without its tags, and far shorter than may be read."""
    running, stop = host_in_thread(sandbox_with_long_statement())

    reply = ask(running, "/api/v1/problems/leetcode/9009")
    with serving_oj(running.url) as pipe:
        kind, text = call(pipe, "get_problem", source="leetcode", id="9009")

    stop()
    assert len(re.sub(r"<[^>]+>|\t", "", reply.json()["content"]).encode()) > 102_400
    assert len(reply.body) < 500_000
    assert (kind, text.endswith("\n\n... (truncated)")) == ("answer", True)


@pytest.mark.parametrize("source", ["uva", "LeetCode", "leetcode%20", "%E6%B8%AF", ".."])
def test_an_unknown_source_is_refused_before_the_id_is_looked_at(oj: Running, source: str) -> None:
    detail = {"%E6%B8%AF": "港", "leetcode%20": "leetcode "}.get(source, source)

    assert refused(oj, f"/api/v1/problems/{source}/9001") == problem(400, "Bad Request", f"invalid source: {detail}")


@pytest.mark.parametrize(
    ("source", "problem_id"),
    [
        ("leetcode", "2"),
        ("leetcode", "lantern-pairs"),
        ("leetcode", "09001"),
        ("codeforces", "9001a"),
        ("codeforces", "9001%2FA"),
        ("codeforces", "9003A"),
        ("atcoder", "ABC901_A"),
        ("luogu", "p90001"),
        ("spoj", "LANTERNQ"),
    ],
)
def test_only_an_id_as_it_is_written_is_found(oj: Running, source: str, problem_id: str) -> None:
    """Not a slug, and not an id in another case."""
    answer = refused(oj, f"/api/v1/problems/{source}/{problem_id}")

    assert answer == problem(404, "Not Found", "problem not found")


def test_a_percent_encoded_id_is_found(oj: Running) -> None:
    assert sample(oj, "%6Ceetcode", "%39001") == sample(oj, "leetcode", "9001")


# --- daily ------------------------------------------------------------------------------------


def test_a_daily_problem_has_date_and_domain_and_no_source(oj: Running) -> None:
    daily = get(oj, "/api/v1/daily?domain=com&date=2024-01-15")

    assert list(daily) == ["date", "domain", *[name for name in FIELDS if name != "source"]]
    assert (daily["date"], daily["domain"]) == ("2024-01-15", "com")
    known = sample(oj, "leetcode", daily["id"])
    assert {**known, "date": "2024-01-15", "domain": "com"} == {**daily, "source": "leetcode"}


def test_a_day_has_one_problem_and_days_take_turns(oj: Running) -> None:
    days = [date(2024, 1, 1) + timedelta(day) for day in range(20)]

    first = [get(oj, f"/api/v1/daily?date={day}")["id"] for day in days]
    again = [get(oj, f"/api/v1/daily?domain=com&date={day}")["id"] for day in days]
    other = [get(oj, f"/api/v1/daily?domain=cn&date={day}")["id"] for day in days]

    assert first == again
    assert first != other
    assert set(first) == set(other) == set(IDS["leetcode"]) - {"9006", "9007"}


def test_today_is_the_days_in_its_own_zone(oj: Running) -> None:
    """UTC for com, eight hours east for cn."""
    assert get(oj, "/api/v1/daily")["date"] == "2026-03-01"
    assert get(oj, "/api/v1/daily?domain=cn")["date"] == "2026-03-02"
    assert get(oj, "/api/v1/daily?domain=cn&date=2026-03-02")["date"] == "2026-03-02"
    answer = refused(oj, "/api/v1/daily?domain=com&date=2026-03-02")
    assert answer == problem(400, "Bad Request", "date must be <= today")


def test_a_source_is_another_name_for_a_domain(oj: Running) -> None:
    cn = get(oj, "/api/v1/daily?source=leetcode.cn&date=2024-01-15")

    assert cn == get(oj, "/api/v1/daily?domain=cn&date=2024-01-15")
    assert cn == get(oj, "/api/v1/daily?domain=cn&source=leetcode.cn&date=2024-01-15&async=true")


def test_one_date_is_always_being_fetched(oj: Running) -> None:
    for path in ("/api/v1/daily?date=2024-02-29", "/api/v1/daily?date=2024-02-29&async=true"):
        reply = ask(oj, path)

        assert (reply.status, reply.headers["content-type"]) == (202, "application/json")
        assert reply.body == b'{"status":"fetching","retry_after":30}'


def test_another_date_is_being_fetched_when_it_is_asked_for_first() -> None:
    running, stop = host_in_thread(build(find_toolset("oj")))
    paths = [f"/api/v1/daily?domain={domain}&date=2024-02-28" for domain in ("com", "cn", "com", "cn")]

    statuses = [ask(running, path).status for path in paths]

    stop()
    assert statuses == [202, 202, 200, 200]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("date=2024-1-1", "invalid date format, expected YYYY-MM-DD"),
        ("date=", "invalid date format, expected YYYY-MM-DD"),
        ("date=20240101", "invalid date format, expected YYYY-MM-DD"),
        ("date=2024-W01-1", "invalid date format, expected YYYY-MM-DD"),
        ("date=2024-01-01%0A", "invalid date format, expected YYYY-MM-DD"),
        ("date=%EF%BC%92024-01-01", "invalid date format, expected YYYY-MM-DD"),
        ("date=2023-02-29", "invalid calendar date"),
        ("date=2024-13-01", "invalid calendar date"),
        ("date=0000-01-01", "invalid calendar date"),
        ("date=2020-03-31", "date must be >= 2020-04-01"),
        ("date=9999-12-31", "date must be <= today"),
        ("domain=COM", "domain must be 'com' or 'cn'"),
        ("domain=", "domain must be 'com' or 'cn'"),
        ("domain=com&source=leetcode.cn", "domain and source conflict"),
        ("source=x", "invalid source 'x', expected 'leetcode.com' or 'leetcode.cn'"),
    ],
)
def test_a_day_that_is_none_is_refused(oj: Running, query: str, detail: str) -> None:
    assert refused(oj, f"/api/v1/daily?{query}") == problem(400, "Bad Request", detail)


def test_the_first_day_has_a_problem(oj: Running) -> None:
    assert get(oj, "/api/v1/daily?date=2020-04-01")["date"] == "2020-04-01"


# --- similar ----------------------------------------------------------------------------------


def similar(running: Running, query: str, **more: object) -> Any:
    return get(running, f"/api/v1/similar?q={quote(query, safe='')}" + "".join(f"&{k}={v}" for k, v in more.items()))


def ids_of(answer: Any) -> list[str]:
    return [hit["id"] for hit in answer["results"]]


def test_a_result_has_six_fields_and_the_best_comes_first(oj: Running) -> None:
    answer = similar(oj, "prefix sums")

    assert list(answer) == ["rewritten_query", "results"]
    assert len(answer["results"]) > 3
    for hit in answer["results"]:
        assert list(hit) == ["source", "id", "title", "difficulty", "link", "similarity"]
        assert 0 < hit["similarity"] <= 1
        known = sample(oj, hit["source"], hit["id"])
        assert hit == {**{name: known[name] for name in list(hit)[:5]}, "similarity": hit["similarity"]}
    ranks = [hit["similarity"] for hit in answer["results"]]
    assert ranks == sorted(ranks, reverse=True)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("two numbers that add up to a target", ["9001"]),
        ("shortest path between islands with tolls", ["abc901_c"]),
        ("sort a permutation with swaps", ["arc901_a"]),
        ("Lanterns and their brightness", ["9001", "SP90001"]),
        ("sealed bids at an auction", ["9002A"]),
        ("logbook of the harbour master", ["9009"]),
        ("集市上的价格", ["P90001"]),
        ("灯塔同时闪光的次数", ["P90002"]),
        ("segment tree with lazy additions", ["9002D"]),
    ],
)
def test_what_is_described_is_found_first(oj: Running, query: str, best: list[str]) -> None:
    assert ids_of(similar(oj, query))[: len(best)] == best


@pytest.mark.parametrize("query", ["shortest path", "Shortest paths!", "最短路"])
def test_one_thing_is_found_in_both_languages(oj: Running, query: str) -> None:
    answer = similar(oj, query)

    assert answer["rewritten_query"] == "shortest path (最短路)"
    assert set(ids_of(answer)) == {"abc901_c", "9001B", "P90003", "SP90002"}


def test_a_query_is_rewritten_without_filler_and_with_terms_in_both_languages(oj: Running) -> None:
    answer = similar(oj, "give me dynamic programming on the staircase")

    assert answer["rewritten_query"] == "dynamic programming (动态规划) staircase"


def test_nothing_but_filler_has_no_rewritten_query(oj: Running) -> None:
    assert similar(oj, "the and of") == {"rewritten_query": None, "results": []}
    assert similar(oj, "???") == {"rewritten_query": None, "results": []}


def test_what_no_problem_has_finds_nothing(oj: Running) -> None:
    assert similar(oj, "zebra xylophone") == {"rewritten_query": "zebra xylophone", "results": []}


@pytest.mark.parametrize(
    "query", ['"); DROP TABLE sample; --', "NEAR(a b)", "title:x OR *", "^lantern*", "a AND NOT b"]
)
def test_a_query_is_words_and_never_syntax(oj: Running, query: str) -> None:
    assert ask(oj, f"/api/v1/similar?q={quote(query, safe='')}").status == 200


@pytest.mark.parametrize(
    ("source", "problem_id", "near"),
    [
        ("codeforces", "9001C1", {"9001C2"}),
        ("codeforces", "9001C2", {"9001C1"}),
        ("atcoder", "abc901_c", {"SP90002", "9001B", "P90003"}),
        ("luogu", "P90003", {"SP90002", "9001B", "abc901_c"}),
        ("leetcode", "9001", {"9003A", "SP90001", "1"}),
        ("leetcode", "1", {"9001", "9001A"}),
    ],
)
def test_a_problem_finds_those_like_it(oj: Running, source: str, problem_id: str, near: set[str]) -> None:
    answer = get(oj, f"/api/v1/similar/{source}/{problem_id}")

    assert set(ids_of(answer)[: len(near)]) == near
    assert problem_id not in ids_of(answer)


def test_a_problem_is_told_by_its_title_and_tags(oj: Running) -> None:
    answer = get(oj, "/api/v1/similar/atcoder/abc901_c")

    assert answer["rewritten_query"] == "C. Bridge Toll: Graph Shortest Path"


def test_a_problem_without_title_and_tags_has_no_rewritten_query(oj: Running) -> None:
    answer = get(oj, "/api/v1/similar/leetcode/9007")

    assert answer["rewritten_query"] is None
    assert answer["results"]


def test_a_problem_that_only_the_index_knows_has_nulls(oj: Running) -> None:
    ghost = next(hit for hit in similar(oj, "lantern festival")["results"] if hit["id"] == "9003A")

    assert ghost["similarity"] > 0
    assert [ghost[name] for name in ("source", "title", "difficulty", "link")] == ["codeforces", None, None, None]


@pytest.mark.parametrize(
    ("source", "problem_id"),
    [("leetcode", "9006"), ("spoj", "SP90005"), ("leetcode", "2"), ("uva", "100"), ("leetcode", "lantern-pairs")],
)
def test_a_problem_that_the_index_does_not_know_is_told_so(oj: Running, source: str, problem_id: str) -> None:
    """A problem without a statement, with a statement that is not indexed, or a problem that does not exist."""
    answer = refused(oj, f"/api/v1/similar/{source}/{problem_id}")

    assert answer == problem(404, "Not Found", "no embedding found for this problem")


def test_limit_threshold_and_source_narrow_the_results(oj: Running) -> None:
    query = "graph of lanterns, shortest sum of prices in a row"
    everything = similar(oj, query, limit=50)["results"]

    assert len(similar(oj, query)["results"]) == 10
    assert similar(oj, query, limit=3)["results"] == everything[:3]
    assert similar(oj, query, limit=0)["results"] == []
    assert similar(oj, query, limit=4_000_000_000)["results"] == everything
    bar = everything[4]["similarity"]
    assert similar(oj, query, limit=50, threshold=bar)["results"] == [
        hit for hit in everything if hit["similarity"] >= bar
    ]
    assert similar(oj, query, threshold=1)["results"] == []
    chosen = similar(oj, query, limit=50, source="luogu,%20spoj")["results"]
    assert chosen == [hit for hit in everything if hit["source"] in ("luogu", "spoj")]
    for nobody in ("", "LUOGU", "luo", "uva"):
        assert similar(oj, query, source=nobody)["results"] == []


def test_the_filter_sees_only_the_nearest_four_times_the_limit(oj: Running) -> None:
    everything = similar(oj, "lantern brightness street sum", limit=50)["results"]
    far = everything[4]["source"]

    near = [hit for hit in everything[:4] if hit["source"] == far]

    assert similar(oj, "lantern brightness street sum", limit=1, source=far)["results"] == near[:1]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("", "query parameter is required"),
        ("q=", "query parameter is required"),
        ("q=%20%20", "query parameter is required"),
        ("q=%22%22", "query parameter is required"),
        ("q=ab", "query must be at least 3 characters"),
        ("q=%22ab%22", "query must be at least 3 characters"),
        ("q=" + "x" * 2001, "query must be at most 2000 characters"),
        ("q=" + quote("港") * 667, "query must be at most 2000 characters"),
    ],
)
def test_a_query_is_measured_in_bytes_and_without_its_quotes(oj: Running, query: str, detail: str) -> None:
    assert refused(oj, f"/api/v1/similar?{query}") == problem(400, "Bad Request", detail)


@pytest.mark.parametrize("query", ["q=abc", "q=" + "x" * 2000, "q=%E6%B8%AF", "query=abc", "q=" + quote("港") * 666])
def test_a_query_at_the_limits_is_answered(oj: Running, query: str) -> None:
    assert "results" in get(oj, f"/api/v1/similar?{query}")


@pytest.mark.parametrize("bad", ["limit=x", "limit=-1", "limit=", "limit=1.5", "limit=" + "9" * 5000, "threshold=nan"])
@pytest.mark.parametrize("target", ["?q=lantern&", "?q=ab&", "?", "/leetcode/none-such?"])
def test_what_is_no_number_is_refused_in_plain_text_before_all_else(oj: Running, bad: str, target: str) -> None:
    reply = ask(oj, f"/api/v1/similar{target}{bad}")

    assert (reply.status, reply.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert reply.body.decode().startswith("the query string cannot be read")


# --- resolve ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source", "problem_id"),
    [
        # The table of known cases.
        ("https://leetcode.cn/contest/weekly-contest-400/problems/two-sum/", "leetcode", "1"),
        ("cf1900a", "codeforces", "1900A"),
        ("1900A", "codeforces", "1900A"),
        ("https://www.luogu.com.cn/problem/CF1900A", "codeforces", "1900A"),
        ("ABC300_A", "atcoder", "abc300_a"),
        ("atcoder:abc300_a", "atcoder", "abc300_a"),
        ("sp1", "spoj", "SP1"),
        ("UVA100", "luogu", "UVA100"),
        ("uva:100", "uva", "100"),
        ("invalid:abc", "leetcode", "invalid:abc"),
        ("foo:bar:baz", "leetcode", "foo:bar:baz"),
        ("leetcode/two-sum", "leetcode", "leetcode/two-sum"),
        ("http://unknown-oj.com/p/1", "unknown", "http://unknown-oj.com/p/1"),
        # Rule by rule: nothing at all, and AtCoder's pages.
        (" ", "unknown", ""),
        ("https://atcoder.jp/contests/abc300/tasks/ABC300_A?lang=ja", "atcoder", "abc300_a"),
        ("see ATCODER.JP/contests/x/tasks/typical90_a#top", "atcoder", "typical90_a"),
        # LeetCode's pages.
        ("leetcode.com/problems/Two-Sum/description/", "leetcode", "1"),
        ("https://leetcode.com/problems/1?x=1", "leetcode", "1"),
        # Codeforces' pages, and those that are not known.
        ("https://codeforces.com/contest/1999/problem/b1", "codeforces", "1999B1"),
        ("https://codeforces.com/problemset/problem/1/A", "codeforces", "1A"),
        ("https://codeforces.com/gym/100001/problem/A", "unknown", "https://codeforces.com/gym/100001/problem/A"),
        # Luogu's pages, its own and those of others.
        ("https://www.luogu.com.cn/problem/p1001", "luogu", "P1001"),
        ("https://www.luogu.com.cn/problem/AT_abc300_a", "atcoder", "abc300_a"),
        ("https://www.luogu.com.cn/problem/AT300", "atcoder", "at300"),
        ("https://www.luogu.com.cn/problem/SP1", "spoj", "SP1"),
        ("https://www.luogu.com.cn/problem/SPX", "luogu", "SPX"),
        # Prefixes in any case; the rest is taken as it is.
        ("LuoGu:p1001", "luogu", "p1001"),
        ("codeforces:1900a", "codeforces", "1900a"),
        ("LEETCODE:1", "leetcode", "1"),
        ("spoj:SP1", "spoj", "SP1"),
        # Bare ids.
        ("1356", "leetcode", "1356"),
        ("１", "leetcode", "１"),
        ("arc100_f2", "atcoder", "arc100_f2"),
        ("AGC001_a", "atcoder", "agc001_a"),
        ("ahc001_A", "atcoder", "ahc001_a"),
        ("abc001_1", "leetcode", "abc001_1"),
        ("typical90_a", "leetcode", "typical90_a"),
        ("awc0001_a", "leetcode", "awc0001_a"),
        ("CF1999B1", "codeforces", "1999B1"),
        ("p1001", "luogu", "P1001"),
        ("b2001", "luogu", "B2001"),
        ("T1", "luogu", "T1"),
        ("u1", "luogu", "U1"),
        ("at_abc300_a", "luogu", "AT_ABC300_A"),
        # Slugs, and all else.
        ("Two-Sum", "leetcode", "1"),
        ("  two-sum  ", "leetcode", "1"),
        ("Two Sum", "leetcode", "two sum"),
    ],
)
def test_a_text_means_a_problem_by_the_first_rule_that_fits(
    oj: Running, text: str, source: str, problem_id: str
) -> None:
    answer = get(oj, f"/api/v1/resolve/{quote(text, safe='')}")

    problem = sample(oj, source, problem_id) if (source, problem_id) in EVERY else None
    assert answer == {"source": source, "id": problem_id, "problem": problem}


@pytest.mark.parametrize(
    ("text", "source", "problem_id"),
    [
        ("9001", "leetcode", "9001"),
        ("lantern-pairs", "leetcode", "9001"),
        ("Lantern-Pairs", "leetcode", "9001"),
        ("leetcode:LANTERN-PAIRS", "leetcode", "9001"),
        ("https://leetcode.cn/contest/weekly-contest-901/problems/lantern-pairs/", "leetcode", "9001"),
        ("cf9001a", "codeforces", "9001A"),
        ("https://codeforces.com/contest/9001/problem/c1", "codeforces", "9001C1"),
        ("ABC901_C", "atcoder", "abc901_c"),
        ("atcoder:typical91_a", "atcoder", "typical91_a"),
        ("p90001", "luogu", "P90001"),
        ("b92001", "luogu", "B92001"),
        ("https://www.luogu.com.cn/problem/CF9001B", "codeforces", "9001B"),
        ("https://www.luogu.com.cn/problem/at_abc901_a", "atcoder", "abc901_a"),
        ("sp90001", "spoj", "SP90001"),
    ],
)
def test_a_text_that_means_a_sample_brings_it_along(oj: Running, text: str, source: str, problem_id: str) -> None:
    answer = get(oj, f"/api/v1/resolve/{quote(text, safe='')}")

    assert answer == {"source": source, "id": problem_id, "problem": sample(oj, source, problem_id)}


def test_a_prefixed_id_in_another_case_means_nothing(oj: Running) -> None:
    assert get(oj, "/api/v1/resolve/luogu%3Ap90001") == {"source": "luogu", "id": "p90001", "problem": None}


def test_a_text_is_decoded_twice_and_may_hold_slashes(oj: Running) -> None:
    assert get(oj, "/api/v1/resolve/a%252Fb")["id"] == "a/b"
    assert get(oj, "/api/v1/resolve/https://leetcode.com/problems/lantern-pairs/")["id"] == "9001"


def test_no_text_at_all_is_no_route(oj: Running) -> None:
    for path in ("/api/v1/resolve/", "/api/v1/resolve"):
        reply = ask(oj, path)

        assert (reply.status, reply.body) == (404, b"")


# --- status, health ---------------------------------------------------------------------------


def test_status_counts_the_samples_by_source(oj: Running) -> None:
    names = ("source", "total", "missing_content", "not_embedded")
    rows = [
        ("atcoder", 8, 1, 1),
        ("codeforces", 8, 0, 0),
        ("leetcode", 12, 1, 1),
        ("luogu", 8, 0, 0),
        ("spoj", 6, 0, 1),
    ]

    status = get(oj, "/status")

    assert status == {"version": "0.2.1+sample", "platforms": [dict(zip(names, row, strict=True)) for row in rows]}


def test_health_is_open_and_well(guarded: Running) -> None:
    assert get(guarded, "/health")["status"] == "ok"


# --- routes, bearer, sameness -----------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/v1",
        "/api/v1/",
        "/api/v1/problems",
        "/api/v1/problems/leetcode",
        "/api/v1/problems/a/b/c",
        "/api/v1/tags/leetcode",
        "/api/v1/status",
        "/status/",
    ],
)
def test_a_route_that_does_not_exist_is_an_empty_404(oj: Running, path: str) -> None:
    reply = ask(oj, path)

    assert (reply.status, reply.body, "content-type" in reply.headers) == (404, b"", False)


def test_other_methods_are_refused_without_a_body(oj: Running) -> None:
    reply = ask(oj, "/status", "POST")

    assert (reply.status, reply.headers["allow"], reply.body) == (405, "GET,HEAD", b"")
    assert ask(oj, "/status", "HEAD").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/status",
        "/api/v1/daily",
        "/api/v1/problems/leetcode/9001",
        "/api/v1/problems/uva/1",
        "/api/v1/similar?q=lantern",
        "/api/v1/similar/leetcode/9001",
        "/api/v1/resolve/9001",
    ],
)
def test_a_token_is_asked_for_at_every_route_but_health(guarded: Running, path: str) -> None:
    stranger = problem(401, "Unauthorized", "missing or invalid token")

    assert refused(guarded, path) == stranger
    for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer t\xf6ken"):
        assert refused(guarded, path, authorization=wrong) == stranger
    assert ask(guarded, path, authorization=f"Bearer {TOKEN}").status in (200, 400)


def test_without_a_token_nobody_is_asked_for_one(oj: Running) -> None:
    assert ask(oj, "/status", authorization="Bearer anything").status == 200


def test_a_token_is_never_told(guarded: Running) -> None:
    ask(guarded, "/status", authorization=f"Bearer {TOKEN}")

    bodies = ask(guarded, "/_sandbox").body + ask(guarded, "/_sandbox/requests").body

    assert TOKEN.encode() not in bodies
    assert TOKEN not in repr(guarded.requests)


def test_the_sandbox_lists_its_samples_and_calls_them_so(oj: Running) -> None:
    about = get(oj, "/_sandbox")

    assert (about["sandbox"], about["data"], about["problems"]) == ("oj", "sample data", IDS)


PROBE = """
import hashlib, sys
from signet.sandbox.message import SandboxRequest
from signet.toolsets.oj.sandbox.api import build
handler = build().handler
digest = hashlib.sha256()
for path in sys.argv[1:]:
    digest.update(handler(SandboxRequest("GET", path)).body)
print(digest.hexdigest())
"""


def test_answers_are_the_same_bytes_from_run_to_run() -> None:
    paths = [
        *(f"/api/v1/{what}/{source}/{problem_id}" for what in ("problems", "similar") for source, problem_id in EVERY),
        *(f"/api/v1/similar?q={quote(query)}&limit=50" for query in ("sum of a row", "最短路", "array string graph")),
        *("/status", "/health", "/api/v1/daily?date=2024-01-15", "/api/v1/daily?date=2025-12-31&domain=cn"),
    ]

    digests = {
        subprocess.run(
            [sys.executable, "-c", PROBE, *paths],
            capture_output=True,
            check=True,
            env=clean_env({"PYTHONHASHSEED": seed}),
        ).stdout
        for seed in ("0", "1", "2")
    }

    assert len(digests) == 1
