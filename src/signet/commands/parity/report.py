"""The board: for each call, which ways agree and which does not. Pure."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code

from .corpus import CorpusCall

__all__ = ["OK", "SAME", "Difference", "Observation", "ParityReport", "ReportRow", "compare"]

OK: Final = "OK"
SAME: Final = "same"
NOBODY: Final = "NOBODY"
"""Stands against the ways of a call that none of them answered."""
MAX_DIFF_LINES: Final = 120
MAX_LINE_CHARS: Final = 400


class Observation(msgspec.Struct, frozen=True):
    """What one way made of one call."""

    result: Any
    code: str | None
    record: dict[str, Any] | None

    @property
    def is_whole(self) -> bool:
        """Whether it is an answer, with a record to go with it."""
        return self.record is not None and (self.code is None or self.code in list(Code))

    def text(self) -> str:
        """Write all of it, so that equal texts are equal calls."""
        return json.dumps(msgspec.to_builtins(self), indent=2, ensure_ascii=False)


class ReportRow(msgspec.Struct, frozen=True):
    """One call over all ways."""

    name: str
    tool: str
    outcome: str
    """What most ways say: OK, or a canonical code."""
    ways: dict[str, str]
    """For each way `same`, or what it has of its own: its code, or where it differs (`result`, `record`)."""

    @property
    def agrees(self) -> bool:
        """Whether all say the same."""
        return all(cell == SAME for cell in self.ways.values())


class Difference(msgspec.Struct, frozen=True):
    """One way against the others."""

    call: str
    way: str
    against: str
    fields: list[str]
    """Where they differ, as paths."""
    diff: str


class ParityReport(msgspec.Struct, frozen=True):
    """What came of a corpus."""

    ways: list[str]
    rows: list[ReportRow]
    first: Difference | None

    @property
    def agrees(self) -> bool:
        """Whether every way says the same of every call."""
        return self.first is None


def compare(calls: list[CorpusCall], ways: list[str], heard: list[list[Observation]]) -> ParityReport:
    """Hold the ways against each other: for each call, what most of them say is what the others are held to."""
    rows: list[ReportRow] = []
    first: Difference | None = None
    for asked, one in zip(calls, heard, strict=True):
        against, base = _base(ways, one)
        cells = [_mark(base, each) for each in one]
        rows.append(ReportRow(asked.name, asked.tool, base.code or OK, dict(zip(ways, cells, strict=True))))
        odd = next((place for place, cell in enumerate(cells) if cell != SAME), None)
        if odd is not None and first is None:
            first = _difference(asked, (against, base), (ways[odd], one[odd]))
    return ParityReport(ways, rows, first)


def _base(ways: list[str], one: list[Observation]) -> tuple[str, Observation]:
    """Give what most ways say, and the first that says it; what is no answer counts for nothing, however many agree."""
    texts = [each.text() for each in one if each.is_whole]
    if not texts:
        return NOBODY, Observation(None, NOBODY, None)
    most = Counter(texts).most_common(1)[0][0]
    return next((way, each) for way, each in zip(ways, one, strict=True) if each.text() == most)


def _mark(base: Observation, other: Observation) -> str:
    if base.code != other.code:
        return other.code or OK
    if _text(base.result) != _text(other.result):
        return "result"
    return SAME if _text(base.record) == _text(other.record) else "record"


def _difference(asked: CorpusCall, base: tuple[str, Observation], odd: tuple[str, Observation]) -> Difference:
    fields = list(_paths(msgspec.to_builtins(base[1]), msgspec.to_builtins(odd[1]), ""))
    lines = difflib.unified_diff(
        base[1].text().splitlines(), odd[1].text().splitlines(), base[0], odd[0], lineterm="", n=3
    )
    shown = [line if len(line) <= MAX_LINE_CHARS else line[:MAX_LINE_CHARS] + "…" for line in lines]
    more = [f"… {len(shown) - MAX_DIFF_LINES} more lines"] if len(shown) > MAX_DIFF_LINES else []
    return Difference(asked.name, odd[0], base[0], fields, "\n".join(shown[:MAX_DIFF_LINES] + more))


def _paths(one: Any, other: Any, at: str) -> list[str]:
    """Name the places where two values differ, as deep as both are objects."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        found = [
            path
            for name in names
            for path in _paths(one.get(name), other.get(name), f"{at}.{name}" if at else str(name))
        ]
        return found or ([] if list(one) == list(other) else [at])
    return [] if _text(one) == _text(other) else [at]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
