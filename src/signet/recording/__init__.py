"""Runs: live, recorded, or answered from a recording. A run decides what each toolset finds in its context.

LiveRun        tool ── upstream (caching, rate, HTTP) ── the network
RecordingRun   tool ── recorder ── the same
ReplayRun      tool ── recording

The modules below have the parts of a recording; a live run imports none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from signet.kernel.events import UpstreamVisit
from signet.kernel.tools import ToolsetRuntime
from signet.kernel.toolset import Toolset, UpstreamSpec
from signet.kernel.upstream import ResponseCache, Upstream
from signet.settings.catalogue import TOOLSETS, find_toolset, load_toolsets
from signet.settings.model import EnabledToolset, Settings
from signet.settings.names import recorded_names
from signet.settings.usage import UsageError
from signet.system.logs import DEBUG, WARN, Log

if TYPE_CHECKING:
    from signet.journal.record import JournalEntry, JournalRecord
    from signet.kernel.turns import Turns
    from signet.operations.store.redis_store import RedisStore
    from signet.recording.label import RecordedServer, Recording, RecordingLabel
    from signet.settings.server_spec import Wrapping
    from signet.system.recording_redactor import RecordingRedactor

__all__ = [
    "LiveRun",
    "RecordingRun",
    "ReplayRun",
    "Run",
    "open_run",
    "open_turns",
    "settings_of_replay",
    "wrapping_of_replay",
]

BREAKER: Final = "breaker"
"""The key of `[limits]` that puts a circuit breaker before each upstream."""
Visitor = Callable[[str, str, str], UpstreamVisit]
OnCalls = Callable[[list[tuple["JournalEntry", "JournalRecord"]]], None]


class Run(Protocol):
    """What the composition of a server asks of a run."""

    on_calls: OnCalls | None = None
    """Called with the calls of each batch of the journal, where the run keeps them."""
    warn_once: Callable[[str], None] | None = None
    """Log once that the recording cannot be written, where there is one."""

    def runtime(self, enabled: EnabledToolset) -> ToolsetRuntime:
        """Return what the tools of a toolset find in their context.

        Raises:
            UsageError: the settings name no usable upstream.
        """


class LiveRun(Run):
    """A run that is neither recorded nor replayed."""

    def __init__(
        self, settings: Settings, log: Log, store: RedisStore | None = None, visit: Visitor | None = None
    ) -> None:
        self._settings = settings
        self._log = log
        self._store = store
        self._visit = visit
        self._upstreams: dict[object, Upstream | None] = {}
        """The open upstreams, each shared by the toolsets that state it: its pace and its cache hold for all."""
        self._services: dict[UpstreamSpec, Upstream] = {}
        """The open services that tools name, shared in the same way."""

    def runtime(self, enabled: EnabledToolset) -> ToolsetRuntime:
        """Return the toolset's settings, its upstream and the clock's day."""
        toolset, own = enabled
        if toolset.has_services:
            return ToolsetRuntime(self._switchboard(), own, utc_today)
        if toolset.upstream not in self._upstreams:
            log = partial(self._log.line, DEBUG, "upstream")
            self._upstreams[toolset.upstream] = open_upstream(
                enabled, self._settings, log, self._store, visit=self._visit
            )
        upstream = self._upstreams[toolset.upstream]
        if toolset.service is not None:
            upstream = toolset.service(own, upstream)
        return ToolsetRuntime(upstream, own, utc_today)

    def _switchboard(self) -> Upstream:
        from signet.upstream.switchboard import Switchboard, open_service

        log = partial(self._log.line, DEBUG, "upstream")
        breaker = self._settings.limits.get(BREAKER, 0)
        turns, cache = open_turns(self._settings, self._store), open_cache(self._store)
        open_ = partial(open_service, turns=turns, cache=cache, breaker=breaker, log=log, visit=self._visit)
        return Switchboard(open_, self._services)


class RecordingRun(Run):
    """A run whose exchanges with upstreams, days and calls are written into a folder."""

    def __init__(
        self, settings: Settings, log: Log, store: RedisStore | None = None, visit: Visitor | None = None
    ) -> None:
        from signet.recording.exchanges import ExchangeWriter
        from signet.recording.label import new_label

        names = [toolset.name for toolset, _ in settings.enabled()]
        servers = _recorded_servers(settings.wrapping) if settings.wrapping is not None else {}
        label = new_label(toolsets=dict.fromkeys(names), settings=settings.recorded(), servers=servers)
        warn = partial(log.line, WARN, "record", "record.unwritable")
        self._folder = ExchangeWriter(settings.record or "", label, lambda why: warn(why=why))
        self._removed = partial(log.line, WARN, "record", "record.redacted")
        self._secrets = settings.secrets()
        self._calls = self._redactor("calls")
        self._live = LiveRun(settings, log, store, visit)
        self.on_calls = self._write_calls
        self.warn_once = self._folder.outage.note
        if servers:
            # A recorded server is played with the label above it, and may be asked for its tools alone.
            self._folder.begin()

    def _redactor(self, where: str) -> RecordingRedactor:
        """Return what removes secrets from one part of the recording, and logs which."""
        from signet.system.recording_redactor import TEXT_REMOVED, RecordingRedactor

        return RecordingRedactor(self._secrets, lambda name: self._removed(where=where, what=name, why=TEXT_REMOVED))

    def runtime(self, enabled: EnabledToolset) -> ToolsetRuntime:
        """Return a live runtime with recorders around its upstream and its day."""
        from signet.recording.label import RecordedOrigin
        from signet.recording.upstream import RecordingUpstream, recorded_today

        live, name = self._live.runtime(enabled), enabled.toolset.name
        today = partial(recorded_today, name, live.today, self._folder)
        if live.upstream is None:
            return ToolsetRuntime(None, live.settings, today)
        self._folder.set_origin(name, RecordedOrigin(live.upstream.origin, live.upstream.has_token))
        # Outside of the cache: a response that was kept or shared then is not asked for again in a replay.
        recorder = RecordingUpstream(live.upstream, name, self._folder, self._redactor(name))
        return ToolsetRuntime(recorder, live.settings, today)

    def _write_calls(self, pairs: list[tuple[JournalEntry, JournalRecord]]) -> None:
        from signet.journal.record import call_lines

        self._folder.keep_calls(call_lines(pairs, self._calls.body))


class ReplayRun(Run):
    """A run that is answered from a recording; no request leaves the process."""

    def __init__(self, settings: Settings) -> None:
        from signet.recording.exchanges import ExchangeReader
        from signet.recording.folder import read_recording
        from signet.system.recording_redactor import RecordingRedactor

        recording = read_recording(settings.replay or "")
        _check_servers(settings, recording)
        self._label = recording.label
        self._folder = ExchangeReader(recording)
        self._redactor = RecordingRedactor(settings.secrets())

    def runtime(self, enabled: EnabledToolset) -> ToolsetRuntime:
        """Return the recorded responses and days in place of the upstream and the clock."""
        from signet.recording.label import RecordedOrigin
        from signet.recording.upstream import ReplayUpstream, replayed_today

        toolset, own = enabled
        today = partial(replayed_today, toolset.name, self._folder)
        if toolset.upstream is None and toolset.service is None and not toolset.has_services:
            return ToolsetRuntime(None, own, today)
        origin = self._label.toolsets.get(toolset.name) or RecordedOrigin("nowhere")
        return ToolsetRuntime(ReplayUpstream(toolset.name, origin, self._folder, self._redactor), own, today)


def _check_servers(settings: Settings, recording: Recording) -> None:
    """Raise UsageError if a server is to be played that the recording does not have."""
    servers = settings.wrapping.servers if settings.wrapping is not None else ()
    missing = next((spec.name for spec in servers if not spec.tape and spec.name not in recording.servers), None)
    if missing is not None:
        raise UsageError(
            f"{recording.folder} has no recording of the server '{missing}', and a replay does not start it: record "
            f'it with --record, or name a recording of it with tape = "FOLDER" in [servers.{missing}]'
        )


def open_run(settings: Settings, log: Log, store: RedisStore | None = None, visit: Visitor | None = None) -> Run:
    """Begin a run as the settings say; raise UsageError if there is no recording to replay.

    `visit` is called with the name of an upstream, the method and the origin of each request to it.
    """
    if settings.replay:
        return ReplayRun(settings)
    return RecordingRun(settings, log, store, visit) if settings.record else LiveRun(settings, log, store, visit)


def open_turns(settings: Settings, store: RedisStore | None = None) -> Sequence[Turns]:
    """Return where the turns of requests are shared: on this machine, and in the store if there is one."""
    from signet.upstream.machine_turns import MachineTurns, turn_folders

    machine = MachineTurns(turn_folders, settings.workers)
    if store is None:
        return (machine,)
    from signet.operations.store.turns import StoreTurns

    return machine, StoreTurns(store)


def open_cache(store: RedisStore | None) -> ResponseCache | None:
    """Return the cache of responses in the store, if there is one."""
    if store is None:
        return None
    from signet.operations.store.response_cache import StoreCache

    return StoreCache(store)


def open_upstream(
    enabled: EnabledToolset,
    settings: Settings,
    log: Callable[..., None],
    store: RedisStore | None = None,
    *,
    visit: Visitor | None = None,
) -> Upstream | None:
    """Return the upstream of a toolset: HTTP, at the pace and with the cache that the toolset states, or None.

    Raises:
        UsageError: the settings name none, or one that cannot be used.
    """
    toolset, own = enabled
    if toolset.upstream is None:
        return None
    from signet.upstream.caching import CachingUpstream
    from signet.upstream.http import HttpUpstream

    spec = toolset.upstream(own)
    if spec.base_url is None:
        if toolset.service is not None and not toolset.needs:
            # The service is there without it.
            return None
        name = toolset.domain
        raise UsageError(f"the {name} toolset has no backend: write --{name}-base-url or set {name.upper()}_BASE_URL")
    try:
        turns = open_turns(settings, store) if spec.interval_s > 0 else ()
        own = None if visit is None else partial(visit, toolset.domain)
        opened: Upstream = HttpUpstream(spec, turns=turns, proxied=not settings.sandbox, log=log, visit=own)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if settings.limits.get(BREAKER):
        from signet.upstream.breaker import BreakerUpstream

        opened = BreakerUpstream(opened, settings.limits[BREAKER], spec.called, log)
    return CachingUpstream(opened, spec, open_cache(store)) if spec.coalesce else opened


def settings_of_replay(settings: Settings) -> Settings:
    """Return settings under which a replay sends the requests that were recorded, and waits for nothing.

    Raises:
        UsageError: there is no recording, it is of wrapped servers alone and none is configured, or its label cannot
            be used.
    """
    from signet.recording.folder import read_recording

    recording = read_recording(settings.replay or "")
    label = recording.label
    if recording.servers and not label.toolsets and settings.wrapping is None:
        message = f"{recording.folder} is a recording of wrapped servers alone: play it with the command 'wrap', or"
        raise UsageError(f"{message} configure its servers (there is no [servers.{next(iter(recording.servers))}])")
    names = settings.toolsets or ",".join(label.toolsets)
    settings = msgspec.structs.replace(settings, toolsets=names, sandbox=False)
    for toolset in _toolsets_of_replay(settings, label):
        origin = label.toolsets.get(toolset.name)
        recorded = {name: label.settings[flat] for name, flat in recorded_names(toolset) if flat in label.settings}
        # The address of a service that tools name is in no recording, and a setting of that name is the user's own.
        address = {"base_url": origin.origin} if origin and not toolset.has_services else {}
        changes = {**address, **recorded, **toolset.without_waiting}
        try:
            settings = settings.with_toolset(toolset, **changes)
        except ValueError as error:
            raise UsageError(f"the recording's label cannot be used ({error})") from None
    return settings


def _toolsets_of_replay(settings: Settings, label: RecordingLabel) -> list[Toolset]:
    """Return the toolsets of a replay; raise UsageError, with what to write, if one is a user's own and not given."""
    try:
        return [find_toolset(name) for name in load_toolsets(settings.toolsets)]
    except UsageError as error:
        own = [name for name in label.toolsets if name not in TOOLSETS]
        if settings.toolsets != ",".join(label.toolsets) or not own:
            raise
        advice = "write --toolsets with the file, folder or module that was recorded"
        message = f"the recording is of the toolset '{own[0]}', which is not part of Signet: {advice}"
        raise UsageError(message, error.trace) from None


def _recorded_servers(wrapping: Wrapping) -> dict[str, RecordedServer]:
    """Return how wrapped servers are served, by name: their rules, and nothing that starts them."""
    from signet.recording.label import RecordedServer

    servers = {}
    for spec in wrapping.servers:
        rules = {name: getattr(spec, name) for name in ("era", "pool", "validation", "call_timeout_s")}
        paths = {name: os.path.abspath(path) for name in ("tape", "contracts") if (path := getattr(spec, name))}
        servers[spec.name] = RecordedServer(served={"prefixed": wrapping.prefixed, **rules, **paths})
    return servers


def wrapping_of_replay(recording: Recording) -> Wrapping | None:
    """Return the wrapped servers of a recording, each played from what is recorded of it, if there are any.

    Raises:
        UsageError: the label says nothing usable of them.
    """
    from signet.settings.server_spec import ServerSpec, Wrapping

    played, is_prefixed = [], False
    for name, server in recording.label.servers.items():
        facts = {key: value for key, value in server.served.items() if key != "prefixed"}
        try:
            spec = msgspec.convert({**facts, "name": name}, ServerSpec)
        except msgspec.ValidationError as error:
            raise UsageError(f"the recording's label cannot be used ({error})") from None
        # A replay starts nothing, whatever the label says.
        tape = recording.servers.get(name) or spec.tape
        played.append(msgspec.structs.replace(spec, tape=tape, command=(), url="", record="", openapi=""))
        is_prefixed |= server.served.get("prefixed") is True
    return Wrapping(servers=tuple(played), prefixed=is_prefixed, is_private=True) if played else None


def utc_today() -> str:
    """Return the day by UTC, as ISO writes it."""
    return datetime.now(UTC).date().isoformat()  # rule: 2.T1.utc-only
