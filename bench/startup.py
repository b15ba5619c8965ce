"""Cold start: from spawning a process to its replies to initialize and tools/list on stdio."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.contenders import BARE, NAMES, Contender, find_signet
from bench.frames import TOOL
from bench.pipe import Pipe
from bench.plan import Plan
from bench.process import server_core, spawned
from bench.rows import BOUND, SIGNET, Metric, Row, Sheet, rotated

__all__ = ["STDIO", "measure", "measure_dropins", "start_ms"]

COLD = Metric("cold start", "spawn to tools/list answered", "ms", "less")
STDIO = "signet stdio"
NOTHING = Contender(BOUND, (sys.executable, "-c", "pass"), ())
"""An interpreter that does nothing, from spawn to exit: the lower bound."""


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start every server once unmeasured, so that all files are in the page cache, then in rounds."""
    sheet = Sheet()
    everyone = [*contenders, BARE, NOTHING]
    for contender in everyone:
        start_ms(contender)
    for number in range(plan.cold_rounds):
        for contender in rotated(everyone, number):
            sheet.add(COLD, contender.name, start_ms(contender))
    return sheet.rows(NAMES)


def measure_dropins(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start the drop-in servers beside `signet stdio`; none should be slower."""
    signet = find_signet(contenders)
    folder = Path(signet.stdio[0]).parent
    others = {
        "oj-mcp-rs": ((str(folder / "oj-mcp-rs"), "--base-url", "http://127.0.0.1:9"), "get_problem"),
        "boj-mcp-server": ((str(folder / "boj-mcp-server"),), "boj_get_metadata"),
    }
    rows: list[Row] = []
    for name, (command, tool) in others.items():
        sheet = Sheet()
        metric = Metric("cold start", f"{name} beside signet stdio", "ms", "less")
        pair = [Contender(SIGNET, command, ()), replace(signet, name=STDIO)]
        for number in range(plan.cold_rounds):
            for contender in rotated(pair, number):
                expected = tool if contender.name == SIGNET else TOOL
                sheet.add(metric, contender.name, start_ms(contender, expected))
        rows += sheet.rows((SIGNET, STDIO))
    return rows


def start_ms(contender: Contender, tool: str = TOOL) -> float:
    """Return how long one start takes until the tool list arrives, which must hold a tool of this name."""
    with spawned(contender.stdio, server_core()) as child:
        if contender is NOTHING:
            child.process.wait()
        else:
            Pipe(child).open_session(tool)
        return (time.perf_counter() - child.begun) * 1e3
