"""The sample problems, read from one file each and found by id or slug.

A file is a JSON object with the fields that differ from the defaults, then `=== content` and the statement as it is
served (HTML or Markdown, unchanged), then optionally `=== content_cn`. `"embedded": false` hides the problem from the
search. Links lead to example.com, in a form that `resolve` recognises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final

import msgspec

__all__ = ["SOURCES", "ProblemStore", "SampleProblem", "StoredProblem", "natural_key"]

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
    problem = msgspec.convert({"link": _link(fields), **fields, **sections}, SampleProblem)
    return StoredProblem(problem, embedded=embedded and problem.content is not None)


def _link(fields: dict[str, Any]) -> str:
    contest, index, slug = (fields.get(name) for name in ("contest", "problem_index", "slug"))
    paths = {
        "atcoder": f"atcoder.jp/contests/{contest}/tasks/{fields['id']}",
        "codeforces": f"codeforces.com/problemset/problem/{contest}/{index}",
        "leetcode": f"leetcode.com/problems/{slug}/",
        "luogu": f"luogu.com.cn/problem/{fields['id']}",
        "spoj": f"luogu.com.cn/problem/{fields['id']}",
    }
    return f"https://example.com/{paths[fields['source']]}"
