"""The diagram editor: how diagrams can be drawn here, and drawings of the server where the page cannot draw."""

from __future__ import annotations

from typing import Any, Final, Literal

from signet.kernel.errors import ACCESS_FAULTS, Fault
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.server import QUIET_CONTEXT

from .parts import ConsoleContext
from .twin import DOOR, Shown, Twin, Visit
from .work import work

__all__ = ["POLICIES", "twins"]

POLICIES: Final[dict[str, bytes]] = {
    "diagram_worker.js": b"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; frame-ancestors 'none'"
}
"""The content security policies of the files in which the engine runs, and of no others.

Graphviz is WebAssembly; nothing else is evaluated, and the worker can send nothing anywhere.
"""
DRAWING: Final = "renderPlantUML"
TOOLSET: Final = "plantuml-tools"
DRAW_DOOR: Final = Door("http", "/-/draw", DOOR, by_name=True)


class DiagramMeans(Shown, frozen=True):
    """By what means diagrams can be drawn and linked to."""

    in_page: bool
    """Whether the engine's scripts are here, so that the page draws by itself."""
    version: str
    """The version of PlantUML in the page; empty without it."""
    by_server: bool
    """Whether this server draws, for this caller."""
    server_engine: str
    """What draws in this server; empty where nothing does."""
    install: str
    """What to type so that diagrams can be drawn."""
    link_server: str
    """The PlantUML server that links lead to."""
    long_link_chars: int
    """From this length on, a link is cut by some programs."""
    too_long_link_chars: int
    """From this length on, a link is refused by most servers."""


class DrawRequest(Shown, frozen=True):
    """A diagram for the server to draw."""

    source: str
    format: Literal["svg", "png", "txt"] = "svg"
    dark: bool = False


class DrawnDiagram(Shown, frozen=True):
    """A picture, or what is wrong with the diagram."""

    ok: bool
    data: str = ""
    """The picture: SVG and characters as they are, PNG in base64."""
    mime_type: str = ""
    width: int = 0
    height: int = 0
    code: str = ""
    """The kind of the error."""
    message: str = ""
    line: int | None = None
    """The line of the error, counted from 1."""


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of this view."""

    async def means(visit: Visit) -> DiagramMeans:
        return await work(_means, parts, visit)

    async def draw(visit: Visit) -> DrawnDiagram:
        return await _draw(parts, visit)

    return (
        Twin(path="/-/diagram", summary="Tell by what means diagrams can be drawn", answer=DiagramMeans, run=means),
        Twin(
            method="POST",
            path="/-/draw",
            summary="Draw a diagram with the server's engine",
            answer=DrawnDiagram,
            body=DrawRequest,
            run=draw,
            example={"source": "@startuml\nA -> B\n@enduml"},
            is_call=True,
        ),
    )


def _means(parts: ConsoleContext, visit: Visit) -> DiagramMeans:
    """Return the means; runs in a thread, since engines are looked for in files."""
    from signet.engines.assets import find_assets
    from signet.system.advice import advise
    from signet.toolsets.plantuml_tools.tools import LONG_LINK_CHARS, PUBLIC_SERVER, TOO_LONG_LINK_CHARS

    assets = find_assets()
    own = _own_settings(parts)
    engine = _server_engine(parts, visit, own)
    return DiagramMeans(
        in_page=assets is not None,
        version=assets.version if assets is not None else "",
        by_server=bool(engine),
        server_engine=engine,
        install=advise("diagrams.install", install="diagrams"),
        link_server=(getattr(own, "server", None) or PUBLIC_SERVER).rstrip("/"),
        long_link_chars=LONG_LINK_CHARS,
        too_long_link_chars=TOO_LONG_LINK_CHARS,
    )


def _own_settings(parts: ConsoleContext) -> Any:
    """Return the settings of the toolset that draws, or None where it is not served."""
    return next((one.settings for one in parts.settings.enabled() if one.toolset.name == TOOLSET), None)


def _server_engine(parts: ConsoleContext, visit: Visit, own: Any) -> str:
    """Return the name of the engine that draws for a caller; empty where none does."""
    from signet.engines.engine import choices

    tool = parts.server.pipeline.toolbox.named(DRAWING)
    principal = visit.request.caller.principal
    if tool is None or own is None or (principal is not None and not principal.may_call(tool.slug)):
        return ""
    if parts.settings.replay:
        return "recording"
    return next((choice.name for choice in choices(own, own.server) if choice.usable), "")


async def _draw(parts: ConsoleContext, visit: Visit) -> DrawnDiagram:
    """Return what the drawing tool makes of a diagram; raise Fault where the caller may not call it."""
    wanted: DrawRequest = visit.body
    request = visit.request
    arguments = {"plantumlCode": wanted.source, "format": wanted.format, "dark": wanted.dark}
    call = Call(DRAWING, arguments, QUIET_CONTEXT, DRAW_DOOR, request.caller, trace=request.caller.trace)
    request.call = call
    pending = parts.server.pipeline.run(call)
    outcome = pending if isinstance(pending, Outcome) else await pending
    request.outcome = outcome
    if outcome.fault is not None:
        return _refused(outcome.fault)
    drawn = outcome.result
    return DrawnDiagram(
        ok=True, data=drawn["data"], mime_type=drawn["mimeType"], width=drawn["width"], height=drawn["height"]
    )


def _refused(fault: Fault) -> DrawnDiagram:
    """Return a fault as the editor shows it; what is wrong with the caller is no fault of the diagram."""
    if fault.name in ACCESS_FAULTS:
        raise fault
    line = fault.data.get("line")
    message = fault.message.removeprefix(f"line {line}: ") if line else fault.message
    return DrawnDiagram(ok=False, code=fault.name, message=message, line=line)
