"""What counts and traces: the port of the metrics, and OpenTelemetry."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

from signet.kernel.events import Events
from signet.kernel.schemas import SchemaRegistry
from signet.settings.model import Settings
from signet.system.advice import advise
from signet.system.logs import WARN, Log

if TYPE_CHECKING:
    from signet.operations.telemetry.telemetry import Telemetry
    from signet.system.figures.registry import Registry

__all__ = ["open_figures", "open_telemetry"]

COLLECTOR: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variable that turns OpenTelemetry on, as its specification names it."""


def open_figures(settings: Settings, log: Log) -> Registry:
    """Return the registry of this process: in the folder of the port for metrics, if there is one."""
    from signet.system.figures.registry import Registry

    if not settings.metrics_dir:
        return Registry()
    from signet.system.figures.folder import MetricsFolder

    try:
        return Registry(MetricsFolder(settings.metrics_dir).enter())
    except OSError as error:
        why = f"{error.strerror}: {settings.metrics_dir}; calls are answered, and the page is away until a restart"
        log.line(WARN, "telemetry", "metrics.unwritable", why=why)
        return Registry()


def open_telemetry(
    settings: Settings, log: Log, contracts: SchemaRegistry, events: Events, figures: Registry | None = None
) -> Telemetry | None:
    """Return the telemetry, where there is a port for metrics or a collector; it listens to events from now on.

    It counts in the registry of the console, if there is one; what the journal writes is counted for both.
    """
    collector = os.environ.get(COLLECTOR, "").strip() and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"
    is_wanted = bool(collector or settings.metrics_dir)
    if figures is None and not is_wanted:
        return None
    registry = figures or open_figures(settings, log)
    _count_records(registry, events)
    if not is_wanted:
        return None
    from signet.operations.telemetry.telemetry import Telemetry

    warn = partial(log.line, WARN, "telemetry")
    tracing = None
    if collector:
        try:
            from signet.operations.telemetry.tracing import Tracing
        except ImportError:
            warn(
                "telemetry.missing", why=f"{COLLECTOR} is set; install OpenTelemetry: {advise('extra', install='otel')}"
            )
        else:
            facts = {"signet.validation.mode": settings.validation, "signet.replay": bool(settings.replay)}
            away = f"the collector that {COLLECTOR} names cannot be reached, or refuses what it is sent"
            tracing = Tracing(registry, contracts, facts, partial(warn, "telemetry.failed", why=away))
    telemetry = Telemetry(registry, settings.validation, tracing)
    telemetry.listen(events)
    if tracing is not None:
        from signet.operations.telemetry.followed import FollowedOperations

        events.add(tracing.listeners())
        events.add(Events(operations=FollowedOperations(telemetry)))
    return telemetry


def _count_records(registry: Registry, events: Events) -> None:
    """Count what the journal has written, and how old the oldest record is that it could not write."""
    from signet.system.figures.families import JOURNAL_LAG, JOURNAL_RECORDS

    counter, lag = registry.counter(JOURNAL_RECORDS.exposed), registry.gauge(JOURNAL_LAG.exposed)

    def written(records: int, lag_s: float) -> None:
        counter.inc(records)
        lag.set(lag_s)

    events.add(Events(written=written))
