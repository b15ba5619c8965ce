"""The cost of telemetry: calls over HTTP with metrics, an access log and OpenTelemetry, beside the same without."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.contenders import Contender, find_signet
from bench.frames import LEGACY
from bench.plan import Plan
from bench.process import serving
from bench.rows import SIGNET, Metric, Row, Sheet, rotated
from bench.web import per_s

__all__ = ["CONNECTIONS", "METRICS", "OFF", "SECTION", "measure"]

SECTION = "telemetry"
OFF = "no telemetry"
METRICS = "metrics"
CONNECTIONS = 16
CELLS = 3
"""How often each server is measured in a round: the differences are small."""


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all servers anew for each round, and measure them by turns; each is compared with the one without."""
    sheet = Sheet()
    with _collector() as port:
        servers = _servers(find_signet(contenders), port)
        for number in range(plan.http_rounds):
            with contextlib.ExitStack() as stack:
                ports = {server.name: stack.enter_context(serving(server)) for server in servers}
                for cell in range(CELLS):
                    order = rotated(list(ports), number + cell)
                    _add(sheet, {name: per_s(plan, name, ports[name], LEGACY, CONNECTIONS) for name in order})
    return sheet.rows((SIGNET, OFF))


def _add(sheet: Sheet, found: dict[str, float]) -> None:
    for name, value in found.items():
        if name != OFF:
            metric = Metric(SECTION, f"{name}, {CONNECTIONS} connections", "calls/s", "more")
            sheet.add(metric, SIGNET, value)
            sheet.add(metric, OFF, found[OFF])


def _servers(signet: Contender, port: int) -> list[Contender]:
    metrics = (*signet.http, "--metrics-port", "0")
    collector = ("env", f"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{port}")
    return [
        replace(signet, name=OFF),
        replace(signet, name=METRICS, http=metrics),
        replace(signet, name="metrics and access log", http=(*metrics, "--access-log")),
        replace(signet, name="OpenTelemetry", http=(*collector, *signet.http)),
    ]


@contextlib.contextmanager
def _collector() -> Iterator[int]:
    """Run a collector that takes everything and keeps nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
