"""The sample problems, read from one file each and found by id or slug.

A file is a JSON object with the fields that differ from the defaults, then `=== content` and the statement as it is
served (HTML or Markdown, unchanged), then optionally `=== content_cn`. `"embedded": false` hides the problem from the
search. Links lead to example.com, in a form that `resolve` recognises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import Any, Final

import msgspec

__all__ = ["SOURCES", "ProblemStore", "SampleProblem", "StoredProblem", "identify", "natural_key"]

SOURCES: Final = ("atcoder", "codeforces", "leetcode", "luogu", "spoj")

_SECTION: Final = re.compile(r"^=== (content|content_cn)\n", re.MULTILINE)


class SampleProblem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A problem with the fields of the backend, in the backend's order."""

    id: str
    source: str
    slug: str
    title: str | None
    title_cn: str | None
    difficulty: str | None = None
    ac_rate: float | None = None
    rating: float | None = None
    contest: str | None = None
    problem_index: str | None = None
    tags: list[str]
    link: str | None
    category: str | None = None
    paid_only: int | None = None
    content: str | None = None
    content_cn: str | None = None
    similar_questions: list[str] = []


class StoredProblem(msgspec.Struct, frozen=True):
    """A problem, and whether the search knows it."""

    problem: SampleProblem
    embedded: bool


class ProblemStore:
    """The problems of all sources, each source in the natural order of its ids."""

    def __init__(self, entries: Iterable[StoredProblem]) -> None:
        self.entries = sorted(entries, key=lambda entry: (entry.problem.source, natural_key(entry.problem.id)))
        problems = [entry.problem for entry in self.entries]
        self._by_id = {(problem.source, problem.id): problem for problem in problems}
        self._by_slug = {(problem.source, problem.slug): problem for problem in problems}

    @classmethod
    def load(cls) -> ProblemStore:
        """Read the samples of the package."""
        folder = files(__package__) / "problems"
        return cls(_read_file(path.read_text("utf-8")) for path in folder.iterdir() if path.is_file())

    def find(self, source: str, problem_id: str) -> SampleProblem | None:
        """Return the problem with this exact id, or None."""
        return self._by_id.get((source, problem_id))

    def find_slug(self, source: str, slug: str) -> SampleProblem | None:
        """Return the problem with this exact slug, or None."""
        return self._by_slug.get((source, slug))

    def of(self, source: str) -> list[SampleProblem]:
        """Return the problems of one source."""
        return [entry.problem for entry in self.entries if entry.problem.source == source]

    def counts(self) -> list[dict[str, Any]]:
        """Return the counts of each source that has problems, as `/status` shows them."""
        return [
            {
                "source": source,
                "total": len(entries),
                "missing_content": sum(entry.problem.content is None for entry in entries),
                "not_embedded": sum(not entry.embedded for entry in entries),
            }
            for source in SOURCES
            if (entries := [entry for entry in self.entries if entry.problem.source == source])
        ]


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key that orders numbers in a text by value: P9 before P10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def _read_file(text: str) -> StoredProblem:
    head, *parts = _SECTION.split(text)
    fields: dict[str, Any] = msgspec.json.decode(head)
    embedded = fields.pop("embedded", True)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    problem = msgspec.convert({**fields, **sections}, SampleProblem)
    return StoredProblem(problem, embedded=embedded and problem.content is not None)


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
