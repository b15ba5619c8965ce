"""The composition root: settings in, a server out.

resolve ── Settings ── open_toolbox ── Toolbox ──┐
                └───── open_run ── runtimes ─────┼── Pipeline ── Server ── App
                └───── journal, log ──── Events ─┘
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from signet import __version__
from signet.kernel.errors import place_of
from signet.kernel.events import Events, both
from signet.kernel.gate import Gate, LateGate
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Mode, Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import NO_LISTS, Server
from signet.kernel.tools import Tool, Toolbox, ToolsetRuntime
from signet.kernel.wire import encode
from signet.recording import Run, open_run, settings_of_replay
from signet.settings.model import EnabledToolset, Settings, open_log
from signet.settings.process import MEMORY
from signet.settings.usage import UsageError
from signet.system.logs import DEBUG, ERROR, INFO, WARN, LimitedLog, Log
from signet.toolbox import SCHEMA_ROOT, open_toolbox, unchanged

if TYPE_CHECKING:
    from signet.console.console import Console
    from signet.journal.retention import Retention
    from signet.journal.writer import JournalWriter
    from signet.operations.store.redis_store import RedisStore
    from signet.operations.telemetry.telemetry import Telemetry
    from signet.relay.relay import ServerRelay
    from signet.system.figures.registry import Registry
    from signet.transports.guard import Guard
    from signet.transports.web_app import App

__all__ = [
    "JOURNALS",
    "SAMPLE_TOKEN",
    "SCHEMA_ROOT",
    "build_app",
    "build_server",
    "check",
    "instructions_of",
    "open_journal",
    "open_toolbox",
    "resolve",
]

SAMPLE_TOKEN: Final = "sample-token"  # noqa: S105 - it guards nothing
"""The token that an embedded upstream asks for, so that all tools can be tried."""

COLLECTOR: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variable that turns OpenTelemetry on, as its specification names it."""

JOURNALS: Final = "runs"
"""The folder of the journal, unless another one is given."""
MEGABYTE: Final = 1_000_000
SIZES: Final = ("result_bytes", "max_result_bytes")
"""The facts of a fault that say by how much a result is too large."""
INSTRUCTIONS: Final = "An error says what to write: mend the arguments and call again."
"""The end of every server's instructions, behind those of its toolsets."""


def resolve(settings: Settings) -> Settings:
    """Return the settings as they will hold: of a recording that is replayed, or with embedded upstreams started.

    Raises:
        UsageError: there is no recording to replay, or no such toolset.
    """
    if settings.replay:
        return settings_of_replay(settings)
    if not settings.sandbox:
        return settings
    from signet.sandbox import start_in_thread
    from signet.settings.catalogue import find_toolset

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
    from signet.team.limiting import check_limits

    log = open_log(settings)
    check_limits(settings, log)
    if settings.journal_max_age is not None:
        _retention_of(settings)
    run = open_run(settings, log, _open_store(settings, log))
    enabled = settings.enabled()
    for one in enabled:
        run.runtime(one)
    return open_toolbox(enabled, on_drift=_nothing if settings.dev else None)


def instructions_of(enabled: list[EnabledToolset]) -> str:
    """Return what a server with these toolsets tells a model to do first."""
    shared = {toolset.extends: toolset for toolset, _ in enabled if toolset.shared_instructions}
    both = shared.keys() & {toolset.name for toolset, _ in enabled}
    parts = []
    for toolset, _ in enabled:
        if toolset.name in both:
            parts.append(shared[toolset.name].shared_instructions)
        elif toolset.instructions and not (toolset.extends in both and toolset.shared_instructions):
            parts.append(toolset.instructions)
    return "\n".join((*parts, INSTRUCTIONS))


def build_server(
    settings: Settings,
    name: str = "signet",
    variant: Callable[[Tool], Tool] = unchanged,
    *,
    whole_text: bool = False,
    empty_lists: Mapping[str, bytes] = NO_LISTS,
    on_drift: Callable[[str], None] | None = None,
    figures: Registry | None = None,
) -> Server:
    """Return a server for settings that are resolved, with a variant of each tool.

    `whole_text` and `empty_lists` are those of `Server`; `on_drift` is that of `open_toolbox`; a console that will
    listen to its events reads the `figures`. Raises UsageError where the settings name a thing that cannot be used.
    """
    log = open_log(settings, name)
    enabled, variant = settings.enabled(), _watched(log, variant) if settings.dev else variant
    toolbox, registry = _open_tools(settings, log, enabled, variant, on_drift or _on_drift(settings, log))
    events = _log_listeners(log)
    telemetry, store = _open_telemetry(settings, log, registry, events, figures), _open_store(settings, log)
    run = open_run(settings, log, store, events.visit if figures is not None or events.upstream_response else None)
    runtimes = list(map(run.runtime, enabled))
    journal = open_journal(settings, log, run, events, is_watched=figures is not None)
    pipeline = Pipeline(
        toolbox,
        registry,
        timeout_s=settings.call_timeout_s,
        mode=Mode(settings.validation),
        events=events,
        runtimes=_by_slug(runtimes, toolbox),
        explain=_explainer(settings, registry) if settings.dev else None,
        gate=_open_gate(settings, log, store, telemetry, events),
        key_gate=LateGate(partial(_open_key_gate, settings, log, store)),
    )
    identity = Identity(name, __version__)  # rule: 1.S3.1.version
    upstreams = tuple([runtime.upstream for runtime in runtimes if runtime.upstream is not None])
    relay = _open_relay(settings, log, toolbox, registry, identity, telemetry=telemetry)
    close = partial(_close_all, [part.close for part in (relay, journal, telemetry, store) if part is not None])
    server = partial(Server, pipeline, identity, instructions_of(enabled), upstreams, close)
    return _served(server(whole_text=whole_text, empty_lists=empty_lists, relay=relay), relay)


def _open_tools(
    settings: Settings,
    log: Log,
    enabled: list[EnabledToolset],
    variant: Callable[[Tool], Tool],
    on_drift: Callable[[str], None] | None,
) -> tuple[Toolbox, SchemaRegistry]:
    def tell(tool: str, why: str) -> None:
        log.line(WARN, "contract", "contract.over_budget", tool=tool, why=why)

    return open_toolbox(enabled, variant, on_drift, mode=settings.validation, on_over_budget=tell)


def _by_slug(runtimes: list[ToolsetRuntime], toolbox: Toolbox) -> dict[str, ToolsetRuntime]:
    return {tool.slug: runtime for runtime, tools in zip(runtimes, toolbox.groups, strict=True) for tool in tools}


def _open_telemetry(
    settings: Settings, log: Log, registry: SchemaRegistry, events: Events, figures: Registry | None
) -> Telemetry | None:
    if figures is None and not settings.metrics_dir and not os.environ.get(COLLECTOR):
        return None
    from signet.team.telemetry import open_telemetry

    return open_telemetry(settings, log, registry, events, figures)


def _open_store(settings: Settings, log: Log) -> RedisStore | None:
    if settings.store == MEMORY:
        return None
    from signet.team.shared import open_store

    return open_store(settings, log)


def _open_gate(
    settings: Settings, log: Log, store: RedisStore | None, telemetry: Telemetry | None, events: Events
) -> Gate | None:
    """Return the gate before all calls, where there are rules for callers; telemetry listens to its decisions."""
    if not settings.has_rules:
        return None
    from signet.team.limiting import open_gate

    if telemetry is not None:
        telemetry.listen_to_limits(events)
    return open_gate(settings, log, events, store)


def _open_key_gate(settings: Settings, log: Log, store: RedisStore | None) -> Gate:
    from signet.team.limiting import open_key_gate

    return open_key_gate(settings, log, store)


def _open_relay(
    settings: Settings,
    log: Log,
    toolbox: Toolbox,
    registry: SchemaRegistry,
    identity: Identity,
    *,
    telemetry: Telemetry | None,
) -> ServerRelay | None:
    if settings.wrapping is None:
        return None
    from signet.team.wrapped import relay_of

    return relay_of(settings, log, toolbox, registry, identity, telemetry=telemetry)


def _served(server: Server, relay: ServerRelay | None) -> Server:
    """Return the server; the relay sends messages to its clients from now on."""
    if relay is not None:
        relay.serve(server)
    return server


def _close_all(closing: list[Callable[[], Awaitable[None] | None]]) -> Awaitable[None] | None:
    """Close the parts of a server, the journal first: what it writes last is counted too."""
    awaited = [one for close in closing if (one := close()) is not None]
    return _all_of(awaited) if awaited else None


async def _all_of(awaited: list[Awaitable[None]]) -> None:
    for one in awaited:
        await one


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
    from signet.team.access import open_authenticator, open_pages, open_proxies, open_public_url
    from signet.team.exchanges import exchange_listeners
    from signet.transports.guard import LOOPBACK, Guard
    from signet.transports.listening import UNIX_PREFIX
    from signet.transports.web_app import App

    # A server that is there already has no console: nothing made records of its calls.
    has_console = server is None and settings.console
    figures = _open_figures(settings) if has_console else None
    is_own = server is None
    server = server or build_server(settings, figures=figures)
    hosts = LOOPBACK | settings.host_names()
    if not settings.host.startswith(UNIX_PREFIX):
        hosts |= {settings.host.lower()}
    public_url = open_public_url(settings)
    about = _about(server)
    legacy = {path: name for toolset, _ in settings.enabled() for path, name in toolset.legacy_paths.items()}
    pages = [page for toolset, _ in settings.enabled() for page in toolset.pages()]
    prefix = ""
    if public_url is not None:
        about, prefix = {"url": str(public_url), **about}, public_url.path
        hosts |= {public_url.origin}
    authenticator = open_authenticator(settings, partial(_warn_of_tokens, settings))
    guard = Guard(hosts, authenticator, public_url.origin if public_url is not None else "")
    # Several applications may serve a server that is there already, each with requests of its own.
    events = server.events if is_own else replace(server.events)
    events.add(exchange_listeners(settings, open_log(settings), server.pipeline.registry))
    events.add(_refusal_listener(settings))
    root = str(public_url or "")
    console = _open_console(settings, server, guard, figures, root=root) if figures is not None else None
    app = partial(App, server, guard, about, legacy, events=events, pages=pages, prefix=prefix, console=console)
    return app(proxies=open_proxies(settings), open_pages=open_pages(settings))


def _about(server: Server) -> dict[str, Any]:
    """Return what the page at `/` says to programs."""
    return {
        "name": "signet",
        "version": __version__,
        "doors": {"mcp": "/mcp", "rest": "/api/tools", "envelope": "/mcp/tool/{slug}", "openapi": "/openapi.json"},
        "tools": [tool.name for tool in server.pipeline.toolbox],
    }


def _open_figures(settings: Settings) -> Registry:
    from signet.team.telemetry import open_figures

    return open_figures(settings, open_log(settings))


def _open_console(settings: Settings, server: Server, guard: Guard, figures: Registry, *, root: str) -> Console:
    from signet.console.console import open_console

    return open_console(settings, server, figures=figures, root=root, authenticator=guard.authenticator)


def open_journal(
    settings: Settings, log: Log, run: Run, events: Events, *, is_watched: bool = False
) -> JournalWriter | None:
    """Return the journal, if one is to be kept or watched, and let it listen; a recording run gets its calls from it.

    A watched journal makes records for a console, whether they are written or not.
    """
    if settings.journal_max_age is not None:
        _retention_of(settings)
    log_dir = settings.log_dir if settings.journal else None
    if log_dir is None and not is_watched:
        return None
    from signet.journal.record import Recorder
    from signet.journal.retention import remove_old
    from signet.journal.writer import JournalWriter

    retention = _retention_of(settings)
    if retention.is_bounded and log_dir is not None:
        remove_old(log_dir, retention)
    recorder = Recorder(deterministic_ids=settings.deterministic_ids, secrets=settings.secrets())
    # One folder, one warning.
    warn_once = run.warn_once if log_dir == settings.record else None
    warn = warn_once or (lambda why: log.line(WARN, "journal", "journal.unwritable", why=why))
    on_calls = run.on_calls if log_dir is not None else None
    journal = JournalWriter(log_dir, recorder, warn, on_calls, settings.run_name, retention=retention, events=events)
    events.outcome = journal.push if events.outcome is None else both(events.outcome, journal.push)
    return journal


def _retention_of(settings: Settings) -> Retention:
    """Return how much of the journal is kept; raise UsageError if the settings cannot be read."""
    from signet.journal.retention import Retention, parse_age

    max_bytes = settings.journal_max_mb * MEGABYTE if settings.journal_max_mb is not None else None
    try:
        max_age_s = parse_age(settings.journal_max_age) if settings.journal_max_age is not None else None
    except ValueError as error:
        raise UsageError(f"--journal-max-age (SIGNET_JOURNAL_MAX_AGE): {error}") from None
    return Retention(settings.journal_keep, max_bytes, max_age_s)


def _log_listeners(log: Log) -> Events:
    """Return events to which the log listens: faults of the server and, where its filter lets lines through, calls."""
    events = Events(clock=time.perf_counter, fault=partial(_log_bug, log))
    if log.level_of("call") >= DEBUG:
        events.outcome = partial(_log_call, log)
    return events


def _refusal_listener(settings: Settings) -> Events:
    """Return the listener that logs refused requests, if the filter lets its lines through."""
    log = open_log(settings)
    if log.level_of("http") < INFO:
        return Events()
    limited = LimitedLog(log)

    def on_refusal(address: str, status: int, reason: str) -> None:
        limited.line(INFO, "http", "request.refused", address=address or "-", status=status, reason=reason)

    return Events(refusal=on_refusal)


def _log_call(log: Log, outcome: Outcome, took_s: float) -> None:
    """Log names and codes, never arguments or results."""
    code = outcome.fault.code if outcome.fault else "OK"
    name = outcome.call.caller.name
    more = {"principal": name} if name else {}
    noted = outcome.shadow_violation
    if noted is not None and noted.stage == "output":
        more["violation"] = noted.message
    log.line(DEBUG, "call", "call.done", tool=_slug(outcome), code=code, ms=round(took_s * 1000, 3), **more)


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
        sizes = {name: outcome.fault.data[name] for name in SIZES if name in outcome.fault.data}
        is_foreign = outcome.tool is not None and outcome.tool.is_foreign
        why = {"why": outcome.fault.message} if is_foreign else {}
        log.line(ERROR, "call", "call.bug", tool=_slug(outcome), code=outcome.fault.code, cause=cause, **sizes, **why)


def _slug(outcome: Outcome) -> str:
    return outcome.tool.slug if outcome.tool else "-"


def _warn_of_tokens(settings: Settings, why: str) -> None:
    open_log(settings).line(WARN, "http", "tokens.unreadable", why=why)


def _on_drift(settings: Settings, log: Log) -> Callable[[str], None] | None:
    """Return what is done with types that differ from their frozen contracts: in development mode they are served."""
    return (lambda why: log.line(WARN, "contract", "contract.drift", why=why)) if settings.dev else None


def _nothing(*_: object) -> None:
    """Do nothing."""
