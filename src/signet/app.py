"""The composition root: settings in, a server out.

resolve ── Settings ── open_toolbox ── Toolbox ──┐
                └───── open_run ── runtimes ─────┼── Pipeline ── Server ── App
                └───── journal, log ── Observer ─┘
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from signet import __version__
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Mode, Observer, Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Tool, Toolbox
from signet.kernel.wire import encode
from signet.logs import DEBUG, ERROR, INFO, WARN, LimitedLog, Log
from signet.runs import Run, open_run, settings_of_replay
from signet.settings import EnabledToolset, Settings, UsageError
from signet.toolbox import SCHEMA_ROOT, open_toolbox, unchanged

if TYPE_CHECKING:
    from signet.journal.writer import JournalWriter
    from signet.transports.guard import Authenticator
    from signet.transports.web_app import App

__all__ = [
    "JOURNALS",
    "SAMPLE_TOKEN",
    "SCHEMA_ROOT",
    "build_app",
    "build_server",
    "check",
    "instructions_of",
    "open_log",
    "open_toolbox",
    "place_of",
    "refuse_open_door",
    "resolve",
]

SAMPLE_TOKEN: Final = "sample-token"  # noqa: S105 - it guards nothing
"""The token that an embedded upstream asks for, so that all tools can be tried."""

JOURNALS: Final = "runs"
"""The folder of the journal, unless another one is given."""
INSTRUCTIONS: Final = "An error says what to write: mend the arguments and call again."
"""The end of every server's instructions, behind those of its toolsets."""


def resolve(settings: Settings) -> Settings:
    """Return the settings as they will hold: of a recording that is replayed, or with embedded upstreams started.

    Raises:
        UsageError: there is no cassette to replay, or no such toolset.
    """
    if settings.replay:
        return settings_of_replay(settings)
    if not settings.sandbox:
        return settings
    from signet.catalogue import find_toolset
    from signet.sandbox import start_in_thread

    for domain in dict.fromkeys(toolset.domain for toolset, _ in settings.enabled()):
        toolset = find_toolset(domain)
        if toolset.sandbox is not None:
            token = {"token": SAMPLE_TOKEN} if toolset.sandbox.wants_token else {}
            url, _ = start_in_thread(toolset, **token)
            settings = settings.with_toolset(toolset, base_url=url, **token)
    return settings


def check(settings: Settings) -> tuple[Toolbox, SchemaRegistry]:
    """Return the tools and contracts that a server with these settings will serve, without building it.

    Raises:
        UsageError: no server can be built.
    """
    run = open_run(settings, open_log(settings))
    enabled = settings.enabled()
    for one in enabled:
        run.runtime(one)
    return open_toolbox(enabled, on_drift=_nothing if settings.dev else None)


def instructions_of(enabled: list[EnabledToolset]) -> str:
    """Return what a server with these toolsets tells a model to do first."""
    parts = [toolset.instructions for toolset, _ in enabled if toolset.instructions]
    return "\n".join((*parts, INSTRUCTIONS))


def build_server(
    settings: Settings,
    name: str = "signet",
    variant: Callable[[Tool], Tool] = unchanged,
    *,
    whole_text: bool = False,
    on_drift: Callable[[str], None] | None = None,
) -> Server:
    """Return a server for settings that are resolved, with a variant of each tool.

    `whole_text` repeats every structured result as text; `on_drift` is that of `open_toolbox`.

    Raises:
        UsageError: the settings name a thing that is not there, or that cannot be used.
    """
    log = open_log(settings, name)
    logs_calls = log.level_of("call") >= DEBUG
    enabled = settings.enabled()
    toolbox, registry = open_toolbox(
        enabled, _watched(log, variant) if settings.dev else variant, on_drift or _on_drift(settings, log)
    )
    run = open_run(settings, log)
    runtimes = list(map(run.runtime, enabled))
    upstreams = tuple([runtime.upstream for runtime in runtimes if runtime.upstream is not None])
    journal = open_journal(settings, log, run)
    pipeline = Pipeline(
        toolbox,
        registry,
        timeout_s=settings.call_timeout_s,
        mode=Mode(settings.validation),
        observer=_observer(log, journal, logs_calls=logs_calls),
        runtimes={
            tool.slug: runtime for runtime, tools in zip(runtimes, toolbox.groups, strict=True) for tool in tools
        },
        explain=_explainer(settings, registry) if settings.dev else None,
    )
    on_close = journal.close if journal is not None else _nothing
    identity = Identity(name, __version__)
    return Server(pipeline, identity, instructions_of(enabled), upstreams, on_close, whole_text=whole_text)


def _explainer(settings: Settings, registry: SchemaRegistry) -> Callable[[Outcome], Outcome]:
    """Return what development mode adds to faults."""
    from signet.authoring.explaining import Explainer

    return Explainer(registry, settings.secrets())


def _watched(log: Log, variant: Callable[[Tool], Tool]) -> Callable[[Tool], Tool]:
    """Return a variant of tools that are logged while they hold the event loop."""
    from signet.authoring.loop_watch import LoopWatch

    watch = LoopWatch(partial(log.line, WARN, "call", "loop.held"))
    return lambda tool: watch.watched(variant(tool))


def build_app(settings: Settings, server: Server | None = None) -> App:
    """Return the web application for settings that are resolved, around a server that is there already or a new one."""
    from signet.transports.guard import LOOPBACK, Guard
    from signet.transports.http_server import UNIX_PREFIX
    from signet.transports.web_app import App

    server = server or build_server(settings)
    hosts = LOOPBACK | settings.host_names()
    if not settings.host.startswith(UNIX_PREFIX):
        hosts |= {settings.host.lower()}
    about = {
        "name": "signet",
        "version": __version__,
        "doors": {"mcp": "/mcp", "rest": "/api/tools", "envelope": "/mcp/tool/{slug}", "openapi": "/openapi.json"},
        "tools": [tool.name for tool in server.pipeline.toolbox],
    }
    legacy = {path: name for toolset, _ in settings.enabled() for path, name in toolset.legacy_paths.items()}
    pages = [page for toolset, _ in settings.enabled() for page in toolset.pages()]
    guard = Guard(hosts, _authenticator(settings))
    return App(server, guard, about, legacy, _on_refusal(settings), pages=pages)


def _authenticator(settings: Settings) -> Authenticator | None:
    """Return who knows the callers, where they have to say who they are."""
    if settings.token is None:
        return None
    from signet.operations.access.shared_token import SharedToken

    return SharedToken(settings.token)


def refuse_open_door(settings: Settings, toolbox: Toolbox, *, is_local: bool) -> None:
    """Raise UsageError if others can reach the server without a token, unless every tool is public."""
    private = [tool.name for tool in toolbox if not tool.public]
    if not private or settings.token is not None:
        return
    if not is_local:
        raise UsageError(f"{settings.host} can be reached by others and {private[0]} is not public: set SIGNET_TOKEN")
    if "*" in settings.host_names():
        # A page can make any name resolve to this machine, and call the server by it.
        raise UsageError(f"--allowed-hosts '*' lets any page call {private[0]}, which is not public: set SIGNET_TOKEN")


def _on_refusal(settings: Settings) -> Callable[[str, int, str], None]:
    """Return the function that logs a refused request, or one that does nothing if the filter suppresses its lines."""
    log = open_log(settings)
    if log.level_of("http") < INFO:
        return _nothing
    limited = LimitedLog(log)

    def on_refusal(address: str, status: int, reason: str) -> None:
        limited.line(INFO, "http", "request.refused", address=address or "-", status=status, reason=reason)

    return on_refusal


def open_log(settings: Settings, name: str = "signet") -> Log:
    """Return the log that the settings describe; raise UsageError if its filter cannot be read."""
    try:
        return Log(name, settings.log, lenient=settings.log_lenient, secrets=settings.secrets())
    except ValueError as error:
        raise UsageError(str(error)) from None


def open_journal(settings: Settings, log: Log, run: Run) -> JournalWriter | None:
    """Return the journal, if one is to be kept; a recording run gets its calls from it too."""
    if settings.log_dir is None or not settings.journal:
        return None
    from signet.journal.record import Recorder
    from signet.journal.writer import JournalWriter

    recorder = Recorder(deterministic_ids=settings.deterministic_ids, secrets=settings.secrets())
    # One folder, one warning.
    warn_once = run.warn_once if settings.log_dir == settings.record else None
    warn = warn_once or (lambda why: log.line(WARN, "journal", "journal.unwritable", why=why))
    return JournalWriter(settings.log_dir, recorder, warn, run.on_calls, settings.run_name)


def _observer(log: Log, journal: JournalWriter | None, *, logs_calls: bool) -> Observer:
    """Return an observer for the journal and, where the filter lets its lines through, for the log."""
    on_bug = partial(_log_bug, log)
    if not logs_calls:
        return Observer(journal.push if journal is not None else None, on_bug, time.perf_counter)

    def on_outcome(outcome: Outcome, took_s: float) -> None:
        """Log names and codes, never arguments or results."""
        code = outcome.fault.code if outcome.fault else "OK"
        log.line(DEBUG, "call", "call.done", tool=_slug(outcome), code=code, ms=round(took_s * 1000, 3))
        if journal is not None:
            journal.push(outcome, took_s)

    return Observer(on_outcome, on_bug, time.perf_counter)


def _on_drift(settings: Settings, log: Log) -> Callable[[str], None] | None:
    """Return what is done with types that differ from their frozen contracts: in development mode they are served."""
    return (lambda why: log.line(WARN, "contract", "contract.drift", why=why)) if settings.dev else None


def _nothing(*_: object) -> None:
    """Do nothing."""


def _log_bug(log: Log, outcome: Outcome) -> None:
    """Log a fault that is the server's own, by the exception's class and place; in development mode any, in full."""
    if outcome.fault is not None and outcome.fault.details is not None:
        event, level = ("call.refused", WARN) if outcome.fault.__cause__ is None else ("call.bug", ERROR)
        facts = {name: encode(value).decode() for name, value in outcome.fault.details.items() if name != "traceback"}
        why = {"why": outcome.fault.message, **facts}
        log.line(level, "call", event, tool=_slug(outcome), code=outcome.fault.code, **why)
        if "traceback" in outcome.fault.details:
            log.text(level, "call", outcome.fault.details["traceback"])
    elif outcome.fault is not None and outcome.fault.__cause__ is not None:
        cause = place_of(outcome.fault.__cause__)
        log.line(ERROR, "call", "call.bug", tool=_slug(outcome), code=outcome.fault.code, cause=cause)


def _slug(outcome: Outcome) -> str:
    return outcome.tool.slug if outcome.tool else "-"


def place_of(error: BaseException) -> str:
    """Return an exception's class and the line that raised it; its text may hold a secret."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return type(error).__name__ + where
