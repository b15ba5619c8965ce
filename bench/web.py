"""Calls over HTTP: the throughput on 1, 16 and 64 connections, of MCP in both protocol eras and of REST."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.contenders import BARE, ECHO, NAMES, Contender, find_signet
from bench.frames import LEGACY, MODERN, SMALL, TOOL, WrongAnswerError
from bench.load import Job, Tally
from bench.plan import Plan
from bench.process import client_core, serving, spawned
from bench.rows import BOUND, Metric, Row, Sheet, rotated

__all__ = ["measure", "measure_rest"]

LOAD_TIMEOUT_S = 120.0
"""How long a load generator may run; it ends by itself long before."""
CELLS = tuple((era, connections) for era in (LEGACY, MODERN) for connections in (1, 16, 64))
REST_CONNECTIONS = 16


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all servers anew for each round; each cell measures one server after the other."""
    sheet = Sheet()
    for number in range(plan.http_rounds):
        with contextlib.ExitStack() as stack:
            servers = (*contenders, BARE, ECHO)
            ports = {server.name: stack.enter_context(serving(server)) for server in servers}
            for era, connections in CELLS:
                metric = Metric("HTTP", f"{era}, {_links(connections)}", "calls/s", "more")
                for name in rotated(list(ports), number):
                    sheet.add(metric, name, per_s(plan, name, ports[name], era, connections))
    return sheet.rows(NAMES)


def measure_rest(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Measure REST calls of Signet and of the bare application; the other peers have no REST."""
    sheet = Sheet()
    metric = Metric("REST", f"POST /api/tools/{TOOL}, {_links(REST_CONNECTIONS)}", "calls/s", "more")
    for number in range(plan.http_rounds):
        with contextlib.ExitStack() as stack:
            servers = (find_signet(contenders), BARE)
            ports = {server.name: stack.enter_context(serving(server)) for server in servers}
            for name in rotated(list(ports), number):
                sheet.add(metric, name, per_s(plan, name, ports[name], None, REST_CONNECTIONS))
    return sheet.rows(NAMES)


def per_s(plan: Plan, name: str, port: int, era: str | None, connections: int) -> float:
    """Return the calls per second of one server under the load of a process of its own; without an era, of REST."""
    job = Job(
        port=port,
        path=f"/api/tools/{TOOL}" if era is None else "/mcp",
        connections=connections,
        size=SMALL,
        era=era,
        warm_s=plan.warm_s,
        seconds=plan.cell_s,
        limit=plan.max_calls,
        echoes=name == BOUND,
    )
    command = (sys.executable, "-m", "bench.load", json.dumps(asdict(job)))
    with spawned(command, client_core()) as child:
        output, _ = child.process.communicate(timeout=LOAD_TIMEOUT_S)
        if child.process.returncode:
            complaint = f"{name}: {child.stderr()[-2000:]}"
            raise WrongAnswerError(complaint)
        tally = Tally(**json.loads(output))
    return tally.calls / tally.elapsed_s


def _links(count: int) -> str:
    return f"{count} connection" if count == 1 else f"{count} connections"
