"""A collector of OpenTelemetry on loopback: it keeps what it is sent, decoded with the protocol's own classes."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from processes import PATIENCE_S

TOOLS = """
import os
import signet

words = signet.Upstream(os.environ["WORDS_URL"], name="words")


@signet.tool
async def look_up(word: str) -> dict[str, str]:
    \"\"\"Look a word up.

    Args:
        word: The word.
    \"\"\"
    found = await words.get("/words", params={"q": word})
    return {"found": str(found.json())}
"""
"""A tool that asks a service."""


@dataclass
class Span:
    """A span as the collector got it."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    links: list[str]
    status: tuple[int, str]
    attributes: dict[str, Any]


@dataclass
class Collector:
    """What a collector was sent."""

    port: int
    raw: list[bytes] = field(default_factory=list)
    traces: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    @property
    def env(self) -> dict[str, str]:
        """The variables of a server that sends to it, soon."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }

    @property
    def spans(self) -> list[Span]:
        return [
            _to_span(span)
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def figures(self) -> dict[str, Any]:
        """The metrics of the last message, by name."""
        scopes = [scope for resource in self.metrics[-1].resource_metrics for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def once(self, ready: Callable[[Collector], bool]) -> None:
        """Wait until what has come is what a test waits for."""
        with self.came:
            assert self.came.wait_for(lambda: ready(self), PATIENCE_S), self.spans


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector until the block ends."""
    kept = Collector(0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            with kept.came:
                kept.raw.append(body)
                if self.path == "/v1/traces":
                    kept.traces.append(ExportTraceServiceRequest.FromString(body))
                else:
                    kept.metrics.append(ExportMetricsServiceRequest.FromString(body))
                kept.came.notify_all()
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()


def _to_span(span: Any) -> Span:
    return Span(
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        [f"{link.trace_id.hex()}-{link.span_id.hex()}" for link in span.links],
        (span.status.code, span.status.message),
        {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes},
    )
