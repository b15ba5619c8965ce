"""Instructions per call of two checkouts, counted by callgrind: `python -m bench.instructions OLD NEW`.

A server runs twice, with N and with 2 N calls; the difference, divided by N, is what one call takes. The counts hardly
depend on what else the machine does, so a difference of one per cent can be seen.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.checkouts import Checkout, Road, chosen, compile_modules, load_of, parser_of
from bench.contenders import Contender
from bench.frames import SMALL, Call, WrongAnswerError
from bench.pipe import opened
from bench.process import environment, serving

__all__ = ["Count", "main", "table"]

CALLS = 500
WARM = 100
"""The calls before each count: some modules and contracts are loaded by the first one."""
RUN_S = 600.0
"""How long one run may take; it bounds a hang."""
VALGRIND = ("env", "PYTHONHASHSEED=0", "valgrind", "--quiet", "--tool=callgrind")
TOTALS = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
STARTS = {"start of signet --version": ("--version",), "start of signet stdio": ("stdio",)}
MOST = 1.03
"""The goal: the new checkout takes at most so many times the instructions of the old one."""


@dataclass(frozen=True)
class Count:
    """One row: the instructions of both checkouts."""

    name: str
    old: int
    new: int

    @property
    def ratio(self) -> float:
        """The new count divided by the old one."""
        return self.new / self.old

    def line(self) -> str:
        """Return the row of the table."""
        told = "" if self.ratio <= MOST else f" above {MOST}"
        return f"| {self.name} | {self.old:,} | {self.new:,} | {self.ratio:.4f}{told} |"


def table(counts: Iterable[Count]) -> str:
    """Return the table of all rows."""
    head = ("| row | old | new | new / old |", "|---|---:|---:|---:|")
    return "\n".join([*head, *(count.line() for count in counts)])


def per_call(road: Road, checkout: Checkout, calls: int) -> int:
    """Return the instructions of one call."""
    short, long = (_of_run(road, checkout, WARM + calls * times) for times in (1, 2))
    return round((long - short) / calls)


def of_start(checkout: Checkout, words: tuple[str, ...]) -> int:
    """Return the instructions of a start: of a server up to its list, and of any other command up to its end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        command = _counted(folder, checkout.command(*words))
        if words == ("--version",):
            subprocess.run(command, env=environment(folder), check=True, timeout=RUN_S, capture_output=True)
        else:
            with opened(Contender(checkout.name, command, ())):
                pass
        return _total(folder)


def _of_run(road: Road, checkout: Checkout, calls: int) -> int:
    """Return the instructions of a server from its start to its end."""
    server = road.server(checkout)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if server.stdio:
            with opened(replace(server, stdio=_counted(folder, server.stdio))) as pipe:
                pipe.sequence(Call.of(SMALL), RUN_S, calls)
        else:
            counted = replace(server, http=_counted(folder, server.http))
            with serving(counted) as port, contextlib.closing(load_of(road, port, 1)) as load:
                load.run(RUN_S, calls)
        return _total(folder)


def _counted(folder: str, command: tuple[str, ...]) -> tuple[str, ...]:
    return (*VALGRIND, f"--callgrind-out-file={folder}/callgrind.out", *command)


def _total(folder: str) -> int:
    """Return what callgrind has counted, once the command has ended."""
    found = Path(folder, "callgrind.out")
    match = TOTALS.search(found.read_text()) if found.exists() else None
    if match is None:
        raise WrongAnswerError("callgrind has counted nothing: the command was killed before it ended")
    return int(match[1])


def main() -> int:
    """Count every chosen row, print the table, and return 1 if a row is above the goal."""
    parser = parser_of("instructions", "Count the instructions per call of two checkouts.")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls that are counted (default: %(default)s)")
    args = parser.parse_args()
    (old, new), roads = chosen(args)
    compile_modules((old, new))
    rows = [(road.name, lambda one, road=road: per_call(road, one, args.calls)) for road in roads]
    for name, words in STARTS.items():
        if name.startswith(tuple(args.only.split(","))):
            rows.append((name, lambda one, words=words: of_start(one, words)))
    counts = []
    for name, count in rows:
        counts.append(Count(name, count(old), count(new)))
        print(counts[-1].line(), file=sys.stderr, flush=True)
    print(table(counts))
    return int(any(count.ratio > MOST for count in counts))


if __name__ == "__main__":
    sys.exit(main())
