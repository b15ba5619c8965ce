"""The PlantUML toolset: turns diagrams into links (spec 4)."""

from __future__ import annotations

from collections.abc import Sequence

from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, Toolset

__all__ = ["TOOLSET"]


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _corpus() -> Sequence[CorpusRow]:
    from .corpus import ROWS

    return ROWS


TOOLSET = Toolset(
    name="plantuml",
    title="PlantUML",
    tools=_tools,
    instructions="Diagrams: pass whole PlantUML code to encodePlantUML and give its url to the user unchanged.",
    legacy_paths={"/mcp/v1/encode-plantuml": "encodePlantUML", "/mcp/encode-plantuml": "encodePlantUML"},
    corpus=_corpus,
)
