"""The cost of the journal: pipelined calls on stdio with and without it, in the same round."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import replace

from bench.calls import IN_FLIGHT, per_s
from bench.contenders import Contender, find_signet
from bench.frames import SMALL, Call
from bench.pipe import opened
from bench.plan import Plan
from bench.rows import SIGNET, Metric, Row, Sheet, rotated

__all__ = ["WITHOUT", "measure"]

WITHOUT = "no journal"


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Start both servers anew for each round and measure each once."""
    sheet = Sheet()
    metric = Metric("journal", f"{IN_FLIGHT} in flight, small", "calls/s", "more")
    signet = find_signet(contenders)
    for number in range(plan.stdio_rounds):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            journalling = replace(signet, stdio=(*signet.stdio, "--log-dir", folder))
            plain = replace(signet, name=WITHOUT, stdio=(*signet.stdio, "--no-journal"))
            pipes = {server.name: stack.enter_context(opened(server)) for server in (journalling, plain)}
            for name in rotated(list(pipes), number):
                sheet.add(metric, name, per_s(plan, Call.of(SMALL), pipes[name]))
    return sheet.rows((SIGNET, WITHOUT))
