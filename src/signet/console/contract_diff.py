"""The comparison of two contract sets, as the view Contracts shows it. Pure, and quickly loaded: it runs in a child."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from signet.compatibility.contract_set import ContractFinding, ContractTerms, compare_tools

from .shown import Shown

__all__ = [
    "ContractChange",
    "ContractsDiff",
    "Question",
    "SchemaChange",
    "ToolTerms",
    "answer",
    "answered",
    "schema_changes",
]

MAX_CHANGES: Final = 200
"""The number of places that are shown for one side of one tool."""
MAX_PATH_CHARS: Final = 500_000
"""The characters of all paths in one answer: below a long path there may be many places."""

Schema = dict[str, Any] | bool
Link = tuple["Link", str] | None
"""A place in a schema: the place around it, and its name there. Places share what is around them."""


class ToolTerms(Shown, frozen=True):
    """The two schemas of a tool; `true` where nothing is promised."""

    input: Schema
    output: Schema = True


class Question(msgspec.Struct, frozen=True):
    """Two sets to compare."""

    old: dict[str, ToolTerms]
    new: dict[str, ToolTerms]
    not_served: list[str]
    """The tools that are left out of the old set."""


class SchemaChange(Shown, frozen=True):
    """One place at which two schemas differ."""

    path: list[str]
    kind: str
    """`added`, `removed` or `changed`."""
    before: Any = None
    after: Any = None


class ContractChange(Shown, frozen=True):
    """What became of one side of a tool, or of a tool that came or went."""

    tool: str
    side: str
    verdict: str
    """`compatible`, `breaking`, `added` or `removed`."""
    why: str
    breaks: bool
    is_change: bool
    changes: list[SchemaChange]
    has_example: bool = False
    example: Any = None


class ContractsDiff(Shown, frozen=True):
    """The comparison of two sets."""

    breaks: bool
    findings: list[ContractChange]
    not_served: list[str]
    """The tools of a tagged release that this server was not told to serve: nothing is said of them."""


def answered(question: bytes) -> bytes:
    """Compare two sets, in the child."""
    return msgspec.json.encode(answer(msgspec.json.decode(question, type=Question)))


def answer(question: Question) -> ContractsDiff:
    """Compare two sets."""
    findings = compare_tools(_as_terms(question.old), _as_terms(question.new))
    shown: list[ContractChange] = []
    left = MAX_PATH_CHARS
    for finding in findings:
        changes = _changes(finding, question, left)
        left -= sum(_length(change.path) for change in changes)
        shown.append(_shown(finding, changes))
    return ContractsDiff(any(finding.breaks for finding in findings), shown, question.not_served)


def _as_terms(tools: Mapping[str, ToolTerms]) -> dict[str, ContractTerms]:
    return {name: ContractTerms(terms.input, terms.output) for name, terms in tools.items()}


def _changes(finding: ContractFinding, question: Question, max_chars: int) -> list[SchemaChange]:
    if finding.side == "both" or not finding.is_change:
        return []
    before, after = (getattr(tools[finding.tool], finding.side) for tools in (question.old, question.new))
    return schema_changes(before, after, max_chars)


def _shown(finding: ContractFinding, changes: list[SchemaChange]) -> ContractChange:
    return ContractChange(
        tool=finding.tool,
        side=finding.side,
        verdict=finding.verdict,
        why=finding.why,
        breaks=finding.breaks,
        is_change=finding.is_change,
        changes=changes,
        has_example=finding.example is not UNSET,
        example=None if finding.example is UNSET else finding.example,
    )


def schema_changes(before: Any, after: Any, max_chars: int = MAX_PATH_CHARS) -> list[SchemaChange]:
    """Return the places at which two schemas differ, descriptions too.

    Only the first are returned where there are many, or where their paths are longer than so many characters.
    """
    changes: list[SchemaChange] = []
    waiting: list[tuple[Link, Any, Any]] = [(None, before, after)]
    while waiting and len(changes) < MAX_CHANGES:
        place, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            names = reversed(list(dict.fromkeys((*old, *new))))
            waiting += [((place, name), old.get(name, UNSET), new.get(name, UNSET)) for name in names]
        elif old is UNSET or new is UNSET or old != new or isinstance(old, bool) != isinstance(new, bool):
            path = _path(place)
            max_chars -= _length(path)
            if max_chars < 0:
                break
            changes.append(_change(path, old, new))
    return changes


def _change(path: list[str], old: Any, new: Any) -> SchemaChange:
    if old is UNSET:
        return SchemaChange(path, "added", after=new)
    if new is UNSET:
        return SchemaChange(path, "removed", before=old)
    return SchemaChange(path, "changed", old, new)


def _path(place: Link) -> list[str]:
    path = []
    while place is not None:
        place, name = place
        path.append(name)
    return path[::-1]


def _length(path: list[str]) -> int:
    return len(path) + sum(map(len, path))
