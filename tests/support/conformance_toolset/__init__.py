"""Fixture tools that the official MCP conformance suite calls by name."""

from __future__ import annotations

from pathlib import Path

from signet.kernel.tools import Tool
from signet.kernel.toolset import Toolset

__all__ = ["TOOLSET"]


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


TOOLSET = Toolset(
    name="conformance",
    title="MCP conformance suite",
    tools=_tools,
    schema_root=str(Path(__file__).parent / "schemas"),
)
