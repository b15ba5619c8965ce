"""Wrappers: the time that each adds to a call, and its throughput with 64 calls in flight, on stdio and over HTTP.

caller ── stdio or HTTP ──▶ wrapper ── stdio ──▶ one server, the same for all
caller ── stdio ────────────────────────────────▶ that server: `direct`
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.calls import IN_FLIGHT, latencies_us
from bench.calls import per_s as stdio_per_s
from bench.contenders import FASTMCP, MCP_PROXY, NAMES, PORT, PROXY_ENVIRONMENT, Contender, find_signet
from bench.frames import FIRST, LEGACY, SMALL, Call
from bench.load import ANSWER_S, CHUNK, Job, complete_body, preamble
from bench.pipe import opened
from bench.plan import Plan
from bench.process import serving
from bench.rows import SIGNET, Metric, Row, Sheet, rotated
from bench.web import per_s as http_per_s

__all__ = ["ADDED", "DIRECT", "DOORS", "HTTP", "SECTION", "STDIO", "measure"]

SECTION = "wrap"
DIRECT = "direct"
"""The server without a wrapper."""
STDIO, HTTP = DOORS = ("stdio", "HTTP")
ADDED = "one at a time, p50 added"
WHOLE = "one at a time, p50"

_PEERS = Path(__file__).resolve().parent / "peers"
SERVER = (sys.executable, str(_PEERS / "wrapped_stdio.py"))


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all wrappers anew for each round; each cell measures one wrapper after the other."""
    sheet = Sheet()
    everyone = _wrappers(find_signet(contenders).stdio[0])
    for number in range(plan.http_rounds):
        direct = _measure_stdio(plan, sheet, rotated(everyone, number))
        _measure_http(plan, sheet, rotated([one for one in everyone if one.http], number), direct)
    return sheet.rows((*NAMES, DIRECT))


def _wrappers(signet: str) -> list[Contender]:
    fastmcp = (sys.executable, str(_PEERS / "fastmcp_proxy.py"))
    proxy = (str(PROXY_ENVIRONMENT / "bin" / MCP_PROXY), "--stateless", "--pass-environment", "--log-level", "WARNING")
    return [
        # The variables of a child are an allow-list; this one holds the benchmark's own folder.
        Contender(
            SIGNET,
            (signet, "wrap", "--env", "PYTHONPATH", "--", *SERVER),
            (signet, "wrap", "--serve", "--port", "0", "--env", "PYTHONPATH", "--", *SERVER),
        ),
        Contender(FASTMCP, (*fastmcp, "stdio", *SERVER), (*fastmcp, "http", PORT, *SERVER)),
        Contender(MCP_PROXY, (), (*proxy, "--port", PORT, "--", *SERVER)),
        Contender(DIRECT, SERVER, ()),
    ]


def _measure_stdio(plan: Plan, sheet: Sheet, everyone: Sequence[Contender]) -> float:
    """Measure the wrappers on stdio, and return the median of the server itself."""
    call = Call.of(SMALL)
    with contextlib.ExitStack() as stack:
        pipes = {one.name: stack.enter_context(opened(one)) for one in everyone if one.stdio}
        medians = {name: latencies_us(plan, call, pipe)[0] for name, pipe in pipes.items()}
        for name, pipe in pipes.items():
            per_s = stdio_per_s(plan, call, pipe)
            sheet.add(Metric(SECTION, f"{STDIO}, {IN_FLIGHT} in flight", "calls/s", "more"), name, per_s)
    _add_medians(sheet, STDIO, medians, medians[DIRECT])
    return medians[DIRECT]


def _measure_http(plan: Plan, sheet: Sheet, everyone: Sequence[Contender], direct_us: float) -> None:
    with contextlib.ExitStack() as stack:
        ports = {one.name: stack.enter_context(serving(one)) for one in everyone}
        medians = {name: _p50_us(plan, port) for name, port in ports.items()}
        for name, port in ports.items():
            per_s = http_per_s(plan, name, port, LEGACY, IN_FLIGHT)
            sheet.add(Metric(SECTION, f"{HTTP}, {IN_FLIGHT} in flight", "calls/s", "more"), name, per_s)
    _add_medians(sheet, HTTP, medians, direct_us)


def _add_medians(sheet: Sheet, door: str, medians: dict[str, float], direct_us: float) -> None:
    for name, median in medians.items():
        sheet.add(Metric(SECTION, f"{door}, {WHOLE}", "µs", "less"), name, median)
        if name != DIRECT:
            sheet.add(Metric(SECTION, f"{door}, {ADDED}", "µs", "less"), name, median - direct_us)


def _p50_us(plan: Plan, port: int) -> float:
    """Return the median of calls made one after the other on one connection."""
    call = Call.of(SMALL)
    job = Job(port, "/mcp", 1, SMALL, LEGACY, plan.warm_s, plan.cell_s, plan.max_calls, echoes=False)
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _sequence(call, link, preamble(job, call), plan.warm_s)
        return statistics.median(_sequence(call, link, preamble(job, call), plan.cell_s)) / 1e3


def _sequence(call: Call, link: socket.socket, head: bytes, seconds: float) -> list[int]:
    """Make calls one after the other for so long and return the nanoseconds that each took."""
    taken: list[int] = []
    answers: list[bytes] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        request = head + call.frame(FIRST + len(taken))
        begun = time.perf_counter_ns()
        link.sendall(request)
        data = link.recv(CHUNK)
        while (body := complete_body(data)) is None:
            data += link.recv(CHUNK)
        taken.append(time.perf_counter_ns() - begun)
        answers.append(body)
    call.check(answers, range(FIRST, FIRST + len(taken)))
    return taken
