"""The page: goals first, then ratios, medians and the method."""

from __future__ import annotations

from collections.abc import Sequence

from bench.contenders import NAMES
from bench.goals import verdicts
from bench.process import ALLOCATOR
from bench.results import Setting
from bench.rows import Ratio, Row

__all__ = ["page"]

INTRO = """\
# Benchmarks

Signet, the official Python SDK's low-level server, FastMCP and a bare server serve the same tool, \
`encodePlantUML`, on the same machine in the same minutes. `make bench` measures again and rewrites this page."""

GOALS_READING = """\
Signet's value divided by the peer's within one round: the median of the rounds, in brackets the smallest and the \
largest round. A goal is met when the median reaches it."""

READING = """\
Each figure is Signet's value divided by the peer's within one round, then the median of the rounds; in \
brackets the smallest and the largest round. `1/8.0` is an eighth of the peer's time or memory; `8.0x` is \
eight times its calls."""

METHOD = """\
- Every server does the same work: raw deflate at level 9, then PlantUML's alphabet. Payloads are 372 \
bytes (small) and 19,859 bytes (large); every call carries another text.
- Signet runs as shipped: it checks each input and each output against its JSON Schema, and keeps its journal. The \
SDK's low-level server does neither; FastMCP checks arguments by their types.
- The bare server has Signet's codec (msgspec), validator (jsonschema-rs, on input and output), contract and tool, \
and nothing else: no limits, no cancellation, no journal, hardly a check of the protocol. On stdio it is a loop over \
blocking reads and writes, over HTTP an ASGI application.
- Over HTTP the peers run stateless with JSON answers, under uvicorn with uvloop and httptools, without an \
access log. FastMCP's tool is a coroutine, which spares it a worker thread. All requests of a cell have the same head, \
which Signet keeps parsed; a head that it has not seen costs it some 5 µs more.
- Of the wrappers, each stands in front of the same server on stdio, which has the bare server's loop, and is measured \
beside that server itself (direct). The time that a wrapper adds is its median minus the server's within one round; \
over HTTP too, since what a caller pays is the whole way. FastMCP's proxy has one session for all calls, which is the \
fastest way that it has; mcp-proxy runs stateless. Signet checks every input and every output against the server's \
schemas, and keeps its journal; the others check nothing.
- A round takes each cell to one server after the other, in an order that rotates from round to round; \
servers are started afresh for each round. Each cell is warmed up before its clock starts.
- Every answer's id and shape are checked, and one in fifty is inflated and compared with its source, after \
the clock has stopped.
- The bound does no work and shows what the measuring itself costs: a bare `python -c pass` for cold start, \
`cat` on stdio, an echo on uvloop over HTTP.
- Large payloads are bounded by deflate itself, which all servers share.
- An own tool, served from its file as a user serves it, stands beside the same body and contract written as a \
built-in toolset is: a quick function on the event loop, a coroutine, and work in a thread (`asyncio.to_thread` in \
a built-in tool). Against `encodePlantUML`, the shipped tool and a quick function, stands what each kind costs.
- Conversion and decoding are timed in this process, without a server. Every conversion gets another page; decoding \
turns an answer of the Bank of Japan's shape into checked series, beside `json.loads` of the same bytes, whose memory \
is what Python's own objects take."""

ROUND_FROM = 10
"""From this value on a ratio has no decimals."""


def page(rows: Sequence[Row], setting: Setting) -> str:
    """Return the whole page."""
    parts = [
        INTRO,
        f"Measured {setting.today} on {setting.hardware}.{_quiet(setting.others)}",
        f"Versions: {setting.versions}.",
        *_goals(rows),
        "## Signet compared",
        READING,
        *(_ratios(group) for group in _by_rivals(rows)),
        "## Medians",
        _medians(rows),
        "## How",
        METHOD + "\n" + _conditions(rows, setting),
    ]
    return "\n\n".join(parts) + "\n"


def _goals(rows: Sequence[Row]) -> list[str]:
    """Return the table of the goals whose rows were measured."""
    lines = [("", "against", "goal", "measured", "")]
    for goal, row, measured, surplus in verdicts(rows):
        better = row.metric.better
        limit = f"{'at least' if better == 'more' else 'at most'} {_multiple(goal.ratio, better)}"
        result = f"{'met' if surplus >= 0 else '**missed**'} by {abs(surplus):.0%}"
        lines.append((_title(row), goal.rival, limit, ratio_text(measured, better), result))
    return ["## Goals", GOALS_READING, _table(lines)] if len(lines) > 1 else []


def _multiple(ratio: float, better: str) -> str:
    return f"1/{_short(1 / ratio)}" if better == "less" and ratio < 1 else f"{_short(ratio)}x"


def ratio_text(ratio: Ratio, better: str) -> str:
    """Return a fraction if less is better and Signet needs less, otherwise a multiple."""
    if better == "less" and ratio.median < 1:
        low, high = 1 / ratio.high, 1 / ratio.low
        return f"**1/{_short(1 / ratio.median)}** ({_short(low)} to {_short(high)})"
    return f"**{_short(ratio.median)}x** ({_short(ratio.low)} to {_short(ratio.high)})"


def _quiet(others: float | None) -> str:
    return "" if others is None else f" Other work took {others:.0%} of the processor meanwhile."


def _short(value: float) -> str:
    if value >= ROUND_FROM:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _by_rivals(rows: Sequence[Row]) -> list[list[Row]]:
    """Group the rows by their rivals; each group has a table of its own."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(row.rivals, []).append(row)
    return list(groups.values())


def _ratios(rows: Sequence[Row]) -> str:
    rivals = rows[0].rivals
    lines = [("", *(f"against {rival}" for rival in rivals))]
    lines += [(_title(row), *(ratio_text(row.ratio(rival), row.metric.better) for rival in rivals)) for row in rows]
    return _table(lines)


def _medians(rows: Sequence[Row]) -> str:
    seen = {name for row in rows for name in row.values}
    names = [name for name in NAMES if name in seen] + sorted(seen - set(NAMES))
    lines = [("", "unit", *names)]
    for row in rows:
        cells = [f"{row.median(name):,.0f}" if name in row.values else "" for name in names]
        lines.append((_title(row), row.metric.unit, *cells))
    return _table(lines)


def _title(row: Row) -> str:
    return f"{row.metric.section}: {row.metric.name}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body])


def _conditions(rows: Sequence[Row], setting: Setting) -> str:
    rounds: dict[str, int] = {}
    for row in rows:
        rounds[row.metric.section] = max(map(len, row.values.values()))
    counts = ", ".join(f"{section} {count}" for section, count in rounds.items())
    cores = (
        "The server is pinned to one core and the client to another"
        if setting.two_cores
        else "There was only one core, so server and client shared it"
    )
    allocator = " ".join(f"`{name}={value}`" for name, value in ALLOCATOR.items())
    return f"- {cores}; all is on loopback or pipes. Rounds: {counts}.\n- All servers run with {allocator}."
