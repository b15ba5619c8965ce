"""The summary of health that is shown: figures of the hour in tables and series, and how the processes stand now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from signet.kernel.relay import ServerState
from signet.kernel.upstream import CacheState
from signet.system.figures.families import HOUR_CALLS, HOUR_REFUSALS, HOUR_UPSTREAMS
from signet.system.figures.hour import SLICE_S, HourFigures, Tally
from signet.system.figures.quantiles import quantiles_ms

from .effective import ConfiguredLimit
from .processes import ProcessState
from .twin import Shown
from .upstreams import UpstreamNow

__all__ = ["HealthSummary", "summarise"]

SHARES: Final = (0.5, 0.95, 0.99)
LIMITING: Final = ("RATE_LIMITED", "INSUFFICIENT_SCOPE", "NO_PLACE", "TOO_MANY_CALLS", "UNREAD_ANSWERS")
"""The names of the faults with which calls are refused because of limits."""


class CallFigures(Shown, frozen=True):
    """The figures of some calls."""

    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class CallRow(Shown, frozen=True):
    """The figures of one tool behind one door."""

    tool: str
    """The tool's name; empty for all names that no tool has, `…` for the tools beyond the first 500."""
    door: str
    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    codes: dict[str, int]
    """The number of errors by canonical code."""


class FaultRow(Shown, frozen=True):
    """How often calls ended with one fault."""

    code: str
    """The canonical code."""
    name: str
    """The name of the fault, as REST answers it."""
    calls: int
    is_limit: bool
    """Whether the call was refused because of a limit."""


class MinuteSeries(Shown, frozen=True):
    """Each of the last 60 minutes up to now; all lists have one value for each."""

    at_ms: list[int]
    """The end of each minute, in milliseconds since 1970."""
    calls: list[int]
    errors: dict[str, list[int]]
    """The number of errors by canonical code."""
    p50_ms: list[float | None]
    p95_ms: list[float | None]


class RefusalRow(Shown, frozen=True):
    """How often requests were refused before they were calls."""

    status: int
    reason: str
    requests: int


class CacheRow(Shown, frozen=True):
    """A cache before an upstream, all processes together."""

    name: str
    hits: int
    misses: int
    entries: int | None
    """Null where counting them is not cheap."""


class UpstreamRow(Shown, frozen=True):
    """One upstream, all processes together."""

    name: str
    """The toolset or the service that asks it; empty where nobody has asked yet."""
    origin: str
    requests: int
    failures: dict[str, int]
    """The number of responses with a status from 400 on, and of failures by their kind."""
    p50_ms: float | None
    p95_ms: float | None
    last_code: str
    """The status of the last response, or the kind of the failure; empty where there was none."""
    last_at_ms: int | None
    breaker: str
    """`none`, `closed` or `open`: open in at least one process."""
    caches: list[CacheRow]


class ProcessRow(Shown, frozen=True):
    """One process of the server."""

    pid: int
    in_flight: int
    journal_lag_s: float
    records_written: int
    is_answering: bool
    """Whether it is the process that answers this request."""


class HealthSummary(Shown, frozen=True):
    """All figures."""

    at_ms: int
    total: CallFigures
    rows: list[CallRow]
    faults: list[FaultRow]
    minutes: MinuteSeries
    refusals: list[RefusalRow]
    upstreams: list[UpstreamRow]
    servers: list[ServerState]
    """The wrapped servers."""
    limits: list[ConfiguredLimit]
    in_flight: int
    journal_lag_s: float
    records_written: int
    keeps_journal: bool
    processes: list[ProcessRow]


def summarise(
    hour: HourFigures,
    states: Sequence[ProcessState],
    limits: list[ConfiguredLimit],
    servers: Sequence[ServerState] = (),
    *,
    keeps_journal: bool,
) -> HealthSummary:
    """Return the summary of the figures and of the processes, of which the first answers."""
    calls = hour.totals(HOUR_CALLS)
    total = Tally()
    for tally in calls.values():
        total.add(tally)
    return HealthSummary(
        at_ms=int(states[0].at_s * 1000),
        total=CallFigures(total.count, total.failed, *quantiles_ms(total.times, SHARES)),
        rows=[_row(labels, tally) for labels, tally in sorted(calls.items(), key=_most_first)],
        faults=_faults(total),
        minutes=_minutes(hour),
        refusals=[
            RefusalRow(int(status) if status.isdecimal() else 0, reason, tally.count)
            for (reason, status), tally in sorted(hour.totals(HOUR_REFUSALS).items(), key=_most_first)
        ],
        upstreams=_upstreams(hour.totals(HOUR_UPSTREAMS), [one for state in states for one in state.upstreams]),
        servers=[*servers],
        limits=limits,
        in_flight=sum(state.in_flight for state in states),
        journal_lag_s=round(max(state.lag_s for state in states), 3),
        records_written=sum(state.written for state in states),
        keeps_journal=keeps_journal,
        processes=[
            ProcessRow(state.pid, state.in_flight, round(state.lag_s, 3), state.written, state is states[0])
            for state in sorted(states, key=lambda state: state.pid)
        ],
    )


def _most_first(item: tuple[tuple[str, ...], Tally]) -> tuple[int, tuple[str, ...]]:
    labels, tally = item
    return -tally.count, labels


def _row(labels: tuple[str, ...], tally: Tally) -> CallRow:
    tool, door = labels
    p50, p95, p99 = quantiles_ms(tally.times, SHARES)
    return CallRow(tool, door, tally.count, tally.failed, p50, p95, p99, _codes(tally))


def _codes(tally: Tally) -> dict[str, int]:
    codes: dict[str, int] = {}
    for fault, count in sorted(tally.faults.items()):
        code = fault.partition("/")[0]
        codes[code] = codes.get(code, 0) + count
    return codes


def _faults(total: Tally) -> list[FaultRow]:
    ranked = sorted(total.faults.items(), key=lambda item: (-item[1], item[0]))
    named = [(*fault.partition("/")[::2], count) for fault, count in ranked]
    return [FaultRow(code, name, count, name in LIMITING) for code, name, count in named]


def _minutes(hour: HourFigures) -> MinuteSeries:
    minutes = hour.minutes()
    errors = [_codes(tally) for _, tally in minutes]
    times = [quantiles_ms(tally.times, SHARES) for _, tally in minutes]
    return MinuteSeries(
        [end * SLICE_S * 1000 for end, _ in minutes],
        [tally.count for _, tally in minutes],
        {code: [one.get(code, 0) for one in errors] for code in sorted({code for one in errors for code in one})},
        [p50 for p50, _, _ in times],
        [p95 for _, p95, _ in times],
    )


def _upstreams(asked: dict[tuple[str, ...], Tally], seen: list[UpstreamNow]) -> list[UpstreamRow]:
    """Return the upstreams that were asked, then those that are there."""
    origins = {origin for _, origin in asked}
    found = dict.fromkeys((name, origin) for name, origin in sorted(asked))
    found |= dict.fromkeys((one.name, one.origin) for one in seen if one.origin not in origins or one.name)
    named = {origin for name, origin in found if name}
    keys = [(name, origin) for name, origin in found if name or origin not in named]
    return [_upstream(key, asked.get(key, Tally()), [one for one in seen if one.origin == key[1]]) for key in keys]


def _upstream(key: tuple[str, str], tally: Tally, seen: list[UpstreamNow]) -> UpstreamRow:
    name, origin = key
    last = max((one for one in seen if one.name == name), key=lambda one: one.last_s, default=UpstreamNow(name, origin))
    breakers = {one.breaker for one in seen}
    p50, p95 = quantiles_ms(tally.times, SHARES[:2])
    return UpstreamRow(
        name,
        origin,
        tally.count,
        dict(sorted(tally.faults.items())),
        p50,
        p95,
        last.last_code,
        int(last.last_s * 1000) if last.last_code else None,
        next((word for word in ("open", "closed") if word in breakers), "none"),
        _caches(cache for one in seen for cache in one.caches),
    )


def _caches(states: Iterable[CacheState]) -> list[CacheRow]:
    rows: dict[str, CacheRow] = {}
    for one in states:
        known = rows.get(one.name, CacheRow(one.name, 0, 0, None))
        entries = known.entries if one.entries is None else one.entries + (known.entries or 0)
        rows[one.name] = CacheRow(one.name, known.hits + one.hits, known.misses + one.misses, entries)
    return list(rows.values())
