"""Goals: the ratio to a peer that each measurement should reach, and by how much it does or does not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench import telemetry, wrap
from bench.calls import IN_FLIGHT
from bench.contenders import BARE_NAME, FASTMCP, MCP_PROXY, SDK
from bench.frames import LEGACY, MODERN
from bench.own import KINDS, QUICK, SECTION, TWIN
from bench.rows import Ratio, Row
from bench.startup import STDIO

__all__ = ["GOALS", "Goal", "Verdict", "verdicts"]


@dataclass(frozen=True)
class Goal:
    """The ratio of Signet's value to a rival's that one row should reach."""

    section: str
    name: str
    """The beginning of the metric's name."""
    rival: str
    ratio: float


_HTTP = {FASTMCP: 25, SDK: 14, BARE_NAME: 1.5}
GOALS = (
    *(
        Goal("HTTP", f"{era}, 16 connections", rival, ratio)
        for era in (LEGACY, MODERN)
        for rival, ratio in _HTTP.items()
    ),
    Goal("REST", "POST", BARE_NAME, 1.5),
    Goal("stdio", f"{IN_FLIGHT} in flight, small", FASTMCP, 36),
    Goal("stdio", f"{IN_FLIGHT} in flight, small", BARE_NAME, 0.7),
    # No slower than version 0.1.0, which took this part of the time that the SDK's server takes.
    Goal("cold start", "spawn to tools/list", SDK, 1 / 7.8),
    Goal(SECTION, "cold start of one file", STDIO, 1.2),
    # As fast as a built-in tool of the same kind, but for what differs from round to round.
    *(Goal(SECTION, f"{words}, {IN_FLIGHT} in flight", TWIN, 0.95) for words in KINDS.values()),
    Goal(SECTION, f"{KINDS['inline']}, {IN_FLIGHT} in flight", QUICK, 0.95),
    # Metrics take a tenth of the throughput at most.
    Goal(telemetry.SECTION, f"{telemetry.METRICS}, ", telemetry.OFF, 0.9),
    # A fifth of the time that another wrapper adds to a call.
    *(Goal(wrap.SECTION, f"{door}, {wrap.ADDED}", FASTMCP, 1 / 5) for door in wrap.DOORS),
    Goal(wrap.SECTION, f"{wrap.HTTP}, {wrap.ADDED}", MCP_PROXY, 1 / 5),
)


class Verdict(NamedTuple):
    """A goal, the row that it speaks of, the measured ratio, and how far the median lies beyond the goal."""

    goal: Goal
    row: Row
    measured: Ratio
    surplus: float
    """0.1 where the median is better than the goal by a tenth, -0.1 where it is worse by as much."""


def verdicts(rows: Sequence[Row], goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    """Return the verdict on each goal whose row and rival were measured."""
    found = []
    for goal in goals:
        for row in rows:
            metric = row.metric
            if metric.section == goal.section and metric.name.startswith(goal.name) and goal.rival in row.rivals:
                found.append(_verdict(goal, row))
    return found


def _verdict(goal: Goal, row: Row) -> Verdict:
    measured = row.ratio(goal.rival)
    reached = measured.median / goal.ratio if row.metric.better == "more" else goal.ratio / measured.median
    return Verdict(goal, row, measured, reached - 1)
