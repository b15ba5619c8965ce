"""Cold start: from spawning the process until it has answered initialize and tools/list on stdio."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.contenders import NAMES, Contender
from bench.frames import TOOL
from bench.pipe import Pipe
from bench.plan import Plan
from bench.process import server_core, spawned
from bench.rows import BOUND, SIGNET, Metric, Row, Sheet, rotated

__all__ = ["measure", "measure_dropins"]

COLD = Metric("cold start", "spawn to tools/list answered", "ms", "less")
STDIO = "signet stdio"
BARE = Contender(BOUND, (sys.executable, "-c", "pass"), ())
"""An interpreter that does nothing, from spawn to exit: nobody can be faster."""


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start everyone once unmeasured, so that all files are in the page cache, then in rounds."""
    sheet = Sheet()
    everyone = [*contenders, BARE]
    for contender in everyone:
        start_ms(contender)
    for number in range(plan.cold_rounds):
        for contender in rotated(everyone, number):
            sheet.add(COLD, contender.name, start_ms(contender))
    return sheet.rows(NAMES)


def measure_dropins(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start the drop-in servers beside `signet stdio`; each is to be no slower."""
    signet = next(who for who in contenders if who.name == SIGNET)
    folder = Path(signet.stdio[0]).parent
    others = {
        "oj-mcp-rs": ((str(folder / "oj-mcp-rs"), "--base-url", "http://127.0.0.1:9"), "get_problem"),
        "boj-mcp-server": ((str(folder / "boj-mcp-server"),), "boj_get_metadata"),
    }
    rows: list[Row] = []
    for name, (command, wanted) in others.items():
        sheet = Sheet()
        metric = Metric("cold start", f"{name} beside signet stdio", "ms", "less")
        pair = [Contender(SIGNET, command, ()), replace(signet, name=STDIO)]
        for number in range(plan.cold_rounds):
            for contender in rotated(pair, number):
                tool = wanted if contender.name == SIGNET else TOOL
                sheet.add(metric, contender.name, start_ms(contender, tool))
        rows += sheet.rows((SIGNET, STDIO))
    return rows


def start_ms(contender: Contender, wanted: str = TOOL) -> float:
    """How long one start takes, until the list with a wanted tool is there."""
    with spawned(contender.stdio, server_core()) as child:
        if contender is BARE:
            child.process.wait()
        else:
            Pipe(child).greet(wanted)
        return (time.perf_counter() - child.begun) * 1e3
