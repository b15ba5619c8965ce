"""The figures of a process, sent to a collector of OpenTelemetry from time to time, by a thread of its own."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from signet import __version__
from signet.system.figures.families import BY_NAME, Family
from signet.system.figures.registry import Registry

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

__all__ = ["MetricsPush"]

INTERVAL_MS: Final = 60_000
MIN_INTERVAL_MS: Final = 100
CUMULATIVE: Final = AggregationTemporality.CUMULATIVE


class MetricsPush:
    """Sends the figures of a registry every minute, or as often as OTEL_METRIC_EXPORT_INTERVAL says, and at the end."""

    def __init__(self, registry: Registry, resource: Resource) -> None:
        self._registry = registry
        self._resource = resource
        self._started_ns = time.time_ns()
        self._exporter = OTLPMetricExporter()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send the last figures, and end."""
        self._closing.set()
        self._thread.join()
        self._exporter.shutdown()

    def _run(self) -> None:
        interval_s = _interval_ms() / 1000
        while not self._closing.wait(interval_s):
            self._exporter.export(self.data())
        self._exporter.export(self.data())

    def data(self) -> MetricsData:
        """Return the figures as the exporter takes them."""
        points: dict[str, list[Any]] = {}
        now_ns = time.time_ns()
        for (name, labels), cells in self._registry.figures().items():
            family = BY_NAME[name]
            attributes = {label: value for label, value in zip(family.labels, labels, strict=True) if value}
            points.setdefault(name, []).append(_point(family, attributes, cells, (self._started_ns, now_ns)))
        metrics = [_metric(BY_NAME[name], found) for name, found in points.items()]
        scope = ScopeMetrics(InstrumentationScope("signet", __version__), metrics, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])


def _point(family: Family, attributes: dict[str, str], cells: list[float], span_ns: tuple[int, int]) -> Any:
    if family.kind != "histogram":
        return NumberDataPoint(attributes, *span_ns, cells[0])
    *buckets, total = cells
    counts = [int(count) for count in buckets]
    # The smallest and the largest value are not kept, and the wire need not have them.
    unknown: Any = None
    return HistogramDataPoint(attributes, *span_ns, sum(counts), total, counts, family.bounds, unknown, unknown)


def _metric(family: Family, points: list[Any]) -> Metric:
    data: Any
    if family.kind == "histogram":
        data = Histogram(points, CUMULATIVE)
    elif family.kind == "counter":
        data = Sum(points, CUMULATIVE, is_monotonic=True)
    else:
        data = Gauge(points)
    return Metric(family.name, family.help, family.unit or "1", data)


def _interval_ms() -> int:
    try:
        return max(MIN_INTERVAL_MS, int(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", INTERVAL_MS)))
    except ValueError:
        return INTERVAL_MS
