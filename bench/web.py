"""Calls over HTTP: the throughput on 1, 16 and 64 connections: MCP in both protocol eras, REST and envelopes."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.contenders import BARE, ECHO, NAMES, PROTOCOL, Contender, find_signet
from bench.frames import LARGE, LEGACY, MODERN, SLUG, SMALL, TOOL, WrongAnswerError
from bench.load import ENVELOPES, Job, Tally
from bench.plan import Plan
from bench.process import client_core, serving, spawned
from bench.rows import BOUND, Metric, Row, Sheet, rotated

__all__ = ["DOORS", "MCP", "measure", "measure_doors", "per_s"]

LOAD_TIMEOUT_S = 120.0
"""How long a load generator may run; it ends by itself long before."""
CELLS = (
    *((era, connections, SMALL) for era in (LEGACY, MODERN) for connections in (1, 16, 64)),
    *((era, 16, LARGE) for era in (LEGACY, MODERN)),
)
MCP = "/mcp"
DOORS = {"REST": f"/api/tools/{TOOL}", "envelope": f"{ENVELOPES}{SLUG}"}
"""The paths of the doors that only Signet has."""
DOOR_CONNECTIONS = 16


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all servers anew for each round; each cell measures one server after the other, if it knows the era."""
    sheet = Sheet()
    servers = (*contenders, BARE, PROTOCOL, ECHO)
    for number in range(plan.http_rounds):
        with contextlib.ExitStack() as stack:
            ports = {server.name: stack.enter_context(serving(server)) for server in servers}
            for era, connections, size in CELLS:
                large = "large, " if size == LARGE else ""
                metric = Metric("HTTP", f"{era}, {large}{_links(connections)}", "calls/s", "more")
                for name in rotated([server.name for server in servers if era in server.eras], number):
                    sheet.add(metric, name, per_s(plan, name, ports[name], era, connections, size=size))
    return sheet.rows(NAMES)


def measure_doors(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Measure REST and envelopes of Signet and of the bare servers; the other peers have neither."""
    sheet = Sheet()
    servers = (find_signet(contenders), BARE, PROTOCOL)
    for number in range(plan.http_rounds):
        with contextlib.ExitStack() as stack:
            ports = {server.name: stack.enter_context(serving(server)) for server in servers}
            for door, path in DOORS.items():
                metric = Metric(door, f"POST {path}, {_links(DOOR_CONNECTIONS)}", "calls/s", "more")
                for name in rotated(list(ports), number):
                    sheet.add(metric, name, per_s(plan, name, ports[name], None, DOOR_CONNECTIONS, path=path))
    return sheet.rows(NAMES)


def per_s(
    plan: Plan, name: str, port: int, era: str | None, connections: int, *, size: int = SMALL, path: str = MCP
) -> float:
    """Return the calls per second of one server under the load of a process of its own; MCP calls have an era."""
    job = Job(
        port=port,
        path=path,
        connections=connections,
        size=size,
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
    return tally.per_s


def _links(count: int) -> str:
    return f"{count} connection" if count == 1 else f"{count} connections"
