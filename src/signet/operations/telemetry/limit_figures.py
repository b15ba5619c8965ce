"""The figures of limits, counted where Prometheus and OpenTelemetry read them."""

from __future__ import annotations

from signet.operations.limits.figures import Figures

from .registry import Counter, Registry

__all__ = ["LimitFigures"]


class LimitFigures(Figures):
    """Counts what the gates decide in a registry too."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry
        self._counters: dict[tuple[str, str], Counter] = {}
        self._check = registry.histogram("signet_rate_limit_check_duration_seconds")
        self._fail_open = registry.counter("signet_rate_limit_fail_open_total")
        self._store_errors = registry.counter("signet_store_errors_total")

    def decided(self, decision: tuple[str, str]) -> None:
        """Count a decision: `allowed` or `refused`, and its scope."""
        super().decided(decision)
        counter = self._counters.get(decision)
        if counter is None:
            labels = {"decision": decision[0], "scope": decision[1]}
            counter = self._counters[decision] = self._registry.counter("signet_rate_limit_decisions_total", labels)
        counter.inc()

    def checked(self, took_s: float) -> None:
        """Count a check of rates and quotas."""
        super().checked(took_s)
        self._check.observe(took_s)

    def store_failed(self) -> None:
        """Count a question that the store could not be asked."""
        super().store_failed()
        self._store_errors.inc()

    def failed_open(self) -> None:
        """Count a call that was let in because the store was away."""
        super().failed_open()
        self._fail_open.inc()
