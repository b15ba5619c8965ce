"""Tools that are awaited: one until the next turn of the event loop, one until it is cancelled."""

from __future__ import annotations

from pathlib import Path

from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset

__all__ = ["TOOLSET"]


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


TOOLSET = Toolset(
    name="waiting",
    title="Tools that wait",
    tools=_tools,
    schema_root=str(Path(__file__).parent / "schemas"),
)
