"""The PlantUML toolset: turns diagrams into links (spec 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, Toolset
from signet.settings.fields import setting

__all__ = ["TOOLSET", "PlantumlSettings"]


class PlantumlSettings(Struct, frozen=True, kw_only=True):
    """Who draws diagrams, and what one diagram may use. A link needs none of this."""

    server: Annotated[
        str | None,
        setting(
            "PlantUML server that draws the diagrams (default: an engine on this machine)", metavar="URL", flag=True
        ),
    ] = None
    jar: Annotated[
        str | None,
        setting(
            "PlantUML jar for what the JavaScript engine lacks (default: /usr/share/plantuml/plantuml.jar)",
            metavar="FILE",
            flag=True,
        ),
    ] = None
    render_timeout_s: Annotated[
        float, Meta(gt=0, le=60), setting("seconds that one diagram may take to draw", metavar="S")
    ] = 20.0
    render_memory_mb: Annotated[
        int, Meta(ge=1024, le=16_384), setting("megabytes that an engine's process may write to", metavar="MB")
    ] = 1280
    render_processes: Annotated[
        int, Meta(ge=1, le=16), setting("number of diagrams that are drawn at once", metavar="N")
    ] = 2


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
    instructions="Diagrams: encodePlantUML turns PlantUML code into a url; give it to the user unchanged.",
    settings=PlantumlSettings,
    # rule: 4.deployment.legacy
    legacy_paths={"/mcp/v1/encode-plantuml": "encodePlantUML", "/mcp/encode-plantuml": "encodePlantUML"},
    corpus=_corpus,
)
