"""Contract sets: the input and output schemas of tools, two sets of them compared tool by tool. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from signet.system.text import cut

from .members import changed_members
from .open_objects import Schema
from .verdict import Compare, Side, compare_schemas

__all__ = ["ContractFinding", "ContractTerms", "compare_tools", "is_version", "may_break", "next_breaking", "numbers"]

SIDES: Final[tuple[Side, Side]] = ("input", "output")
UNCHANGED: Final = "unchanged"
MAX_EXAMPLE_CHARS: Final = 300
VERSION: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class ContractTerms(msgspec.Struct, frozen=True):
    """The input and output schemas of one tool; `True` where nothing is promised."""

    input: Schema
    output: Schema


class ContractFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on one side of a tool, or on a tool that was added or removed."""

    tool: str
    side: Side | Literal["both"]
    verdict: Literal["compatible", "breaking", "added", "removed"]
    why: str
    example: Any | UnsetType = UNSET

    @property
    def breaks(self) -> bool:
        """Whether a client of the old set may fail with the new one."""
        return self.verdict in {"breaking", "removed"}

    @property
    def is_change(self) -> bool:
        """Whether the two sets differ here."""
        return self.why != UNCHANGED

    def shown_example(self) -> str:
        """Return the example as JSON, cut where it is long, or an empty text."""
        if self.example is UNSET:
            return ""
        text = msgspec.json.encode(self.example).decode()
        return cut(text, MAX_EXAMPLE_CHARS)


def compare_tools(
    old: Mapping[str, ContractTerms], new: Mapping[str, ContractTerms], compare: Compare = compare_schemas
) -> list[ContractFinding]:
    """Compare each tool of two sets; schemas that somebody else wrote want a comparison with limits."""
    findings: list[ContractFinding] = []
    for name, terms in old.items():
        if name not in new:
            findings.append(ContractFinding(name, "both", "removed", "it is gone"))
            continue
        for side in SIDES:
            before, after = getattr(terms, side), getattr(new[name], side)
            result = compare(before, after, side)
            if result.compatible:
                why = result.why if result.why == UNCHANGED else _with_members(result.why, before, after)
                findings.append(ContractFinding(name, side, "compatible", why))
            else:
                findings.append(ContractFinding(name, side, "breaking", result.why, result.example))
    findings += [ContractFinding(name, "both", "added", "it is new") for name in new if name not in old]
    return findings


def _with_members(why: str, old: Schema, new: Schema) -> str:
    """Return a reason with the names of the members that changed behind its first clause, unless it names another."""
    names = changed_members(old, new)
    if not names:
        return why
    first, _, rest = why.partition("; ")
    clauses = (first, rest, names) if ":" in first else (f"{first}: {names}", rest)
    return "; ".join(filter(None, clauses))


def is_version(text: str) -> bool:
    """Return whether a text is a version: three numbers."""
    return VERSION.fullmatch(text) is not None


def may_break(before: str, after: str) -> bool:
    """Return whether contracts may break between two versions: with a new major one, before 1.0 with a new minor."""
    old, new = numbers(before), numbers(after)
    return new[:2] > old[:2] if old[0] == 0 else new[0] > old[0]


def next_breaking(version: str) -> str:
    """Return the lowest version under which the contracts of another one may break."""
    major, minor, _ = numbers(version)
    return f"{major + 1}.0.0" if major else f"0.{minor + 1}.0"


def numbers(version: str) -> tuple[int, int, int]:
    """Return the numbers of a version; raise ValueError if it is none."""
    match = VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"'{version}' is no version: write three numbers, such as 1.0.0")
    return int(match[1]), int(match[2]), int(match[3])
