"""HTML to Markdown: the vectors, and pages that mean harm."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.toolsets.oj.convert import NO_DESCRIPTION, to_markdown

VECTORS = {
    "<p><b>bold</b></p>": "**bold**",
    "<b>bold</b>": "**bold**",
    "<p>10<sup>4</sup> and a<sub>i</sub></p>": "10^4 and a_i",
    "<p>&nbsp;</p>": NO_DESCRIPTION,
    "<p>x</p><p>&nbsp;</p><p>y</p>": "x\n\ny",
    "<pre>\n<strong>Input:</strong> nums = [2,7]\n<strong>Output:</strong> [0,1]\n</pre>": (
        "```\nInput: nums = [2,7]\nOutput: [0,1]\n```"
    ),
    '<div class="example-block"><p><strong>Input:</strong> <span>nums = [1,2]</span></p></div>': (
        "**Input:** nums = [1,2]"
    ),
    "<ul><li>a<ul><li>b<ol><li>c</li><li>d</li></ol></li></ul></li><li>e</li></ul>": (
        "- a\n  - b\n    1. c\n    2. d\n- e"
    ),
    '<ol start="9"><li>x</li><li>y</li></ol>': "9. x\n10. y",
    "<table><thead><tr><th>Id</th><th>Name</th></tr></thead><tbody><tr><td>1</td><td>甲乙</td></tr></tbody></table>": (
        "| Id | Name |\n| --- | --- |\n| 1 | 甲乙 |"
    ),
    "<table><tr><td>1</td><td>2</td></tr></table>": "| 1 | 2 |\n| --- | --- |",
    "<p>$a_i \\le b_{i+1}$</p>": "$a_i \\le b_{i+1}$",
    '<pre><code class="language-cpp">int a[3];\n</code></pre>': "```cpp\nint a[3];\n```",
    "<p>a &lt; b &amp;&amp; c &gt; d &copy; &#8364;</p>": "a < b && c > d © €",
    "<script>alert(1)</script><p>text</p>": "text",
    "a < b and c > d": "a < b and c > d",
    "<p>line1<br/>line2</p>": "line1  \nline2",
    "<blockquote><p>q1</p><p>q2</p></blockquote><p>z</p>": "> q1\n>\n> q2\n\nz",
    "<p>x</p><hr><p>y</p>": "x\n\n---\n\ny",
    "<p>unclosed <b>bold <i>it": "unclosed **bold *it***",
    '<p><a href="u"><img src="i.png" alt="A"></a></p>': "[![A](i.png)](u)",
    "<p>中文<strong>粗体</strong>😀</p>": "中文**粗体**😀",
    "<p>&#128512;&#x4e2d;&bogus;&amp;lt;</p>": "😀中&bogus;&lt;",
    "<!-- c --><p>x<!-- y -->z</p>": "xz",
    "## 题目描述\n\n给定 $n$<br>第二行\n\n- 甲\n- 乙": "## 题目描述\n\n给定 $n$  \n第二行\n\n- 甲\n- 乙",
    "": NO_DESCRIPTION,
    "  \n": NO_DESCRIPTION,
}
HOSTILE = {
    "deep nesting": "'<div>' * 200_000",
    "deep inline nesting": "'<b><i>' * 150_000",
    "deep lists": "'<ul><li>' * 120_000",
    "unclosed tags": "'<a href=\"' * 100_000",
    "a million brackets": "'<' * 1_000_000",
    "a giant table": "'<table>' + '<tr><td colspan=1000 rowspan=1000>x' * 30_000",
    "entities": "'<p>' + '&amp;' * 200_000",
    "a long attribute": "'<p title=\"' + 'x' * 1_000_000 + '\">y</p>'",
    "comments": "'<!--' * 250_000",
    "raised": "'<sup>' * 200_000",
}


@pytest.mark.parametrize("html", VECTORS)
def test_a_statement_becomes_the_markdown_that_a_person_would_write(html: str) -> None:
    assert to_markdown(html) == VECTORS[html]


def test_nothing_is_no_description() -> None:
    assert to_markdown(None) == NO_DESCRIPTION


@pytest.mark.parametrize("page", HOSTILE)
def test_a_page_that_means_harm_comes_to_an_end_and_harms_nobody(page: str) -> None:
    """In a process of its own: what overflows a stack outside Python would take the tests with it."""
    code = f"from signet.toolsets.oj.convert import to_markdown; print(len(to_markdown({HOSTILE[page]})))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) < 4_000_000


@given(st.text(alphabet="<>/abpreulisctd $`*_#\n|&;=\"'-![]()", max_size=200) | st.text(max_size=100))
def test_any_text_becomes_text(content: str) -> None:
    written = to_markdown(content)

    assert written.strip()
    written.encode()


@given(st.text(alphabet=st.characters(exclude_characters="<", exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_what_has_no_tag_is_not_touched(content: str) -> None:
    written = to_markdown(content)

    assert written in {content, NO_DESCRIPTION}
