"""Statements as Markdown: vectors, whole pages, Markdown that stays as it is, and hostile pages."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Sized
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from signet.toolsets.oj.blocks import MAX_DEPTH
from signet.toolsets.oj.html import TEXT_CHARS, feed
from signet.toolsets.oj.inline import MAX_OPEN, InlineWriter
from signet.toolsets.oj.render import MAX_TEXT_BYTES, to_markdown

NO_DESCRIPTION = "No description available."

KILL_S = 240
"""The time after which a process that converts hostile pages counts as hanging; no test measures speed."""

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""A Markdown parser by somebody else: what it shows is what a person sees."""


class Vector(NamedTuple):
    """An input, its output, and the reason where the output is not that of htmd."""

    content: str
    markdown: str
    because: str = ""


VECTORS = {
    "V1": Vector("<p><b>bold</b></p>", "**bold**"),
    "V2": Vector("<b>bold</b>", "**bold**"),
    "V3": Vector("<p>10<sup>4</sup> and a<sub>i</sub></p>", "10^4 and a_i"),
    "V4": Vector("<p>&nbsp;</p>", NO_DESCRIPTION),
    "V5": Vector("<p>x</p><p>&nbsp;</p><p>y</p>", "x\n\ny", "a paragraph of one space says nothing"),
    "V6": Vector(
        "<pre>\n<strong>Input:</strong> nums = [2,7], target = 9\n<strong>Output:</strong> [0,1]\n</pre>",
        "```\nInput: nums = [2,7], target = 9\nOutput: [0,1]\n```",
        "an example is fenced, so that its lines stay lines, and holds no stars",
    ),
    "V7": Vector(
        '<div class="example-block"><p><strong>Input:</strong> <span class="example-io">nums = [1,2]</span></p></div>',
        "**Input:** nums = [1,2]",
        "brackets that make no link need no backslash",
    ),
    "V8": Vector(
        "<ul><li>a<ul><li>b<ol><li>c</li><li>d</li></ol></li></ul></li><li>e</li></ul>",
        "- a\n  - b\n    1. c\n    2. d\n- e",
        "a hyphen and the least indentation",
    ),
    "V9": Vector('<ol start="9"><li>x</li><li>y</li></ol>', "9. x\n10. y", "numbers are not padded"),
    "V10": Vector(
        f"<ol>{''.join(f'<li>n{number}</li>' for number in range(1, 11))}</ol>",
        "\n".join(f"{number}. n{number}" for number in range(1, 11)),
        "numbers are not padded",
    ),
    "V11": Vector(
        "<ul><li><p>one</p><p>two</p></li><li><pre>x = [1]\n  y</pre></li></ul>",
        "- one\n\n  two\n\n- ```\n  x = [1]\n    y\n  ```",
        "a hyphen, and an example is fenced",
    ),
    "V12": Vector(
        "<ol><li>a<pre><code>x\n\ny</code></pre></li><li>b</li></ol>",
        "1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b",
        "the least indentation",
    ),
    "V13": Vector(
        "<table><thead><tr><th>Id</th><th>Name</th></tr></thead><tbody><tr><td>1</td><td>甲乙</td></tr>"
        "<tr><td>22</td><td>x</td><td>extra</td></tr><tr><td>3</td></tr></tbody></table>",
        "| Id | Name |  |\n| --- | --- | --- |\n| 1 | 甲乙 |  |\n| 22 | x | extra |\n| 3 |  |  |",
        "no padding, which would be wrong for wide characters anyway, and no cell is dropped",
    ),
    "V14": Vector(
        "<table><tr><td>1</td><td>2</td></tr></table>",
        "| 1 | 2 |\n| --- | --- |",
        "without a separator it would be no table: the first row is its head",
    ),
    "V15": Vector(
        "<table><tr><th>A|B</th></tr><tr><td>1<br>2</td></tr></table>",
        "| A\\|B |\n| --- |\n| 1 2 |",
        "a backslash is read more easily than a reference, one space than three",
    ),
    "V16": Vector(
        "<table><tr><td><table><tr><td>in</td></tr></table></td><td>o</td></tr></table>",
        "| in | o |\n| --- | --- |",
        "the inner table's frame says nothing in one line",
    ),
    "V17": Vector(r"<p>$a_i \le b_{i+1}$</p>", r"$a_i \le b_{i+1}$"),
    "V18": Vector("<pre>`tick</pre>", "```\n`tick\n```", "an example is fenced"),
    "V19": Vector('<pre><code class="language-cpp">int a[3];\n</code></pre>', "```cpp\nint a[3];\n```"),
    "V20": Vector(
        '<p><img alt="" src="https://x/y (1).png" style="width:10px"></p>',
        "![](https://x/y%20(1).png)",
        "an address that can be fetched as it stands",
    ),
    "V21": Vector("<p>a &lt; b &amp;&amp; c &gt; d &copy; &#8364;</p>", "a < b && c > d © €"),
    "V22": Vector("<p>a &lt;b&gt; c</p>", "a \\<b> c"),
    "V23": Vector("<script>alert(1)</script><p>text</p>", "text"),
    "V24": Vector("a < b and c > d", "a < b and c > d"),
    "V25": Vector("<p>line1<br/>line2</p>", "line1  \nline2"),
    "V26": Vector("<p><strong> bold </strong>x<strong></strong></p>", "**bold** x", "no space begins a paragraph"),
    "V27": Vector("<p>1. n</p><p>- n</p><p># n</p><p>&gt; n</p>", "1\\. n\n\n\\- n\n\n\\# n\n\n\\> n"),
    "V28": Vector(
        "<blockquote><p>q1</p><p>q2</p></blockquote><p>z</p>", "> q1\n>\n> q2\n\nz", "no space ends an empty line"
    ),
    "V29": Vector("<p>x</p><hr><p>y</p>", "x\n\n---\n\ny", "the rule that most people write"),
    "V30": Vector("<p>unclosed <b>bold <i>it", "unclosed **bold *it***"),
    "V31": Vector(
        '<p><a href="https://en.wikipedia.org/wiki/A_(B)">w_x</a></p>',
        "[w_x](https://en.wikipedia.org/wiki/A_(B))",
        "an underscore in a word and brackets in pairs need no backslash",
    ),
    "V32": Vector('<p><a href="u"><img src="i.png" alt="A"></a></p>', "[![A](i.png)](u)"),
    "V33": Vector("<p>中文<strong>粗体</strong>😀</p>", "中文**粗体**😀"),
    "V34": Vector("<p>&#128512;&#x4e2d;&bogus;&amp;lt;</p>", "😀中&bogus;&lt;"),
    "V35": Vector("<!-- c --><p>x<!-- y -->z</p>", "xz"),
    "V36": Vector("## 题目描述\n\n给定 $n$<br>第二行\n\n- 甲\n- 乙", "## 题目描述\n\n给定 $n$  \n第二行\n\n- 甲\n- 乙"),
    "V37": Vector(
        "<details><summary>Hint</summary><p>go</p></details>",
        "**Hint**\n\ngo",
        "a summary is a heading of its details",
    ),
    "V38": Vector("<p>a\n   b\tc&nbsp;&nbsp;d</p>", "a b c d", "a no-break space is a space"),
}


def shown(markdown: str) -> str:
    """Return the text that a reader of Markdown shows, without its white space."""
    return "".join(html.unescape(re.sub("<[^>]*>", "", READER.render(markdown))).split())


def run(probe: str, stdin: str = "") -> str:
    """Run Python in a process of its own, because a stack overflow ends the process.

    Its coverage is not measured: that would take several times as long as the conversion.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", probe],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env=env,
        check=False,
        timeout=KILL_S,
    )

    assert done.returncode == 0, done.stderr
    return done.stdout


# --- vectors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_converts_as_agreed(name: str) -> None:
    vector = VECTORS[name]

    assert to_markdown(vector.content) == vector.markdown


@pytest.mark.parametrize(
    "content",
    [None, "", " ", "\n\t", "\u3000", "\xa0", "\u200b", " \ufeff\n", "<p></p>", "<p> <br></p>", "<b></b><!-- x -->"],
)
def test_what_says_nothing_becomes_the_fixed_sentence(content: str | None) -> None:
    assert to_markdown(content) == "No description available."


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ("2<sup>31</sup> - 1", "2^31 - 1"),
        ("10<sup>-5</sup>", "10^-5"),
        ("10<sup>n+1</sup>", "10^(n+1)"),
        ("2<sup>(n + 1)</sup>", "2^(n + 1)"),
        ("2<sup>2<sup>n</sup></sup>", "2^(2^n)"),
        ("a<sub>i<sub>j</sub></sub> b<sub>max_len</sub>", "a_(i_j) b_(max_len)"),
        ("i<sup>th</sup> and 1<sup>st</sup>", "i^th and 1^st"),
        ("a<sub>i</sub>, a<sub>i + 1</sub>, a<sub>i,j</sub>", "a_i, a_(i + 1), a_(i,j)"),
        ("a<sub>i</sub><sup>2</sup>", "a_i^2"),
        ("a<sub>i</sub>b<sub>j</sub>", "a_(i)b_j"),
        ("s<sub>1</sub>s<sub>2</sub>", "s_1s_2"),
        ("x<sup>2</sup>y", "x^2y"),
        ("第<sub>i</sub>个", "第_i个"),
        ("x<sup> </sup>y<sub></sub>", "xy"),
        ("<code>10<sup>9</sup> + 7</code>", "`10^9 + 7`"),
        ("<code>nums<sub>i+1</sub></code>", "`nums_(i+1)`"),
        ("<pre>1 &lt;= n &lt;= 10<sup>5</sup></pre>", "```\n1 <= n <= 10^5\n```"),
        ("(x)<sub>i</sub>", "(x)\\_i"),
        ("<i>y</i><sub>1</sub> <b>A</b><sub>i + 1</sub>", "*y_1* **A_(i + 1)**"),
        ("<i>y</i><sub>1</sub>和 <i>z</i><sup>2</sup>", "*y_1*和 *z*^2"),
        ("<i>y</i><sub>i+1</sub>z", "*y*\\_(i+1)z"),
        ("x<sup>i<b>j</b></sup>", "x^ij"),
        ("x<sup>2<p>y</p>", "x^2\n\ny"),
    ],
)
def test_a_power_or_an_index_stays_readable(content: str, markdown: str) -> None:
    """A single term stands alone, all else in brackets; brackets also separate it from a letter that follows."""
    assert to_markdown(f"<div>{content}</div>") == markdown


@pytest.mark.parametrize(
    "math", ["$a_i * b_i * c$", r"$$\sum_{i=1}^{n} a_i \\ *x*$$", r"\(a_1 * a_2\)", r"\[x_1 \\ [y](z)\]", "$`$"]
)
def test_math_is_left_as_it_is(math: str) -> None:
    assert to_markdown(f"<p>Let {math} hold.</p>") == f"Let {math} hold."


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ("<p>2 * 3 * 4 and snake_case_name</p>", "2 * 3 * 4 and snake_case_name"),
        ("<p>a*b*c and __init__</p>", r"a\*b\*c and \_\_init\_\_"),
        ("<p>`x` and f[i](x)</p>", r"\`x\` and f[i\](x)"),
        (r"<p>C:\new and \* and \</p>", r"C:\new and \\\* and \\"),
        ("<p>a<br>- b<br># c</p>", "a  \n\\- b  \n\\# c"),
        ("<p>nums[i] == [1,2] ~ 3!</p>", "nums[i] == [1,2] ~ 3!"),
        ("<p>[a]: b</p>", r"\[a]: b"),
        ('<p>Hello!<a href="u">here</a>!</p>', r"Hello\![here](u)!"),
        ("<code>a`</code><code>b</code><code>c</code>", "`` a` `` `b` `c`"),
    ],
)
def test_only_signs_that_would_be_misread_are_escaped(content: str, markdown: str) -> None:
    assert to_markdown(content) == markdown


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ("<ul><li>a</li>\n<ul><li>b</li></ul>\n<li>c</li></ul>", "- a\n  - b\n- c"),
        ("<p>a<p>b<ul><li>x<li>y</ul>c", "a\n\nb\n\n- x\n- y\n\nc"),
        ("<p>a<b>b</p><p>c</b>d</p>", "a**b**\n\ncd"),
        ("<del>a <s>b</s></del>", "~~a b~~"),
        ("<p><strong>注意：</strong>如果</p>", "**注意：** 如果"),
        ("<p>文<em>「甲」</em>乙</p>", "文 *「甲」* 乙"),
        ("<p>给你<strong><code>n</code></strong>个整数</p>", "给你 **`n`** 个整数"),
        ("<p>返回<em><code>x</code> 的值</em></p>", "返回 *`x` 的值*"),
        ("<p>输入<b><span>[1]</span></b>个</p>", "输入 **[1]** 个"),
        ("<p>the array<strong><code>nums</code></strong>and</p>", "the array **`nums`** and"),
        ("<p>x<b>(y)</b><span>z</span></p>", "x **(y)** z"),
        ("<p><i>x</i><b>[1]</b> <b>y</b><i>z</i></p>", "*x* **[1]** **y** *z*"),
        ("<p><b><i>x</i></b><b>(y)</b> <b>x</b><b><i>[1]</i></b></p>", "***x*(y)** **x *[1]***"),
        ("<p>a <tt>b</tt> <kbd>c</kbd> <var>d</var> <u>e</u> <font color='red'>f</font></p>", "a `b` `c` d e f"),
        ("<P>A<BR>B</P><CODE>x</CODE>", "A  \nB\n\n`x`"),
        ("<p>a<o:p></o:p>b<foo>c</foo><x-y z=1>d</x-y></p>", "abcd"),
        ("<p>List<Integer> and Map<String, V></p>", "List\\<Integer> and Map\\<String, V>"),
        ("<p>x</p><![CDATA[ y ]]><?php z ?><!DOCTYPE html><p>w</p>", "x\n\nw"),
        ("<p>n <m", "n \\<m"),
        ("<p>n <!m", "n \\<!m"),
        ("<p><code>x</p><p>y</p>", "`x`\n\ny"),
        ("<p><code>a<br>b</code></p>", "`a b`"),
        ("<pre>0<n<10</pre><p>a<b and <i>c</i></p>", "```\n0<n<10\n```\n\na\\<b and *c*"),
        ("<p>Map<K, List<V>></p>", "Map\\<K, List\\<V>>"),
        ('<p><img alt="a<b>c" src=x></p>', "![a\\<b>c](x)"),
        ('<p>x<a href="y>z</a></p>', "xz"),
        ("<p>a<style>p{}</style>b<noscript>c</noscript>d<template>e</template></p>", "abd"),
        ("<h2>Title <code>x</code></h2><p>y</p>", "## Title `x`\n\ny"),
        ("<dl><dt>term</dt><dd>meaning</dd></dl>", "term\n\nmeaning"),
        ("<p>One.</p>\n\nTwo,\nlong.\n\nThree. <pre>4</pre>", "One.\n\nTwo, long.\n\nThree.\n\n```\n4\n```"),
    ],
)
def test_careless_html_still_reads_well(content: str, markdown: str) -> None:
    assert to_markdown(content) == markdown


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ('<img src="a.png" alt="x [1]\n y">', "![x [1] y](a.png)"),
        ('<img data-src="a.png">', "![](a.png)"),
        ('<img src="data:image/png;base64,AAAA" alt="pic">', "pic"),
        ('<pre><img src="a.png"><b>Input:</b> 1</pre>', "![](a.png)\n\n```\nInput: 1\n```"),
        ('<a href="/problems/x/" title="T">x</a>', '[x](/problems/x/ "T")'),
        ('<a href="a(b">x</a>', "[x](a%28b)"),
        ('<a href="java\nscript:alert(1)">x</a><a name="y">z</a>', "xz"),
        (f'<a href="{"x" * 3000}">y</a>', "y"),
        ("<a href='u'>[0, 1]</a>", "[[0, 1]](u)"),
        ('<h3><img src="i.png" alt="alt"> Title</h3>', "### ![alt](i.png) Title"),
    ],
)
def test_images_and_links_are_kept_where_they_lead_somewhere(content: str, markdown: str) -> None:
    assert to_markdown(f"<div>{content}</div>") == markdown


@pytest.mark.parametrize(
    ("rows", "markdown"),
    [
        ("<td>a<td>b", "| a | b |\n| --- | --- |"),
        ("<tr><td>a<td>b<tr><td>c", "| a | b |\n| --- | --- |\n| c |  |"),
        ("<caption>Cap</caption><tr><th>a</th></tr>", "*Cap*\n\n| a |\n| --- |"),
        ("<tr><th colspan=2>a</th></tr><tr><td>b</td><td>c</td></tr>", "| a | |\n| --- | --- |\n| b | c |"),
        (
            "<tr><th>a</th><th>b</th></tr><tr><td rowspan=2>c</td><td>d</td></tr><tr><td>e</td></tr>",
            "| a | b |\n| --- | --- |\n| c | d |\n|  | e |",
        ),
        ("<tr><td><code>a|b</code></td><td>$|x|$</td></tr>", "| `a\\|b` | $\\|x\\|$ |\n| --- | --- |"),
        (
            "<tr><td><p>a</p>b<pre>c\nd</pre></td><td><ul><li>e</li><li>f</li></ul></td></tr>",
            "| a b `c d` | • e • f |\n| --- | --- |",
        ),
        ("<tr><td><b>*</b></td><td>*</td></tr>", "| **\\*** | \\* |\n| --- | --- |"),
        (
            "<tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr><tr><td>d</td></tr>",
            "| a b | c |\n| --- | --- |\n| d |  |",
        ),
    ],
)
def test_a_table_stays_a_table(rows: str, markdown: str) -> None:
    assert to_markdown(f"<table>{rows}</table>after") == f"{markdown}\n\nafter"


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ("<blockquote><ul><li>a</li></ul><p>b</p></blockquote>", "> - a\n>\n> b"),
        ("<blockquote><p>a</p></blockquote><blockquote><p>b</p></blockquote>", "> a\n\n> b"),
        (
            "<blockquote><table><tr><td>a</td></tr></table><p>b</p></blockquote>",
            "> | a |\n> | --- |\n>\n> b",
        ),
        ("<blockquote>a</blockquote><div><blockquote>b</blockquote></div>", "> a\n\n> b"),
    ],
)
def test_what_stands_in_quotes_stays_apart(content: str, markdown: str) -> None:
    assert to_markdown(content) == markdown


@pytest.mark.parametrize(
    ("content", "markdown"),
    [
        ("<p>a</p><blockquote>b</blockquote>c", "a\n\n> b\n\nc"),
        ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
        ("<blockquote><pre>a\n\nb</pre></blockquote>", "> ```\n> a\n>\n> b\n> ```"),
        ("<ol><li>a<table><tr><td>b</table>c</li></ol>", "1. a\n\n   | b |\n   | --- |\n\n   c"),
        ("<ul><li>a<br>b<ul><li>c<br>d</ul></ul>", "- a  \n  b\n  - c  \n    d"),
        ("<ul><li>a<ul><li><p>b</p></ul><li>c</ul>", "- a\n\n  - b\n\n- c"),
        ("<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b"),
        ("<ul><li><ul><li>a</ul><li></ul>", "- - a\n-"),
        ("<ul><li><blockquote>a</blockquote><li><hr>b</ul>", "- > a\n\n- ___\n\n  b"),
        ("<ol><li>a</ol><ol><li>b</ol><ol><li>c</ol>", "1. a\n\n1) b\n\n1. c"),
        ("<li>a<li>b", "- a\n- b"),
        ("<b><p>a</p><ul><li>b</ul>c</b>d", "**a**\n\n- **b**\n\n**c**d"),
        ("<a href=u><p>a</p>b</a>", "[a](u)\n\n[b](u)"),
        ("<p>a<br></p><br>b<br><br><br>c", "a\n\nb  \n\nc"),
        ("<p>1. a<br>2. b<br><br>3. c</p>", "1\\. a  \n2. b  \n\n3\\. c"),
        ("<h2>a #</h2>", "## a \\#"),
        ("<h2><p>a</p> b<div>c</div></h2>", "## a b c"),
        ("<h3>a<table><tr><td>b</table>", "### a\n\n| b |\n| --- |"),
        ("<h3>a<ul><li>b</ul>c</h3>", "### a\n\n- b\n\nc"),
        ("<div><h3>a<pre>b</pre></div><p>c", "### a\n\n```\nb\n```\n\nc"),
        ("<details><summary><b>a</b> b</summary>c</details>", "**a b**\n\nc"),
        ("<table>a<tr><td></table>", "a"),
    ],
)
def test_blocks_in_blocks_keep_their_place(content: str, markdown: str) -> None:
    assert to_markdown(content) == markdown


# --- whole pages ------------------------------------------------------------------------------

LANTERNS = """\
<p>There are <code>n</code> lanterns along a canal. You are given an array <code>oil</code>, where <code>oil[i]</code>\
&nbsp;is the oil in the <code>i<sup>th</sup></code> lantern, and <code>trips</code>, where \
<code>trips[j] = [from<sub>j</sub>, to<sub>j</sub>]</code>.</p>

<p>Return <em>the fewest refills, </em>modulo <code>10<sup>9</sup> + 7</code>. A lantern is <strong>dark</strong> \
when:</p>

<ul>
\t<li>its oil is used up, or</li>
\t<li>its neighbour is dark and:
\t<ul>
\t\t<li><code>oil[i] &lt; 2</code>, or</li>
\t\t<li>it is <em>windy</em>.</li>
\t</ul>
\t</li>
</ul>

<p>&nbsp;</p>
<p><strong class="example">Example 1:</strong></p>
<img alt="" src="https://assets.example.org/lanterns.png" style="width: 300px;" />
<pre>
<strong>Input:</strong> oil = [1,2,3], trips = [[0,2]]
<strong>Output:</strong> 2
<strong>Explanation:</strong> Fill 0 &amp; 1.
- then go.
</pre>

<p><strong class="example">Example 2:</strong></p>

<div class="example-block">
<p><strong>Input:</strong> <span class="example-io">oil = [0,0], trips = []</span></p>

<p><strong>Output:</strong> <span class="example-io">0</span></p>
</div>

<p>&nbsp;</p>
<p><strong>Constraints:</strong></p>

<ul>
\t<li><code>1 &lt;= n &lt;= 10<sup>5</sup></code></li>
\t<li><code>-2<sup>31</sup> &lt;= oil[i] &lt;= 2<sup>31</sup> - 1</code></li>
\t<li><code>from<sub>j</sub> != to<sub>j</sub></code></li>
</ul>

<p>&nbsp;</p>
<strong>Follow-up:&nbsp;</strong>Can you do it in less than <code>O(n<sup>2</sup>)</code><font face="monospace">&nbsp;\
</font>time?
"""

LANTERNS_MARKDOWN = """\
There are `n` lanterns along a canal. You are given an array `oil`, where `oil[i]` is the oil in the `i^th` lantern, \
and `trips`, where `trips[j] = [from_j, to_j]`.

Return *the fewest refills,* modulo `10^9 + 7`. A lantern is **dark** when:

- its oil is used up, or
- its neighbour is dark and:
  - `oil[i] < 2`, or
  - it is *windy*.

**Example 1:**

![](https://assets.example.org/lanterns.png)

```
Input: oil = [1,2,3], trips = [[0,2]]
Output: 2
Explanation: Fill 0 & 1.
- then go.
```

**Example 2:**

**Input:** oil = [0,0], trips = []

**Output:** 0

**Constraints:**

- `1 <= n <= 10^5`
- `-2^31 <= oil[i] <= 2^31 - 1`
- `from_j != to_j`

**Follow-up:** Can you do it in less than `O(n^2)` time?"""

FERRIES = """\
<p>Table: <code>Ferries</code></p>
<pre>
+-------------+---------+
| Column Name | Type    |
+-------------+---------+
| ferry_id    | int     |
| harbour     | varchar |
+-------------+---------+
ferry_id is the primary key.
</pre>
<p>Write a query that finds every <code>harbour</code> with <strong>at least</strong> two ferries.</p>
<table class="table">
<thead><tr><th>ferry_id</th><th>harbour</th></tr></thead>
<tbody><tr><td>1</td><td>Aker | West</td></tr><tr><td>2</td><td></td></tr></tbody>
</table>
<blockquote><p>Order does <em>not</em> matter.</p></blockquote>
<details><summary>Hint</summary><ol><li>Group.</li><li>Count.</li></ol></details>
"""

FERRIES_MARKDOWN = """\
Table: `Ferries`

```
+-------------+---------+
| Column Name | Type    |
+-------------+---------+
| ferry_id    | int     |
| harbour     | varchar |
+-------------+---------+
ferry_id is the primary key.
```

Write a query that finds every `harbour` with **at least** two ferries.

| ferry_id | harbour |
| --- | --- |
| 1 | Aker \\| West |
| 2 |  |

> Order does *not* matter.

**Hint**

1. Group.
2. Count."""

BRIDGES = """\
<p>给你一个整数数组 <code>bridges</code> ，其中 <code>bridges[i]</code> 是第 <code>i</code> 座桥的长度。</p>
<p><strong>注意：</strong>答案可能很大，请对 <code>10<sup>9</sup>&nbsp;+ 7</code> <strong>取余</strong> 后返回。</p>
<p>&nbsp;</p>
<p><strong>示例 1：</strong></p>
<pre><strong>输入：</strong>bridges = [1,2]
<strong>输出：</strong>3
</pre>
<p><strong>提示：</strong></p>
<ul><li><code>1 &lt;= bridges.length &lt;= 10<sup>5</sup></code></li></ul>
"""

BRIDGES_MARKDOWN = """\
给你一个整数数组 `bridges` ，其中 `bridges[i]` 是第 `i` 座桥的长度。

**注意：** 答案可能很大，请对 `10^9 + 7` **取余** 后返回。

**示例 1：**

```
输入：bridges = [1,2]
输出：3
```

**提示：**

- `1 <= bridges.length <= 10^5`"""

PAGES = {
    "lanterns": (LANTERNS, LANTERNS_MARKDOWN),
    "ferries": (FERRIES, FERRIES_MARKDOWN),
    "bridges": (BRIDGES, BRIDGES_MARKDOWN),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_whole_statement_becomes_good_markdown(name: str) -> None:
    page, markdown = PAGES[name]

    assert to_markdown(page) == markdown


@pytest.mark.parametrize("name", [*VECTORS, *PAGES])
def test_what_came_out_passes_untouched_when_it_comes_again(name: str) -> None:
    content = PAGES[name][0] if name in PAGES else VECTORS[name].content

    once = to_markdown(content)

    assert to_markdown(once) == once


def test_threads_do_not_disturb_each_other() -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(to_markdown, [page for page, _ in PAGES.values()] * 40))

    assert answers == [markdown for _, markdown in PAGES.values()] * 40


# --- Markdown ---------------------------------------------------------------------------------

MARKDOWN = [
    "## 题目描述\n\n给定 $n$ 个数 $a_1, a_2, \\cdots, a_n$，求 $\\sum_{i=1}^{n} a_i$。\n\n- $1 \\le n \\le 10^5$\n",
    "# 問題文\n\n$N$ 個の**整数**があります。$A_i < A_{i+1}$ を満たす `i` を数えてください。\n\n```\n3\n1 2 3\n```\n",
    "문제 설명\n\n1. 첫째 줄에 $N$ ($1 \\leq N \\leq 100$)\n2. 둘째 줄\n\n| 입력 | 출력 |\n|---|---|\n| 1 | 2 |\n",
    "Use `vector<p>` or ``a ` <b>``.\n\n```cpp\nmap<int, vector<p>> m; // </p>\n```\n",
    "~~~\n<div>\n~~~\n",
    "$a<b>c$ and $$x<p>y$$ and $$$<i>$$$",
    "if x < y and y > z, or a <b and c> d, or x<y",
    "std::vector<int> v; List<Integer> xs; <https://example.org> <user@example.org>",
    "  leading and trailing  \n\n",
    "\\<b> is no tag, and neither is <bold>",
    "a\r\nb\r\n\r\n* c\r\n",
    "- x\n\n```\n<p>never closed",
    "&lt;b&gt; &amp; &nbsp;",
    "Sample:\n\n    <b>bold</b> text\n\n- y\n",
    "Example:\n\n    <div>code</div>\n    for i<n\n\nafter **b**",
    "# T\n\n\t<p>\n\n\t`x` <i>y</i>\n\n- a\n\nb\r\n\r\n    <b>c</b>\r\n",
    "Write `<p>x</p>`, `<div>` and `</div>`.\n\n- `<ul><li>a</li></ul>`\n",
]


@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown_passes_byte_for_byte(text: str) -> None:
    assert to_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("- $n$ 个<b>数</b>，*a*<sub>i</sub>\n- `<b>`\n", "- $n$ 个**数**，*a*\\_i\n- `<b>`\n"),
        ("## T\n\nx<sup>2</sup> <em> y </em>z", "## T\n\nx^2  *y* z"),
        ("**用户**<b>：</b>甲", "**用户** **：** 甲"),
        ("1. a<br/>\n2. b<br>c", "1. a  \n2. b  \nc"),
        ("| a | b |\n|---|---|\n| x<br>y | 2 |", "| a | b |\n|---|---|\n| x y | 2 |"),
        ("- <code>a&lt;b `c`</code> <kbd>K</kbd>", "- `` a<b `c` `` `K`"),
        ("- <code>10<sup>9</sup> <b>x</b></code>", "- `10^9 x`"),
        ('- <a href="u v">l</a> <img src="i.png" alt="a]b">', "- [l](u%20v) ![a\\]b](i.png)"),
        ("- <a name='x'>y</a><span style='z'>w</span>", "- yw"),
        ("## T\n\n给你<b><code>n</code></b>个数", "## T\n\n给你 **`n`** 个数"),
        ("- a<b><i>x</i></b>b<i><b>[1]</b></i>c", "- a***x*** b ***[1]*** c"),
        ("- <b>(x)</b><span>y</span>", "- **(x)** y"),
        ("- <code>a</code><code>b</code>`c`", "- `a` `b` `c`"),
        ('- so!<a href="u">x</a> a<a href="u">(y)</a>', "- so\\![x](u) a[(y)](u)"),
        ("- <i>y</i><sub>1</sub> x<sub>i<sub>j</sub></sub>", "- *y_1* x_(i_j)"),
        ("- <i>y</i><sub>1,2</sub>z", "- *y*\\_(1,2)z"),
        ("- a\n\n    <b>b</b>\n\n  c\n\n    <b>d</b>", "- a\n\n    **b**\n\n  c\n\n    **d**"),
        ("# T\na\n    <b>b</b>", "# T\na\n    **b**"),
        ("- <del>x</del> <u>y</u> <font color=red>z</font>", "- ~~x~~ y z"),
        ("a <b> c\n\n- d </i>", "a <b> c\n\n- d </i>"),
        ("- a <b>\n\n- b </b>", "- a <b>\n\n- b </b>"),
        ("- a <b> </b>b", "- a  b"),
        ("- a\n\n<script>alert(1)</script>\n\n- b", "- a\n\n\n\n- b"),
        ("- a<script>alert(1)", "- a"),
        ("- a<script async src=x>alert(1)</script> b", "- a b"),
        ("- a<SCRIPT defer>alert(1)", "- a"),
        ("- a</script x> b", "- a b"),
        ('<r a="`"><script>` ', '<r a="`">'),
        ("<x-y b a='<`'>**a** <script>alert(1)</script>`", "<x-y b a='<`'>**a** `"),
        ("<!-- ` -->**a** <script>alert(1)</script>` b", "<!-- ` -->**a** ` b"),
        ("<? ` ?>**a** <script>alert(1)</script>` b", "<? ` ?>**a** ` b"),
        ("<!A ` >**a** <script>alert(1)</script>` b", "<!A ` >**a** ` b"),
        ("<![CDATA[ > ` ]]>**a** <script>alert(1)</script>` b", "<![CDATA[ > ` ]]>**a** ` b"),
        ("<http://a.example/`>**a** <script>alert(1)</script>` b", "<http://a.example/`>**a** ` b"),
        ("**a** `b\n <script>alert(1)</script>` c", "**a** `b\n ` c"),
        ("| **a** ` | <script>alert(1)</script>` |\n|---|---|", "| **a** ` | ` |\n|---|---|"),
        ("**a** $b<script>$", "**a** $b"),
        ("- a <sc<var></var>ript>alert(1)", "- a \\<script>alert(1)"),
        (
            "- a\n\n`b` <sc<div></div>ript>\n\n    <script>\n\n`<script>`",
            "- a\n\n`b` \\<script>\n\n    <script>\n\n`<script>`",
        ),
        ("**a** <!-- `<script>` <? <! b", "**a** <!-- `<script>` <? <! b"),
        ('**a** `<r b="`<br>`">` <br>c `<script>`', '**a** `<r b="`  \n`">`   \nc `<script>`'),
        ("the tag `<script>` and `<p a='$'>`<br>x", "the tag `<script>` and `<p a='$'>`  \nx"),
        ("<p>open\n\n- a\n- b", "open\n\n- a\n- b"),
        ("- a <hr> b", "- a \n\n---\n\n b"),
        ("# T\n<li>a<li>b", "# T\n- a\n- b"),
        ("\\<b> and <b>this</b>\n\n- x", "\\<b> and **this**\n\n- x"),
    ],
)
def test_in_markdown_only_inline_tags_are_translated(text: str, markdown: str) -> None:
    assert to_markdown(text) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("## 题目\n\n<center>![图](a.png)</center>\n\n- 甲\n- 乙", "## 题目\n\n![图](a.png)\n\n- 甲\n- 乙"),
        (
            "## T\n\n<details><summary>提示</summary>\n\n- a\n- b\n\n</details>\n\nend",
            "## T\n\n**提示**\n\n- a\n- b\n\nend",
        ),
        (
            "# A\n<table><tr><th>a</th></tr><tr><td>1</td></tr></table>\nmore **x**",
            "# A\n\n| a |\n| --- |\n| 1 |\n\nmore **x**",
        ),
        ("Use `a`:\n<pre>x\n  y</pre>\n`b`", "Use `a`:\n\n```\nx\n  y\n```\n\n`b`"),
        ("# T\n<ul>\n\n\t<li>a</li>\n</ul>", "# T\n\n- a"),
        ("# T\n<div>\n\n    <p>a</p>\n\n- b</div>", "# T\n\na\n\n- b"),
        ("# T\n<p>$5 `x</p>\n<pre>$3 `y</pre>", "# T\n\n$5 \\`x\n\n```\n$3 `y\n```"),
        ("- a\n<div><div><div><div>\n\n- b\n\n</div></div></div></div>", "- a\n\n\\- b"),
    ],
)
def test_html_blocks_among_markdown_are_converted_alone(text: str, markdown: str) -> None:
    """The Markdown around them keeps its lines, which a converter of HTML would join."""
    assert to_markdown(text) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("<p>a</p>\n<pre>\n```\nx\n</pre>\n<p>b</p>", "a\n\n````\n```\nx\n````\n\nb"),
        ("<p>costs $5</p><p>or $6</p>", "costs $5\n\nor $6"),
        (
            "<p>Prices are in $.</p>\n<pre>\n| id | price |\n| 1  | $5    |\n</pre>\n<p>done</p>",
            "Prices are in $.\n\n```\n| id | price |\n| 1  | $5    |\n```\n\ndone",
        ),
        (
            "<p>cost $5</p>\n<ul>\n<li>x</li>\n</ul>\n<pre>\n# a $3\n</pre>",
            "cost $5\n\n- x\n\n```\n# a $3\n```",
        ),
        ("<p>a `</p><pre>\n# b `\n</pre>", "a \\`\n\n```\n# b `\n```"),
        (
            "costs $5 <pre>\n# $6</pre>\nor $7\n<pre>\n- $8</pre>",
            "costs $5\n\n```\n# $6\n```\n\nor $7\n\n```\n- $8\n```",
        ),
        ("<pre>- a\n# b\n</pre>", "```\n- a\n# b\n```"),
        ("<ul>\n<li>a\n- b</li></ul>", "- a - b"),
        ("<div>\n- a\n\n- b\n<p>c</p>", "\\- a - b\n\nc"),
        ("a <b>b</b> &amp; c", "a **b** & c"),
    ],
)
def test_html_is_not_taken_for_markdown_by_what_it_holds(text: str, markdown: str) -> None:
    assert to_markdown(text) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Text\n<details>\n<summary>Hint</summary>\n\n- a\n- b\n</details>", "Text\n\n**Hint**\n\n- a\n- b"),
        ("Text\n<details open>\n1. a\n2. b\n</details>\n", "Text\n\n1. a\n2. b"),
        ("Text\n<details><ul><li>- a</li></ul></details>", "Text\n\n- \\- a"),
        ("print a<b>c", "print a<b>c"),
        ("if a<i> and b<s>: stop", "if a<i> and b<s>: stop"),
        ("if a<u> or b<a>: stop", "if a<u> or b<a>: stop"),
        ("- vector<data> v", "- vector<data> v"),
        ("a<u>b</u>", "ab"),
        ("a<span class=x>b", "ab"),
        ("a<b>c</b>", "a**c**"),
        ("a<br>c<b>", "a  \nc"),
        ('<p>a<sup><a href="#f">1</a></sup></p>', "a[1](#f)"),
        ('- a<sup><a href="#f">1</a></sup>, 2<sup>3</sup>', "- a[1](#f), 2^3"),
        ('<p>a<sup>b <a href="#f">1</a></sup>c<sup>2</sup></p>', "ab [1](#f)c^2"),
        ('<pre>a<sup><a href="#f">1</a></sup></pre>', "```\na^1\n```"),
    ],
)
def test_hand_written_markdown_and_links_in_powers_keep_their_meaning(text: str, markdown: str) -> None:
    assert to_markdown(text) == markdown


# --- limits -----------------------------------------------------------------------------------


@pytest.mark.spec("1.S5.2.output")
@pytest.mark.parametrize(
    ("page", "markdown"),
    [
        ("<p>" + "word <code>x</code> " * 9_000 + "</p>", "word `x` " * 8_999 + "word `x`"),
        ("<p>" + f'<span class="{"c" * 48}">x</span>' * 4_000 + "END</p>", "x" * 4_000 + "END"),
        ("<p><b>a</b> b</p>" + "<b></b>" * 20_000 + "<p><b>END</b></p>", "**a** b\n\n**END**"),
        ("<p>x</p>" + "<p> <br></p>" * 20_000 + "<p>END</p>", "x\n\nEND"),
        ("<p>x<!--" + " c" * 300_000 + "-->y</p>", "xy"),
        (f"# x\n\n<span class='{'c' * 900}'>y</span> *z*\n\n" * 600, "# x\n\ny *z*\n\n" * 600),
        ("# x\n\n" + "y <b>z</b> a_b\n" * 10_000, "# x\n\n" + "y **z** a_b\n" * 10_000),
    ],
    ids=["code", "long tags", "marks that vanish", "empty blocks", "a comment", "Markdown", "one paragraph"],
)
def test_a_long_page_is_converted_to_its_end_while_its_markdown_has_room(page: str, markdown: str) -> None:
    assert len(page) > 131_072
    assert to_markdown(page) == markdown


@pytest.mark.spec("1.S5.2.output")
@pytest.mark.parametrize(
    "unit",
    [
        "<p>word <b>x</b></p>", "word <code>y</code>, ", "<li>word", "<tr><td>word<td>x", "<br>word", "&amp; word ",
        "<p class='a'>word</p>\n- z\n", "word <i>x</i>\n\n", "word\n\n```\n<b>\n```\n\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["<p>", "<ul>", "<table>", "<pre>", "# h\n\n"])
def test_a_page_without_end_fills_the_room_with_its_beginning(before: str, unit: str) -> None:
    """Twice the page is the same page: what has no room decides nothing."""
    page = before + unit * (400_000 // len(unit))

    text = to_markdown(page)

    assert len(text) >= MAX_TEXT_BYTES
    assert text[:MAX_TEXT_BYTES] == to_markdown(page + unit * (400_000 // len(unit)))[:MAX_TEXT_BYTES]


@pytest.mark.spec("1.S5.2.output")
@pytest.mark.parametrize("before", ["<p>x</p>", "- x\n\n"], ids=["HTML", "Markdown"])
@pytest.mark.parametrize("size", range(17))
def test_a_long_page_is_never_cut_within_a_tag(before: str, size: int) -> None:
    """Whichever part of a tag comes to the edges of the windows in which a page is read."""
    text = to_markdown(before + "y" * size + "<b class='c'></b>" * 60_000 + "END")

    assert text == (f"x\n\n{'y' * size}END" if before[0] == "<" else f"- x\n\n{'y' * size}END")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("%PDF-1.4 <p>x &lt; y</p>", "%PDF-1.4\n\nx < y"),
        (f"<p>x</p>{chr(1) * 2_000}<p>y</p>", f"x\n\n{chr(1) * 2_000}\n\ny"),
    ],
    ids=["PDF", "control characters"],
)
def test_a_page_that_looks_like_binary_data_is_converted_like_any_other(page: str, text: str) -> None:
    assert to_markdown(page) == text


def test_what_is_nested_too_deep_is_kept_as_text() -> None:
    levels = 3 * MAX_DEPTH

    lists = to_markdown("<ul><li>x" * levels)
    quotes = to_markdown("<blockquote>x" * levels + "</blockquote>" * levels)

    assert lists.count("x") == quotes.count("x") == levels
    assert max(line.index("-") for line in lists.splitlines()) == MAX_DEPTH - 2
    assert "> " * MAX_DEPTH in quotes
    assert "> " * (MAX_DEPTH + 1) not in quotes


def test_a_span_of_millions_of_columns_is_cut() -> None:
    wide = to_markdown("<table><tr><td colspan=1000000000>a</td></tr><tr><td rowspan=1000000000>b</td></tr></table>")

    assert len(wide) < 1_000


def test_nothing_is_loaded_before_it_is_needed() -> None:
    probe = """
import sys
before = set(sys.modules)  # a coverage tool has its own
from signet.toolsets.oj.render import to_markdown
to_markdown("plain **Markdown**"), to_markdown(None)
late = {"html"} | {f"signet.toolsets.oj.{name}" for name in ("blocks", "html", "inline", "markdown", "protected_spans")}
early = late & (set(sys.modules) - before)
to_markdown("<p>x</p>")
print(sorted(early), late <= set(sys.modules))
"""

    assert run(probe) == "[] True\n"


# --- any text ---------------------------------------------------------------------------------

NAMES = (
    "p", "div", "ul", "ol", "li", "table", "tr", "td", "th", "pre", "code", "b", "i", "a", "img", "br", "hr", "sup",
    "sub", "h2", "blockquote", "details", "script",
)  # fmt: skip
TAGS = [
    f"<{slash}{name}{attrs}>"
    for name in NAMES
    for slash in ("", "/")
    for attrs in ("", " href='x' src=y alt=\"z\"", "/")
]
SCRAPS = [
    "<", ">", "&", "&lt;", "&#", "\n", "\n\n", "- ", "## ", "`", "```\n", "$", "$$", "|", "\\", "*", "_", "[", "](",
    "<!--", "-->", "<![CDATA[", '"', "'", "word", " ", "中", "\0", "\ud800", "\ufdd0", "&nbsp;", "&amp;lt;",
]  # fmt: skip
SOUP = st.lists(st.one_of(st.sampled_from(TAGS), st.sampled_from(SCRAPS), st.text(max_size=3)), max_size=30).map(
    "".join
)


@given(st.one_of(st.text(), SOUP))
@example("&#" + "9" * 5_000 + ";<p>")
@example("<p>\ud83d\ude00</p>")
def test_no_text_makes_it_raise_or_give_what_cannot_be_sent(text: str) -> None:
    markdown = to_markdown(text)

    assert markdown.strip()
    assert markdown.encode().decode() == markdown


CALM = SOUP.map(lambda text: re.sub(r"[`$~\\!]", "", text))
"""Without code and math, in which tags do not count, and without comments, which would hide a tag."""


@pytest.mark.spec("2.T1.invisible")
@given(CALM, st.sampled_from(["script", "style", "SCRIPT", "template", "noscript"]), CALM)
def test_nothing_of_a_script_survives(before: str, name: str, after: str) -> None:
    markdown = to_markdown(f"{before}<p>x</p><{name} a='b'>SECRET<b>SECRET</b></{name}>{after}<p>y</p>")

    assert "SECRET" not in markdown
    assert f"<{name}" not in re.sub(r"\\<", "", markdown)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_text_without_a_tag_is_untouched(text: str) -> None:
    assume(text.strip("\u200b\u2060\ufeff \n") and text.strip())
    assume(not re.search("<[/a-zA-Z]", text))

    assert to_markdown(text) == text


SIGNS = "ab1 *_`~[]()<>!#+-.|\\=中:\n\"'"
PLACES = [
    "<p>{}</p>", "<p>x {} y</p>", "<p>a<b>{}</b>c</p>", "<p>a <b>{}</b> c</p>", "<p>x<em>{}</em>y</p>",
    "<p>u<b>v</b>{}<i>w</i>t</p>", "<p>a<br>{}</p>", "<p>x_{}_y</p>", "<p>a*{}*b</p>", "<p><code>{}</code></p>",
    "<pre>{}</pre>", "<h2>{}</h2>", "<ul><li>{}</li></ul>", "<ol><li><p>{}</p></li></ol>",
    "<blockquote>{}</blockquote>", "<p><a href='u'>{}</a></p>",
    "<table><tr><th>h</th></tr><tr><td>{}</td></tr></table>",
]  # fmt: skip


@given(st.text(SIGNS, min_size=1, max_size=14), st.sampled_from(PLACES))
def test_a_reader_sees_the_text_that_the_page_has(text: str, place: str) -> None:
    assume(not re.search(r"\\[(\[]", text))  # math begins there, which is not escaped
    page = place.format(html.escape(text))

    markdown = to_markdown(page)

    seen = "".join(html.unescape(re.sub("<[^>]*>", "", page)).split())
    assert shown(markdown) == seen or markdown == NO_DESCRIPTION


WORDS = st.lists(st.integers(0, 99).map("w{}w".format), max_size=3).map(" ".join)


def element(name: str, parts: list[str]) -> str:
    return f"<{name}>{' '.join(parts)}</{name}>"


def rows(cells: list[tuple[str, str]]) -> str:
    return "".join(f"<tr><td>{one}</td><td>{other}</td></tr>" for one, other in cells)


INLINE = st.recursive(
    WORDS,
    lambda inner: st.builds(
        element, st.sampled_from(["b", "i", "code", "span", "del", "sup", "u"]), st.lists(inner, max_size=3)
    ),
    max_leaves=6,
)
BLOCKS = st.recursive(
    st.builds(element, st.sampled_from(["p", "pre", "h3", "span"]), st.lists(INLINE, min_size=1, max_size=3)),
    lambda inner: st.one_of(
        st.builds(element, st.sampled_from(["div", "blockquote", "details", "center"]), st.lists(inner, max_size=3)),
        st.builds(
            element, st.sampled_from(["ul", "ol"]), st.lists(inner.map("<li>{}</li>".format), min_size=1, max_size=3)
        ),
        st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(rows).map("<table>{}</table>".format),
    ),
    max_leaves=8,
)


@given(st.lists(BLOCKS, min_size=1, max_size=4).map("".join))
def test_no_word_of_a_page_is_lost_and_its_markdown_is_final(page: str) -> None:
    markdown = to_markdown(page)

    assert sorted(re.findall(r"w\d+w", shown(markdown))) == sorted(re.findall(r"w\d+w", page))
    assert to_markdown(markdown) == markdown


# --- work -------------------------------------------------------------------------------------

UNITS = [
    "<div>", "<p>x", "</p>", "<b><i>", "<b>x</b>", "<b>x<i>y</b></i>", "<ul><li>x", "<li><p>x", "<blockquote>x",
    "<table><tr><td>x", "<td rowspan=16 colspan=16>x", "<tr><td>x", "<sup>x", "<sub>1</sub>", "<i>y</i><sub>1</sub>",
    "<pre>x", "<pre>`</pre>", "<code>x", "<code>`</code>", "<a href=u>x", "<a href=u>[x", "<img src=x> ", "<br>",
    "<sub><a href=u>",
    "<hr>", "<h2>x", "<details><summary>x", "<x>", "<p a=", '<p a="', "<p a='b' ", "<!--", "<!-- -->", "<?", "</",
    "<script>", "<", "&", "&lt;", "&#x110000;", "a_*`[](", "1. <br>", "[x]: <br>", "\\(", "$x", "```\n", "`<p>",
    "\n\n    <b>x</b>",
]  # fmt: skip
"""Parts of pages that invite more work than their length."""


def calls(page: str) -> int:
    """Return the number of function calls that a conversion takes, those of built-in functions included."""
    count = 0

    def tell(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(tell)
    try:
        to_markdown(page)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("before", ["<p>", "- x "], ids=["HTML", "Markdown"])
@pytest.mark.parametrize("unit", UNITS)
def test_work_grows_no_faster_than_the_page(before: str, unit: str) -> None:
    to_markdown(before + unit)

    short, long = calls(before + unit * 200), calls(before + unit * 800)

    assert long <= 4 * short + 200


def test_the_memory_of_elements_that_never_end_is_bounded() -> None:
    writer = InlineWriter()

    for _ in range(1_000):
        writer.start("sub")
        writer.text("x")
        writer.start("a", "href=u")

    kept = [value for name, value in vars(writer).items() if isinstance(value, Sized) and name != "pieces"]
    assert max(map(len, kept)) <= MAX_OPEN
    assert writer.chars == 1_000


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100_000,
        "<b>x</b>" * 100_000,
        "<p>x" * 100_000,
        "<" * 1_048_576,
        "<p>" + "x<" * 500_000,
        "<!--" * 1_000,
    ],
    ids=["deep", "inline", "blocks", "signs", "text", "comments"],
)
def test_a_page_is_handed_on_in_bounded_pieces(page: str) -> None:
    pieces: list[tuple[str, ...]] = []

    def take(*piece: str) -> None:
        pieces.append(piece)

    feed(page, take, take, take, take)

    assert len(pieces) <= 2 * page.count("<") + len(page) // TEXT_CHARS + 1
    assert sum(len(part) for piece in pieces for part in piece) <= 2 * len(page)
    assert all(len(part) <= TEXT_CHARS for piece in pieces for part in piece)


# --- hostile pages ----------------------------------------------------------------------------

HOSTILE = {
    "nesting": [
        "'<div>' * 100_000 + 'x' + '</div>' * 100_000",
        "'<b><i>' * 150_000 + 'x'",
        "'<ul><li>x' * 110_000",
        "'<blockquote>x' * 80_000",
        "'<table><tr><td>x' * 60_000",
        "'<sup>x' * 150_000",
        "'<p><b><i><u><s>' * 70_000 + 'x'",
        "'<a href=1><p><a href=2><div>x' * 35_000",
        "'- x\\n' + '<div>\\n- x\\n' * 45_000 + '</div>' * 45_000",
        "'<details><summary>x' * 50_000",
        "'<p>x' + '<sub><a href=u>' * 70_000",
    ],
    "tables": [
        "'<table><tr>' + '<td>x' * 80_000 + '<tr><td>y' * 80_000",
        "'<table>' + '<tr><td colspan=1000>x</td></tr>' * 30_000",
        "'<table>' + ('<tr>' + '<td rowspan=65534>x' * 3) * 15_000",
        "'<table><tr><td>' + 'y' * 500_000 + '<tr><td>x' * 50_000",
        "'<table><tr><td>x</td></tr></table>' * 30_000",
        "'<table>' + '<tr>' * 250_000 + 'x'",
    ],
    "floods": [
        "'<' * 1_048_576",
        "'<p>' + '<' * 1_048_576",
        "'<p>x' * 250_000",
        "'<br>x' * 200_000",
        "'<ul>' + '<li>x' * 200_000",
        "'</p>' * 260_000 + 'x'",
        "'<p>' + '<img src=x> ' * 90_000 + 'x'",
        "'<p>' + '<b>x</b> y ' * 90_000",
        "'- x\\n' + '<b>x</b> ' * 110_000",
        "'- x\\n' + '<p>a</p>\\n- x\\n' * 80_000",
        "'<p>' + 'a_*`[](' * 150_000",
        "'x' + '<y>' * 340_000",
    ],
    "attributes": [
        "'<p ' + 'a=1 ' * 260_000 + '>x'",
        "'<p ' + ' '.join(f'a{i}=1' for i in range(100_000)) + '>x'",
        "'<a href=\"' + 'x' * 1_048_576 + '\">y</a>'",
        "'<a href=\"' + 'x' * 1_048_576",
        "'<p>' + '<a b=\"<a b=\\' c=' * 60_000 + '>x'",
        "'<p>' + '<p a=' * 200_000 + '>x'",
        "'<p' + ' ' * 1_048_576 + '>x'",
        "('<a ' + 'a' * 16_000 + '>x') * 60",
        "'<img alt=\"' + '[' * 1_000_000 + '\" src=x>x<p>'",
    ],
    "references": [
        "'<p>' + '&' * 1_048_576",
        "'<p>' + '&amp;' * 200_000",
        "'<p>' + '&lt;' * 250_000",
        "'<p>x&#' + '9' * 1_048_576 + ';'",
        "'<p>x' + '&#x110000;&#xD800;&#0;' * 45_000",
        "'<p>x' + '&nbsp;' * 170_000",
    ],
    "unclosed": [
        "'<p>x' + '<script>' * 130_000",
        "'<p>x<script>' + '</script ' * 110_000",
        "'<p>x' + '<!--' * 260_000 + '>'",
        "'<p>x' + '<!-- a -- b' * 95_000",
        "'<p>x<!--' + '-' * 1_048_576 + '>'",
        "'<p>x' + '<![CDATA[' * 115_000",
        "'<p>x' + '<?' * 500_000",
        "'<pre>x' * 170_000",
        "'<p>x<code>' * 95_000",
        "'<p>x' + '<textarea>' * 100_000",
        "'<p>x</p>' + '</' * 500_000",
    ],
    "code and math": [
        "'<b>x</b>' + ' '.join('`' * run for run in range(1, 1_400))",
        "'<b>x</b>' + '$ ' * 500_000",
        "'<b>x</b>\\n' + '```\\n' * 260_000",
        "'<p>' + chr(92) * 1_048_576",
        "'<p>' + (chr(92) + '(') * 500_000",
        "'<pre>' + '`' * 100_000 + '</pre>'",
        "'<pre>' + chr(10) * 1_048_576 + 'x'",
        "'<b>x</b>' + chr(10) * 1_048_576",
        "'# x\\n' + '$ <p> $ </p>' * 80_000",
        "'# x\\n' + ' '.join('`' * run + ' <p>' for run in range(1, 1_400))",
        "'# x\\n\\n' + '    <b>x</b>\\n\\ny\\n\\n' * 60_000",
        "'- x' + '<i>y</i><sub>1</sub>' * 50_000",
    ],
}
"""Pages of about 1 MiB, as expressions; each page shows an `x`, a `y` or the sign that it consists of.

The first of each kind is converted as it is, the others at a quarter of their length in a quarter of the memory.
"""

CONVERT_ALL = """
import json, re, sys, threading
from signet.toolsets.oj.render import to_markdown
def limit(room):
    if sys.platform == "linux":
        import resource
        taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + room, -1))
answers = []
threading.stack_size(1 << 18)
def convert():
    for number, page in enumerate(json.load(sys.stdin)):
        part = 4 if number else 1
        limit((1 << 30) // part)
        text = to_markdown(eval(re.sub("(?<=[*] )[0-9_]{5,}", lambda times: str(int(times[0]) // part), page)))
        answers.append([len(text), text[:40]])
thread = threading.Thread(target=convert)
thread.start()
thread.join()
print(json.dumps(answers))
"""


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_page_is_converted_in_bounded_room(kind: str) -> None:
    """In a thread with a quarter of a megabyte of stack and a process with a gigabyte of memory for a megabyte."""
    answers = json.loads(run(CONVERT_ALL, json.dumps(HOSTILE[kind])))

    assert len(answers) == len(HOSTILE[kind])
    assert all(size < 5 << 20 for size, _ in answers)
    assert NO_DESCRIPTION not in [text for _, text in answers]
