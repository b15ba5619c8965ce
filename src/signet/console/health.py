"""Health: figures of the last hour, how the server stands now, and what is configured."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from signet.kernel.events import Events
from signet.kernel.relay import ServerState
from signet.settings.model import Settings
from signet.system.figures.families import HOUR_CALLS, HOUR_REFUSALS, JOURNAL_LAG, JOURNAL_RECORDS
from signet.system.figures.hour import MAX_NAME_CHARS, SLICE_S, Tallies, Tally
from signet.system.figures.quantiles import bucket_of
from signet.system.redaction import SecretRedactor
from signet.upstream.origin import parse_origin

from .effective import ConsoleSettings, configured_limits, configured_settings
from .health_summary import HealthSummary, summarise
from .parts import ConsoleContext
from .processes import ProcessExchange, ProcessState
from .trial import door_of
from .twin import Twin, Visit
from .upstreams import UpstreamWatch
from .work import work

if TYPE_CHECKING:
    from signet.journal.record import JournalEntry, JournalRecord

__all__ = ["Health", "tallies_of", "twins"]


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of this view."""
    health = Health(parts)
    if parts.settings.workers > 1:
        health.exchange.start()

    async def show(_: Visit) -> HealthSummary:
        relay = parts.server.relay
        # On the event loop, where servers start and end.
        servers = [health.without_secrets(one) for one in relay.states()] if relay is not None else []
        return await work(health.summary, servers)

    async def show_settings(_: Visit) -> ConsoleSettings:
        return await work(lambda: health.settings)

    return (
        Twin(path="/-/health", summary="Tell the figures of the last hour", answer=HealthSummary, run=show),
        Twin(path="/-/settings", summary="List what is configured", answer=ConsoleSettings, run=show_settings),
    )


class Health:
    """Watches one server, and exchanges figures with its other processes."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._parts = parts
        self._hour = parts.figures.hour
        self._records = parts.figures.counter(JOURNAL_RECORDS.exposed)
        self._lag = parts.figures.gauge(JOURNAL_LAG.exposed)
        self._upstreams = UpstreamWatch(parts.server.upstreams, _names(parts.settings), self._hour)
        self.exchange = ProcessExchange(parts.spool, self._hour, self.state)
        self._limits = configured_limits(parts.settings)
        self._redactor = SecretRedactor(parts.settings.secrets())
        parts.server.events.add(
            Events(
                records=self._on_records,
                refusal=self._on_refusal,
                upstream_response=self._upstreams.answered,
            )
        )

    def _on_records(self, batch: list[tuple[JournalEntry, JournalRecord]]) -> None:
        self._hour.add(tallies_of(batch))

    def _on_refusal(self, address: str, status: int, reason: str) -> None:
        # Whoever is refused stays unnamed.
        del address
        self._hour.note(HOUR_REFUSALS, (reason, str(status)))

    def state(self) -> ProcessState:
        """Return how this process stands."""
        written = int(self._records.value) if self._parts.settings.keeps_journal else 0
        in_flight = self._parts.server.pipeline.in_flight
        return ProcessState(os.getpid(), time.time(), in_flight, self._lag.value, written, self._upstreams.now())

    def without_secrets(self, server: ServerState) -> ServerState:
        """Return how a wrapped server stands, without the secrets that its own words may hold."""
        text = self._redactor.text
        return msgspec.structs.replace(server, source=text(server.source), reason=text(server.reason))

    def summary(self, servers: Sequence[ServerState] = ()) -> HealthSummary:
        """Return all figures; it takes milliseconds, so it is not for the event loop."""
        self.exchange.exchange()
        states = [self.state(), *self.exchange.others()]
        keeps_journal = self._parts.settings.keeps_journal
        return summarise(self._hour, states, self._limits, servers, keeps_journal=keeps_journal)

    @cached_property
    def settings(self) -> ConsoleSettings:
        """Return what is configured; it does not change while the process runs."""
        return configured_settings(self._parts.settings)


def tallies_of(batch: list[tuple[JournalEntry, JournalRecord]]) -> Tallies:
    """Return the tallies of a batch of calls; tools that are not there count as one without a name."""
    found: dict[tuple[int, str, str], Tally] = {}
    for entry, _ in batch:
        tool, call = entry.tool, entry.call
        name = tool.name if tool is not None else ""
        key = (int(entry.ended_s) // SLICE_S, name, door_of(call.door, call.caller))
        tally = found.get(key)
        if tally is None:
            tally = found[key] = Tally()
        times, bucket = tally.times, bucket_of(entry.took_s)
        times[bucket] = times.get(bucket, 0) + 1
        fault = entry.fault
        if fault is not None:
            name = f"{fault.code.value}/{fault.name[:MAX_NAME_CHARS]}"
            tally.faults[name] = tally.faults.get(name, 0) + 1
    return {(number, (HOUR_CALLS.name, (name, door))): tally for (number, name, door), tally in found.items()}


def _names(settings: Settings) -> dict[str, str]:
    """Return the names of the toolsets that have an upstream, by its origin."""
    names: dict[str, str] = {}
    for toolset, own in settings.enabled():
        base_url = toolset.upstream(own).base_url if toolset.upstream is not None else None
        if base_url is not None and not settings.replay:
            origin = parse_origin(base_url, with_path=True)
            names.setdefault("/".join(origin.split("/")[:3]), toolset.domain)
    return names
