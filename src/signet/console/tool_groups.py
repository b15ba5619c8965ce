"""The tools in groups, as people see them: those of each toolset, and behind them those of each wrapped server."""

from __future__ import annotations

import msgspec

from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset

from .parts import ConsoleContext

__all__ = ["ToolGroup", "tool_groups"]


class ToolGroup(msgspec.Struct, frozen=True):
    """The tools of one toolset, or of one wrapped server, which has no toolset."""

    name: str
    title: str
    tools: tuple[Tool, ...]
    toolset: Toolset | None = None


def tool_groups(parts: ConsoleContext) -> list[ToolGroup]:
    """Return all tools that are served now, by toolset and server; the tools of servers may change."""
    server, enabled = parts.server, parts.settings.enabled()
    groups = server.pipeline.toolbox.groups
    own, others = groups[: len(enabled)], groups[len(enabled) :]
    names = server.relay.servers if server.relay is not None else []
    return [
        *(ToolGroup(one.name, one.title, tools, one) for (one, _), tools in zip(enabled, own, strict=True)),
        *(ToolGroup(name, name, tools) for name, tools in zip(names, others, strict=True)),
    ]
