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
from signet.system.redaction import SecretRedactor
from signet.upstream.origin import parse_origin

from .effective import ConsoleSettings, configured_limits, configured_settings
from .figures import REFUSALS, HourFigures, tallies_of
from .health_summary import HealthSummary, summarise
from .parts import ConsoleContext
from .processes import Exchange, ProcessState
from .twin import Twin, Visit
from .upstreams import UpstreamWatch
from .work import work

if TYPE_CHECKING:
    from signet.journal.record import JournalEntry, JournalRecord

__all__ = ["Health", "twins"]


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
        self._lag_s = 0.0
        self._written = 0
        self.figures = HourFigures(keeps_unsent=parts.settings.workers > 1)
        self._upstreams = UpstreamWatch(parts.server.upstreams, _names(parts.settings), self.figures)
        self.exchange = Exchange(parts.spool, self.figures, self.state)
        self._limits = configured_limits(parts.settings)
        self._redactor = SecretRedactor(parts.settings.secrets())
        parts.server.events.add(
            Events(
                records=self._on_records,
                written=self._on_written,
                refusal=self._on_refusal,
                upstream_response=self._upstreams.answered,
            )
        )

    def _on_records(self, batch: list[tuple[JournalEntry, JournalRecord]]) -> None:
        self.figures.add(tallies_of(batch))

    def _on_written(self, records: int, lag_s: float) -> None:
        self._written += records
        self._lag_s = lag_s

    def _on_refusal(self, address: str, status: int, reason: str) -> None:
        # Whoever is refused stays unnamed.
        del address
        self.figures.note(REFUSALS, reason, str(status))

    def state(self) -> ProcessState:
        """Return how this process stands."""
        written = self._written if self._parts.settings.keeps_journal else 0
        in_flight = self._parts.server.pipeline.in_flight
        return ProcessState(os.getpid(), time.time(), in_flight, self._lag_s, written, self._upstreams.now())

    def without_secrets(self, server: ServerState) -> ServerState:
        """Return how a wrapped server stands, without the secrets that its own words may hold."""
        text = self._redactor.text
        return msgspec.structs.replace(server, source=text(server.source), reason=text(server.reason))

    def summary(self, servers: Sequence[ServerState] = ()) -> HealthSummary:
        """Return all figures; it takes milliseconds, so it is not for the event loop."""
        self.exchange.exchange()
        states = [self.state(), *self.exchange.others()]
        keeps_journal = self._parts.settings.keeps_journal
        return summarise(self.figures, states, self._limits, servers, keeps_journal=keeps_journal)

    @cached_property
    def settings(self) -> ConsoleSettings:
        """Return what is configured; it does not change while the process runs."""
        return configured_settings(self._parts.settings)


def _names(settings: Settings) -> dict[str, str]:
    """Return the names of the toolsets that have an upstream, by its origin."""
    names: dict[str, str] = {}
    for toolset, own in settings.enabled():
        base_url = toolset.upstream(own).base_url if toolset.upstream is not None else None
        if base_url is not None and not settings.replay:
            origin = parse_origin(base_url, with_path=True)
            names.setdefault("/".join(origin.split("/")[:3]), toolset.domain)
    return names
