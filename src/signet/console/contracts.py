"""Contracts: what changed between two contract sets, with the example that breaks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from signet.kernel.errors import Code, Fault
from signet.kernel.schemas import Bundle, schema_of
from signet.kernel.wire import encode
from signet.system.files import read_regular
from signet.transports.messages import Response

from .comparison import Comparison
from .contract_diff import ContractsDiff, Question, ToolTerms
from .parts import ConsoleContext
from .tagged import tagged_folder
from .twin import PRIVATE, Shown, Twin, Visit
from .work import work

__all__ = ["twins"]

SERVED: Final = "served"
MAX_TOOLS: Final = 500


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


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of this view."""
    known, comparison = _Sets(parts), Comparison(parts.questions)

    async def sets(_: Visit) -> SetsShown:
        return SetsShown(await work(known.read))

    async def diff(visit: Visit) -> Response:
        asked: DiffAsked = visit.body
        question = await work(known.question, asked)
        # A set that was posted is not asked for again.
        is_known = isinstance(asked.old, str) and isinstance(asked.new, str)
        return Response(
            200, await comparison.answer(question, keep=is_known, holder=visit.request.caller.holder), PRIVATE
        )

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
            refusals=((404, "NOT_FOUND"),),
        ),
    )


class _Sets:
    """The sets that the server knows: the one that it serves, and that of the last tagged release."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._pipeline = parts.server.pipeline

    def read(self) -> list[ShownSet]:
        served = dict(_terms(self._pipeline.registry.load_bundle(tool.slug) for tool in self._pipeline.toolbox))
        sets = [ShownSet(SERVED, "served here, now", served)]
        tagged = tagged_folder()
        if tagged is not None:
            version, folder = tagged
            sets.append(ShownSet(version, f"release {version}", dict(_terms(_bundles(folder)))))
        return sets

    def question(self, asked: DiffAsked) -> bytes:
        """Return what is to be compared, as JSON; raise Fault for a set that is not known."""
        sets = {one.name: one for one in self.read()}
        old, new = _chosen(sets, asked.old), _chosen(sets, asked.new)
        left: list[str] = []
        if asked.new == SERVED and isinstance(asked.old, str):
            # What a server was not told to serve is not gone from Signet.
            left = [name for name in old if name not in new]
            old = {name: terms for name, terms in old.items() if name in new}
        return encode(Question(old, new, left))


def _chosen(sets: Mapping[str, ShownSet], wanted: str | dict[str, ToolTerms]) -> dict[str, ToolTerms]:
    if not isinstance(wanted, str):
        return wanted
    if wanted not in sets:
        raise Fault(Code.NOT_FOUND, f"There is no contract set '{wanted[:100]}': write one of {', '.join(sets)}")
    return sets[wanted].tools


def _bundles(folder: str) -> Iterator[Bundle]:
    tools = os.path.join(folder, "tools")
    for name in sorted(os.listdir(tools)):
        yield msgspec.json.decode(read_regular(os.path.join(tools, name), follow_link=True), type=Bundle)


def _terms(bundles: Iterator[Bundle]) -> Iterator[tuple[str, ToolTerms]]:
    for bundle in bundles:
        yield bundle.tool, ToolTerms(schema_of(bundle.input), schema_of(bundle.output))
