"""Differences: two contract sets, tool by tool and side by side."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .compatibility import Side, compare_schemas
from .sources import ContractSet, as_listed

__all__ = ["Finding", "compare"]

SIDES: Final[tuple[Side, Side]] = ("input", "output")


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of one side of a tool, or of a tool that is new or gone."""

    tool: str
    side: Side | Literal["both"]
    verdict: Literal["compatible", "breaking", "added", "removed"]
    why: str
    example: Any | UnsetType = UNSET

    @property
    def breaks(self) -> bool:
        """Whether somebody who relied on the old set is let down."""
        return self.verdict in {"breaking", "removed"}


def compare(old: ContractSet, new: ContractSet) -> list[Finding]:
    """Judge each tool of two sets; bundles are taken as listed where the other set is a server's list."""
    if old.listed != new.listed:
        old, new = as_listed(old), as_listed(new)
    found: list[Finding] = []
    for name, terms in old.tools.items():
        if name not in new.tools:
            found.append(Finding(name, "both", "removed", "it is gone"))
            continue
        for side in SIDES:
            ruling = compare_schemas(getattr(terms, side), getattr(new.tools[name], side), side)
            verdict: Literal["compatible", "breaking"] = "compatible" if ruling.compatible else "breaking"
            found.append(Finding(name, side, verdict, ruling.why, ruling.example))
    found += [Finding(name, "both", "added", "it is new") for name in new.tools if name not in old.tools]
    return found
