"""Markdown of statements as a page: formulas are drawn, and nothing of its author runs, loads or hides."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

import pytest

from signet.console.formulas import to_mathml
from signet.console.markdown import to_html

HOSTILE = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<svg onload='window.ran = 1'><script>window.ran = 1</script></svg>",
    "<svg><animate onbegin=window.ran=1 attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "<math><maction actiontype=statusline xlink:href='javascript:window.ran=1'>x</maction></math>",
    "<math><annotation-xml encoding='text/html'><script>window.ran = 1</script></annotation-xml></math>",
    "<style>@import 'https://evil.example/x.css'</style><link rel=stylesheet href=https://evil.example/x.css>",
    "<base href=https://evil.example/><form action=https://evil.example/><button>press</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "</code></pre></div><script>window.ran = 1</script>",
    "[one](javascript:window.ran=1)",
    "[two](JaVaScRiPt:window.ran=1)",
    "[three](java\tscript:window.ran=1)",
    "[four](&#106;avascript:window.ran=1)",
    "[five](data:text/html,<script>window.ran=1</script>)",
    "[six](vbscript:x) [seven](file:///etc/passwd) [eight](//evil.example/x)",
    "<javascript:window.ran=1>",
    '[nine](https://ok.example/ "\\" onmouseover=window.ran=1 x=\\"")',
    "![picture](https://evil.example/pixel.png)",
    "![picture][p]\n\n[p]: https://evil.example/pixel2.png",
    '![" onerror="window.ran=1](https://evil.example/pixel3.png)',
    "$\\href{javascript:window.ran=1}{x}$",
    "$\\text{<img src=x onerror=window.ran=1>}$",
    "$\\text{</mtext></math><script>window.ran=1</script>}$",
    "$$\n<svg onload=window.ran=1>\n$$",
    "$\\style{background:url(https://evil.example/x)}{x}$ $\\class{a}{b}$ $\\unicode{x3c}$",
    "`<script>window.ran = 1</script>`",
    "```html\n<script>window.ran = 1</script>\n```",
    '```x"onload=window.ran=1\ncode\n```',
    "| a |\n|---|\n| <img src=x onerror=window.ran=1> |",
    "right\u202eto left\u202c zero\u200bwidth \u2066isolated\u2069 \ufeff",
    "$x\u202ey$",
    "<!-- > <script>window.ran = 1</script> -->",
    "<noscript><p title='</noscript><img src=x onerror=window.ran=1>'>",
]
ELEMENTS = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul", "math", "mrow", "mi", "mn", "mo", "mtext", "mspace",
    "ms", "msup", "msub", "msubsup", "mover", "munder", "munderover", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd",
    "mstyle", "mpadded", "mphantom", "menclose", "mmultiscripts", "mprescripts", "none",
}  # fmt: skip


class Tags(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_the_author_becomes_markup(text: str) -> None:
    for name, attributes in Tags(to_html(text)).found:
        assert name in ELEMENTS
        assert not any(key.startswith("on") or key in {"style", "src", "srcdoc"} for key in attributes)
        assert re.match(r"https?://", attributes.get("href") or "https://")


def test_links_tell_the_other_side_nothing() -> None:
    [_, (name, attributes)] = Tags(to_html("[x](https://example.com/ 'title')")).found

    assert name == "a"
    assert attributes["rel"] == "noopener noreferrer nofollow"
    assert attributes["target"] == "_blank"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("$n$ and $1 \\le a_i \\le 10^5$", 2),
        ("$$$n$$$ of Codeforces", 1),
        ("\\(x\\) and \\[y\\]", 2),
        ("$$\n\\sum_{i=1}^{n} a_i\n= b\n$$", 1),
        ("| a |\n|---|\n| $x$ |", 1),
        ("it costs $5 or $6", 0),
        ("`$x$` and \\$x\\$", 0),
        ("```\n$x$\n```", 0),
        ("$a < b$ and $a \\& b$", 2),
        ("*$a_1$* and **$b_2 * c_3$**", 2),
    ],
)
def test_formulas_are_found_as_statements_write_them(text: str, count: int) -> None:
    assert [name for name, _ in Tags(to_html(text)).found].count("math") == count


def test_a_formula_that_cannot_be_drawn_is_shown_as_written() -> None:
    assert to_mathml("\\frac{1}{" * 500, is_display=False) is None
    assert '<code class="formula">$x\u202ey$</code>' in to_html("$x\u202ey$")


def test_formulas_are_bounded_in_number() -> None:
    html = to_html("$x$ " * 4000)

    assert html.count("<math") == 3000
    assert html.count('<code class="formula">') == 1000


INTRICATE = {
    "addresses": "[a]: http://x/" + "b" * 1_900 + "\n\n" + "[a]" * 20_000,
    "titles": "[a]: http://x/ '" + "b" * 20_000 + "'\n\n" + "[a]" * 20_000,
    "pictures": "[a]: http://x/" + "b" * 1_900 + "\n\n" + "![a]" * 10_000,
    "formula blocks": "$$a\n" * 25_000,
    "formula blocks in quotes": "> $$a\n" * 14_000,
    "dollars": "$a " * 33_000,
    "brackets": "[" * 99_000,
    "cells": "|a" * 50 + "|\n" + "|-" * 50 + "|\n" + "|\n" * 40_000,
    "headings": "#\n" * 50_000,
    "stars": "*a_ " * 25_000,
}


@pytest.mark.parametrize("text", INTRICATE.values(), ids=INTRICATE)
def test_a_text_that_costs_too_much_is_shown_as_it_is(text: str) -> None:
    html = to_html(text)

    assert [name for name, _ in Tags(html).found] == ["p", "em", "pre"]
    assert "too intricate" in html
    assert html.endswith(f"<pre>{escape(text)}</pre>\n")


def test_the_length_of_the_page_is_bounded_whatever_makes_it_long() -> None:
    text = "|" + "a|" * 40 + "\n|" + ":-:|" * 40 + "\n" + ("|" + '"|' * 40 + "\n") * 500

    assert len(to_html(text)) <= 2_000_000
    assert len(to_html('"' * 100_000)) <= 2_000_000


def test_an_address_that_is_too_long_is_none() -> None:
    near, far = ("http://x/" + "b" * count for count in (1_900, 2_000))

    assert [name for name, _ in Tags(to_html(f"[a]({near}) ![b]({near})")).found] == ["p", "a", "a"]
    assert [name for name, _ in Tags(to_html(f"[a]({far}) ![b]({far})")).found] == ["p"]
    assert [name for name, _ in Tags(to_html(f"[a]: {far}\n\n[a]")).found].count("a") == 0


def test_a_table_has_a_bounded_number_of_columns() -> None:
    def table(columns: int) -> str:
        return to_html("|a" * columns + "|\n" + "|-" * columns + "|\n" + "|b" * columns + "|\n")

    assert table(60).count("<td>") == 60
    assert "<table" not in table(61)


def test_a_long_statement_is_within_all_bounds() -> None:
    part = (
        "## Task\n\nGiven $n$ numbers ($1 \\le a_i \\le 10^9$), find the *least* `x` of **all**.\n\n"
        "$$\n\\sum_{i=1}^{n} |a_i - x|\n$$\n\n- first $n$\n- then $m$\n\n| in | out |\n|---|---|\n| 1 | 2 |\n\n"
    )
    html = to_html(part * 300)

    assert html.count("<math") == 300 * 5
    assert html.count("<table>") == 300


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("- Link: https://judge.example/problems/two-sum/", ["https://judge.example/problems/two-sum/"]),
        ("see (http://a.example/x?y=1&z=2).", ["http://a.example/x?y=1&amp;z=2"]),
        ("(https://a.example/Tree_(graph_theory).)", ["https://a.example/Tree_(graph_theory)"]),
        ("https://a.example/x).)!", ["https://a.example/x"]),
        ("| Link |\n|---|\n| https://a.example/b_c_d |", ["https://a.example/b_c_d"]),
        ("[https://a.example/](https://b.example/)", ["https://b.example/"]),
        ("`https://a.example/` and\n\n    https://b.example/", []),
        ("javascript://a.example/%0aalert(1) ftp://a.example data://x file:///etc/passwd", []),
        ('https://a.example/"onmouseover=window.ran=1', ["https://a.example/"]),
    ],
)
def test_an_address_that_stands_by_itself_is_a_link(text: str, addresses: list[str]) -> None:
    """Only http and https; what is in a link or in code stays as it is."""
    assert re.findall(r'<a href="([^"]*)" rel="noopener noreferrer nofollow"', to_html(text)) == addresses
