"""Cold start: from spawning the process until it has answered initialize and tools/list on stdio."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from .contenders import NAMES, Contender
from .pipe import Pipe
from .plan import Plan
from .process import server_core, spawned
from .rows import BOUND, Metric, Row, Sheet, rotated

__all__ = ["measure"]

COLD = Metric("cold start", "spawn to tools/list answered", "ms", "less")
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


def start_ms(contender: Contender) -> float:
    """How long one start takes."""
    with spawned(contender.stdio, server_core()) as child:
        if contender is BARE:
            child.process.wait()
        else:
            Pipe(child).greet()
        return (time.perf_counter() - child.begun) * 1e3
