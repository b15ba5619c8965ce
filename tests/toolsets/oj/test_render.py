"""Pages as texts: the layouts that spec 2 prints, with any values in them."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from oj_harness import HIT, PAGE, PROBLEM, SIMILAR, STATUS
from signet.toolsets.oj.models import Fetching, FullProblem, Platform, Problem, Similar, SimilarProblem, Status
from signet.toolsets.oj.render import problem_page, similar_page, status_page, truncate, wait_note

SUFFIX = "\n\n... (truncated)"

scalars = st.text(st.characters(exclude_categories=["Cs"]))
words = st.text("abcxyzABC漢é", min_size=1, max_size=8)
hostile = scalars | st.text(alphabet="|\\`\r\n\t\v\f\x1c\x85\u2028 a-:", max_size=12)
"""Texts that would break a table or a heading."""

PROBLEM_TYPED = msgspec.convert(PROBLEM, Problem)


def rows_of(page: str) -> list[list[str]]:
    """Return the rows of the only table of a page, the head first, as a Markdown parser reads them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    assert sum(token.type == "table_open" for token in tokens) == 1
    rows: list[list[str]] = []
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.type == "tr_open":
            rows.append([])
        if token.type in {"th_open", "td_open"}:
            rows[-1].append(following.content)
    return rows


# --- the limit on a text


@pytest.mark.spec("1.S5.2.limit", "1.S5.2.suffix", "1.S5.2.outside", "1.S5.2.utf8")
@pytest.mark.parametrize("unit", ["a", "é", "漢", "😀"])
@pytest.mark.parametrize("lead", [0, 1, 2, 3])
def test_a_text_is_cut_at_the_last_character_that_fits(unit: str, lead: int) -> None:
    whole = "." * lead + unit * 60_000 + "a" * 102_400

    shown = truncate(whole)

    kept = shown.removesuffix(SUFFIX).encode()
    assert shown.endswith(SUFFIX)
    assert whole.encode().startswith(kept)
    assert 102_400 - len(unit.encode()) < len(kept) <= 102_400
    assert len(shown.encode()) <= 102_417


@pytest.mark.spec("1.S5.2.limit")
@pytest.mark.parametrize("unit", ["a", "é", "😀"])
def test_a_text_of_exactly_the_limit_is_left_alone(unit: str) -> None:
    whole = unit * (102_400 // len(unit.encode()))

    assert truncate(whole) == whole


@pytest.mark.spec("1.S5.2.suffix")
def test_the_suffix_has_17_characters() -> None:
    assert truncate("x" * 102_401) == "x" * 102_400 + SUFFIX
    assert len(SUFFIX) == 17


@pytest.mark.spec("1.S5.2.any-response", "1.S5.2.utf8", "1.S5.2.outside")
@given(scalars.filter(bool), st.integers(101_000, 104_000))
def test_any_text_keeps_to_the_limit(text: str, size: int) -> None:
    whole = text * (size // len(text.encode()) + 1)

    shown = truncate(whole)

    assert len(shown.encode()) <= 102_400 + 17
    assert (shown == whole) == (len(whole.encode()) <= 102_400)


@pytest.mark.spec("1.S5.2.any-response")
def test_every_page_keeps_to_the_limit() -> None:
    long = "x" * 204_800
    platform = Platform(long, 1, 1, 1)

    pages = [
        problem_page(Problem("1", content=long)),
        problem_page(Problem("1", title=long)),
        similar_page(Similar([SimilarProblem("a", "1", 0.5, title=long)])),
        similar_page(Similar([], rewritten_query=long)),
        status_page(Status("1", [platform])),
        status_page(Status("1", [Platform("a", 1, 1, 1)] * 20_000)),
    ]

    assert [len(page.encode()) for page in pages] == [102_417] * 6
    assert all(page.endswith(SUFFIX) for page in pages)


# --- a problem


@pytest.mark.spec("2.T1.template", "2.T2.template", "2.T4.template")
def test_a_problem_is_shown_by_the_template() -> None:
    assert problem_page(PROBLEM_TYPED) == PAGE


@pytest.mark.spec("2.T1.nullable")
def test_a_problem_that_is_all_nulls_is_shown() -> None:
    shown = problem_page(Problem("1"))

    assert shown == (
        "# N/A\n\n- Source: N/A | ID: 1 | Difficulty: N/A\n- Tags: N/A\n- Link: N/A\n- AC Rate: N/A\n\n---\n\n"
        "No description available."
    )


@pytest.mark.spec("2.T1.nullable")
@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("title", None, "# N/A"),
        ("source", None, "- Source: N/A | ID: 1 | Difficulty: Easy"),
        ("source", "", "- Source: N/A | ID: 1 | Difficulty: Easy"),
        ("difficulty", None, "- Source: leetcode | ID: 1 | Difficulty: N/A"),
        ("difficulty", "", "- Source: leetcode | ID: 1 | Difficulty: "),
        ("difficulty", "入门", "- Source: leetcode | ID: 1 | Difficulty: 入门"),
        ("id", 15, "- Source: leetcode | ID: 15 | Difficulty: Easy"),
        ("tags", None, "- Tags: N/A"),
        ("tags", [], "- Tags: N/A"),
        ("tags", ["Array"], "- Tags: Array"),
        ("tags", ["Array", 5, None, "Greedy"], "- Tags: Array, Greedy"),
        ("tags", [5], "- Tags: N/A"),
        ("link", None, "- Link: N/A"),
        ("ac_rate", None, "- AC Rate: N/A"),
        ("ac_rate", 0, "- AC Rate: 0.0%"),
        ("ac_rate", 100, "- AC Rate: 100.0%"),
        ("content", None, "No description available."),
        ("content", "", "No description available."),
        ("content", " \n\t", "No description available."),
    ],
)
def test_a_field_is_shown_as_it_is_or_as_not_there(field: str, value: Any, line: str) -> None:
    lines = problem_page(msgspec.structs.replace(PROBLEM_TYPED, **{field: value})).split("\n")

    assert line in lines
    assert len(lines) == 10


@pytest.mark.spec("2.T1.template")
@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.25, "0.2%"), (57.25, "57.2%"), (57.05, "57.0%"), (57.08, "57.1%"), (99.95, "100.0%"), (79.4, "79.4%")],
)
def test_a_rate_is_rounded_by_its_exact_value(rate: float, shown: str) -> None:
    assert f"- AC Rate: {shown}\n" in problem_page(Problem("1", ac_rate=rate))


@pytest.mark.spec("2.T2.title", "2.T2.template", "2.T4.template")
@given(scalars.filter(str.isprintable))
def test_any_title_that_is_one_line_stands_as_it_is_behind_the_first_mark(title: str) -> None:
    assert problem_page(Problem("1", title=title)).startswith(f"# {title}\n\n- Source: ")


@pytest.mark.spec("2.T1.converted")
@given(st.lists(st.tuples(st.sampled_from(["b", "i", "code", ""]), words), min_size=1, max_size=5))
def test_the_content_of_any_problem_is_converted_before_it_is_shown(parts: list[tuple[str, str]]) -> None:
    """Paragraphs of marked words, which can be written in Markdown in one way only."""
    marks = {"b": "**", "i": "*", "code": "`", "": ""}
    content = "".join(f"<p><{tag}>{word}</{tag}></p>" if tag else f"<p>{word}</p>" for tag, word in parts)

    shown = problem_page(Problem("1", content=content)).partition("\n---\n\n")[2]

    assert shown == "\n\n".join(f"{marks[tag]}{word}{marks[tag]}" for tag, word in parts)


@pytest.mark.spec("2.T1.one-line", "2.T1.template", "2.T2.template", "2.T4.template")
@given(hostile, hostile, hostile, hostile, st.lists(hostile))
def test_the_lines_above_the_rule_stay_six(title: str, source: str, name: str, link: str, tags: list[str]) -> None:
    problem = Problem(name, title=title, source=source, difficulty=name, tags=tags, link=link, content="text")

    lines = problem_page(problem).splitlines()

    assert len(lines) == 10
    assert [line[:6] for line in lines[2:6]] == ["- Sour", "- Tags", "- Link", "- AC R"]
    assert lines[0].startswith("# ")
    assert lines[6:] == ["", "---", "", "text"]


@pytest.mark.spec("2.T1.converted")
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("<b>bold</b>", "**bold**"),
        ("<p>a</p>\n<p>b</p>", "a\n\nb"),
        ("## As it is\n\n- $a_i$", "## As it is\n\n- $a_i$"),
    ],
)
def test_the_content_is_shown_as_markdown(content: str, shown: str) -> None:
    assert problem_page(Problem("1", content=content)).partition("\n---\n\n")[2] == shown


# --- what the template has no place for


HEAD = (
    "# Two Sum\n\n- Source: leetcode | ID: 1{}\n- Tags: Array, Hash Table\n"
    "- Link: https://leetcode.com/problems/two-sum/\n- AC Rate: 57.1%\n"
)
"""The lines of spec 2, in which nothing changes but the difficulty: a rating takes its place."""


@pytest.mark.parametrize(
    ("fields", "difficulty", "lines"),
    [
        ({"difficulty": None, "rating": 1100.0}, None, "- Rating: 1100\n"),
        ({"difficulty": None, "rating": 1257.66}, None, "- Rating: 1257.7\n"),
        ({"difficulty": None, "rating": 3500}, None, "- Rating: 3500\n"),
        ({"rating": 1257.66}, "Easy", ""),
        ({"difficulty": None, "rating": 0.0}, "N/A", ""),
        ({"difficulty": None, "rating": "?"}, "N/A", ""),
        ({"difficulty": None, "rating": True}, "N/A", ""),
        ({"difficulty": None, "rating": 10**400}, "N/A", ""),
        ({"paid_only": 1}, "Easy", "- Paid only: yes, the judge shows it to subscribers\n"),
        ({"paid_only": 0}, "Easy", ""),
        ({"paid_only": {}}, "Easy", ""),
        ({"date": "2026-02-27", "domain": "com"}, "Easy", "- Daily challenge: 2026-02-27 (leetcode.com)\n"),
        ({"date": "2026-02-27", "domain": "cn"}, "Easy", "- Daily challenge: 2026-02-27 (leetcode.cn)\n"),
        ({"date": "2026-02-27", "domain": "else"}, "Easy", "- Daily challenge: 2026-02-27\n"),
        ({"date": "a\n# b", "domain": ["com"]}, "Easy", "- Daily challenge: a # b\n"),
        ({"date": 20260227, "domain": "com"}, "Easy", ""),
        (
            {"difficulty": None, "rating": 900, "paid_only": 1, "date": "2026-02-27", "domain": "com"},
            None,
            "- Rating: 900\n{}- Daily challenge: 2026-02-27 (leetcode.com)\n".format(
                "- Paid only: yes, the judge shows it to subscribers\n"
            ),
        ),
    ],
)
def test_what_the_template_has_no_place_for_follows_its_lines(
    fields: dict[str, Any], difficulty: str | None, lines: str
) -> None:
    problem = {**PROBLEM, **fields}
    shown = problem_page(msgspec.convert(problem, FullProblem))
    as_specified = problem_page(msgspec.convert(problem, Problem))

    end = "\n---\n\nAdd **two** numbers."
    assert shown == HEAD.format("" if difficulty is None else f" | Difficulty: {difficulty}") + lines + end
    assert as_specified == HEAD.format(f" | Difficulty: {difficulty or 'N/A'}") + end


@pytest.mark.parametrize(
    ("fields", "title", "content"),
    [
        (
            {"title": None, "content": None, "title_cn": "两数之和", "content_cn": "<p>求<b>和</b></p>"},
            "两数之和",
            "求**和**",
        ),
        ({"title": " ", "content": "", "title_cn": "两数之和", "content_cn": "求和"}, "两数之和", "求和"),
        ({"title_cn": "两数之和", "content_cn": "求和"}, "Two Sum", "Add **two** numbers."),
        ({"title": None, "content": None, "title_cn": 5, "content_cn": " "}, "N/A", "No description available."),
    ],
)
def test_a_problem_that_is_only_in_chinese_is_shown_in_chinese(
    fields: dict[str, Any], title: str, content: str
) -> None:
    shown = problem_page(msgspec.convert({**PROBLEM, **fields}, FullProblem))

    assert (shown.splitlines()[0], shown.partition("\n---\n\n")[2]) == (f"# {title}", content)


@pytest.mark.parametrize(
    ("link", "slug", "shown"),
    [
        ("https://www.luogu.com.cn/problem/SP1", "TEST", "https://www.spoj.com/problems/TEST/"),
        ("https://www.luogu.com.cn/problem/SP1", "../x", "https://www.luogu.com.cn/problem/SP1"),
        ("https://elsewhere.example/SP1", "TEST", "https://elsewhere.example/SP1"),
        (None, "TEST", "N/A"),
    ],
)
def test_the_link_of_a_mirrored_problem_of_spoj_leads_to_spoj(link: str | None, slug: str, shown: str) -> None:
    problem = {**PROBLEM, "source": "spoj", "link": link, "slug": slug}

    assert f"\n- Link: {shown}\n" in problem_page(msgspec.convert(problem, FullProblem))


# --- a search


@pytest.mark.spec("2.T3.table", "2.T3.rewritten-query")
def test_what_a_search_found_is_shown_by_the_template() -> None:
    assert similar_page(msgspec.convert(SIMILAR, Similar)) == (
        "# Similar Problems\n\n"
        "Query: pairs that add up\n\n"
        "| # | Source | ID | Title | Difficulty | Similarity | Link |\n"
        "|---|--------|----|-------|------------|------------|------|\n"
        "| 1 | leetcode | 167 | Two Sum II | Medium | 79.0% | https://x.example/167 |\n"
    )


@pytest.mark.spec("2.T3.table")
def test_a_search_that_found_nothing_is_a_table_without_rows() -> None:
    shown = similar_page(Similar([]))

    assert shown.startswith("# Similar Problems\n\nQuery: N/A\n\n| # |")
    assert len(rows_of(shown)) == 1


def test_a_search_that_found_nothing_has_a_note_under_the_head_of_the_table() -> None:
    assert similar_page(Similar([], "quantum knitting"), "No similar problems were found.") == (
        "# Similar Problems\n\n"
        "Query: quantum knitting\n\n"
        "| # | Source | ID | Title | Difficulty | Similarity | Link |\n"
        "|---|--------|----|-------|------------|------------|------|\n"
        "\n"
        "No similar problems were found.\n"
    )


@pytest.mark.spec("2.T3.table")
def test_a_row_that_is_all_nulls_is_shown() -> None:
    shown = similar_page(Similar([SimilarProblem("luogu", 7, 0.5)]))

    assert shown.endswith("\n| 1 | luogu | 7 | N/A | N/A | 50.0% | N/A |\n")


@pytest.mark.spec("2.T3.similarity")
@pytest.mark.parametrize(
    ("similarity", "shown"),
    [(0.79, "79.0%"), (0.791, "79.1%"), (1.0, "100.0%"), (1, "100.0%"), (0, "0.0%"), (0.7905, "79.0%"),
     (0.8125, "81.2%"), (0.0005, "0.1%"), (0.99999, "100.0%"), (-0.25, "-25.0%")],
)  # fmt: skip
def test_similarity_is_a_percentage_with_one_decimal(similarity: float, shown: str) -> None:
    page = similar_page(Similar([SimilarProblem("a", "1", similarity)]))

    assert rows_of(page)[1][5] == shown


@pytest.mark.spec("2.T3.similarity")
@given(st.floats(-1, 1))
def test_any_similarity_is_within_half_a_tenth_of_what_is_shown(similarity: float) -> None:
    [_, row] = rows_of(similar_page(Similar([SimilarProblem("a", "1", similarity)])))

    assert re.fullmatch(r"-?\d{1,3}\.\d%", row[5])
    assert abs(float(row[5][:-1]) - similarity * 100) <= 0.05 + 1e-9


@pytest.mark.spec("2.T3.numbered", "2.T3.table")
@given(st.integers(0, 60))
def test_rows_are_numbered_from_one(count: int) -> None:
    rows = rows_of(similar_page(Similar([msgspec.convert(HIT, SimilarProblem)] * count)))

    assert rows[0] == ["#", "Source", "ID", "Title", "Difficulty", "Similarity", "Link"]
    assert [row[0] for row in rows[1:]] == [str(number) for number in range(1, count + 1)]


@pytest.mark.spec("2.T3.cells")
@given(st.lists(st.tuples(hostile, hostile, hostile | st.none(), hostile | st.none(), hostile | st.none()), max_size=4))
def test_a_row_stays_a_row_whatever_its_cells_hold(problems: list[Any]) -> None:
    results = [SimilarProblem(source, name, 0.5, *rest) for source, name, *rest in problems]

    rows = rows_of(similar_page(Similar(results)))

    assert [(len(row), row[0], row[5]) for row in rows[1:]] == [
        (7, str(number), "50.0%") for number in range(1, len(problems) + 1)
    ]


@pytest.mark.spec("2.T3.cells")
@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("a|b", r"a\|b"),
        ("a\nb", "a b"),
        ("a\r\n\tb", "a b"),
        ("a\tb", "a b"),
        ("漢|😀", r"漢\|😀"),
        (r"a\|b", r"a\\|b"),
    ],
)
def test_a_bar_is_escaped_and_a_line_end_becomes_a_space(title: str, cell: str) -> None:
    shown = similar_page(Similar([SimilarProblem("s", "1", 0.5, title=title)]))

    assert shown.endswith(f"\n| 1 | s | 1 | {cell} | N/A | 50.0% | N/A |\n")


# --- the platforms


@pytest.mark.spec("2.T5.heading", "2.T5.columns", "2.T5.rows", "2.T5.order", "2.T5.grouped")
def test_the_platforms_are_shown_by_the_template_in_their_order() -> None:
    assert status_page(msgspec.convert(STATUS, Status)) == (
        "# OJ Platform Status (v1.2.3)\n\n"
        "| Platform | Problems | Missing Content | Not Embedded |\n"
        "|----------|----------|-----------------|--------------|\n"
        "| spoj | 12,984 | 100 | 1,000 |\n"
        "| atcoder | 0 | 0 | 0 |\n"
        "| leetcode | 1,234,567 | 999 | 8,356 |\n"
    )


@pytest.mark.spec("2.T5.rows")
def test_no_platforms_are_a_table_without_rows() -> None:
    assert status_page(Status("0.2.1", [])).endswith("|--------------|\n")


@pytest.mark.spec("2.T5.grouped")
@given(st.integers(0, 2**64))
def test_any_count_is_grouped_by_threes(count: int) -> None:
    [_, row] = rows_of(status_page(Status("1", [Platform("a", count, 0, count)])))

    assert re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})*", row[1])
    assert int(row[1].replace(",", "")) == count
    assert row[3] == row[1]


@pytest.mark.spec("2.T5.columns", "2.T5.rows", "2.T5.order")
@given(hostile, st.lists(hostile, max_size=5))
def test_the_table_has_four_columns_and_a_row_for_each_platform(version: str, names: list[str]) -> None:
    page = status_page(Status(version, [Platform(name, 1, 2, 3) for name in names]))

    rows = rows_of(page)
    assert page.startswith("# OJ Platform Status (v")
    assert rows[0] == ["Platform", "Problems", "Missing Content", "Not Embedded"]
    assert [row[1:] for row in rows[1:]] == [["1", "2", "3"]] * len(names)


# --- waiting


@pytest.mark.spec("2.T1.retry-after", "2.T1.fetching", "1.S4.5.retry")
@pytest.mark.parametrize(
    ("waiting", "end"),
    [
        (Fetching(30), "retry after 30 seconds."),
        (Fetching(0), "retry after 0 seconds."),
        (Fetching(), "retry later."),
    ],
)
def test_the_note_says_when_to_ask_again(waiting: Fetching, end: str) -> None:
    note = wait_note(waiting, "2026-01-31")

    assert "being fetched" in note
    assert note.endswith(end)
