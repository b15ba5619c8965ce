"""The composition root: settings in, a server that is put together out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from signet import __version__
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Toolbox
from signet.kernel.wire import encode

from .catalogue import tools_of
from .settings import Settings, UsageError

if TYPE_CHECKING:
    from .transports.site import Site

__all__ = ["SCHEMA_ROOT", "build_server", "build_site"]

SCHEMA_ROOT: Final = os.path.join(os.path.dirname(__file__), "schemas")  # noqa: PTH118, PTH120 - pathlib costs 10 ms

INSTRUCTIONS: Final = "Tools under contract: arguments and results keep the schemas that tools/list publishes."


def build_server(settings: Settings, name: str = "signet") -> Server:
    """Put a server together.

    Raises:
        UsageError: the settings name what is not there, or two tools that cannot stand side by side.
    """
    try:
        toolbox = Toolbox(tools_of(settings))
    except ValueError as error:
        raise UsageError(str(error)) from None
    pipeline = Pipeline(
        toolbox,
        SchemaRegistry(schema_root=SCHEMA_ROOT),
        timeout_s=settings.call_timeout_s,
        observe=_log if settings.log == "calls" else None,
    )
    return Server(pipeline, Identity(name, __version__), INSTRUCTIONS)


def build_site(settings: Settings) -> Site:
    """Put the web application together."""
    from .transports.guard import LOOPBACK, Guard
    from .transports.site import Site

    server = build_server(settings)
    hosts = LOOPBACK | settings.host_names() | {settings.host.lower()}
    about = {
        "name": "signet",
        "version": __version__,
        "doors": {"mcp": "/mcp", "rest": "/api/tools", "envelope": "/mcp/tool/{slug}", "openapi": "/openapi.json"},
        "tools": [tool.name for tool in server.pipeline.toolbox],
    }
    return Site(server, Guard(hosts, settings.token), about)


def _log(outcome: Outcome) -> None:
    """Tell of one call on stderr: names and codes, never what was said."""
    fault = outcome.fault
    event: dict[str, object] = {
        "event": "call.done",
        "tool": outcome.tool.slug if outcome.tool else None,
        "code": fault.code if fault else "OK",
    }
    if fault is not None and fault.__cause__ is not None:
        event["cause"] = _place_of(fault.__cause__)
    sys.stderr.write(encode(event).decode() + "\n")


def _place_of(error: BaseException) -> str:
    """Name an exception and the line it came from; its text may hold what must not be logged."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""  # noqa: PTH119
    return type(error).__name__ + where
