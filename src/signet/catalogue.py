"""Which toolsets there are: one word each, and nothing of them imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from signet.kernel.tools import Tool

from .settings import Settings, UsageError

__all__ = ["DEFAULT", "tools_of"]

TOOLSETS: Final = ("plantuml",)
DEFAULT: Final = ("plantuml",)
HIDDEN: Final = ("conformance",)
"""For the official conformance suite alone: unknown unless `SIGNET_CONFORMANCE` is set."""


def tools_of(settings: Settings) -> tuple[Tool, ...]:
    """Give the tools of the toolsets that the settings name.

    Raises:
        UsageError: there is no such toolset.
    """
    known = (*TOOLSETS, *HIDDEN) if settings.conformance else TOOLSETS
    found: list[Tool] = []
    for name in settings.toolset_names() or DEFAULT:
        if name not in known:
            message = f"there is no toolset '{name}'; write --toolsets with one or more of: {', '.join(known)}"
            raise UsageError(message)
        found += import_module(f"signet.toolsets.{name}").TOOLS
    return tuple(found)
