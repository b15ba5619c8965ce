"""Memory: the resident set of a server, now and at its peak, at the start and after its calls, as the kernel counts it.

start ── 10,000 calls ──▶ read ── 90,000 more, of those that are fast enough ──▶ read
"""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.calls import IN_FLIGHT
from bench.contenders import BARE, BARE_NAME, NAMES, PROTOCOL, PROTOCOL_NAME, TYPESCRIPT, Contender
from bench.frames import LEGACY, SMALL, Call
from bench.load import Job, Load
from bench.pipe import opened
from bench.plan import Plan
from bench.process import served
from bench.rows import SIGNET, Metric, Row, Sheet, rotated

__all__ = ["BEFORE", "FIELDS", "SECTION", "field_mb", "growth", "growth_name", "measure", "moment"]

SECTION = "memory"
FIELDS = {"resident": "VmRSS", "peak": "VmHWM"}
"""What the tables call the fields of `/proc/PID/status`."""
BEFORE = "Signet after a tenth of the calls"
LONG = {"stdio": {SIGNET, BARE_NAME, *TYPESCRIPT}, "HTTP": {SIGNET, BARE_NAME, PROTOCOL_NAME}}
"""The servers that make all the calls, on each door; the others would take minutes for them."""
CONNECTIONS = 16
BATCH = 10_000
"""How many answers are kept until they are checked."""

Calls = Callable[[int], object]
"""Make so many calls."""


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Run one server after the other; only Linux tells what they take."""
    if sys.platform != "linux":
        return []
    sheet = Sheet()
    doors = {"stdio": (_on_stdio, [*contenders, BARE]), "HTTP": (_over_http, [*contenders, BARE, PROTOCOL])}
    for number in range(plan.memory_rounds):
        for door, (start, servers) in doors.items():
            for server in rotated(servers, number):
                counts = (0, plan.memory_calls // 10, plan.memory_calls)
                with start(server) as (pid, calls):
                    for count in _made(calls, counts if server.name in LONG[door] else counts[:2]):
                        for word in FIELDS:
                            metric = Metric(SECTION, moment(door, word, count), "MB", "less")
                            sheet.add(metric, server.name, field_mb(pid, word))
    rows = sheet.rows(NAMES)
    return [*rows, *(growth(rows, door, plan.memory_calls) for door in doors)]


def _made(calls: Calls, counts: Sequence[int]) -> Iterator[int]:
    """Make calls, and yield each of these counts when so many are made."""
    made = 0
    for count in counts:
        while made < count:
            step = min(BATCH, count - made)
            calls(step)
            made += step
        yield count


def moment(door: str, word: str, count: int) -> str:
    """Return the name of the metric of a field of memory after so many calls."""
    return f"{door}, {word} " + (f"after {count:,} calls" if count else "at the start")


def growth_name(door: str, whole: int) -> str:
    """Return the name of the metric of growth."""
    return f"growth on {door}, resident after {whole:,} calls beside {whole // 10:,}"


def growth(rows: Sequence[Row], door: str, whole: int) -> Row:
    """Return Signet's memory after all calls beside its memory after a tenth of them."""
    found = {row.metric.name: row.values[SIGNET] for row in rows}
    before, after = found[moment(door, "resident", whole // 10)], found[moment(door, "resident", whole)]
    return Row(Metric(SECTION, growth_name(door, whole), "MB", "less"), {SIGNET: after, BEFORE: before})


@contextlib.contextmanager
def _on_stdio(server: Contender) -> Iterator[tuple[int, Calls]]:
    call = Call.of(SMALL)
    with opened(server) as pipe:
        yield pipe.child.process.pid, lambda count: pipe.flood(call, IN_FLIGHT, math.inf, count)


@contextlib.contextmanager
def _over_http(server: Contender) -> Iterator[tuple[int, Calls]]:
    with served(server) as (child, port):
        job = Job(port, "/mcp", CONNECTIONS, SMALL, LEGACY, 0, math.inf, BATCH, echoes=False)
        with contextlib.closing(Load(job)) as load:
            yield child.process.pid, lambda count: load.run(math.inf, count)


def field_mb(pid: int, word: str) -> float:
    """Return one field of the kernel's account of a process, in units of 1,000,000 bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(rf"^{FIELDS[word]}:\s+(\d+) kB$", status, re.MULTILINE)
    if match is None:
        complaint = f"the kernel tells no {FIELDS[word]}"
        raise OSError(complaint)
    return int(match[1]) * 1024 / 1e6
