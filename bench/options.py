"""The cost of options: calls over HTTP with metrics, OpenTelemetry, limits, a store or an audit log, beside none."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench import store
from bench.contenders import Contender, find_signet
from bench.frames import LEGACY
from bench.plan import Plan
from bench.process import serving
from bench.rows import SIGNET, Metric, Row, Sheet, rotated
from bench.web import per_s

__all__ = ["CONNECTIONS", "METRICS", "OFF", "SECTION", "measure"]

SECTION = "options"
OFF = "Signet without"
METRICS = "metrics"
CONNECTIONS = 16
CELLS = 3
"""How often each server is measured in a round: the differences are small."""
RATE = "1000000/s"
"""A limit that no load reaches: each call is counted, none is refused."""


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all servers anew for each round, and measure them by turns; each is compared with the one without."""
    sheet = Sheet()
    with _collector() as port, store.running() as url:
        servers = _servers(find_signet(contenders), port, url)
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


def _servers(signet: Contender, port: int, url: str) -> list[Contender]:
    metrics = ("--metrics-port", "0")
    limited = ("--rate-limit", RATE)
    flags = {
        OFF: (),
        METRICS: metrics,
        "metrics and access log": (*metrics, "--access-log"),
        "a limit in memory": limited,
        "a limit in Redis": (*limited, "--store", url),
        "audit log": ("--audit-log", "audit.jsonl"),
    }
    collector = ("env", f"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{port}")
    return [
        *(replace(signet, name=name, http=(*signet.http, *more)) for name, more in flags.items()),
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
