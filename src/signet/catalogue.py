"""Which toolsets there are: one word each, and nothing of them imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from signet.kernel.tools import Tool
from signet.settings import Settings, UsageError

__all__ = ["HIDDEN", "TOOLSETS", "enabled", "tools_of"]

TOOLSETS: Final = ("plantuml", "boj", "oj")
ALWAYS: Final = ("plantuml", "boj")
"""What is enabled unless toolsets are named; `oj` joins them once it is told where its backend is."""
HIDDEN: Final = ("conformance",)
"""For the official conformance suite alone: unknown unless `SIGNET_CONFORMANCE` is set."""


def enabled(settings: Settings) -> tuple[str, ...]:
    """Give the toolsets that the settings name, or the default ones.

    Raises:
        UsageError: there is no such toolset.
    """
    known = (*TOOLSETS, *HIDDEN) if settings.conformance else TOOLSETS
    for name in settings.toolset_names():
        if name not in known:
            message = f"there is no toolset '{name}'; write --toolsets with one or more of: {', '.join(known)}"
            raise UsageError(message)
    if settings.toolset_names():
        return settings.toolset_names()
    if settings.sandbox:
        return TOOLSETS
    return ALWAYS if settings.oj_base_url is None else (*ALWAYS, "oj")


def tools_of(toolset: str) -> tuple[Tool, ...]:
    """Give the tools of one toolset, importing it now."""
    tools: tuple[Tool, ...] = import_module(f"signet.toolsets.{toolset}").TOOLS
    return tools
