"""Judge HTML: statements of problems as Markdown, as samples and as limits, and the console's page of them."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

from fuzz.odd_values import json_text, text
from fuzz.target import Run, Target, expect
from signet.console.markdown import to_html
from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamResponse
from signet.toolsets.oj import api, render
from signet.toolsets.oj.models import FullProblem
from signet.toolsets.oj.sandbox.problem_store import ProblemStore
from signet.toolsets.oj_practice.limits import limits_of
from signet.toolsets.oj_practice.samples import samples_of

__all__ = ["TARGET"]

MAX_CHARS = 60_000
TAGS = (
    "p", "div", "span", "b", "strong", "i", "em", "code", "pre", "tt", "samp", "kbd", "var", "sub", "sup", "ul", "ol",
    "li", "table", "thead",
    "tbody", "tr", "td", "th", "caption", "a", "img", "br", "hr", "h1", "h2", "h3", "h6", "blockquote", "details",
    "summary", "script", "style",
    "template", "noscript", "svg", "math", "iframe", "textarea", "title", "font", "center", "section", "dl", "dt",
    "dd", "s", "del", "u", "!--", "x-y",
)  # fmt: skip
VOID = {"br", "hr", "img"}
ATTRIBUTES = (
    'class="math"', 'class="language-cpp"', 'href="https://a.example/?q=(1)"', 'href="javascript:alert(1)"',
    "href=' java\nscript:x'", 'src="/a b.png"',
    'src="data:x"', 'alt="|`*_["', 'title="\\""', "colspan=3", "rowspan=99999", 'start="7"', "start=-5",
    "onclick=alert(1)", "class", "=", 'a="<"', "'",
)  # fmt: skip
TEXTS = (
    "Input", "Output", "Sample Input 1", "**Example 2:**", "样例输入 #1", "入力例 1", "Time limit per test: 2 seconds",
    "memory limit: 256 megabytes",
    "$x_i \\le 10^5$", "\\(a<b\\)", "$$\\frac{1}{2}$$", "a < b", "&lt;b&gt;", "&amp;", "&#x41;", "&#1114112;", "&#0;",
    "&nbsp;", "&copy", "1. a\n2. b",
    "- item\n- item", "```cpp\nint a;\n```", "`code`", "| a | b |\n|---|---|\n| 1 | 2 |", "# heading", "> quote",
    "***", "_a_", "*", "\\", "[x](y)",
    "![](x)", "<", ">", "</", "<!", "<?", "<![CDATA[", "]]>", "-->", "    indented", "\t", "\r\n", "\u3000",
    "10 5\n1 2 3",
)  # fmt: skip
TOKENS = (
    tuple(f"<{tag}>".encode() for tag in TAGS)
    + tuple(f"</{tag}>".encode() for tag in TAGS)
    + tuple(one.encode("utf-8", "surrogatepass") for one in (*TEXTS, *[f"<a {one}>" for one in ATTRIBUTES]))
)
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
SCRIPT = re.compile(r"<script\b[^<>]*>", re.IGNORECASE)
_reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _tree(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(TEXTS) if chance.random() < 0.8 else text(chance)
    tag = chance.choice(TAGS)
    attributes = "".join(f" {chance.choice(ATTRIBUTES)}" for _ in range(chance.choice((0, 0, 0, 1, 2))))
    inside = "".join(_tree(chance, depth - 1) for _ in range(chance.randrange(4)))
    if tag == "!--":
        return f"<!--{inside}-->"
    if tag in VOID:
        return f"<{tag}{attributes}>{inside}"
    end = chance.choice((f"</{tag}>",) * 9 + ("", f"</{tag.upper()} >", f"</{chance.choice(TAGS)}>"))
    return f"<{tag}{attributes}>{inside}{end}"


def _generate(chance: random.Random) -> bytes:
    parts = [_tree(chance, chance.choice((1, 2, 4, 7))) for _ in range(chance.choice((1, 2, 5)))]
    return chance.choice(("", "\n", "\n\n")).join(parts).encode("utf-8", "surrogatepass")


def _seeds() -> list[bytes]:
    store = ProblemStore.load()
    found = [
        problem.content.encode()
        for source in ("leetcode", "codeforces", "atcoder", "luogu", "uva", "spoj")
        for problem in store.of(source)
        if problem.content
    ]
    return [*found[:40], *[f"<p>{one}</p>".encode() for one in TEXTS]]


def _run(data: bytes) -> None:
    content = data.decode("utf-8", "surrogateescape")[:MAX_CHARS]
    markdown = render.to_markdown(content)
    expect(markdown.strip(), "a statement is never empty")
    # Code is kept as it is, with what it holds; which lines are code, readers of Markdown do not agree on.
    if "<" in content and not set("~\\") & set(content) and not {"`", "\n"} <= set(content):
        raw = [
            token.content
            for token in _reader.parse(markdown)
            for token in (token, *(token.children or ()))
            if token.type in {"html_block", "html_inline"}
        ]
        expect(not any(SCRIPT.search(COMMENT.sub("", one)) for one in raw), "no script is left in Markdown", raw)
    # The decoder of the backend's JSON lets no half of a surrogate pair through; statements are mended all the same.
    title = content[:50].encode("utf-8", "replace").decode()
    page = render.problem_page(FullProblem(id="1", title=title, content=content, tags=[title, 5], rating=3))
    expect(len(page.encode()) <= 102_400 + 100, "a page has a bound", len(page))
    shown = to_html(markdown[:20_000])
    expect(
        not re.search(r"<(?:script|iframe|style|img|svg)\b|javascript:[^<]*\"", shown, re.IGNORECASE),
        "the console shows no HTML of others",
        shown,
    )
    limits = limits_of(content)
    expect(
        all(one is None or type(one) is int for one in (limits.time_ms, limits.memory_mb)), "limits are numbers", limits
    )
    found = samples_of(content)
    expect(found.samples or found.reason, "samples, or the reason why there are none", found)
    _read(content)


def _read(content: str) -> None:
    """Read the answers of the backend: the statement in its place, and as the answer itself."""
    for body in (json_text({"id": 1, "content": content}).encode(), content.encode("utf-8", "replace")):
        for status in (200, 202, 404):
            with contextlib.suppress(Fault):
                api.read(UpstreamResponse(status, "application/json", body), FullProblem)
            api.fetching(UpstreamResponse(status, "application/json", body))


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    yield _run


TARGET = Target(
    name="html",
    about="statements of judges: HTML and Markdown, to Markdown, samples, limits and the console's page",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=("toolsets/oj/", "toolsets/oj_practice/", "console/markdown", "console/formulas", "console/text_budget"),
    per_byte_s=100e-6,
)
