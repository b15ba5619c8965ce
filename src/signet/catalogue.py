"""The catalogue: which toolsets exist. One word each; a toolset is imported when it is looked up."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

import msgspec

from signet.kernel.toolset import Toolset

__all__ = ["TOOLSETS", "find_toolset", "register"]

TOOLSETS: Final = ["plantuml", "plantuml-tools", "boj", "boj-explore", "oj", "oj-practice"]
"""The toolsets in the order in which their tools are listed: each is the `TOOLSET` of `signet.toolsets.<word>`, where
the module's name has an underscore for a hyphen."""

_registered: Final[dict[str, Toolset]] = {}


def register(toolset: Toolset) -> None:
    """Add a toolset that is not part of Signet, for this process."""
    if toolset.name not in TOOLSETS:
        TOOLSETS.append(toolset.name)
    _registered[toolset.name] = toolset
    find_toolset.cache_clear()


@cache
def find_toolset(name: str) -> Toolset:
    """Return the toolset with this name, importing it now; one that extends another has what it takes from there."""
    toolset: Toolset
    toolset = _registered.get(name) or import_module(f"signet.toolsets.{name.replace('-', '_')}").TOOLSET
    if not toolset.extends:
        return toolset
    base = find_toolset(toolset.extends)
    return msgspec.structs.replace(
        toolset,
        settings=base.settings,
        needs=base.needs,
        upstream=toolset.upstream or base.upstream,
        service=toolset.service or base.service,
        without_waiting=base.without_waiting,
    )
