"""The composition root: settings in, a server that is put together out."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from signet import __version__
from signet.catalogue import enabled, tools_of
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Mode, Observer, Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Toolbox
from signet.logs import DEBUG, ERROR, WARN, Filter, Log
from signet.runs import LiveRun, open_run
from signet.settings import Settings, UsageError
from signet.wiring import build_runtime

if TYPE_CHECKING:
    from signet.journal.writer import JournalWriter
    from signet.transports.web_app import App

__all__ = ["SCHEMA_ROOT", "build_app", "build_server", "embed", "open_log"]

SCHEMA_ROOT: Final = os.path.join(os.path.dirname(__file__), "schemas")

SAMPLE_TOKEN: Final = "sample-token"  # noqa: S105 - it guards nothing
"""What the embedded judge wants to be asked with, so that all of its tools can be tried."""

INSTRUCTIONS: Final = "Tools under contract: arguments and results keep the schemas that tools/list publishes."


def build_server(settings: Settings, name: str = "signet") -> Server:
    """Put a server together.

    Raises:
        UsageError: the settings name what is not there, or what cannot be used.
    """
    log = open_log(settings, name)
    run = open_run(settings, log)
    settings = run.settings(settings)
    outfits = {toolset: build_runtime(toolset, settings, log, run) for toolset in enabled(settings)}
    tools = [
        tool
        if outfit.upstream is None
        else msgspec.structs.replace(tool, upstream=outfit.upstream, options=outfit.options)
        for toolset, outfit in outfits.items()
        for tool in tools_of(toolset)
    ]
    try:
        toolbox = Toolbox(tuple(tools))
    except ValueError as error:
        raise UsageError(str(error)) from None
    journal = open_journal(settings, log, run)
    pipeline = Pipeline(
        toolbox,
        SchemaRegistry(schema_root=SCHEMA_ROOT),
        timeout_s=settings.call_timeout_s,
        mode=Mode(settings.validation),
        observer=_observer(log, journal),
    )
    outside = tuple(outfit.upstream for outfit in outfits.values() if outfit.upstream is not None)
    end = journal.close if journal is not None else _nothing
    return Server(pipeline, Identity(name, __version__), INSTRUCTIONS, outside, end)


def embed(settings: Settings) -> Settings:
    """Start the embedded upstreams that `--sandbox` asks for, and point the settings at them."""
    if not settings.sandbox or settings.replay:
        return settings
    from signet.sandbox import start_in_thread

    if "oj" in enabled(settings):
        url, _ = start_in_thread("oj", token=SAMPLE_TOKEN)
        settings = msgspec.structs.replace(settings, oj_base_url=url, oj_token=SAMPLE_TOKEN)
    if "boj" in enabled(settings):
        url, _ = start_in_thread("boj")
        settings = msgspec.structs.replace(settings, boj_base_url=url)
    return settings


def open_journal(settings: Settings, log: Log, run: LiveRun) -> JournalWriter | None:
    """Open the journal, if one is to be kept; with a recording, its calls too."""
    if settings.log_dir is None or not settings.journal:
        return None
    from signet.journal.record import Recorder
    from signet.journal.writer import JournalWriter

    recorder = Recorder(deterministic_ids=settings.deterministic_ids, secrets=settings.secrets())
    # One folder, one warning.
    warn_once = run.warn_once if settings.log_dir == settings.record else None
    warn = warn_once or partial(_tell_unwritable, log)
    return JournalWriter(settings.log_dir, recorder, warn, run.on_calls, settings.run_name)


def _tell_unwritable(log: Log, why: str) -> None:
    log.line(WARN, "journal", "journal.unwritable", why=why)


def _observer(log: Log, journal: JournalWriter | None) -> Observer:
    """Let the journal look on, and the log as far as it is listened to."""
    bug = partial(_tell_bug, log)
    if log.level_of("call") < DEBUG:
        return Observer(journal.push if journal is not None else None, bug, time.perf_counter)

    def both(outcome: Outcome, took_s: float) -> None:
        _tell(log, outcome, took_s)
        if journal is not None:
            journal.push(outcome, took_s)

    return Observer(both, bug, time.perf_counter)


def _nothing() -> None:
    """Do nothing."""


def open_log(settings: Settings, name: str = "signet") -> Log:
    """Open the log that the settings ask for.

    Raises:
        UsageError: they ask for what is none.
    """
    try:
        return Log(name, Filter.parse(settings.log, WARN, lenient=settings.log_lenient), secrets=settings.secrets())
    except ValueError as error:
        raise UsageError(str(error)) from None


def build_app(settings: Settings) -> App:
    """Put the web application together."""
    from signet.transports.guard import LOOPBACK, Guard
    from signet.transports.web_app import App

    server = build_server(settings)
    hosts = LOOPBACK | settings.host_names() | {settings.host.lower()}
    about = {
        "name": "signet",
        "version": __version__,
        "doors": {"mcp": "/mcp", "rest": "/api/tools", "envelope": "/mcp/tool/{slug}", "openapi": "/openapi.json"},
        "tools": [tool.name for tool in server.pipeline.toolbox],
    }
    return App(server, Guard(hosts, settings.token), about)


def _tell(log: Log, outcome: Outcome, took_s: float) -> None:
    """Log one call: names and codes, never what was said."""
    code = outcome.fault.code if outcome.fault else "OK"
    log.line(DEBUG, "call", "call.done", tool=_slug(outcome), code=code, ms=round(took_s * 1000, 3))


def _tell_bug(log: Log, outcome: Outcome) -> None:
    """Log a fault that is the server's own, by what raised it and where."""
    if outcome.fault is not None and outcome.fault.__cause__ is not None:
        cause = _place_of(outcome.fault.__cause__)
        log.line(ERROR, "call", "call.bug", tool=_slug(outcome), code=outcome.fault.code, cause=cause)


def _slug(outcome: Outcome) -> str:
    return outcome.tool.slug if outcome.tool else "-"


def _place_of(error: BaseException) -> str:
    """Name an exception and the line it came from; its text may hold what must not be logged."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return type(error).__name__ + where
