"""The engine of the diagrams: which one draws, asked like an upstream, so that pictures are recorded and replayed.

    POST /svg, /png, /txt  ?dark=1    200 the picture · 400 {"line", "message"}: what is wrong with the diagram
    POST /check                       200 {"ok", "line", "message", "diagram"}

A diagram that no engine here can draw is the fault NO_ENGINE, and not an error of the diagram.

The order is: a PlantUML server where one is set; JavaScript; the jar, also for what JavaScript lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting
from signet.system.advice import advise

from .picture import DiagramError
from .renderer import CONTENT_TYPES, Form, Limits, Renderer

__all__ = ["Choice", "Engine", "EngineSettings", "choices"]

FORMS: Final[tuple[Form, ...]] = ("svg", "png", "txt")
PROBE: Final = "\u00a4\u00a4 probe \u00a4\u00a4"
"""A line that no diagram understands: the engine then names the kind of diagram that it has read until there."""
_ASSUMED: Final = re.compile(r"Assumed diagram type: ([a-z ]+)")


class EngineSettings(Protocol):
    """What the engine is told."""

    @property
    def jar(self) -> str | None:
        """The jar that is set, if any."""

    @property
    def render_timeout_s(self) -> float:
        """The seconds that one diagram may take."""

    @property
    def render_memory_mb(self) -> int:
        """The megabytes that an engine's process may write to."""

    @property
    def render_processes(self) -> int:
        """The number of diagrams that are drawn at once."""


class Choice(msgspec.Struct, frozen=True):
    """One engine, and whether it can be used here."""

    name: str
    usable: bool
    why: str
    """What it is, or what it lacks."""


class Engine:
    """The engines that can be used, behind the port of an upstream."""

    has_token = False

    def __init__(self, settings: EngineSettings, upstream: Upstream | None, encode: Callable[[str], str]) -> None:
        self._settings = settings
        self._upstream = upstream
        self._encode = encode
        self._renderers: list[Renderer] | None = None
        self.origin = upstream.origin if upstream is not None else "local"

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the answer to a request for a picture or for a check."""
        if wait is not None:
            wait.now = "drawing the diagram"
        path, _, query = request.target.partition("?")
        source = request.body.decode()
        if path == "/check":
            return _json(200, await self._check(source))
        form = next(form for form in FORMS if path == f"/{form}")
        drawn = await self._draw(source, form, dark=query == "dark=1")
        if isinstance(drawn, DiagramError):
            return _json(400, {"line": drawn.line, "message": drawn.message})
        return UpstreamResponse(200, CONTENT_TYPES[form], drawn)

    def states(self) -> list[UpstreamState]:
        """Return the state of the server that draws, where there is one."""
        return states_of(self._upstream) if self._upstream is not None else []

    def warm(self) -> None:
        """Do nothing: an engine takes 300 MB, and is started when the first diagram comes."""

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing: no picture is kept."""

    async def close(self) -> None:
        """End the engines."""
        for renderer in self._renderers or ():
            await renderer.close()
        if self._upstream is not None:
            await self._upstream.close()

    async def _check(self, source: str) -> dict[str, Any]:
        drawn = await self._draw(source, "svg", dark=False)
        broken = isinstance(drawn, DiagramError)
        facts = {"line": drawn.line, "message": drawn.message} if isinstance(drawn, DiagramError) else {}
        return {"ok": not broken, **facts, "diagram": await self._kind(source, drawn)}

    async def _kind(self, source: str, drawn: bytes | DiagramError) -> str:
        """Return the kind of a diagram: by its first line, else as the engine has read it."""
        begin = source.split(None, 1)[0].removeprefix("@start").partition("(")[0]
        if begin != "uml":
            return begin
        if not isinstance(drawn, DiagramError):
            head, _, end = source.rstrip().rpartition("\n")
            with suppress(Fault):
                drawn = await self._draw(f"{head}\n{PROBE}\n{end}", "svg", dark=False)
        assumed = _ASSUMED.search(drawn.message) if isinstance(drawn, DiagramError) else None
        return assumed[1].strip() if assumed else begin

    async def _draw(self, source: str, form: Form, *, dark: bool) -> bytes | DiagramError:
        """Return the picture of the first engine that knows the kind of diagram and the format."""
        if self._renderers is None:
            self._renderers = open_renderers(self._settings, self._upstream, self._encode)
        lacking = _no_engine() if not self._renderers else _no_form(form, dark=dark)
        for renderer in self._renderers:
            if form not in renderer.forms or (dark and not renderer.draws_dark):
                continue
            drawn = await renderer.draw(source, form, dark=dark)
            if not isinstance(drawn, DiagramError) or not drawn.unsupported:
                return drawn
            lacking = _no_kind(drawn.message)
        raise lacking


def choices(settings: EngineSettings, server: str | None) -> list[Choice]:
    """Return the engines in their order, each with what it is or what it lacks; the first usable one draws."""
    from .assets import find_assets
    from .jar import find_jar
    from .javascript import missing_modules

    missing, assets, jar = missing_modules(), find_assets(), find_jar(settings.jar)
    if missing:
        javascript = f"{' and '.join(missing)} not installed; type: {advise('diagrams.install', install='diagrams')}"
    elif assets is None:
        javascript = f"no scripts and fonts; type: {advise('diagrams.files')}"
    else:
        javascript = f"PlantUML {assets.version} in {assets.folder}"
    return [
        Choice("server", server is not None, server or "none is set (--plantuml-server URL)"),
        Choice("JavaScript", not missing and assets is not None, javascript),
        Choice("jar", not isinstance(jar, str), jar if isinstance(jar, str) else jar[1]),
    ]


def open_renderers(settings: EngineSettings, upstream: Upstream | None, encode: Callable[[str], str]) -> list[Renderer]:
    """Return the engines that can be used, in their order; nothing is started yet."""
    from .assets import find_assets
    from .jar import Jar, find_jar
    from .javascript import JavaScript, missing_modules
    from .server import Server

    if upstream is not None:
        # Whoever names a server wants its pictures, and no others.
        return [Server(upstream, encode)]
    limits = Limits(settings.render_timeout_s, settings.render_memory_mb, settings.render_processes)
    renderers: list[Renderer] = []
    assets, jar = find_assets(), find_jar(settings.jar)
    if assets is not None and not missing_modules():
        renderers.append(JavaScript(assets, limits))
    if not isinstance(jar, str):
        renderers.append(Jar(*jar, limits))
    return renderers


def _json(status: int, value: object) -> UpstreamResponse:
    return UpstreamResponse(status, "application/json", msgspec.json.encode(value))


def _no_engine() -> Fault:
    message = (
        f"no PlantUML engine is installed here: {advise('doctor', here=False)} shows how to install one, "
        "or set --plantuml-server URL or --plantuml-jar FILE"
    )
    return Fault(Code.INTERNAL_ERROR, message, name="NO_ENGINE", status=503, as_tool_result=True)


def _no_kind(why: str) -> Fault:
    """Return the fault for a diagram that no engine here knows: that says nothing against its text."""
    message = f"{why}; set --plantuml-server URL or --plantuml-jar FILE to draw it with another engine"
    return Fault(Code.INTERNAL_ERROR, message, name="NO_ENGINE", status=503, as_tool_result=True)


def _no_form(form: str, *, dark: bool) -> Fault:
    what = f"a dark picture as {form}" if dark else form
    message = f"no engine here draws {what}: set --plantuml-server URL{'' if dark else ' or --plantuml-jar FILE'}"
    return Fault(Code.INVALID_INPUT, message, name="NO_ENGINE", status=503)
