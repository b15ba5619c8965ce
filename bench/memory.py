"""Memory: the peak resident set of a stdio server after its calls, as the kernel counts it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import NAMES, Contender
from bench.frames import SMALL, Call
from bench.pipe import opened
from bench.plan import Plan
from bench.rows import Metric, Row, Sheet, rotated

__all__ = ["measure"]


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Make calls one after the other, then read the high-water mark; only Linux has one."""
    if sys.platform != "linux":
        return []
    sheet = Sheet()
    peak = Metric("memory", f"peak resident after {plan.memory_calls:,} calls on stdio", "MB", "less")
    call = Call.of(SMALL)
    for number in range(plan.memory_rounds):
        for contender in rotated(contenders, number):
            with opened(contender) as pipe:
                pipe.sequence(call, math.inf, plan.memory_calls)
                sheet.add(peak, contender.name, high_water_mb(pipe.child.process.pid))
    return sheet.rows(NAMES)


def high_water_mb(pid: int) -> float:
    """Return the peak of the resident set in units of 1,000,000 bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    if match is None:
        raise OSError("the kernel tells no VmHWM")
    return int(match[1]) * 1024 / 1e6
