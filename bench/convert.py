"""Benchmark of HTML to Markdown: a problem statement of 6 KB, converted by Signet and by markdownify.

The statement was written for this benchmark and has the usual parts of such pages: examples, powers and indices,
nested lists, a table, an image. Every conversion gets another page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.contenders import Contender
from bench.frames import WrongAnswerError
from bench.plan import Plan
from bench.rows import SIGNET, Metric, Row, Sheet, rotated

__all__ = ["measure"]

MARKDOWNIFY = "markdownify"
CONVERT = Metric("conversion", "a 6 KB statement, HTML to Markdown", "µs", "less")

_INTRO = """\
<p>A canal has <code>n</code> lock chambers in a row, numbered from <code>1</code> to <code>n</code>. You are given \
a <strong>0-indexed</strong> integer array <code>levels</code> of length <code>n</code>, where <code>levels[i]</code> \
is the height of the water in the <code>i<sup>th</sup></code> chamber, and a 2D array <code>boats</code>, where \
<code>boats[j] = [from<sub>j</sub>, to<sub>j</sub>, draught<sub>j</sub>]</code> describes the <code>j<sup>th</sup>\
</code> boat (voyage {number}).</p>

<p>A boat may pass from chamber <code>a</code> to chamber <code>b</code> when <em>all</em> of these hold:</p>

<ul>
\t<li><code>|a - b| == 1</code>, that is, the chambers are neighbours.</li>
\t<li>The water is deep enough:
\t<ul>
\t\t<li><code>levels[a] &gt;= draught<sub>j</sub></code>, and</li>
\t\t<li><code>levels[b] &gt;= draught<sub>j</sub></code>.</li>
\t</ul>
\t</li>
\t<li>No other boat is in <code>b</code> at that moment.</li>
</ul>

<p>Opening a gate between two chambers <strong>levels them</strong>: both then stand at <code>(levels[a] + levels[b]) \
/ 2</code>, rounded <strong>down</strong>. The boats move one after the other in the order in which they are given, \
and a boat that has reached its last chamber leaves the canal at once. While a boat is on its way, the water of all \
chambers that it has left behind stays where it is; nobody opens a gate there until the next boat has come that far. \
The keeper of the locks knows all voyages in advance and may open any gate before any step, whether or not a boat \
waits at it. A gate at either end of the canal is never opened, so that no water is lost to the river or gained from \
it, and the sum of all levels can only fall by what is rounded away. You may take it that no two boats begin in the \
same chamber, that a boat which stands still needs no water at all, and that the keeper is never in a hurry.</p>

<p>Return <em>the least number of gates to open so that every boat arrives, </em>or <code>-1</code> if some boat never \
can. Since the answer may be large, return it modulo <code>10<sup>9</sup> + 7</code>.</p>

<p><strong>Note:</strong> a gate that was opened stays open for one step&nbsp;only, and costs again afterwards. Two \
gates may be opened in the same step if no chamber lies at both of them; the water then settles at both before any \
boat moves. Rain, evaporation and the wash of the boats are left out of account.</p>

<p>&nbsp;</p>
"""
_EXAMPLE = """\
<p><strong class="example">Example {example}:</strong></p>
<img alt="chambers {example}" src="https://assets.example.org/uploads/canal/{number}/chambers-{example}.png" \
style="width: 420px; height: 180px;" />
<pre>
<strong>Input:</strong> levels = [4,{example},7,3,9,2], boats = [[0,{example},1],[2,5,2],[1,4,{example}]]
<strong>Output:</strong> {example}
<strong>Explanation:</strong>
- Open the gate between chambers 0 and 1: levels = [2,2,7,3,9,2], and the first boat moves on.
- Open the gate between chambers 2 and 3: levels = [2,2,5,5,9,2], and the second boat moves on.
- The third boat waits for one step &amp; passes without a further gate, since 5 &gt;= {example}.
It can be shown that fewer gates are not enough.
</pre>

<div class="example-block">
<p><strong>Input:</strong> <span class="example-io">levels = [1,1,1,{example}], boats = [[0,3,2]]</span></p>

<p><strong>Output:</strong> <span class="example-io">-1</span></p>

<p><strong>Explanation:</strong> The water of chambers 0 to 2 never rises above <code>1</code>, so that a boat with a \
draught of <code>2</code> cannot leave chamber <code>0</code> &mdash; no matter which gates are opened.</p>
</div>
"""
_TABLE = """\
<p>The gates of the first example cost:</p>
<table border="1">
\t<thead>
\t\t<tr>
\t\t\t<th>Step</th>
\t\t\t<th>Gate</th>
\t\t\t<th>Before</th>
\t\t\t<th>After</th>
\t\t</tr>
\t</thead>
\t<tbody>
{rows}
\t</tbody>
</table>
"""
_ROW = "\t\t<tr>\n\t\t\t<td>{0}</td>\n\t\t\t<td>{0} | {1}</td>\n\t\t\t<td>{2}</td>\n\t\t\t<td>{1}</td>\n\t\t</tr>"
_LIMITS = """\
<p>&nbsp;</p>
<p><strong>Constraints:</strong></p>

<ul>
\t<li><code>n == levels.length</code></li>
\t<li><code>2 &lt;= n &lt;= 10<sup>5</sup></code></li>
\t<li><code>0 &lt;= levels[i] &lt;= 10<sup>9</sup></code></li>
\t<li><code>1 &lt;= boats.length &lt;= 2 * 10<sup>4</sup></code></li>
\t<li><code>boats[j].length == 3</code></li>
\t<li><code>0 &lt;= from<sub>j</sub> &lt; to<sub>j</sub> &lt; n</code></li>
\t<li><code>1 &lt;= draught<sub>j</sub> &lt;= 2<sup>31</sup> - 1</code></li>
</ul>

<p>&nbsp;</p>
<strong>Follow-up:</strong> Could you solve it in less than <code>O(n<sup>2</sup>)</code> time? See \
<a href="https://assets.example.org/canal/{number}/hints" target="_blank">the hints</a>.
"""


def page(number: int) -> str:
    """Return a statement; each number gives another."""
    rows = "\n".join(_ROW.format(step, step + number % 7, step * 3) for step in range(1, 6))
    examples = "\n".join(_EXAMPLE.format(example=example, number=number) for example in (1, 2))
    return _INTRO.format(number=number) + examples + _TABLE.format(rows=rows) + _LIMITS.format(number=number)


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Time both converters in turn, in rounds; servers are not needed."""
    del contenders
    from markdownify import markdownify

    from signet.toolsets.oj.render import to_markdown

    converters: dict[str, Callable[[str], str]] = {SIGNET: to_markdown, MARKDOWNIFY: markdownify}
    sheet = Sheet()
    for number in range(plan.stdio_rounds):
        for name in rotated(list(converters), number):
            _convert_us(converters[name], plan.warm_s, plan.max_calls)
            sheet.add(CONVERT, name, _convert_us(converters[name], plan.cell_s, plan.max_calls))
    return sheet.rows((SIGNET, MARKDOWNIFY))


def _convert_us(convert: Callable[[str], str], seconds: float, max_count: int) -> float:
    """Return the mean time of a conversion; pages are built and results are checked while the clock is stopped."""
    total_s, count = 0.0, 0
    while total_s < seconds and count < max_count:
        html = page(10_000_000 + count)
        start = time.perf_counter()
        markdown = convert(html)
        total_s += time.perf_counter() - start
        count += 1
        _check(markdown, count)
    return total_s / count * 1e6


def _check(markdown: str, count: int) -> None:
    """Raise an error unless the Markdown belongs to its page and no tag is left in it."""
    expected = (f"voyage {9_999_999 + count}", "lock chambers", "Explanation:", "| Step |", "Follow-up:")
    missing = [words for words in expected if words not in markdown]
    if missing or "<p>" in markdown or "<code>" in markdown:
        message = f"the converted statement lacks {missing} or has tags: {markdown[:200]!r}"
        raise WrongAnswerError(message)
