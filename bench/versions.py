"""Two checkouts beside each other, in windows by turns: `python -m bench.versions OLD NEW`.

    old ─ new ─ new ─ old ─ old ─ new …   one window each; neighbours are a pair, and each pair gives one ratio

Both servers run on one core, and the load on another. A slow moment of the machine hits both windows of a pair, and the
median of the ratios and their interquartile range show what is left of it. Where a process happens to lie in memory
makes it up to 3 % faster or slower for as long as it lives, so both servers are started anew every few pairs.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.calls import IN_FLIGHT
from bench.checkouts import Checkout, Road, chosen, compile_modules, load_of, parser_of
from bench.contenders import Contender
from bench.frames import SMALL, Call
from bench.pipe import opened
from bench.process import client_core, pinned, serving
from bench.startup import start_ms

__all__ = ["Paired", "main", "ratios_of", "table"]

PAIRS = 30
PAIRS_OF_A_START = 5
"""The pairs after which both servers are started anew."""
WINDOW_S = 0.2
CONNECTIONS = (1, 16)
MAX_CALLS = 200_000
WARM_WINDOWS = 3
LEAST = 0.97
"""The goal: no row whose whole interquartile range lies below."""
START = "start of signet stdio, with its list"

Window = Callable[[], float]
"""Measures once; a larger value is better."""


@dataclass(frozen=True)
class Paired:
    """One row: the ratios new / old of all pairs of windows, of which more is better."""

    name: str
    ratios: list[float]

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """The first quartile, the median and the third quartile."""
        first, median, third = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return first, median, third

    @property
    def is_slower(self) -> bool:
        """Whether the whole interquartile range lies below the goal."""
        return self.quartiles[2] < LEAST

    def line(self) -> str:
        """Return the row of the table."""
        first, median, third = self.quartiles
        told = f" **below {LEAST}**" if self.is_slower else ""
        return f"| {self.name} | {median:.3f} | {first:.3f} to {third:.3f}{told} |"


def table(rows: Iterable[Paired]) -> str:
    """Return the table of all rows."""
    head = ("| row | new / old, median | interquartile range |", "|---|---:|---:|")
    return "\n".join([*head, *(row.line() for row in rows)])


def ratios_of(old: Window, new: Window, pairs: int) -> list[float]:
    """Measure pairs of windows; in every second pair the new one comes first."""
    for _ in range(WARM_WINDOWS):
        old(), new()
    ratios = []
    for number in range(pairs):
        if number % 2:
            ours, theirs = new(), old()
        else:
            theirs, ours = old(), new()
        ratios.append(ours / theirs)
        gc.collect()
    return ratios


def rows_of(road: Road, pair: Sequence[Checkout], pairs: int, window_s: float) -> list[Paired]:
    """Measure the rows of a road, one call at a time and many, with servers that are started anew every few pairs."""
    found: dict[str, list[float]] = {}
    for begun in range(0, pairs, PAIRS_OF_A_START):
        count = min(PAIRS_OF_A_START, pairs - begun)
        with contextlib.ExitStack() as stack:
            for name, windows in _windows_of(road, pair, window_s, stack):
                found.setdefault(f"{road.name}, {name}", []).extend(ratios_of(*windows, count))
    return [Paired(name, ratios) for name, ratios in found.items()]


def _windows_of(
    road: Road, pair: Sequence[Checkout], window_s: float, stack: contextlib.ExitStack
) -> Iterator[tuple[str, list[Window]]]:
    """Start the servers of a road, and yield the windows of each of its rows; a connection lasts for one row."""
    servers = [road.server(checkout) for checkout in pair]
    if not road.path:
        call = Call.of(SMALL)
        pipes = [stack.enter_context(opened(server)) for server in servers]
        yield "one at a time", [lambda pipe=pipe: _per_s(pipe.sequence(call, window_s, MAX_CALLS)) for pipe in pipes]
        many = [lambda pipe=pipe: pipe.flood(call, IN_FLIGHT, window_s, MAX_CALLS).per_s for pipe in pipes]
        yield f"{IN_FLIGHT} in flight", many
        return
    ports = [stack.enter_context(serving(server)) for server in servers]
    for connections in CONNECTIONS:
        with contextlib.ExitStack() as links:
            loads = [links.enter_context(contextlib.closing(load_of(road, port, connections))) for port in ports]
            windows = [lambda load=load: load.run(window_s, MAX_CALLS).per_s for load in loads]
            yield f"{connections} connections", windows


def starts(pair: Sequence[Checkout], pairs: int) -> Paired:
    """Measure starts of `signet stdio`."""
    servers = [Contender(checkout.name, checkout.command("stdio"), ()) for checkout in pair]
    return Paired(START, ratios_of(*(lambda server=server: 1 / start_ms(server) for server in servers), pairs))


def _per_s(taken: Sequence[int]) -> float:
    """Return the calls per second at the median latency, which a pause in the window does not change."""
    return 1e9 / statistics.median(taken)


def main() -> int:
    """Measure every chosen row, print the table, and return 1 if a row is slower."""
    parser = parser_of("versions", "Measure two checkouts in windows by turns.")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of windows of each row (default: %(default)s)")
    parser.add_argument("--window", type=float, default=WINDOW_S, help="seconds of a window (default: %(default)s)")
    args = parser.parse_args()
    pair, roads = chosen(args)
    compile_modules(pair)
    gc.disable()
    rows: list[Paired] = []
    with pinned(client_core()):
        for road in roads:
            for row in rows_of(road, pair, args.pairs, args.window):
                rows.append(row)
                print(row.line(), file=sys.stderr, flush=True)
        if START.startswith(tuple(args.only.split(","))):
            rows.append(starts(pair, args.pairs))
            print(rows[-1].line(), file=sys.stderr, flush=True)
    print(table(rows))
    return int(any(row.is_slower for row in rows))


if __name__ == "__main__":
    sys.exit(main())
