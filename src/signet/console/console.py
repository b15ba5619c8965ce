"""The console as the web application sees it: the page, its files and its twins."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from signet.kernel.caller import Authenticator
from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.settings.model import Settings
from signet.system.figures.registry import Registry
from signet.system.text import cut
from signet.transports.guard import Access
from signet.transports.routes import Route

from . import about, calls, clients, contracts, diagram, health, journal, tools
from .describing import describe_twins
from .engine_files import EngineFiles
from .page_files import PageFiles
from .parts import ConsoleContext
from .spool import SharedSpool, Spool
from .twin import MAX_TOLD_CHARS, TwinRoutes, refuse_privately

__all__ = ["Console", "open_console"]

VIEWS = (about, tools, calls, journal, health, contracts, clients, diagram)
"""The modules of the views: each has `twins`."""


class Console:
    """Finds the routes of the console."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._files = PageFiles(diagram.POLICIES)
        self._engine = EngineFiles()
        self._twins = TwinRoutes([twin for view in VIEWS for twin in view.twins(parts)])
        self._parts = parts
        self.home: Route = self._files.home(urlsplit(parts.root).path)
        """The page, for whoever accepts HTML."""

    def find(self, path: str) -> Route:
        """Return the route of a path below `/-/`."""
        return self._files.find(path) or self._engine.find(path) or self._twins.find(path) or _unknown(path)

    def describe(self) -> dict[str, Any]:
        """Return what the console adds to the OpenAPI page."""
        return describe_twins(
            self._twins.twins, secured=self._parts.secured, limited=self._parts.server.pipeline.is_limited
        )


def _unknown(path: str) -> Route:
    """Return the route of a path below `/-/` at which nothing is served."""
    fault = Fault(Code.NOT_FOUND, f"Nothing is served at '{cut(path, MAX_TOLD_CHARS)}'; GET / names what is")
    return Route(Access(same_origin=True), lambda _: refuse_privately(fault), refuse_privately, answers_options=True)


def open_console(
    settings: Settings,
    server: Server,
    *,
    figures: Registry,
    root: str,
    authenticator: Authenticator | None,
) -> Console:
    """Return the console of a server, whose views listen to its events from now on."""
    spool = SharedSpool(settings.console_dir) if settings.console_dir else Spool()
    return Console(ConsoleContext(settings, server, spool, root, authenticator, figures))
