"""Which problem a text means: a URL, a prefixed id, a bare id or a slug; the first rule that fits wins; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

__all__ = ["UNKNOWN", "identify"]

UNKNOWN: Final = "unknown"
PREFIXES: Final = {"atcoder", "leetcode", "codeforces", "luogu", "uva", "spoj"}

Identity = tuple[str, str]


def identify(text: str) -> Identity:
    """Give the source and the id that a text means; the id of a LeetCode problem may still be its slug."""
    text = text.strip()
    if not text:
        return UNKNOWN, ""
    for pattern, make in URLS:
        if found := pattern.search(text):
            return make(found)
    if "://" in text:
        return UNKNOWN, text
    prefix, colon, rest = text.partition(":")
    if colon and ":" not in rest and prefix.lower() in PREFIXES:
        return prefix.lower(), rest
    for pattern, make in BARE:
        if found := pattern.fullmatch(text):
            return make(found)
    return "leetcode", text


def _luogu_page(found: re.Match[str]) -> Identity:
    """Luogu mirrors other judges under ids of its own."""
    name = found[1].upper()
    if name.startswith("CF"):
        return "codeforces", name[2:]
    if name.startswith("AT"):
        return "atcoder", name.removeprefix("AT_").lower()
    if re.fullmatch(r"SP[0-9]+", name):
        return "spoj", name
    return "luogu", name


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Identity]]


def _rule(pattern: str, make: Callable[[re.Match[str]], Identity]) -> Rule:
    return re.compile(pattern, re.IGNORECASE | re.ASCII), make


URLS: Final = (
    _rule(r"atcoder\.jp/contests/[^/]+/tasks/([^/?#]+)", lambda it: ("atcoder", it[1].lower())),
    _rule(r"leetcode\.(?:com|cn)(?:/contest/[^/]+)?/problems/([^/?#]+)", lambda it: ("leetcode", it[1])),
    _rule(
        r"codeforces\.com/(?:contest/(\d+)/problem|problemset/problem/(\d+))/([a-z]\d*)",
        lambda it: ("codeforces", ((it[1] or it[2]) + it[3]).upper()),
    ),
    _rule(r"luogu\.com\.cn/problem/([^/?#]+)", _luogu_page),
)
"""These may sit anywhere in the text."""

BARE: Final = (
    _rule(r"\d+", lambda it: ("leetcode", it[0])),
    _rule(r"a[brgh]c\d+_[a-z]\d*", lambda it: ("atcoder", it[0].lower())),
    _rule(r"(?:cf)?(\d+[a-z]\d*)", lambda it: ("codeforces", it[1].upper())),
    _rule(r"sp\d+", lambda it: ("spoj", it[0].upper())),
    _rule(r"[pbtu]\d+|at_a[brgh]c\d+_[a-z]\d*|uva\d+", lambda it: ("luogu", it[0].upper())),
)
"""These must be the whole text."""
