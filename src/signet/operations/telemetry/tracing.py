"""Spans for a collector of OpenTelemetry: one for each operation, one for each request to an upstream.

The SDK sends them from a thread of its own, out of a bounded queue; a collector that is away costs a call nothing.
No span has arguments, results or messages: what a client sent is in none, but for the id of its message.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec
from opentelemetry import baggage, context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from signet import __version__
from signet.kernel.errors import TABLE
from signet.kernel.events import Events, UpstreamVisit
from signet.kernel.schemas import Bundle, SchemaRegistry

from .operation import CURRENT, OTHER, Operation
from .otlp_metrics import MetricsPush

if TYPE_CHECKING:
    from signet.system.figures.registry import Registry

__all__ = ["Tracing"]

FLUSH_S: Final = 3.0
"""The longest time that the end of a process waits for the collector."""
MAX_ID_CHARS: Final = 128
FAILED_STATUS: Final = 400
_W3C: Final = TraceContextTextMapPropagator()
_BAGGAGE: Final = W3CBaggagePropagator()


class Tracing:
    """The spans of one process, and the way to its collector."""

    def __init__(
        self, registry: Registry, contracts: SchemaRegistry, facts: dict[str, Any], warn: Callable[[], None]
    ) -> None:
        """Send spans, and the figures of a registry; `facts` are attributes of every operation."""
        _warn_once(warn)
        resource = Resource.create(_resource())
        # The process ends when it is told to: the SDK's own hook would wait for half a minute.
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("signet", __version__)
        self._metrics = MetricsPush(registry, resource)
        self._contracts = contracts
        self._digests: dict[str, tuple[Bundle, str]] = {}
        self._facts = facts

    def start(self, operation: Operation) -> Any:
        """Begin the span of an operation, and return the block in which it is the current one."""
        self._begin(operation)
        return self.resume(operation)

    @contextmanager
    def resume(self, operation: Operation) -> Iterator[None]:
        """Make the span of an operation the current one inside of the block."""
        span, inherited = operation.span
        token = context.attach(trace.set_span_in_context(span, inherited))
        try:
            yield
        finally:
            context.detach(token)

    def end(self, operation: Operation) -> None:
        """End the span of an operation, with what became of it."""
        if operation.span is None:
            self._begin(operation)
        span, _ = operation.span
        if span.is_recording():
            known = operation.tool if operation.outcome is not None and operation.outcome.tool is not None else ""
            span.update_name(f"{operation.method} {known}".rstrip())
            span.set_attributes(self._attributes(operation))
            if operation.error:
                fault = operation.outcome.fault if operation.outcome is not None else None
                span.set_status(Status(StatusCode.ERROR, TABLE[fault.code].message if fault is not None else None))
        span.end()

    def listeners(self) -> Events:
        """Return the listeners of requests to upstreams."""
        return Events(upstream_request=self._begin_visit, upstream_response=_end_visit)

    def _begin_visit(self, visit: UpstreamVisit) -> None:
        """Begin the span of a request to an upstream, and name it to the upstream."""
        operation = CURRENT.get()
        parent = context.Context()
        if operation is not None and operation.span is not None:
            parent = trace.set_span_in_context(operation.span[0], parent)
        address = urlsplit(visit.origin)
        attributes: dict[str, Any] = {
            "http.request.method": visit.method,
            "server.address": address.hostname or "",
            "server.port": address.port or (443 if address.scheme == "https" else 80),
            "signet.upstream": visit.upstream,
        }
        span = visit.span = self._tracer.start_span(visit.method, parent, SpanKind.CLIENT, attributes)
        _W3C.inject(visit.headers, trace.set_span_in_context(span, context.Context()))

    def close(self) -> None:
        """Send what is left, as far as the collector takes it in time."""
        closing = [
            threading.Thread(target=close, name="telemetry", daemon=True)
            for close in (self._provider.shutdown, self._metrics.close)
        ]
        for thread in closing:
            thread.start()
        deadline_s = monotonic() + FLUSH_S
        for thread in closing:
            thread.join(max(0.0, deadline_s - monotonic()))

    def _begin(self, operation: Operation) -> None:
        parent, link = _origin(operation)
        links = [Link(link)] if link is not None else []
        span = self._tracer.start_span(operation.method or OTHER, parent, SpanKind.SERVER, links=links)
        operation.span = span, parent

    def _attributes(self, operation: Operation) -> dict[str, Any]:
        """Return the attributes of an operation that has ended; those that do not apply are left out."""
        outcome, caller = operation.outcome, operation.caller
        found: dict[str, Any] = {
            "mcp.method.name": operation.method,
            "error.type": operation.error,
            "rpc.response.status_code": str(operation.code) if operation.code else "",
            "jsonrpc.request.id": "" if operation.id is None else str(operation.id)[:MAX_ID_CHARS],
            "mcp.protocol.version": operation.version,
            "network.transport": operation.transport,
            "network.protocol.name": "http" if operation.transport == "tcp" else "",
            "client.address": caller.address,
            **self._facts,
        }
        if outcome is not None:
            fault, tool = outcome.fault, outcome.tool
            broken = fault or outcome.shadow_violation
            found |= {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool.name if tool is not None else "",
                "signet.door": outcome.call.door.name,
                "signet.canonical_code": fault.code.value if fault is not None else "OK",
                "signet.contract.digest": self._digest(tool.slug) if tool is not None else "",
                "signet.contract.stage": (broken.stage or "tool") if broken is not None else "",
            }
        return {name: value for name, value in found.items() if value != ""}

    def _digest(self, slug: str) -> str:
        """Return the SHA-256 of a tool's contract, as canonical JSON; a wrapped server may change its contracts."""
        bundle, made = self._contracts.load_bundle(slug), self._digests.get(slug)
        if made is None or made[0] is not bundle:
            text = msgspec.json.encode({"input": bundle.input, "output": bundle.output}, order="sorted")
            made = self._digests[slug] = bundle, sha256(text).hexdigest()
        return made[1]


def _end_visit(visit: UpstreamVisit) -> None:
    """End the span of a request by the status of the response, or by the kind of the failure."""
    span, code = visit.span, visit.code
    if code.isdigit():
        span.set_attribute("http.response.status_code", int(code))
    if not code.isdigit() or int(code) >= FAILED_STATUS:
        span.set_attribute("error.type", code)
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def _origin(operation: Operation) -> tuple[context.Context, SpanContext | None]:
    """Return the context in which an operation begins, and the HTTP request's span if it is not the parent.

    The `_meta` of a message is nearer to its client than the headers that carry it.
    """
    meta = operation.meta
    given = {"traceparent": meta.trace, "tracestate": meta.trace_state, "baggage": meta.baggage}
    carrier = {name: value for name, value in given.items() if isinstance(value, str)}
    nothing = context.Context()
    own = _BAGGAGE.extract(carrier, _W3C.extract(carrier, nothing))
    around = _W3C.extract({"traceparent": operation.caller.trace}, nothing)
    http = trace.get_current_span(around).get_span_context()
    if trace.get_current_span(own).get_span_context().is_valid:
        return own, http if http.is_valid else None
    for name, value in baggage.get_all(own).items():
        around = baggage.set_baggage(name, value, around)
    return around, None


def _resource() -> dict[str, str]:
    """Return what names this process, unless the variables of OpenTelemetry do."""
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {"service.version": __version__} if named else {"service.name": "signet", "service.version": __version__}


def _warn_once(warn: Callable[[], None]) -> None:
    """Say once that the SDK complains. Its own lines are not repeated: they may show where the collector is."""
    logger = logging.getLogger("opentelemetry")
    logger.handlers[:] = [_Complaints(warn)]
    logger.propagate = False


class _Complaints(logging.Handler):
    """Tells of the first complaint of the SDK."""

    def __init__(self, warn: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._warn = warn
        self._told = False

    def emit(self, _: logging.LogRecord) -> None:
        """Warn, the first time."""
        if not self._told:
            self._told = True
            self._warn()
