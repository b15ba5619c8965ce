"""The figures of wrapped servers, counted where Prometheus and OpenTelemetry read them."""

from __future__ import annotations

from .families import LOCK_DRIFT, RESTARTS
from .registry import Gauge, Registry

__all__ = ["ServerFigures"]


class ServerFigures:
    """Counts the restarts of one server, and shows what differs from the lock."""

    def __init__(self, registry: Registry, server: str, drift: int | None) -> None:
        """Show both figures from the start; a server that no lock pins has no drift."""
        labels = {"server": server}
        self._restarts = registry.counter(RESTARTS.exposed, labels)
        self._counted = 0
        self._drift: Gauge | None = None
        if drift is not None:
            self._drift = registry.gauge(LOCK_DRIFT.exposed, labels)
            self._drift.set(float(drift))

    def show(self, restarts: int, drift: int | None) -> None:
        """Take over how the server stands."""
        if restarts > self._counted:
            self._restarts.inc(restarts - self._counted)
            self._counted = restarts
        if self._drift is not None and drift is not None:
            self._drift.set(float(drift))
