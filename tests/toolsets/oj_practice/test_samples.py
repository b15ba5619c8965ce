"""Samples as data: what a statement marks as input and output, in every style of the five judges, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import UpstreamResponse
from signet.toolsets.oj.judges import explained
from signet.toolsets.oj.models import FullProblem
from signet.toolsets.oj.sandbox.problem_store import ProblemStore
from signet.toolsets.oj_practice.limits import RunLimits, limits_of
from signet.toolsets.oj_practice.samples import MAX_CHARS, MAX_SAMPLES, samples_of
from signet.toolsets.oj_practice.statement import parts_of
from signet.toolsets.oj_practice.tools import read_samples, samples_out

EXPECTED: dict[str, Any] = json.loads((Path(__file__).parent / "samples.json").read_text("utf-8"))
"""The samples of each sample problem, written down by hand from its statement; or why there are none."""

PROBLEMS = {f"{entry.problem.source}/{entry.problem.id}": entry.problem for entry in ProblemStore.load().entries}


def triples(content: str) -> list[tuple[str, str, str | None]]:
    return [(sample.input, sample.output, sample.explanation) for sample in samples_of(content).samples]


def test_the_hand_made_list_has_every_sample_problem() -> None:
    assert EXPECTED.keys() == PROBLEMS.keys()


@pytest.mark.parametrize("key", PROBLEMS)
def test_the_samples_of_each_sample_problem(key: str) -> None:
    problem = PROBLEMS[key]

    out = samples_out(
        FullProblem(id=problem.id, source=problem.source, content=problem.content, paid_only=problem.paid_only)
    )

    expected = EXPECTED[key]
    samples = [[sample.input, sample.output, sample.explanation] for sample in out.samples]
    assert (samples, out.reason) == (([], expected) if isinstance(expected, str) else (expected, None))


STYLES = {
    "AtCoder, HTML": (
        (
            "<section><h3>Input</h3><pre>N\nA_1 A_2</pre></section>"
            "<section><h3>Sample Input 1</h3><pre>2\n1 &lt; 2\n</pre></section>"
            "<section><h3>Sample Output 1</h3><pre>3\n</pre><p>Both <var>A</var> count.</p></section>"
            "<section><h3>Sample Input 2</h3><pre>1\n5\n</pre></section>"
            "<section><h3>Sample Output 2</h3><pre>5</pre></section>"
        ),
        [("2\n1 < 2", "3", "Both A count."), ("1\n5", "5", None)],
    ),
    "AtCoder, Japanese": (
        (
            "### 入力\n```\nN\n```\n### 入力例 1\n```\n7\n```\n### 出力例 1\n```\n8\n```\n### 入力例 2\n```\n1\n```\n"
            "### 出力例 2\n```\n2\n```\n"
        ),
        [("7", "8", None), ("1", "2", None)],
    ),
    "Codeforces, HTML": (
        (
            '<p>Text.</p><div class="sample-tests"><div class="section-title">Examples</div><div class="sample-test">'
            '<div class="input"><div class="title">Input</div><pre>2\n3 4\n</pre></div>'
            '<div class="output"><div class="title">Output</div><pre>7\n</pre></div>'
            '<div class="input"><div class="title">Input</div><pre><div class="test-example-line">1</div>'
            '<div class="test-example-line">9</div></pre></div>'
            '<div class="output"><div class="title">Output</div><pre>9</pre></div></div></div>'
            '<div class="note"><div class="section-title">Note</div><p>It is about both.</p></div>'
        ),
        [("2\n3 4", "7", None), ("1\n9", "9", None)],
    ),
    "Codeforces, Markdown": (
        "## Input\n\nA number.\n\n```\nN\n```\n\n## Example\n\n### Input\n\n```\n1\n```\n\n### Output\n\n```\n2\n```\n",
        [("1", "2", None)],
    ),
    "LeetCode, a class": (
        (
            '<p>Design it.</p><p><strong class="example">Example 1:</strong></p><pre><strong>Input</strong>\n'
            '["Bell", "ring"]\n[[], [3]]\n<strong>Output</strong>\n[null, 3]\n\n<strong>Explanation</strong>\n'
            "Bell bell = new Bell();\nbell.ring(3); // 3\n</pre><p><strong>Constraints:</strong></p><p>None.</p>"
        ),
        [('["Bell", "ring"]\n[[], [3]]', "[null, 3]", "Bell bell = new Bell();\nbell.ring(3); // 3")],
    ),
    "LeetCode, several lines": (
        "<p><b>Example 1:</b></p><pre><strong>Input:</strong> grid = [\n  [1]\n]\n<strong>Output:</strong> 1</pre>",
        [("grid = [\n  [1]\n]", "1", None)],
    ),
    "Luogu, new": (
        (
            "## 输入格式\n\n一。\n\n## 输入输出样例 #1\n\n### 输入 #1\n\n```\n1\n```\n\n### 输出 #1\n\n```\n2\n```\n\n"
            "## 说明/提示\n\n【样例解释】\n"
        ),
        [("1", "2", None)],
    ),
    "Luogu, explained": (
        "### 样例输入 #1\n```\n1\n```\n### 样例输出 #1\n```\n2\n```\n### 样例解释 #1\n一加一。\n",
        [("1", "2", "一加一。")],
    ),
    "SPOJ, HTML": (
        "<p>Sum.</p><h3>Example</h3><pre><strong>Input:</strong>\n1 2\n\n<strong>Output:</strong>\n3</pre>",
        [("1 2", "3", None)],
    ),
    "HTML whose sample has a line like a heading": (
        "<div>Sample Input 1</div><pre>\n# #\n.. #\n</pre><div>Sample Output 1</div><pre>\n2\n</pre>",
        [("# #\n.. #", "2", None)],
    ),
    "tabs, blank lines and blanks at the ends of lines": (
        "## Sample Input 1\n```\n\n3 \na\tb\n```\n## Sample Output 1\n```\n\tx\n```\n",
        [("\n3 \na\tb", "\tx", None)],
    ),
    "code that is indented by a tab": (
        "### Example\n\n**Input:**\n\n\t1\t2\n\n**Output:**\n\n\t3\n",
        [("1\t2", "3", None)],
    ),
    "an explanation that speaks of outputs": (
        "<p><b>Example:</b></p><pre><b>Input:</b> n = 1\n<b>Output:</b> 2\n<b>Explanation:</b> see\nOutput: two.</pre>",
        [("n = 1", "2", "see\nOutput: two.")],
    ),
    "indentation and blank lines of a sample": (
        "## Sample Input 1\n\n```\n  a\n\n    b\n```\n\n## Sample Output 1\n\n~~~\n x\n~~~\n",
        [("  a\n\n    b", " x", None)],
    ),
    "a fence within a longer fence": (
        "## Sample Input\n````\n```\n````\n## Sample Output\n```\nok\n```\n",
        [("```", "ok", None)],
    ),
    "a table of numbered samples outside of a section": (
        "| Sample | Input | Output |\n|---|---|---|\n| 1 | 2 | 3 |\n| 2 | 4 | 5 |\n\nText.\n",
        [("2", "3", None), ("4", "5", None)],
    ),
    "a table whose rows are the lines of one sample": (
        "## Example\n\n| Input | Output |\n|---|---|\n| 1 | 2 |\n| 3 |  |\n| 4 |\n",
        [("1\n3\n4", "2", None)],
    ),
    "a table of one row, with the output first": (
        "## Example\n\n| Output | Input |\n|---|---|\n| 1 | 2 |\n",
        [("2", "1", None)],
    ),
    "a table with the output first, of which an input is shorter": (
        "## Example\n\n| Output | Input |\n|---|---|\n| 1 | 2 |\n| 3 |\n",
        [("2", "1\n3", None)],
    ),
    "a note about one sample": (
        "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n## Note\n\nIt is one more.\n\n- first\n",
        [("1", "2", "It is one more.\n- first")],
    ),
    "a named input makes a plain output behind it a label": (
        "## Sample Input\n```\n1\n```\n\nOutput\n\n```\n2\n```\n\nText.\n",
        [("1", "2", None)],
    ),
    "a note about two samples": (
        "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n" * 2 + "## Note\n\nIt is about both.\n",
        [("1", "2", None), ("1", "2", None)],
    ),
    "items are no labels": (
        "**Example 1:**\n\nInput: 1\n\nOutput: 2\n\n- Input: 3\n- Output: 4\n",
        [("1", "2", None)],
    ),
    "items of a page are no labels": (
        (
            "<p><b>Example 1:</b></p><p>Input: 1</p><p>Output: 2</p>"
            "<ul><li>Input: 3</li><li>Output: 4</li></ul><p>Text.</p>"
        ),
        [("1", "2", None)],
    ),
    "a paragraph of an explanation that speaks of an output": (
        "<p><b>Example 1:</b></p><p>Input: 1</p><p>Output: 2</p><p>Explanation: see</p><p>Output: two.</p>",
        [("1", "2", "see\nOutput: two.")],
    ),
    "an explanation in two parts": (
        "**Example 1:**\n\nInput: 1\n\nOutput: 2\n\nExplanation: a\n\n**Explanation**\n\nb\n",
        [("1", "2", "a\nb")],
    ),
    "a hint is no explanation": (
        "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n## Hint\n\nIt is one more.\n",
        [("1", "2", None)],
    ),
    "text behind a plain output explains nothing": (
        "## Example\n\nInput\n\n```\n1\n```\n\nOutput\n\n```\n2\n```\n\nText.\n",
        [("1", "2", None)],
    ),
    "code behind an output explains it": (
        "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n```\n1 + 1\n```\n",
        [("1", "2", "1 + 1")],
    ),
    "an output of several lines on its label's line": (
        "<p><b>Example 1:</b></p><pre><b>Input:</b> a\nb\n<b>Output:</b> c\nd\n<b>Explanation:</b> e\nf</pre>",
        [("a\nb", "c\nd", "e\nf")],
    ),
    "labels in bold behind which a remark stands": (
        "## Examples\n\n**Input** (stdin)\n\n```\n1\n```\n\n**Output** (stdout)\n\n```\n2\n```\n",
        [("1", "2", None)],
    ),
    "a heading that is no label ends the samples": (
        "## Example\n\n### Input\n```\n1\n```\n### Output\n```\n2\n```\n## RunLimits\n\n### Input\n```\n3\n```\n",
        [("1", "2", None)],
    ),
    "a constraint ends the samples": (
        "**Example 1:**\n\nInput: 1\n\nOutput: 2\n\n**Constraints:**\n\nInput: 5\n",
        [("1", "2", None)],
    ),
    "an explanation behind the end of the samples": (
        "### 样例输入\n```\n1\n```\n### 样例输出\n```\n2\n```\n## 说明/提示\n\n### 样例解释\n\n一加一。\n",
        [("1", "2", "一加一。")],
    ),
    "a note behind another section, up to a constraint": (
        (
            "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n## RunLimits\n\nNone.\n\n"
            "## Note\n\nIt is one more.\n\n**Constraints:**\n\nIt is small.\n"
        ),
        [("1", "2", "It is one more.")],
    ),
    "explanations of two samples": (
        (
            "**Example 1:**\n\nInput: 1\n\nOutput: 2\n\nExplanation: one\n\n**Example 2:**\n\nInput: 3\n\n"
            "Output: 4\n\nExplanation: two\n\nand more\n"
        ),
        [("1", "2", "one"), ("3", "4", "two\nand more")],
    ),
    "lines that end as Windows writes them": (
        "## Sample Input 1\r\n\r\n```\r\n1\r\n2\r\n```\r\n\r\n## Sample Output 1\r\n\r\n```\r\n3\r\n```\r\n",
        [("1\n2", "3", None)],
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_the_judges(style: str) -> None:
    content, expected = STYLES[style]

    assert triples(content) == expected


@pytest.mark.parametrize(("length", "is_label"), [(40, True), (41, False)])
def test_a_label_in_bold_has_at_most_40_characters(length: int, is_label: bool) -> None:
    label = f"**Input** {'x' * (length - 10)}"

    found = samples_of(f"## Example\n\n{label}\n\n```\n1\n```\n")

    assert (found.reason == "sample 1 shows no output") is is_label


UNCERTAIN = {
    "a format is no sample": ("## Input\n```\nN\n```\n## Output\n```\nX\n```\n", "the statement shows no samples"),
    "prose is no sample": ("Input is large. Output: nothing.", "the statement shows no samples"),
    "an input without an output": ("## Sample Input 1\n```\n1\n```\n", "sample 1 shows no output"),
    "an output without an input": ("## Sample Output 1\n```\n1\n```\n", "sample 1 shows no input"),
    "a sample that is a picture": (
        "## Example\n\nInput\n\n![x](y.png)\n",
        "the statement has examples, but does not mark their input and output",
    ),
    "rows that may be lines or samples": (
        "## Example\n\n| Input | Output |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        "the samples stand in a table that does not say which lines belong together",
    ),
    "a table outside of a section": (
        "| Input | Output |\n|---|---|\n| 1 | 2 |\n",
        "the statement shows no samples",
    ),
    "text behind the name of a section": ("Example 1:\nIt is easy.", None),
    "a table of samples without any": ("| Sample | Input | Output |\n|---|---|---|\n", None),
    "a table without rows": ("<p>Text.</p><h3>Example</h3><table></table>", None),
    "an explanation of nothing": ("Explanation: why", "the statement shows no samples"),
    "a sentence that begins like a label": ("Sample Input files are large.", "the statement shows no samples"),
    "another table": ("## Example\n\n| day | tide |\n|---|---|\n| 1 | 2 |\n", None),
}


@pytest.mark.parametrize("case", UNCERTAIN)
def test_nothing_is_guessed(case: str) -> None:
    content, reason = UNCERTAIN[case]

    found = samples_of(content)

    assert found.samples == []
    assert found.reason == (reason or "the statement has examples, but does not mark their input and output")


def test_whole_samples_are_given_beside_one_that_is_not() -> None:
    found = samples_of(
        "## Sample Input 1\n```\n1\n```\n## Sample Output 1\n```\n2\n```\n## Sample Input 2\n```\n3\n```\n"
    )

    assert [(sample.input, sample.output) for sample in found.samples] == [("1", "2")]
    assert found.reason == "sample 2 shows no output"


def test_the_text_that_a_later_sample_lacks_is_named() -> None:
    whole, output = "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n", "## Sample Output\n```\n3\n```\n"

    assert samples_of(whole + output).reason == "sample 2 shows no input"


def test_the_number_of_samples_has_a_bound() -> None:
    one = "## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n"

    found = samples_of(one * (MAX_SAMPLES + 1))

    assert len(found.samples) == MAX_SAMPLES
    assert found.reason == "the statement has 51 samples; these are the first"


def test_fifty_samples_are_all_given() -> None:
    found = samples_of("## Sample Input\n```\n1\n```\n## Sample Output\n```\n2\n```\n" * 50)

    assert (len(found.samples), found.reason) == (50, None)


def test_a_statement_of_131072_characters_is_read_whole() -> None:
    assert samples_of("a" * 131_072).reason == "the statement shows no samples"
    assert samples_of("a" * 131_073).reason == "only the first 131072 characters of the statement were read"


def test_a_statement_that_is_read_in_part_says_so() -> None:
    assert samples_of("a" * (MAX_CHARS + 1)).reason == "only the first 131072 characters of the statement were read"


HOSTILE = {
    "backticks": "`",
    "cells": "|`",
    "labels": "Sample Input 1\n",
    "blanks": " ",
    "blank lines": "\n",
    "fences": "```\n",
    "open blocks": "<pre>\n",
    "paragraphs": "text\n\n",
    "open rows": "<table><tr><td>",
    "tabs": "\t",
}


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_statement_of_full_size_is_read_to_its_end(piece: str) -> None:
    """As much as is read of any statement; how its parts grow with their size is tried below."""
    text = "## Sample Output\n|a|b|\n|-|-|\n" + HOSTILE[piece] * (MAX_CHARS // len(HOSTILE[piece])) + "x</p>"

    assert samples_of(text[-MAX_CHARS:]).samples == []
    assert limits_of(text) == RunLimits(None, None)


@pytest.mark.parametrize("piece", ["<pre>\n", "<pre", "<pre>x</pre ", "</pre ", "<table><tr><td>"])
@pytest.mark.parametrize("beginning", ["", "## Sample Output\n"], ids=["page", "Markdown"])
def test_what_is_opened_and_never_closed_is_not_looked_for_again_and_again(beginning: str, piece: str) -> None:
    """Square growth would take hours here: the time limit of every test ends it."""
    size = 4 << 20

    parts = parts_of(beginning + piece * (size // len(piece)) + "x</p>")

    assert sum(len(part.text) for part in parts) <= size + len(beginning + "x")


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("**time limit per test:** 1 second\n**memory limit per test:** 256 megabytes", RunLimits(1000, 256)),
        ("<div>time limit per test</div>2.5 seconds<div>memory limit per test</div>64 megabytes", RunLimits(2500, 64)),
        ("Time Limit: 2 sec / Memory Limit: 1024 MB", RunLimits(2000, 1024)),
        ("Time limit: 500 ms\nMemory limit: 1 GB", RunLimits(500, 1024)),
        ("时间限制：1.00s 内存限制：125.00MB", RunLimits(1000, 125)),
        ("时间限制 1.00s ~ 3.00s", RunLimits(None, None)),
        ("There is no time limit for love.", RunLimits(None, None)),
        ("时间限制: 1500 毫秒 空间限制: 512000 KB", RunLimits(1500, 500)),
        ("実行時間制限: 2秒 メモリ制限: 999424 KiB", RunLimits(2000, 976)),
        ("Time limit: 10 milliseconds\nMemory limit: 2 GiB", RunLimits(10, 2048)),
        ("Memory limit: 1.5 gigabytes", RunLimits(None, 1536)),
        ("Time limit: 1 to 3 s", RunLimits(None, None)),
        (" " * 19_984 + "Time limit: 2 ms", RunLimits(2, None)),
        (" " * 19_985 + "Time limit: 2 ms", RunLimits(None, None)),
        ("", RunLimits(None, None)),
    ],
)
def test_limits_are_read_where_they_are_stated(text: str, limits: RunLimits) -> None:
    assert limits_of(text) == limits


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (
            400,
            {"title": "Bad Request", "detail": "invalid source: x"},
            Code.INVALID_INPUT,
            "codeforces (1900A), atcoder",
        ),
        (404, {"title": "Not Found", "detail": "problem not found"}, Code.NOT_FOUND, "resolve_problem finds"),
        (403, {"title": "Forbidden", "detail": "no"}, Code.UNAUTHORIZED, "a contest that is running may be refused"),
        (503, {"title": "Busy", "detail": "later"}, Code.INTERNAL_ERROR, "[503] Busy: later"),
    ],
)
def test_a_refusal_says_what_to_do(status: int, body: dict[str, str], code: Code, words: str) -> None:
    response = UpstreamResponse(status, "application/problem+json", json.dumps({**body, "status": status}).encode())

    with pytest.raises(Fault) as caught:
        read_samples(response)

    assert (caught.value.code, caught.value.as_tool_result) == (code, True)
    assert f"[{status}] {body['title']}: {body['detail']}" in caught.value.message
    assert words in caught.value.message


def test_a_fault_that_nobody_can_mend_stays_as_it_is() -> None:
    fault = Fault(Code.INTERNAL_ERROR, "request failed: nothing")

    assert explained(fault, 0) is fault
