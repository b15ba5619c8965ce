"""`oj-mcp-rs` by the rules of its specs, for generated calls and generated answers of the backend.

Expectations are written from the specs, not from the code: the pages are put together here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from door_calls import rpc
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
shown_by_signet = st.fixed_dictionaries(
    {},
    optional={
        "rating": st.integers(1, 3500),
        "paid_only": st.just(1),
        "date": st.just("2026-02-27"),
        "title_cn": words,
        "content_cn": words,
    },
)
unread = st.dictionaries(st.sampled_from(UNREAD), json_values, max_size=4) | shown_by_signet
long_names = st.text("ab\ufeff中", min_size=250, max_size=260)
MAX_NAME_CHARS = 256
PATTERN_SIGNS = ("[^", "\\s", "\\S", "\\.")
MAX_QUERY_CHARS = 8_192
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


def failure(server: Pipe, tool: str, arguments: object) -> dict[str, Any]:
    """Call a tool and return the JSON-RPC error."""
    error: dict[str, Any] = server.ask(rpc("tools/call", {"name": tool, "arguments": arguments}))["error"]
    return error


@pytest.mark.spec("2.T1.template", "2.T2.template", "2.T4.nested")
@pytest.mark.parametrize("tool", ["daily", "newer daily", "problem", "resolve"])
@given(problem=problems, more=unread, outer=unread)
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
    is_daily=st.booleans(),
)
def test_half_a_surrogate_pair_spoils_no_page_that_does_not_show_it(
    judge: OjHarness, server: Pipe, problem: dict[str, Any], name: str, half: str, *, is_daily: bool
) -> None:
    body = json.dumps(problem)[:-1] + f', "{name}": ["{half}"]}}'
    arguments = {} if is_daily else {"source": "a", "id": "b"}
    tool = "get_daily_challenge" if is_daily else "get_problem"

    said = answered(judge, server, f'{{"problems": [{body}]}}' if is_daily else body, tool, **arguments)

    assert said == ("answer", page_of(problem))


@pytest.mark.spec("1.S4.1.not-json")
@given(half=st.sampled_from(["\\ud800", "a\\udfffb"]), name=st.sampled_from(["title", "content", "source", "link"]))
def test_half_a_surrogate_pair_in_a_page_is_an_error_that_says_so(
    judge: OjHarness, server: Pipe, half: str, name: str
) -> None:
    judge.clear()
    judge.order("answer", body=f'{{"id": "1", "{name}": "{half}"}}')

    error = failure(server, "get_problem", {"source": "a", "id": "b"})

    assert (error["code"], error["message"].split(": ")[1]) == (-32603, "a text holds half a surrogate pair")


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


@pytest.mark.spec("2.T2.encoded", "2.T2.blank", "2.T2.trimmed", "2.common.length")
@given(source=names | long_names, problem_id=names | long_names, blanks=st.sampled_from(["", " ", "\u3000" * 300]))
def test_a_name_that_is_not_blank_is_sent_and_any_other_is_told_without_a_pattern(
    judge: OjHarness, server: Pipe, source: str, problem_id: str, blanks: str
) -> None:
    """White space at the ends does not count; what is left has at most 256 characters."""
    trimmed = [text.strip(WHITE) for text in (source, problem_id)]

    kind, text = answered(judge, server, '{"id": "1"}', "get_problem", source=blanks + source, id=problem_id + blanks)

    if {"", ".", ".."} & set(trimmed) or max(map(len, trimmed)) > MAX_NAME_CHARS:
        assert (kind, judge.targets()) == ("told", [])
        assert not any(sign in text for sign in PATTERN_SIGNS)
    else:
        assert kind == "answer"
        assert judge.targets() == [f"/api/v1/problems/{encoded(trimmed[0])}/{encoded(trimmed[1])}"]


@pytest.mark.spec("2.T2.required")
@given(
    source=st.sampled_from(["", " ", ".", "..", "a"]) | names,
    others=st.dictionaries(st.just("id"), json_values, max_size=1),
)
def test_a_name_of_another_type_is_told_without_a_pattern_whatever_the_other_name_is(
    judge: OjHarness, server: Pipe, source: str, others: dict[str, Any]
) -> None:
    assume(not isinstance(others.get("id"), str))

    kind, text = answered(judge, server, '{"id": "1"}', "get_problem", source=source, **others)

    assert (kind, judge.targets()) == ("told", [])
    assert not any(sign in text for sign in PATTERN_SIGNS)


@pytest.mark.spec("2.T4.encoded", "2.T4.required", "2.common.length")
@given(
    query=names | st.text("ab\ufeff", min_size=8_190, max_size=8_195), blanks=st.sampled_from(["", " \n", " " * 9_000])
)
def test_a_query_that_is_not_blank_is_resolved_as_it_is(
    judge: OjHarness, server: Pipe, query: str, blanks: str
) -> None:
    """White space at the ends is sent where there is room for it, as the original sends it."""
    query = blanks + query + blanks
    sent = query if len(query) <= MAX_QUERY_CHARS else query.strip(WHITE)

    kind, text = answered(judge, server, '{"problem": {"id": "1"}}', "resolve_problem", query=query)

    if sent.strip(WHITE) == "" or sent in {".", ".."} or len(sent) > MAX_QUERY_CHARS:
        assert (kind, judge.targets()) == ("told", [])
        assert not any(sign in text for sign in PATTERN_SIGNS)
    else:
        assert (kind, judge.targets()) == ("answer", [f"/api/v1/resolve/{encoded(sent)}"])


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


# --- statements

UNITS = {
    "word <code>x</code> ": "word `x` ",
    '<span class="{}">x</span> '.format("c" * 60): "x ",
    "中文 <b>é</b> ": "中文 **é** ",
    "<i></i><!-- c -->y ": "y ",
}
"""Parts of a paragraph, and their Markdown."""


def shown_of(judge: OjHarness, server: Pipe, content: str) -> tuple[str, Any]:
    """Return the page of a problem with a content."""
    problem = {"id": "1", "source": "a", "title": "b", "content": content}
    return answered(judge, server, json.dumps(problem, ensure_ascii=False), "get_problem", source="a", id="1")


def page_with(markdown: str) -> tuple[str, str]:
    """Return the page of the same problem with a statement that is Markdown already."""
    whole = page_of({"id": "1", "source": "a", "title": "b", "content": markdown})
    cut = whole.encode()[:PAGE_BYTES].decode(errors="ignore")
    return ("answer", whole if cut == whole else cut + SUFFIX)


@pytest.mark.spec("1.S5.2.output", "1.S5.2.limit", "1.S5.2.suffix")
@given(
    unit=st.sampled_from(list(UNITS)),
    count=st.integers(1, 14_000) | st.integers(13_900, 14_000),
    end=st.text("abc中", min_size=1, max_size=9),
    frame=st.sampled_from(
        [("<p>{}{}</p>", "{}{}"), ("# h\n\n{}{}", "# h\n\n{}{}"), ("<h2>h</h2><p>{}<p>{}", "## h\n\n{}\n\n{}")]
    ),
)
def test_a_statement_of_any_length_is_shown_until_the_page_is_full(
    judge: OjHarness, server: Pipe, unit: str, count: int, end: str, frame: tuple[str, str]
) -> None:
    """In HTML and in Markdown with tags."""
    count = min(count, 1_000_000 // len(unit.encode()))
    html, markdown = frame
    assume(html[0] == "<" or "<!--" not in unit)  # a comment stays in Markdown

    said = shown_of(judge, server, html.format(unit * count, end))

    expected = UNITS[unit] * count
    assert said == page_with(markdown.format(expected if markdown.endswith("{}{}") else expected.strip(), end))


letters = st.text("abcXYZé中文", min_size=1, max_size=8)
PLAIN_TAGS = ("b", "i", "s", "u", "a", "q", "var", "data", "tt", "sup")
items = st.lists(letters, min_size=1, max_size=3)
BLOCKS = {
    "<table><tr><td>A<td>1</table>": "| A | 1 |\n| --- | --- |",
    "<p>text</p>": "text",
    "<ul><li>a<li>b</ul>": "- a\n- b",
    "<ol><li>a<li>b</ol>": "1. a\n2. b",
    "<pre>a  b</pre>": "```\na  b\n```",
    "<blockquote>q</blockquote>": "> q",
}


@pytest.mark.spec("2.T1.converted")
@given(level=st.integers(1, 6), heading=letters, block=st.sampled_from(list(BLOCKS)), end=letters)
def test_a_block_ends_a_heading_that_was_not_closed(
    judge: OjHarness, server: Pipe, level: int, heading: str, block: str, end: str
) -> None:
    said = shown_of(judge, server, f"<h{level}>{heading}{block}<p>{end}")

    assert said == page_with(f"{'#' * level} {heading}\n\n{BLOCKS[block]}\n\n{end}")


@pytest.mark.spec("2.T1.converted")
@given(
    tag=st.sampled_from(["sup", "sub"]), before=letters, inside=letters | st.just(""), label=letters, address=letters
)
def test_a_link_in_a_power_or_an_index_stays_a_link(
    judge: OjHarness, server: Pipe, tag: str, before: str, inside: str, label: str, address: str
) -> None:
    address = f"#{encoded(address)}"

    said = shown_of(judge, server, f'<p>{before}<{tag}>{inside}<a href="{address}">{label}</a></{tag}>, end</p>')

    assert said == page_with(f"{before}{inside}[{label}]({address}), end")


@pytest.mark.spec("2.T1.converted")
@given(text=st.lists(letters, min_size=1, max_size=4), summary=letters, entries=items, tag=st.sampled_from(PLAIN_TAGS))
def test_plain_text_with_a_tag_stays_plain_text(
    judge: OjHarness, server: Pipe, text: list[str], summary: str, entries: list[str], tag: str
) -> None:
    plain = " ".join(text)
    listed = "\n".join(f"- {entry}" for entry in entries)
    folded = f"{plain}\n<details>\n<summary>{summary}</summary>\n\n{listed}\n</details>"

    assert shown_of(judge, server, folded) == page_with(f"{plain}\n\n**{summary}**\n\n{listed}")
    assert shown_of(judge, server, f"{plain}<{tag}>{summary}") == page_with(f"{plain}<{tag}>{summary}")


# --- answers that are not of the usual form


@pytest.mark.spec("2.T5.rows", "1.S4.1.not-json")
@given(count=st.integers(0, 900) | st.sampled_from([799, 800, 1_400]))
def test_the_platforms_are_all_shown_or_the_error_says_that_there_are_too_many(
    judge: OjHarness, server: Pipe, count: int
) -> None:
    platform = {"source": "a", "total": 12_984, "missing_content": 0, "not_embedded": 1}
    judge.clear()
    judge.order("answer", body=json.dumps({"version": "1.2.3", "platforms": [platform] * count}))

    answer = server.ask(rpc("tools/call", {"name": "get_platform_status", "arguments": {}}))

    if count < 800:
        assert answer["result"]["content"][0]["text"].count("| a | 12,984 | 0 | 1 |\n") == count
    else:
        words = "the backend's answer is too large to be read: it has more than 4,000 values"
        assert (answer["error"]["code"], answer["error"]["message"]) == (-32603, words)


@pytest.mark.spec("1.S2.1.redirects", "1.S2.1.redirects-bytes")
@given(path=st.text("ab/\xa0\xc3\xa9\xe9\xff", max_size=12))
def test_a_redirect_is_followed_byte_by_byte(judge: OjHarness, server: Pipe, path: str) -> None:
    judge.clear()
    judge.order("redirect_to", location=f"/x{path}", times=1)
    judge.order("answer", body='{"id": "1"}')

    kind, _ = call(server, "get_problem", source="a", id="b")

    asked = "".join(char if char < "\x80" else f"%{ord(char):02X}" for char in path)
    assert (kind, judge.targets()) == ("answer", ["/api/v1/problems/a/b", f"/x{asked}"])


# --- messages that are no calls


@pytest.mark.spec("1.S4.2.canonical")
@given(
    arguments=json_values.filter(lambda value: not isinstance(value, dict | None)),
    tool=st.sampled_from(["get_problem", "x"]),
)
def test_arguments_that_are_no_object_are_an_error_with_a_canonical_code(
    judge: OjHarness, server: Pipe, arguments: object, tool: str
) -> None:
    judge.clear()

    error = failure(server, tool, arguments)

    assert (error["code"], error["data"]) == (-32602, {"canonical_code": "INVALID_INPUT"})
    assert judge.targets() == []


@pytest.mark.spec("1.S3.2.nothing-else")
@given(
    method=st.sampled_from(["prompts/list", "resources/list", "resources/templates/list", "completion/complete"]),
    params=st.dictionaries(st.sampled_from(["cursor", "ref", "argument", "x"]), json_values, max_size=2),
)
def test_the_other_lists_are_empty_whatever_is_asked(server: Pipe, method: str, params: dict[str, Any]) -> None:
    result = server.ask(rpc(method, params))["result"]

    assert result in ({"prompts": []}, {"resources": []}, {"resourceTemplates": []}, {"completion": {"values": []}})
