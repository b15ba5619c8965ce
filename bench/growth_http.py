"""How cost grows over HTTP: with the number of connections, with `--workers`, and in ten minutes of calls.

             ┌── a line: the next window ──▶┐
this process ┤                              load process ── connections ──▶ server
             └── reads the server's memory while the connections are open
"""

from __future__ import annotations

import contextlib
import json
import resource
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace

from bench.contenders import FASTMCP, NAMES, SDK, Contender, find_signet
from bench.frames import LEGACY, WrongAnswerError
from bench.growth_load import CurveJob, Window
from bench.memory import field_mb
from bench.plan import Plan
from bench.process import client_core, served, server_core, spawned
from bench.rows import SIGNET, Metric, Row, Sheet, rotated

__all__ = [
    "CALLS",
    "CONNECTIONS",
    "CONNECTION_COUNTS",
    "PER_CONNECTION",
    "SLOWEST",
    "STEADY",
    "STEADY_CALLS",
    "STEADY_MEMORY",
    "WORKERS",
    "WORKER_CALLS",
    "measure_connections",
    "measure_steady",
    "measure_workers",
]

CONNECTIONS = "growth by connections"
CALLS = "calls over HTTP"
SLOWEST = "p99 over HTTP"
PER_CONNECTION = "memory per connection"
CONNECTION_COUNTS = (1, 10, 100, 300, 1_000)
SEEN_FROM = 100
"""From so many connections on, what each takes stands out from what the calls leave behind."""
LEAST_MB = 0.004
"""A page of memory: less cannot be seen."""

WORKERS = "growth by workers"
WORKER_COUNTS = (1, 2)
WORKER_CONNECTIONS = 64
WORKER_CALLS = f"calls over HTTP, {WORKER_CONNECTIONS} connections"

STEADY = "ten minutes"
STEADY_CONNECTIONS = 16
STEADY_CALLS = f"calls over HTTP, {STEADY_CONNECTIONS} connections"
STEADY_MEMORY = "resident memory"
JOURNAL_MB = "200"
"""The bound of the journal in ten minutes of calls; without one it would take gigabytes."""

OPEN_FILES = 8_192
ANSWER_S = 120.0
"""How long to wait for a window beyond its own length; it bounds a hang and does not affect results."""


def measure_connections(
    plan: Plan, contenders: Sequence[Contender], counts: Sequence[int] = CONNECTION_COUNTS
) -> list[Row]:
    """Start each server anew for each round, and load it by more and more connections."""
    if sys.platform != "linux":
        return []
    sheet = Sheet()
    signet = find_signet(contenders)
    # As shipped, one address may have 1,024; those of the cell before may not all be gone yet.
    wide = replace(signet, http=(*signet.http, "--connections-per-address", "4096"))
    peers = [one for one in contenders if one.name in {SDK, FASTMCP}]
    with _open_files() as most:
        counts = [count for count in counts if count + SEEN_FROM <= most]
        for number in range(plan.growth_rounds):
            for contender in rotated([wide, *peers], number):
                for metric, value in _measure_counts(plan, contender, counts):
                    sheet.add(metric, contender.name, value)
    return sheet.rows(NAMES)


def _measure_counts(plan: Plan, contender: Contender, counts: Sequence[int]) -> Iterator[tuple[Metric, float]]:
    alone_mb = 0.0
    with served(contender) as (child, port):
        for count in counts:
            with _loading(plan, port, count, plan.cell_s) as ask:
                window = ask()
                with_all_mb = field_mb(child.process.pid, "resident")
            yield Metric(CONNECTIONS, CALLS, "calls/s", "more", at=count), window.per_s
            yield Metric(CONNECTIONS, SLOWEST, "ms", "less", at=count), window.p99_us / 1e3
            if count >= SEEN_FROM and alone_mb:
                each_kb = max(LEAST_MB, with_all_mb - alone_mb) / (count - counts[0]) * 1e3
                yield Metric(CONNECTIONS, PER_CONNECTION, "KB", "less", at=count), each_kb
            alone_mb = alone_mb or with_all_mb


def measure_workers(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Load one and two worker processes; they and the load share all cores, since one core would have room for one."""
    if sys.platform != "linux":
        return []
    sheet = Sheet()
    signet = find_signet(contenders)
    for number in range(plan.growth_rounds):
        for count in rotated(WORKER_COUNTS, number):
            server = replace(signet, http=(*_anywhere(), *signet.http, "--workers", str(count)))
            metric = Metric(WORKERS, WORKER_CALLS, "calls/s", "more", at=count)
            with (
                served(server) as (_, port),
                _loading(plan, port, WORKER_CONNECTIONS, plan.cell_s, _anywhere()) as ask,
            ):
                sheet.add(metric, SIGNET, ask().per_s)
    rows = {row.metric.at: row for row in sheet.rows(NAMES)}
    return [rows[count] for count in WORKER_COUNTS]


def measure_steady(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Call Signet without a pause; each window tells its calls and, at its end, the memory of the server."""
    if sys.platform != "linux":
        return []
    sheet = Sheet()
    signet = find_signet(contenders)
    bounded = replace(signet, http=(*signet.http, "--journal-max-mb", JOURNAL_MB))
    with served(bounded) as (child, port), _loading(plan, port, STEADY_CONNECTIONS, plan.steady_window_s) as ask:
        for number in range(max(1, round(plan.steady_s / plan.steady_window_s))):
            minute = round((number + 1) * plan.steady_window_s / 60, 3)
            sheet.add(Metric(STEADY, STEADY_CALLS, "calls/s", "more", at=minute), SIGNET, ask().per_s)
            sheet.add(
                Metric(STEADY, STEADY_MEMORY, "MB", "less", at=minute), SIGNET, field_mb(child.process.pid, "resident")
            )
    return sorted(sheet.rows(NAMES), key=lambda row: row.metric.name)


def _anywhere() -> tuple[str, ...]:
    """Return the beginning of a command that may use the servers' core and the client's."""
    cores = [str(core) for core in (client_core(), server_core()) if core is not None]
    return ("taskset", "-c", ",".join(cores)) if cores else ()


@contextlib.contextmanager
def _loading(
    plan: Plan, port: int, connections: int, window_s: float, prefix: tuple[str, ...] = ()
) -> Iterator[Callable[[], Window]]:
    """Run a load; yield the function that asks for the next window, and close the connections at the end."""
    job = CurveJob(port, connections, LEGACY, plan.warm_s, window_s)
    command = (*prefix, sys.executable, "-m", "bench.growth_load", json.dumps(asdict(job)))
    with spawned(command, client_core()) as child:
        process = child.process
        ready = select.poll()
        ready.register(process.stdout, select.POLLIN)

        def ask() -> Window:
            process.stdin.write(b"\n")
            process.stdin.flush()
            line = process.stdout.readline() if ready.poll((ANSWER_S + window_s) * 1000) else b""
            if not line:
                complaint = f"no window of {connections} connections: {child.stderr()[-2000:]}"
                raise WrongAnswerError(complaint)
            return Window(**json.loads(line))

        yield ask


@contextlib.contextmanager
def _open_files() -> Iterator[int]:
    """Let this process and those it starts open more files; yield how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(soft, OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
