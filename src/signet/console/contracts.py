"""Contracts: what changed between two contract sets, with the example that breaks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta

from signet.compatibility.contract_set import ContractFinding, Terms, compare_tools
from signet.kernel.errors import Code, Fault
from signet.kernel.schemas import Bundle, schema_of

from .parts import Parts
from .tagged import tagged_folder
from .twin import Shown, Twin, Visit
from .work import work

__all__ = ["schema_changes", "twins"]

SERVED: Final = "served"
MAX_TOOLS: Final = 500
MAX_CHANGES: Final = 200
"""The number of places that are shown for one side of one tool."""

Schema = dict[str, Any] | bool


class ToolTerms(Shown, frozen=True):
    """The two schemas of a tool; `true` where nothing is promised."""

    input: Schema
    output: Schema = True


class ShownSet(Shown, frozen=True):
    """A contract set that can be compared."""

    name: str
    title: str
    tools: dict[str, ToolTerms]


class SetsShown(Shown, frozen=True):
    """The sets that the server knows."""

    sets: list[ShownSet]


class DiffAsked(Shown, frozen=True):
    """Two sets: each by its name, or as it is in a file."""

    old: str | Annotated[dict[str, ToolTerms], Meta(max_length=MAX_TOOLS)]
    new: str | Annotated[dict[str, ToolTerms], Meta(max_length=MAX_TOOLS)] = SERVED


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


def twins(parts: Parts) -> tuple[Twin, ...]:
    """Return the twins of this view."""
    known = _Sets(parts)

    async def sets(_: Visit) -> SetsShown:
        return SetsShown(await work(known.read))

    async def diff(visit: Visit) -> ContractsDiff:
        return await work(known.compare, visit.body)

    compared = "Compare two contract sets, with an example for each change that breaks"
    return (
        Twin(path="/-/contracts", summary="List the contract sets", answer=SetsShown, run=sets),
        Twin(
            method="POST",
            path="/-/contracts/diff",
            summary=compared,
            body=DiffAsked,
            answer=ContractsDiff,
            run=diff,
            example={"old": SERVED, "new": SERVED},
        ),
    )


class _Sets:
    """The sets that the server knows: the one that it serves, and that of the last tagged release."""

    def __init__(self, parts: Parts) -> None:
        self._pipeline = parts.server.pipeline

    def read(self) -> list[ShownSet]:
        served = dict(_terms(self._pipeline.registry.load_bundle(tool.slug) for tool in self._pipeline.toolbox))
        sets = [ShownSet(SERVED, "served here, now", served)]
        tagged = tagged_folder()
        if tagged is not None:
            version, folder = tagged
            sets.append(ShownSet(version, f"release {version}", dict(_terms(_bundles(folder)))))
        return sets

    def compare(self, asked: DiffAsked) -> ContractsDiff:
        sets = {one.name: one for one in self.read()}
        old, new = _chosen(sets, asked.old), _chosen(sets, asked.new)
        left: list[str] = []
        if asked.new == SERVED and isinstance(asked.old, str):
            # What a server was not told to serve is not gone from Signet.
            left = [name for name in old if name not in new]
            old = {name: terms for name, terms in old.items() if name in new}
        findings = compare_tools(_as_terms(old), _as_terms(new))
        shown = [_finding(finding, old, new) for finding in findings]
        return ContractsDiff(any(finding.breaks for finding in findings), shown, left)


def _chosen(sets: Mapping[str, ShownSet], wanted: str | dict[str, ToolTerms]) -> dict[str, ToolTerms]:
    if not isinstance(wanted, str):
        return wanted
    if wanted not in sets:
        raise Fault(Code.NOT_FOUND, f"There is no contract set '{wanted[:100]}': write one of {', '.join(sets)}")
    return sets[wanted].tools


def _as_terms(tools: Mapping[str, ToolTerms]) -> dict[str, Terms]:
    return {name: Terms(terms.input, terms.output) for name, terms in tools.items()}


def _bundles(folder: str) -> Iterator[Bundle]:
    tools = os.path.join(folder, "tools")
    for name in sorted(os.listdir(tools)):
        with open(os.path.join(tools, name), "rb") as file:
            yield msgspec.json.decode(file.read(), type=Bundle)


def _terms(bundles: Iterator[Bundle]) -> Iterator[tuple[str, ToolTerms]]:
    for bundle in bundles:
        yield bundle.tool, ToolTerms(schema_of(bundle.input), schema_of(bundle.output))


def _finding(finding: ContractFinding, old: Mapping[str, ToolTerms], new: Mapping[str, ToolTerms]) -> ContractChange:
    changes: list[SchemaChange] = []
    if finding.side != "both" and finding.is_change:
        before, after = getattr(old[finding.tool], finding.side), getattr(new[finding.tool], finding.side)
        changes = schema_changes(before, after)
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


def schema_changes(before: Any, after: Any) -> list[SchemaChange]:
    """Return the places at which two schemas differ, the first of them where there are many; descriptions too."""
    changes: list[SchemaChange] = []
    waiting: list[tuple[list[str], Any, Any]] = [([], before, after)]
    while waiting and len(changes) < MAX_CHANGES:
        path, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            names = reversed(list(dict.fromkeys((*old, *new))))
            waiting += [([*path, name], old.get(name, UNSET), new.get(name, UNSET)) for name in names]
        elif old is UNSET:
            changes.append(SchemaChange(path, "added", after=new))
        elif new is UNSET:
            changes.append(SchemaChange(path, "removed", before=old))
        elif old != new or isinstance(old, bool) != isinstance(new, bool):
            changes.append(SchemaChange(path, "changed", old, new))
    return changes
