"""Calls over HTTP: the throughput on 1, 16 and 64 connections, in both protocol eras."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.contenders import ECHO, NAMES, Contender
from bench.frames import LEGACY, MODERN, SMALL, WrongAnswerError
from bench.load import Job, Tally
from bench.plan import Plan
from bench.process import client_core, serving, spawned
from bench.rows import BOUND, Metric, Row, Sheet, rotated

__all__ = ["measure"]

LOAD_TIMEOUT_S = 120.0
"""How long a load generator may run; it ends by itself long before."""
CELLS = ((LEGACY, 1), (LEGACY, 16), (LEGACY, 64), (MODERN, 1), (MODERN, 64))


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all servers anew for each round; each cell measures one server after the other."""
    sheet = Sheet()
    for number in range(plan.http_rounds):
        with contextlib.ExitStack() as stack:
            servers = (*contenders, ECHO)
            ports = {server.name: stack.enter_context(serving(server)) for server in servers}
            for era, connections in CELLS:
                metric = Metric("HTTP", f"{era}, {_links(connections)}", "calls/s", "more")
                for name in rotated(list(ports), number):
                    sheet.add(metric, name, per_s(plan, name, ports[name], era, connections))
    return sheet.rows(NAMES)


def per_s(plan: Plan, name: str, port: int, era: str, connections: int) -> float:
    """Return the calls per second of one server under the load of a process of its own."""
    job = Job(
        port=port,
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
