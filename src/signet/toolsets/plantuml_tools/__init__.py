"""The tools around PlantUML diagrams: read a link, check a text, draw a picture, make a link."""

from __future__ import annotations

from collections.abc import Sequence

from signet.kernel.checkup import INSTALLED, Check, CheckupResult, note, ok
from signet.kernel.tools import Tool
from signet.kernel.toolset import CorpusRow, PageSpec, Toolset, UpstreamSpec
from signet.kernel.upstream import Upstream
from signet.toolsets.plantuml import PlantumlSettings

__all__ = ["TOOLSET"]


def _tools() -> tuple[Tool, ...]:
    from .tools import TOOLS

    return TOOLS


def _corpus() -> Sequence[CorpusRow]:
    from .corpus import ROWS

    return ROWS


def _pages() -> Sequence[PageSpec]:
    from .pages import PAGES

    return PAGES


def _upstream(settings: PlantumlSettings) -> UpstreamSpec:
    """Describe the PlantUML server, where one is set."""
    return UpstreamSpec(
        base_url=settings.server,
        allows_path=True,
        timeout_s=settings.render_timeout_s,
        max_body_bytes=8_388_608,
        gzip=True,
    )


def _service(settings: PlantumlSettings, upstream: Upstream | None) -> Upstream:
    from signet.engines.engine import Engine
    from signet.toolsets.plantuml.encoding import encode

    return Engine(settings, upstream, encode)


def _checks(settings: PlantumlSettings) -> Sequence[Check]:
    def engine() -> CheckupResult:
        from signet.engines.engine import choices

        found = choices(settings, settings.server)
        drawing = next((one for one in found if one.usable), None)
        if drawing is None:
            lacks = "; ".join(f"{one.name}: {one.why}" for one in found)
            from signet.system.advice import advise

            return note(f"no engine draws diagrams ({lacks})", advise("diagrams.install", install="diagrams"))
        return ok(f"{drawing.name} draws diagrams: {drawing.why}")

    return (Check(INSTALLED, "diagram engine", engine),)


TOOLSET = Toolset(
    name="plantuml-tools",
    title="PlantUML diagrams: check, draw, decode",
    tools=_tools,
    extends="plantuml",
    instructions=(
        "After writing PlantUML call checkPlantUML, and mend the line that it names; renderPlantUML draws it."
    ),
    upstream=_upstream,
    service=_service,
    corpus=_corpus,
    pages=_pages,
    checks=_checks,
)
