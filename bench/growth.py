"""How cost grows on stdio: with the number of tools that are listed, and with the size of an argument.

Signet, the official SDK and FastMCP serve the same quick tool under many names; each has it as its users write it.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.contenders import FASTMCP, NAMES, SDK, Contender, find_signet
from bench.growth_calls import HANDSHAKE, Request, first_list, length_call, listing
from bench.memory import field_mb
from bench.peers import lengths
from bench.pipe import Pipe
from bench.plan import Plan
from bench.process import server_core, spawned
from bench.rows import SIGNET, Metric, Row, Sheet, rotated

__all__ = [
    "AGAIN",
    "ARGUMENTS",
    "CALL",
    "FIRST",
    "RESIDENT",
    "SIZES",
    "START",
    "TOOLS",
    "TOOL_COUNTS",
    "measure_arguments",
    "measure_tools",
]

TOOLS = "growth by tools"
START = "cold start to tools/list"
FIRST = "first tools/list"
AGAIN = "tools/list again, p50"
RESIDENT = "resident after tools/list"
TOOL_COUNTS = (1, 10, 50, 100, 200, 500)

ARGUMENTS = "growth by argument"
CALL = "one call at a time on stdio, p50"
SIZES = (1_000, 10_000, 100_000, 1_000_000)

_SDK_SERVER = Path(__file__).resolve().parent / "peers" / "many_sdk.py"
_MANY = 1 << 30


def measure_tools(plan: Plan, contenders: Sequence[Contender], counts: Sequence[int] = TOOL_COUNTS) -> list[Row]:
    """Start each server with more and more tools; one process gives its start, its lists and its memory."""
    sheet = Sheet()
    with tempfile.TemporaryDirectory(prefix="bench-tools-") as folder:
        for count in counts:
            servers = _servers(contenders, count, Path(folder))
            for contender in servers:
                _measure_list(replace(plan, cell_s=0), contender, count)
            for number in range(plan.growth_rounds):
                for contender in rotated(servers, number):
                    for metric, value in _measure_list(plan, contender, count).items():
                        sheet.add(metric, contender.name, value)
    return sheet.rows(NAMES)


def measure_arguments(plan: Plan, contenders: Sequence[Contender], sizes: Sequence[int] = SIZES) -> list[Row]:
    """Call the tool with longer and longer texts, one call after the other."""
    sheet = Sheet()
    with tempfile.TemporaryDirectory(prefix="bench-tools-") as folder:
        servers = _servers(contenders, 1, Path(folder))
        for number in range(plan.growth_rounds):
            with contextlib.ExitStack() as stack:
                pipes = {one.name: stack.enter_context(_session(one)) for one in servers}
                for size in sizes:
                    metric, call = Metric(ARGUMENTS, CALL, "µs", "less", at=size), length_call(size)
                    for name in rotated(list(pipes), number):
                        pipes[name].sequence(call, plan.warm_s, plan.max_calls)
                        sheet.add(metric, name, _median_us(plan, pipes[name], call))
    return sheet.rows(NAMES)


def _servers(contenders: Sequence[Contender], count: int, folder: Path) -> list[Contender]:
    """Return the servers of so many tools; those whose tools are functions get a file with as many."""
    styles = {SIGNET: lengths.SIGNET, FASTMCP: lengths.FASTMCP}
    files = {name: folder / f"{name.lower()}_{count}.py" for name in styles}
    for name, style in styles.items():
        files[name].write_text(lengths.source(count, style), encoding="utf-8")
    commands = {
        SIGNET: (find_signet(contenders).stdio[0], "stdio", str(files[SIGNET])),
        SDK: (sys.executable, str(_SDK_SERVER), str(count)),
        FASTMCP: (sys.executable, str(files[FASTMCP])),
    }
    return [Contender(one.name, commands[one.name], ()) for one in contenders if one.name in commands]


def _measure_list(plan: Plan, contender: Contender, count: int) -> dict[Metric, float]:
    opening, again = first_list(count), listing(count)
    with spawned(contender.stdio, server_core()) as child:
        pipe = Pipe(child)
        pipe.sequence(HANDSHAKE, _MANY, 1)
        before_s = time.perf_counter() - child.begun
        (first_ns,) = pipe.sequence(opening, _MANY, 1)
        again_us = _median_us(plan, pipe, again)
        found = {
            Metric(TOOLS, START, "ms", "less", at=count): before_s * 1e3 + first_ns / 1e6,
            Metric(TOOLS, FIRST, "ms", "less", at=count): first_ns / 1e6,
            Metric(TOOLS, AGAIN, "µs", "less", at=count): again_us,
        }
        if sys.platform == "linux":
            found[Metric(TOOLS, RESIDENT, "MB", "less", at=count)] = field_mb(child.process.pid, "resident")
    return found


@contextlib.contextmanager
def _session(contender: Contender) -> Iterator[Pipe]:
    with spawned(contender.stdio, server_core()) as child:
        pipe = Pipe(child)
        pipe.open_session(lengths.name(0))
        yield pipe


def _median_us(plan: Plan, pipe: Pipe, request: Request) -> float:
    """Return the median time of a request that is made again and again, once at least."""
    taken = pipe.sequence(request, plan.cell_s, plan.max_calls) or pipe.sequence(request, _MANY, 1)
    return statistics.median(taken) / 1e3
