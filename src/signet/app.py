"""The composition root: settings in, a server out.

resolve ── Settings ── open_toolbox ── Toolbox ──┐
                └───── open_run ── runtimes ─────┼── Pipeline ── Server ── App
                └───── journal, log ── Observer ─┘
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from signet import __version__
from signet.kernel.gate import Gate, LateGate
from signet.kernel.outcome import Outcome
from signet.kernel.pipeline import Mode, Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import NO_LISTS, Server
from signet.kernel.tools import Tool, Toolbox, ToolsetRuntime
from signet.kernel.upstream import UpstreamVisit
from signet.observers import open_journal, open_observer, refusal_log, retention_of
from signet.runs import open_run, settings_of_replay
from signet.settings.model import EnabledToolset, Settings, open_log
from signet.settings.process import MEMORY
from signet.system.logs import DEBUG, WARN, Log
from signet.toolbox import SCHEMA_ROOT, open_toolbox, unchanged

if TYPE_CHECKING:
    from signet.console.console import Console
    from signet.console.watch import Watch
    from signet.kernel.exchange import Exchange
    from signet.operations.store.redis_store import RedisStore
    from signet.operations.telemetry.telemetry import Telemetry
    from signet.relay.relay import ServerRelay
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
    "open_toolbox",
    "resolve",
]

SAMPLE_TOKEN: Final = "sample-token"  # noqa: S105 - it guards nothing
"""The token that an embedded upstream asks for, so that all tools can be tried."""

COLLECTOR: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variable that turns OpenTelemetry on, as its specification names it."""

OnRefusal = Callable[[str, int, str], None]

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
        retention_of(settings)
    run = open_run(settings, log, _open_store(settings, log))
    enabled = settings.enabled()
    for one in enabled:
        run.runtime(one)
    return open_toolbox(enabled, on_drift=_nothing if settings.dev else None)


def instructions_of(enabled: list[EnabledToolset]) -> str:
    """Return what a server with these toolsets tells a model to do first."""
    shared = {toolset.extends: toolset for toolset, _ in enabled if toolset.shared_instructions}
    both = {name for name in shared if any(toolset.name == name for toolset, _ in enabled)}
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
    watch: Watch | None = None,
) -> Server:
    """Return a server for settings that are resolved, with a variant of each tool.

    `whole_text` and `empty_lists` are those of `Server`; `on_drift` is that of `open_toolbox`; a console has a `watch`.
    Raises UsageError where the settings name a thing that cannot be used.
    """
    log = open_log(settings, name)
    enabled, variant = settings.enabled(), _watched(log, variant) if settings.dev else variant
    toolbox, registry = _open_tools(settings, log, enabled, variant, on_drift or _on_drift(settings, log))
    telemetry, store = _open_telemetry(settings, log, registry), _open_store(settings, log)
    run = open_run(settings, log, store, _visitor(watch, telemetry))
    runtimes = list(map(run.runtime, enabled))
    journal = open_journal(settings, log, run, telemetry, watch)
    make_pipeline, make_server = _kernel(telemetry)
    pipeline = make_pipeline(
        toolbox,
        registry,
        timeout_s=settings.call_timeout_s,
        mode=Mode(settings.validation),
        observer=open_observer(log, journal, logs_calls=log.level_of("call") >= DEBUG),
        runtimes=_by_slug(runtimes, toolbox),
        explain=_explainer(settings, registry) if settings.dev else None,
        gate=_open_gate(settings, log, store, telemetry),
        key_gate=LateGate(partial(_open_key_gate, settings, log, store)),
    )
    identity = Identity(name, __version__)  # rule: 1.S3.1.version
    upstreams = tuple([runtime.upstream for runtime in runtimes if runtime.upstream is not None])
    relay = _open_relay(settings, log, toolbox, registry, identity, telemetry=telemetry)
    close = partial(_close_all, [part.close for part in (relay, journal, telemetry, store) if part is not None])
    server = partial(make_server, pipeline, identity, instructions_of(enabled), upstreams, close)
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


def _visitor(watch: Watch | None, telemetry: Telemetry | None) -> Callable[[str, str, str], UpstreamVisit] | None:
    """Return who is told of each request to an upstream, if anybody is."""
    if watch is None:
        return telemetry.visit if telemetry is not None else None
    if telemetry is not None:
        watch.visitors.append(telemetry.visit)
    return watch.visit


def _kernel(telemetry: Telemetry | None) -> tuple[Callable[..., Pipeline], Callable[..., Server]]:
    """Return what makes a pipeline and a server, whose operations are counted and traced where somebody does that."""
    if telemetry is None:
        return Pipeline, Server
    from signet.operations.telemetry import watched

    pipeline = watched.WatchedPipeline if telemetry.traces else watched.CountedPipeline
    server = watched.WatchedServer if telemetry.traces else watched.CountedServer
    return partial(pipeline, telemetry=telemetry), partial(server, telemetry=telemetry)


def _open_telemetry(settings: Settings, log: Log, registry: SchemaRegistry) -> Telemetry | None:
    if not settings.metrics_dir and not os.environ.get(COLLECTOR):
        return None
    from signet.team.telemetry import open_telemetry

    return open_telemetry(settings, log, registry)


def _open_store(settings: Settings, log: Log) -> RedisStore | None:
    if settings.store == MEMORY:
        return None
    from signet.team.shared import open_store

    return open_store(settings, log)


def _open_gate(settings: Settings, log: Log, store: RedisStore | None, telemetry: Telemetry | None) -> Gate | None:
    """Return the gate before all calls, where there are rules for callers; its figures are read by telemetry."""
    if not settings.has_rules:
        return None
    from signet.team.limiting import open_gate

    if telemetry is None:
        return open_gate(settings, log, store)
    from signet.operations.telemetry.limit_figures import LimitFigures

    return open_gate(settings, log, store, LimitFigures(telemetry.registry))


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
    from signet.team.exchanges import open_exchange_log
    from signet.transports.guard import LOOPBACK, Guard
    from signet.transports.listening import UNIX_PREFIX
    from signet.transports.web_app import App

    # A server that is there already tells nobody of its calls, so it has no console.
    watch = _open_watch() if server is None and settings.console else None
    server = server or build_server(settings, watch=watch)
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
    telemetry = getattr(server, "telemetry", None)
    exchanges = open_exchange_log(settings, open_log(settings), server.pipeline.registry, telemetry)
    on_start, on_close = (exchanges.start, exchanges.close) if exchanges is not None else (_nothing, _nothing)
    listener = exchanges.listener if exchanges is not None else None
    console = None
    if watch is not None:
        console = _open_console(settings, server, watch, guard, root=str(public_url or ""), on_exchange=listener)
    on_refusal = _told_of_refusals(refusal_log(settings), watch) if watch is not None else refusal_log(settings)
    app = partial(App, server, guard, about, legacy, on_refusal, pages=pages, prefix=prefix, console=console)
    app = partial(app, proxies=open_proxies(settings), open_pages=open_pages(settings))
    return app(on_exchange=listener, on_start=on_start, on_close=on_close)


def _about(server: Server) -> dict[str, Any]:
    """Return what the page at `/` says to programs."""
    return {
        "name": "signet",
        "version": __version__,
        "doors": {"mcp": "/mcp", "rest": "/api/tools", "envelope": "/mcp/tool/{slug}", "openapi": "/openapi.json"},
        "tools": [tool.name for tool in server.pipeline.toolbox],
    }


def _open_watch() -> Watch:
    from signet.console.watch import Watch

    return Watch()


def _open_console(
    settings: Settings,
    server: Server,
    watch: Watch,
    guard: Guard,
    *,
    root: str,
    on_exchange: Callable[[Exchange], None] | None,
) -> Console:
    from signet.console.console import open_console

    authenticator = guard.authenticator
    return open_console(settings, server, watch, root=root, authenticator=authenticator, on_exchange=on_exchange)


def _told_of_refusals(log: OnRefusal, watch: Watch) -> OnRefusal:
    def on_refusal(address: str, status: int, reason: str) -> None:
        log(address, status, reason)
        watch.refusal(address, status, reason)

    return on_refusal


def _warn_of_tokens(settings: Settings, why: str) -> None:
    open_log(settings).line(WARN, "http", "tokens.unreadable", why=why)


def _on_drift(settings: Settings, log: Log) -> Callable[[str], None] | None:
    """Return what is done with types that differ from their frozen contracts: in development mode they are served."""
    return (lambda why: log.line(WARN, "contract", "contract.drift", why=why)) if settings.dev else None


def _nothing(*_: object) -> None:
    """Do nothing."""
