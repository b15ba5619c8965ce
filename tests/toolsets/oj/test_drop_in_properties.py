"""`oj-mcp-rs` by the rules of its specs, for generated calls and generated answers of the backend.

Expectations are written from the specs, not from the code: the pages are put together here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oj_harness import OjHarness, call, encoded, serving_oj
from processes import Pipe

PAGE_BYTES = 102_400
SUFFIX = "\n\n... (truncated)"
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000"
"""White space as Rust trims it; U+FEFF is none."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text("ab 中", max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=3,
)
words = st.text("abcXYZ 019éß中文-", min_size=1, max_size=12).filter(lambda text: text.strip() == text)
texts = st.none() | words
UNREAD = (
    "rating",
    "paid_only",
    "date",
    "domain",
    "title_cn",
    "content_cn",
    "slug",
    "contest",
    "similar_questions",
    "x",
)
"""The members of a problem that spec 2 has no place for."""

problems = st.fixed_dictionaries(
    {"id": words, "source": words, "title": texts},
    optional={
        "difficulty": texts,
        "link": texts,
        "tags": st.none() | st.lists(words, max_size=3),
        "ac_rate": st.none() | st.integers(0, 1000).map(lambda tenths: tenths / 10),
        "content": st.none() | st.lists(words, max_size=4).map("\n\n".join),
    },
)
unread = st.dictionaries(st.sampled_from(UNREAD), json_values, max_size=4)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(f"{WHITE}\ufeff.a", max_size=4)


@pytest.fixture(scope="module")
def server(judge: OjHarness) -> Iterator[Pipe]:
    with serving_oj(judge.url, "--token", "a-token") as pipe:
        yield pipe


def page_of(problem: dict[str, Any]) -> str:
    """Return the page of a problem by the template of spec 2 and the rules for absent values."""

    def shown(name: str) -> str:
        return "N/A" if problem.get(name) is None else problem[name]

    rate = problem.get("ac_rate")
    content = problem.get("content") or ""
    return (
        f"# {shown('title')}\n\n"
        f"- Source: {shown('source')} | ID: {shown('id')} | Difficulty: {shown('difficulty')}\n"
        f"- Tags: {', '.join(problem.get('tags') or []) or 'N/A'}\n"
        f"- Link: {shown('link')}\n"
        f"- AC Rate: {'N/A' if rate is None else f'{rate:.1f}%'}\n"
        "\n---\n\n"
        f"{content if content.strip() else 'No description available.'}"
    )


def answered(judge: OjHarness, server: Pipe, body: str, tool: str, **arguments: Any) -> tuple[str, Any]:
    """Let the backend answer with a body and return what the tool says."""
    judge.clear()
    judge.order("answer", body=body)
    return call(server, tool, **arguments)


@pytest.mark.spec("2.T1.template", "2.T2.template", "2.T4.nested")
@given(
    problem=problems, more=unread, outer=unread, tool=st.sampled_from(["daily", "newer daily", "problem", "resolve"])
)
def test_a_page_has_the_lines_of_the_template_and_no_others(
    judge: OjHarness, server: Pipe, problem: dict[str, Any], more: dict[str, Any], outer: dict[str, Any], tool: str
) -> None:
    sent = {**more, **problem}
    value, name, arguments = {
        "daily": (sent, "get_daily_challenge", {}),
        "newer daily": (
            {"date": "2026-02-27", "source": "leetcode.com", "problems": [sent]},
            "get_daily_challenge",
            {},
        ),
        "problem": (sent, "get_problem", {"source": "a", "id": "b"}),
        "resolve": ({"source": outer, "id": outer, **outer, "problem": sent}, "resolve_problem", {"query": "a"}),
    }[tool]

    said = answered(judge, server, json.dumps(value, ensure_ascii=False), name, **arguments)

    assert said == ("answer", page_of(problem))


@pytest.mark.spec("1.S4.1.not-json")
@given(
    problem=problems,
    name=st.sampled_from(UNREAD),
    half=st.sampled_from(["\\ud800", "\\udfff", "a\\uD83Db", "\\\\\\ud83d"]),
)
def test_half_a_surrogate_pair_spoils_no_page_that_does_not_show_it(
    judge: OjHarness, server: Pipe, problem: dict[str, Any], name: str, half: str
) -> None:
    body = json.dumps(problem)[:-1] + f', "{name}": ["{half}"]}}'

    assert answered(judge, server, body, "get_problem", source="a", id="b") == ("answer", page_of(problem))


@pytest.mark.spec("2.T3.table", "2.T3.rewritten-query")
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"source": words, "id": words, "similarity": st.integers(0, 1000).map(lambda tenths: tenths / 1000)},
            optional={"title": texts, "difficulty": texts, "link": texts, "x": json_values},
        ),
        max_size=4,
    ),
    query=texts,
)
def test_a_search_is_a_table_with_a_row_for_each_result_and_nothing_below(
    judge: OjHarness, server: Pipe, rows: list[dict[str, Any]], query: str | None
) -> None:
    body = json.dumps({"rewritten_query": query, "results": rows}, ensure_ascii=False)

    said = answered(judge, server, body, "find_similar_problems", query="abc")

    lines = [
        f"# Similar Problems\n\nQuery: {'N/A' if query is None else query}\n",
        "| # | Source | ID | Title | Difficulty | Similarity | Link |",
        "|---|--------|----|-------|------------|------------|------|",
    ]
    for number, row in enumerate(rows, 1):
        title, difficulty, link = (
            "N/A" if row.get(name) is None else row[name] for name in ("title", "difficulty", "link")
        )
        similarity = f"{row['similarity'] * 100:.1f}%"
        lines.append(f"| {number} | {row['source']} | {row['id']} | {title} | {difficulty} | {similarity} | {link} |")
    assert said == ("answer", "\n".join(lines) + "\n")


@pytest.mark.spec("1.S4.1.not-json", "2.T4.unknown")
@given(more=unread, outer=st.dictionaries(st.sampled_from(["source", "id", "x"]), json_values, max_size=3))
def test_without_a_problem_a_resolved_name_is_broken_and_with_a_null_one_unknown(
    judge: OjHarness, server: Pipe, more: dict[str, Any], outer: dict[str, Any]
) -> None:
    assert answered(judge, server, json.dumps({**more, **outer}), "resolve_problem", query="a") == ("failed", -32603)

    kind, _ = answered(judge, server, json.dumps({**more, **outer, "problem": None}), "resolve_problem", query="a")
    assert kind == "told"


@pytest.mark.spec("2.T2.encoded", "2.T2.blank")
@given(source=names, problem_id=names)
def test_a_name_that_is_not_blank_is_sent_and_any_other_is_told_without_a_pattern(
    judge: OjHarness, server: Pipe, source: str, problem_id: str
) -> None:
    trimmed = [text.strip(WHITE) for text in (source, problem_id)]

    kind, text = answered(judge, server, '{"id": "1"}', "get_problem", source=source, id=problem_id)

    if {"", ".", ".."} & set(trimmed):
        assert (kind, judge.targets()) == ("told", [])
        assert not any(sign in text for sign in ("[^", "\\s", "\\S", "\\."))
    else:
        assert kind == "answer"
        assert judge.targets() == [f"/api/v1/problems/{encoded(trimmed[0])}/{encoded(trimmed[1])}"]


@pytest.mark.spec("2.T3.limit-range", "2.T3.threshold-range")
@given(
    limit=st.integers(-3, 60) | st.text("1 .", max_size=2) | st.booleans() | st.just(2.5),
    threshold=st.floats(-1, 2) | st.text("01. ", max_size=2) | st.booleans(),
)
def test_a_number_outside_of_its_range_and_a_text_in_its_place_are_told_and_not_sent(
    judge: OjHarness, server: Pipe, limit: object, threshold: object
) -> None:
    is_right = type(limit) is int and 1 <= limit <= 50 and type(threshold) is float and 0 <= threshold <= 1

    body = '{"results": [], "rewritten_query": "q"}'
    kind, _ = answered(judge, server, body, "find_similar_problems", query="abc", limit=limit, threshold=threshold)

    assert (kind, len(judge.targets())) == (("answer", 1) if is_right else ("told", 0))


UNITS = {
    "word <code>x</code> ": "word `x` ",
    '<span class="{}">x</span> '.format("c" * 60): "x ",
    "中文 <b>é</b> ": "中文 **é** ",
    "<i></i><!-- c -->y ": "y ",
}
"""Parts of a paragraph, and their Markdown."""


@pytest.mark.spec("1.S5.2.output", "1.S5.2.limit", "1.S5.2.suffix")
@given(unit=st.sampled_from(list(UNITS)), count=st.integers(1, 14_000), end=st.text("abc中", min_size=1, max_size=9))
def test_a_statement_of_any_length_is_shown_until_the_page_is_full(
    judge: OjHarness, server: Pipe, unit: str, count: int, end: str
) -> None:
    count = min(count, 1_000_000 // len(unit.encode()))
    problem = {"id": "1", "source": "a", "title": "b", "content": f"<p>{unit * count}{end}</p>"}

    said = answered(judge, server, json.dumps(problem, ensure_ascii=False), "get_problem", source="a", id="1")

    whole = page_of({**problem, "content": f"{UNITS[unit] * count}{end}"}).encode()
    cut = whole[:PAGE_BYTES].decode(errors="ignore") + SUFFIX
    assert said == ("answer", whole.decode() if len(whole) <= PAGE_BYTES else cut)
