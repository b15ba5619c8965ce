"""Words of a text, for an index that holds English and Chinese side by side; pure.

Chinese and Japanese are written without spaces, so a run of them is cut into overlapping pairs of characters.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

__all__ = ["BOILERPLATE", "GLOSSARY", "STOP", "plain", "rewrite", "words"]

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_NOISE: Final = re.compile(r"<[a-z/!][^>]*>|https?://\S+|\\[a-z]+|^#+ .*$", re.IGNORECASE | re.MULTILINE)

STOP: Final = {
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "each", "every", "find",
    "for", "from", "give", "given", "has", "have", "how", "i", "in", "into", "is", "it", "its", "me", "my", "no",
    "not", "of", "on", "or", "out", "print", "problem", "problems", "return", "so", "that", "the", "their", "them",
    "then", "there", "they", "this", "to", "want", "what", "when", "where", "which", "who", "will", "with", "you",
    "your",
}  # fmt: skip
"""Words that say nothing of what is sought."""

BOILERPLATE: Final = STOP | {
    "array", "constraints", "example", "explanation", "input", "integer", "length", "line", "lines", "nbsp", "number",
    "output", "test", "个整", "整数", "一个", "第一", "一行", "两个", "三个", "输出", "输入", "数据", "对于", "提示",
}  # fmt: skip
"""Words that say nothing of what a statement is about."""

GLOSSARY: Final = {
    "shortest path": "最短路",
    "dynamic programming": "动态规划",
    "binary search": "二分",
    "graph": "图论",
    "greedy": "贪心",
    "hash": "哈希",
    "lantern": "灯笼",
    "market": "集市",
    "ferry": "渡口",
    "lighthouse": "灯塔",
    "math": "数学",
    "simulation": "模拟",
}
"""What is one thing in two languages."""

ABBREVIATIONS: Final = {"dp": "dynamic programming", "bfs": "breadth first search", "gcd": "greatest common divisor"}


def words(text: str) -> list[str]:
    """Cut a text into words of the index, in order."""
    found: list[str] = []
    for run in _RUN.findall(text.lower()):
        if re.match(f"[{_CJK}]", run) and len(run) > 1:
            found += [run[place : place + 2] for place in range(len(run) - 1)]
        else:
            found.append(run)
    return found


def plain(content: str) -> str:
    """Take tags, entities, headings, addresses and formula commands out of a statement."""
    return unescape(_NOISE.sub(" ", content))


def rewrite(query: str) -> list[tuple[str, ...]]:
    """Turn a query into what it asks for: each item one thing, said in one way or in two languages."""
    text = " ".join(ABBREVIATIONS.get(run, run) for run in _RUN.findall(query.lower()))
    items: list[tuple[str, ...]] = []
    for english, chinese in GLOSSARY.items():
        spelt = re.compile(rf"\b{english}(?:e?s)?\b|{chinese}")
        if spelt.search(text):
            items.append((english, chinese))
            text = spelt.sub(" ", text)
    rest = [run for run in _RUN.findall(text) if run not in STOP]
    return items + [(run,) for run in dict.fromkeys(rest)]
