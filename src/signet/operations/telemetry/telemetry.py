"""The telemetry of one process: what is counted and traced of operations, requests and upstreams."""

from __future__ import annotations

import platform
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from signet import __version__
from signet.kernel.events import Events, UpstreamVisit
from signet.kernel.exchange import Exchange
from signet.system.figures.families import (
    BUILD,
    IN_FLIGHT,
    OPERATIONS,
    REQUESTS,
    UPSTREAM_REQUESTS,
    VIOLATIONS,
)
from signet.system.figures.registry import Counter, Histogram, HistogramSeries, Registry

from .operation import CURRENT, OTHER, STATED, Operation, operation_of

if TYPE_CHECKING:
    from .tracing import Tracing

__all__ = ["Telemetry"]

T = TypeVar("T")
NOTHING: Final = nullcontext()
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"})
ROUTES: Final = {
    "http mcp": "/mcp",
    "http envelope": "/mcp/tool/{slug}",
    "rest": "/api/tools/{name}",
    "rest, legacy": "/mcp/v1/{name}",
    "page": "/render/{path}",
}
"""The routes of the doors."""
PAGES: Final = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/api/tools"})


class Telemetry:
    """Counts in a registry, and traces where there is a collector."""

    def __init__(self, registry: Registry, mode: str, tracing: Tracing | None = None) -> None:
        """Count for a pipeline of a validation mode."""
        self.registry = registry
        self._mode = mode
        self._tracing = tracing
        self._events = Events()
        self._operations = HistogramSeries(registry, OPERATIONS)
        self._requests = HistogramSeries(registry, REQUESTS)
        self._upstreams = HistogramSeries(registry, UPSTREAM_REQUESTS)
        self._figures: dict[tuple[str, int, str, str, str], list[Histogram]] = {}
        """The figures of calls that succeed, which most do; nothing in a key is a client's."""
        self._in_flight = registry.gauge(IN_FLIGHT.exposed)
        build = {"version": __version__, "python": platform.python_version()}
        registry.gauge(BUILD.exposed, build).set(1.0)

    def listen(self, events: Events) -> None:
        """Listen to the events of a server, to count them."""
        self._events = events
        events.add(
            Events(
                awaiting=self._in_flight.set,
                http_exchange=self.exchanged,
                upstream_response=self._upstream_answered,
            )
        )

    def started(self, operation: Operation) -> AbstractContextManager[None]:
        """Begin the span of an operation, and return the block in which it is the current one."""
        return NOTHING if self._tracing is None else self._tracing.start(operation)

    async def awaited(
        self, operation: Operation, pending: Coroutine[Any, Any, T], end: Callable[[Operation, T | None], None]
    ) -> T:
        """Await an operation, as a part of which all runs that it awaits, and end it however it ends."""
        answer: T | None = None
        CURRENT.set(operation)
        try:
            with NOTHING if self._tracing is None else self._tracing.resume(operation):
                answer = await pending
            return answer
        finally:
            # The task may go on with something else.
            CURRENT.set(None)
            end(operation, answer)

    def ended(self, operation: Operation) -> None:
        """Count an operation, and end its span."""
        self._count(operation, perf_counter() - operation.started_s)
        if self._tracing is not None:
            self._tracing.end(operation)

    def exchanged(self, exchange: Exchange) -> None:
        """Count an HTTP request, and the operation in it unless that is followed by itself."""
        outcome, version = exchange.outcome, exchange.version
        if outcome is None or outcome.tool is None or outcome.fault is not None or version not in STATED:
            self._exchanged_slowly(exchange)
            return
        key = exchange.door, exchange.status, outcome.tool.name, version, exchange.request[:4]
        figures = self._figures.get(key)
        if figures is None or outcome.shadow_violation is not None:
            self._figures[key] = self._exchanged_slowly(exchange)
            return
        if len(figures) == 1:
            figures[0].observe(exchange.took_s)
        else:
            figures[0].observe_with(figures[1], exchange.took_s)

    def _exchanged_slowly(self, exchange: Exchange) -> list[Histogram]:
        """Count an exchange, and return the figures that were counted with."""
        method, _, path = exchange.request.partition(" ")
        known = method if method in METHODS else "_OTHER"
        route = ROUTES.get(exchange.door) or (path if path in PAGES else OTHER)
        request = self._requests[known, route, str(exchange.status)]
        request.observe(exchange.took_s)
        if self._tracing is not None or exchange.door == "http" or (exchange.outcome is None and not exchange.body):
            return [request]
        return [request, self._count(operation_of(exchange), exchange.took_s)]

    def _count(self, operation: Operation, took_s: float) -> Histogram:
        labels = operation.method, operation.tool, operation.error, operation.transport, operation.version
        figure = self._operations[labels]
        figure.observe(took_s)
        outcome = operation.outcome
        if outcome is not None:
            violation = outcome.fault if outcome.fault is not None and outcome.fault.stage else outcome.shadow_violation
            if violation is not None:
                labelled = {"tool": operation.tool, "stage": violation.stage, "mode": self._mode}
                self.registry.counter(VIOLATIONS.exposed, labelled).inc()
        return figure

    def _upstream_answered(self, visit: UpstreamVisit) -> None:
        """Count a request to an upstream by its status, or by the kind of its failure."""
        self._upstreams[visit.upstream, visit.code].observe(visit.took_s)

    def listen_to_limits(self, events: Events) -> None:
        """Listen to the decisions of gates; a server without gates has none of these figures."""
        registry, name = self.registry, "signet_rate_limit_decisions_total"
        counters: dict[tuple[str, str], Counter] = {}

        def decided(decision: str, scope: str) -> None:
            counter = counters.get((decision, scope))
            if counter is None:
                counter = registry.counter(name, {"decision": decision, "scope": scope})
                counters[decision, scope] = counter
            counter.inc()

        events.add(
            Events(
                limit_decided=decided,
                limit_checked=registry.histogram("signet_rate_limit_check_duration_seconds").observe,
                store_failed=registry.counter("signet_store_errors_total").inc,
                failed_open=registry.counter("signet_rate_limit_fail_open_total").inc,
            )
        )

    def close(self) -> None:
        """Send what is left to the collector, and give up the cells; what others write at the end does not wait."""
        if self._events.end is not None:
            self._events.end()
        if self._tracing is not None:
            self._tracing.close()
        self.registry.close()
