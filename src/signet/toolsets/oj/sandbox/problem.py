"""Sample problems as the backend's values: one struct, one file each, one statement made by rule.

A file is a JSON object with the fields that are not the default, then `=== content` and the statement as it is
served (HTML or Markdown, never touched), then perhaps `=== content_cn`. Links lead to example.com, in a form that
`resolve` recognises.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["SOURCES", "SampleFile", "SampleProblem", "read_sample"]

SOURCES: Final = ("atcoder", "codeforces", "leetcode", "luogu", "spoj")

_SECTION: Final = re.compile(r"^=== (content|content_cn)\n", re.MULTILINE)


class SampleProblem(msgspec.Struct, frozen=True):
    """One problem, in the order of the backend's fields."""

    id: str
    source: str
    slug: str
    title: str | None
    title_cn: str | None
    difficulty: str | None
    ac_rate: float | None
    rating: float | None
    contest: str | None
    problem_index: str | None
    tags: list[str]
    link: str | None
    category: str | None
    paid_only: int | None
    content: str | None
    content_cn: str | None
    similar_questions: list[str]


class SampleFile(msgspec.Struct, frozen=True):
    """A problem, and whether the search knows it."""

    problem: SampleProblem
    embedded: bool


class SampleHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of its problem before the statement."""

    source: str
    id: str
    slug: str
    title: str | None
    title_cn: str | None
    tags: list[str]
    difficulty: str | None = None
    ac_rate: float | None = None
    rating: float | None = None
    contest: str | None = None
    problem_index: str | None = None
    link: str | UnsetType | None = UNSET
    category: str | None = None
    paid_only: int | None = None
    similar_questions: list[str] = []
    rule: str | None = None
    """The name of the rule that makes the statement, where none is stored."""
    embedded: bool = True


def read_sample(text: str) -> SampleFile:
    """Read one file."""
    head, *parts = _SECTION.split(text)
    header = msgspec.json.decode(head, type=SampleHeader)
    sections: dict[str, str] = dict(zip(parts[::2], parts[1::2], strict=True))
    content = sections.get("content")
    if header.rule == "logbook":
        from .long_statement import statement

        content = statement()
    fields = msgspec.structs.asdict(header)
    problem = {
        **{name: fields[name] for name in SampleProblem.__struct_fields__ if name in fields},
        "link": _link(header) if header.link is UNSET else header.link,
        "content": content,
        "content_cn": sections.get("content_cn"),
    }
    return SampleFile(SampleProblem(**problem), embedded=header.embedded and content is not None)


def _link(header: SampleHeader) -> str:
    paths = {
        "atcoder": f"atcoder.jp/contests/{header.contest}/tasks/{header.id}",
        "codeforces": f"codeforces.com/problemset/problem/{header.contest}/{header.problem_index}",
        "leetcode": f"leetcode.com/problems/{header.slug}/",
        "luogu": f"luogu.com.cn/problem/{header.id}",
        "spoj": f"luogu.com.cn/problem/{header.id}",
    }
    return f"https://example.com/{paths[header.source]}"
