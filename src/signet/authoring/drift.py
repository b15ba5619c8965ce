"""Drift: a difference between the contracts that the types of a toolset say and those that were frozen in files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from signet.kernel.toolset import Toolset
from signet.system.advice import advise

from .frozen import BrokenContractError, FrozenContracts, agree, read_bundle, read_frozen, read_marks, renamed

__all__ = ["ContractDriftError", "change_of", "changes", "higher_version", "orphans_of", "served_contracts"]

MAX_SHOWN: Final = 5
"""The changes that an error names; a toolset may have a hundred tools."""


class ContractDriftError(Exception):
    """The types and the files of a toolset do not agree; the text says what changed and whether it breaks."""


def served_contracts(toolset: Toolset, target: str) -> Mapping[str, bytes]:
    """Return the contracts of a toolset: its files, which are equal to what its types say, or those of its types.

    `target` names the toolset on a command line.

    Raises:
        ContractDriftError: there are files, and they are not equal, or cannot be used.
    """
    derived = toolset.bundles()
    try:
        frozen = read_frozen(toolset) if derived else None
        if frozen is None:
            return derived
        if agree(toolset, frozen):
            return {slug: frozen.bundles[slug] for slug in derived}
        found = [finding for finding in changes(toolset, frozen) if finding.is_change]
    except BrokenContractError as error:
        raise ContractDriftError(str(error)) from None
    freeze = advise("contract.freeze", target=target)
    breaks = any(finding.breaks for finding in found)
    higher = higher_version(toolset, frozen.version, freeze) if breaks else ""
    advice = higher or f"'{freeze}' keeps what the types say"
    raise ContractDriftError(f"{_told(toolset, found)}; {advice}")


def higher_version(toolset: Toolset, kept: str, freeze: str) -> str:
    """Return how a change that breaks callers is made known: by a version above the one that is kept.

    The text is empty if the version of the toolset says so already.
    """
    from signet.compatibility.contract_set import is_version, may_break, next_breaking

    if not is_version(kept) or (is_version(toolset.version) and may_break(kept, toolset.version)):
        return ""
    higher = next_breaking(kept)
    if toolset.version:
        return f"mend it, or write version=\"{higher}\" in its signet.Toolset and then '{freeze}'"
    return f"mend it, or '{freeze} --version {higher}'"


def changes(toolset: Toolset, frozen: FrozenContracts) -> list[Any]:
    """Return what `compare_tools` finds between the files and the types of a toolset.

    Raises:
        BrokenContractError: a file cannot be used.
    """
    from signet.compatibility.contract_set import ContractFinding, ContractTerms, compare_tools

    derived = {slug: msgspec.json.decode(bundle) for slug, bundle in toolset.bundles().items()}
    slugs = [slug for slug in frozen.bundles if slug in derived or not toolset.is_part]
    old = {slug: ContractTerms(*read_bundle(frozen.folder, slug, frozen.bundles[slug])) for slug in slugs}
    new = {slug: ContractTerms(bundle["input"], bundle["output"]) for slug, bundle in derived.items()}
    names = [
        ContractFinding(slug, "both", "breaking", f"its name was {was} and is {now}")
        for slug, (was, now) in renamed(toolset, frozen).items()
    ]
    return [*compare_tools(old, new), *names]


def orphans_of(toolsets: Iterable[Toolset], loaded: Collection[str]) -> dict[str, list[str]]:
    """Return the toolsets that are frozen beside the code of others and have none, by the first one of each folder.

    Args:
        toolsets: those that were loaded.
        loaded: the files that have no other toolsets than these.

    Raises:
        BrokenContractError: the file that names them cannot be used.
    """
    from .claims import unclaimed

    folders: dict[str, list[str]] = {}
    for toolset in toolsets:
        if toolset.schema_root is not None and toolset.bundles() and not toolset.is_part:
            folders.setdefault(toolset.schema_root, []).append(toolset.name)
    return {
        names[0]: unclaimed(os.path.dirname(folder), [name for name in read_marks(folder) if name not in names], loaded)
        for folder, names in folders.items()
    }


def _told(toolset: Toolset, found: Iterable[Any]) -> str:
    texts = [change_of(finding) for finding in found]
    more = [f"and {len(texts) - MAX_SHOWN} more changes"] if len(texts) > MAX_SHOWN else []
    told = "; ".join([*texts[:MAX_SHOWN], *more]) or "a file is written in another way"
    return f"the contracts of {toolset.name} have changed since they were frozen: {told}"


def change_of(finding: Any) -> str:
    """Return what has changed, whether it breaks callers, and the example that shows it."""
    if finding.verdict == "added":
        return f"{finding.tool} is new, which breaks nobody"
    if finding.verdict == "removed":
        return f"{finding.tool} is gone, which breaks its callers"
    if not finding.breaks:
        return f"the {finding.side} of {finding.tool} changed and breaks nobody ({finding.why})"
    if finding.side == "both":
        return f"{finding.tool} breaks callers ({finding.why})"
    example = finding.shown_example()
    word = "is refused now" if finding.side == "input" else "may come now"
    shown = f"; {example} {word}" if example else ""
    return f"the {finding.side} of {finding.tool} breaks callers ({finding.why}{shown})"
