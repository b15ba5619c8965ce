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

__all__ = ["open_telemetry"]

COLLECTOR: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variable that turns OpenTelemetry on, as its specification names it."""


def open_telemetry(settings: Settings, log: Log, contracts: SchemaRegistry, events: Events) -> Telemetry | None:
    """Return the telemetry, where there is a port for metrics or a collector; it listens to events from now on."""
    collector = os.environ.get(COLLECTOR, "").strip() and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"
    if not collector and not settings.metrics_dir:
        return None
    from signet.operations.telemetry.folder import MetricsFolder
    from signet.operations.telemetry.registry import Registry
    from signet.operations.telemetry.telemetry import Telemetry

    warn = partial(log.line, WARN, "telemetry")
    cells = None
    if settings.metrics_dir:
        try:
            cells = MetricsFolder(settings.metrics_dir).enter()
        except OSError as error:
            why = f"{error.strerror}: {settings.metrics_dir}; calls are answered, and the page is away until a restart"
            warn("metrics.unwritable", why=why)
    registry = Registry(cells)
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
