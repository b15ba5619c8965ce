"""Goals: the ratio to a peer that each measurement should reach, and by how much it does or does not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bench import memory, options, wrap
from bench.calls import IN_FLIGHT
from bench.contenders import BARE_NAME, FASTMCP, MCP_PROXY, PEERS, SDK, TYPESCRIPT
from bench.frames import LEGACY, MODERN
from bench.own import KINDS, QUICK, SECTION, TWIN
from bench.plan import FULL
from bench.rows import Ratio, Row
from bench.startup import STDIO

__all__ = ["FURTHER", "GOALS", "REASONS", "Goal", "Verdict", "verdicts"]


@dataclass(frozen=True)
class Goal:
    """The ratio of Signet's value to a rival's that one row should reach; of several rivals, to the best one's."""

    section: str
    name: str
    """The beginning of the metric's name."""
    rivals: tuple[str, ...]
    ratio: float
    best: str = ""
    """The word for the best of several rivals."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the goal in `REASONS`."""
        return self.section, self.name, self.best or self.rivals[0]


BETTER, LEANEST = "the better of v1 and v2", "the leanest"
_AFTER = {door: memory.moment(door, "resident", FULL.memory_calls // 10) for door in ("stdio", "HTTP")}
NO_GROWTH = 1.02
"""The memory after all calls, in parts of that after a tenth of them, that counts as no growth: pages come and go."""


def _against(section: str, name: str, *ratios: float) -> tuple[Goal, ...]:
    """Return the goals of one line of the table: one for each of its four columns."""
    fastmcp, sdk, typescript, bare = ratios
    return (
        Goal(section, name, (FASTMCP,), fastmcp),
        Goal(section, name, (SDK,), sdk),
        Goal(section, name, TYPESCRIPT, typescript, BETTER),
        Goal(section, name, (BARE_NAME,), bare),
    )


GOALS = (
    *_against("cold start", "spawn to tools/list", 1 / 12, 1 / 7.5, 1 / 2.5, 1.15),
    *_against("stdio", f"{IN_FLIGHT} in flight, small", 36, 20, 1.8, 0.7),
    *_against("stdio", "one at a time, small, p50", 1 / 8, 1 / 5, 1 / 1.8, 1.25),
    *(goal for era in (LEGACY, MODERN) for goal in _against("HTTP", f"{era}, 16 connections", 25, 14, 10, 1.5)),
    *(Goal(memory.SECTION, name, PEERS, 1 / 2, LEANEST) for name in _AFTER.values()),
    *(
        Goal(memory.SECTION, memory.growth_name(door, FULL.memory_calls), (memory.BEFORE,), NO_GROWTH)
        for door in _AFTER
    ),
    *(Goal(wrap.SECTION, f"{door}, {wrap.ADDED}", (FASTMCP,), 1 / 5) for door in wrap.DOORS),
)
"""What Signet is to reach now."""

FURTHER = (
    Goal("REST", "POST", (BARE_NAME,), 1.5),
    Goal(SECTION, "cold start of one file", (STDIO,), 1.2),
    # As fast as a built-in tool of the same kind, but for what differs from round to round.
    *(Goal(SECTION, f"{words}, {IN_FLIGHT} in flight", (TWIN,), 0.95) for words in KINDS.values()),
    Goal(SECTION, f"{KINDS['inline']}, {IN_FLIGHT} in flight", (QUICK,), 0.95),
    # Metrics take a tenth of the throughput at most.
    Goal(options.SECTION, f"{options.METRICS}, ", (options.OFF,), 0.9),
    Goal(wrap.SECTION, f"{wrap.HTTP}, {wrap.ADDED}", (MCP_PROXY,), 1 / 5),
)
"""What earlier versions were to reach, and later ones are to keep."""

REASONS: dict[tuple[str, str, str], str] = {
    ("cold start", "spawn to tools/list", BARE_NAME): (
        "the command line, the settings, the protocol and the journal are loaded too; the bare loop has none"
    ),
    (memory.SECTION, _AFTER["stdio"], LEANEST): (
        "the interpreter and the libraries of a start take two thirds of it; the first call loads jsonschema-rs (6 MB)"
    ),
    (memory.SECTION, _AFTER["HTTP"], LEANEST): (
        "without journal and console it takes 38 MB: jsonschema-rs, uvloop and OpenSSL; the bare server takes 42 MB"
    ),
    (memory.SECTION, memory.growth_name("HTTP", FULL.memory_calls), memory.BEFORE): (
        "the console keeps records of calls until it has 10,000; with `--no-console`: none"
    ),
    **{
        ("stdio", f"{IN_FLIGHT} in flight, small", rival): (
            "of the 24 µs of a call, its work takes 12; the checks of a protocol, limits and ids 5; its record in the "
            "journal, by a thread on the same core, 5"
        )
        for rival in (FASTMCP, SDK, BETTER, BARE_NAME)
    },
    **{
        ("stdio", "one at a time, small, p50", rival): (
            "of the 90 µs of a call the bare loop takes 72: the work, and two wakings of a process; three runs gave "
            "1/1.6, 1/1.7 and 1/1.9 beside TypeScript, 1.18x, 1.22x and 1.25x beside the bare loop"
        )
        for rival in (BETTER, BARE_NAME)
    },
    **{
        ("HTTP", f"{era}, 16 connections", rival): (
            "of the 43 µs of a call, its work takes 12, reading and writing of sockets 12, head, host, origin, era, "
            "limits and ids 12, the records of journal and console 7; the bare protocol, on the same sockets, has but "
            "the first two"
        )
        for era in (LEGACY, MODERN)
        for rival in (FASTMCP, SDK, BETTER, BARE_NAME)
    },
    (SECTION, f"{KINDS['inline']}, {IN_FLIGHT} in flight", QUICK): (
        "the own tool deflates with the defaults of zlib; `encodePlantUML` sizes the window to the text"
    ),
}
"""Why a goal is missed, by its key; a reason is shown only while its goal is missed."""


class Verdict(NamedTuple):
    """A goal, the row and the rival that it speaks of, the measured ratio, and how far the median lies beyond it."""

    goal: Goal
    row: Row
    rival: str
    measured: Ratio
    surplus: float
    """0.1 where the median is better than the goal by a tenth, -0.1 where it is worse by as much."""

    @property
    def reason(self) -> str:
        """Why the goal is missed, if it is and the reason is known."""
        return REASONS.get(self.goal.key, "") if self.surplus < 0 else ""


def verdicts(rows: Sequence[Row], goals: Sequence[Goal] = (*GOALS, *FURTHER)) -> list[Verdict]:
    """Return the verdict on each goal whose row and rival were measured; of several rivals, on the hardest one."""
    found = []
    for goal in goals:
        for row in rows:
            metric = row.metric
            if metric.section == goal.section and metric.name.startswith(goal.name) and metric.at is None:
                judged = [_verdict(goal, row, rival) for rival in goal.rivals if rival in row.rivals]
                found += [min(judged, key=lambda verdict: verdict.surplus)] if judged else []
    return found


def _verdict(goal: Goal, row: Row, rival: str) -> Verdict:
    measured = row.ratio(rival)
    reached = measured.median / goal.ratio if row.metric.better == "more" else goal.ratio / measured.median
    return Verdict(goal, row, rival, measured, reached - 1)
