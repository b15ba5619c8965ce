"""Calls on stdio: the latency of one call at a time, and the throughput with 64 in flight."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Sequence

from bench.contenders import BARE, ECHO, NAMES, Contender
from bench.frames import LARGE, SMALL, Call
from bench.pipe import Pipe, opened
from bench.plan import Plan
from bench.rows import Metric, Row, Sheet, rotated

__all__ = ["IN_FLIGHT", "latencies_us", "measure", "per_s"]

IN_FLIGHT = 64
SIZES = {"small": SMALL, "large": LARGE}


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start all servers anew for each round; each cell measures one server after the other."""
    sheet = Sheet()
    for number in range(plan.stdio_rounds):
        with contextlib.ExitStack() as stack:
            servers = (*contenders, BARE, ECHO)
            pipes = {server.name: stack.enter_context(opened(server)) for server in servers}
            order = rotated(list(pipes), number)
            for label, size in SIZES.items():
                call = Call.of(size)
                for name in order:
                    p50, p99 = latencies_us(plan, call, pipes[name])
                    sheet.add(Metric("stdio", f"one at a time, {label}, p50", "µs", "less"), name, p50)
                    sheet.add(Metric("stdio", f"one at a time, {label}, p99", "µs", "less"), name, p99)
                metric = Metric("stdio", f"{IN_FLIGHT} in flight, {label}", "calls/s", "more")
                for name in order:
                    sheet.add(metric, name, per_s(plan, call, pipes[name]))
    return sheet.rows(NAMES)


def latencies_us(plan: Plan, call: Call, pipe: Pipe) -> tuple[float, float]:
    """Return the median and the 99th percentile of calls made one after the other."""
    pipe.sequence(call, plan.warm_s, plan.max_calls)
    taken = pipe.sequence(call, plan.cell_s, plan.max_calls)
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    return cuts[49] / 1e3, cuts[98] / 1e3


def per_s(plan: Plan, call: Call, pipe: Pipe) -> float:
    """Return the calls per second with many calls in flight."""
    pipe.flood(call, IN_FLIGHT, plan.warm_s, plan.max_calls)
    return pipe.flood(call, IN_FLIGHT, plan.cell_s, plan.max_calls).per_s
