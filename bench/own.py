"""A user's own tool beside a built-in one: how long it takes to start, and how fast calls are on stdio.

Each kind of own tool has a twin: the same body and contract, written as a built-in toolset is written. What a kind
costs, whoever wrote the tool, can be seen beside the shipped `encodePlantUML`, which is a quick function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.calls import IN_FLIGHT, latencies_us, per_s
from bench.contenders import Contender, find_signet
from bench.frames import SMALL, Call
from bench.pipe import opened
from bench.plan import Plan
from bench.rows import SIGNET, Metric, Row, Sheet, rotated
from bench.startup import STDIO, start_ms

__all__ = ["KINDS", "QUICK", "SECTION", "TWIN", "measure"]

SECTION = "own tool"
TWIN = "the same, built in"
QUICK = "encodePlantUML"
KINDS = {"inline": "a quick function", "async": "a coroutine", "plain": "a function in a thread"}
"""How the tool is written: the files and the twins in `peers`, and what each is called in the tables."""

_PEERS = Path(__file__).resolve().parent / "peers"


def measure(plan: Plan, contenders: Sequence[Contender]) -> list[Row]:
    """Measure starts and calls; in each round the user's tool and the built-in ones follow each other."""
    signet = find_signet(contenders)
    return [*_starts(plan, signet), *_calls(plan, signet)]


def _own(signet: Contender, kind: str) -> Contender:
    return Contender(SIGNET, (signet.stdio[0], "stdio", str(_PEERS / f"own_{kind}.py")), ())


def _twin(signet: Contender, kind: str) -> Contender:
    return Contender(TWIN, (signet.stdio[0], "stdio", f"bench.peers.built_in:{kind.upper()}"), ())


def _starts(plan: Plan, signet: Contender) -> list[Row]:
    sheet = Sheet()
    metric = Metric(SECTION, "cold start of one file", "ms", "less")
    # `signet stdio` as a user starts it, with all toolsets that need no setting.
    pair = [_own(signet, "plain"), replace(signet, name=STDIO, stdio=(signet.stdio[0], "stdio"))]
    for contender in pair:
        start_ms(contender)
    for number in range(plan.cold_rounds):
        for contender in rotated(pair, number):
            sheet.add(metric, contender.name, start_ms(contender))
    return sheet.rows((SIGNET, STDIO))


def _calls(plan: Plan, signet: Contender) -> list[Row]:
    sheet = Sheet()
    call = Call.of(SMALL)
    for number in range(plan.stdio_rounds):
        for kind, words in KINDS.items():
            with contextlib.ExitStack() as stack:
                servers = [_own(signet, kind), _twin(signet, kind), replace(signet, name=QUICK)]
                pipes = {server.name: stack.enter_context(opened(server)) for server in servers}
                for name in rotated(list(pipes), number):
                    p50, _ = latencies_us(plan, call, pipes[name])
                    sheet.add(Metric(SECTION, f"{words}, one at a time, p50", "µs", "less"), name, p50)
                for name in rotated(list(pipes), number):
                    metric = Metric(SECTION, f"{words}, {IN_FLIGHT} in flight", "calls/s", "more")
                    sheet.add(metric, name, per_s(plan, call, pipes[name]))
    return sheet.rows((SIGNET, TWIN, QUICK))
