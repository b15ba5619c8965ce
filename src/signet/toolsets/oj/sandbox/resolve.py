"""Recognise the problem that a text names: a URL, a prefixed id, a bare id or a slug; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

__all__ = ["identify"]

UNKNOWN: Final = "unknown"
PREFIXES: Final = {"atcoder", "leetcode", "codeforces", "luogu", "uva", "spoj"}

Identity = tuple[str, str]
"""A source and a problem id."""

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Identity]]


def identify(text: str) -> Identity:
    """Return the source and the id by the first rule that matches; a LeetCode id may still be a slug."""
    text = text.strip()
    if not text:
        return UNKNOWN, ""
    for pattern, make in URLS:
        if match := pattern.search(text):
            return make(match)
    if "://" in text:
        return UNKNOWN, text
    prefix, colon, rest = text.partition(":")
    if colon and ":" not in rest and prefix.lower() in PREFIXES:
        return prefix.lower(), rest
    for pattern, make in BARE:
        if match := pattern.fullmatch(text):
            return make(match)
    return "leetcode", text


def _luogu_page(match: re.Match[str]) -> Identity:
    """Return the origin of a Luogu page, which may mirror a problem of another judge."""
    name = match[1].upper()
    if name.startswith("CF"):
        return "codeforces", name[2:]
    if name.startswith("AT"):
        return "atcoder", name.removeprefix("AT_").lower()
    if re.fullmatch(r"SP[0-9]+", name):
        return "spoj", name
    return "luogu", name


def _rule(pattern: str, make: Callable[[re.Match[str]], Identity]) -> Rule:
    return re.compile(pattern, re.IGNORECASE | re.ASCII), make


URLS: Final = (
    _rule(r"atcoder\.jp/contests/[^/]+/tasks/([^/?#]+)", lambda match: ("atcoder", match[1].lower())),
    _rule(r"leetcode\.(?:com|cn)(?:/contest/[^/]+)?/problems/([^/?#]+)", lambda match: ("leetcode", match[1])),
    _rule(
        r"codeforces\.com/(?:contest/(\d+)/problem|problemset/problem/(\d+))/([a-z]\d*)",
        lambda match: ("codeforces", ((match[1] or match[2]) + match[3]).upper()),
    ),
    _rule(r"luogu\.com\.cn/problem/([^/?#]+)", _luogu_page),
)
"""Patterns that may match anywhere in the text."""

BARE: Final = (
    _rule(r"\d+", lambda match: ("leetcode", match[0])),
    _rule(r"a[brgh]c\d+_[a-z]\d*", lambda match: ("atcoder", match[0].lower())),
    _rule(r"(?:cf)?(\d+[a-z]\d*)", lambda match: ("codeforces", match[1].upper())),
    _rule(r"sp\d+", lambda match: ("spoj", match[0].upper())),
    _rule(r"[pbtu]\d+|at_a[brgh]c\d+_[a-z]\d*|uva\d+", lambda match: ("luogu", match[0].upper())),
)
"""Patterns that must match the whole text."""
