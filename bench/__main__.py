"""`python -m bench`: run the benchmarks, store them in docs/benchmarks.json and draw docs/benchmarks.md from it."""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import (
    calls,
    charts,
    convert,
    decode,
    domains,
    growth,
    growth_http,
    journal,
    memory,
    options,
    own,
    results,
    startup,
    web,
    wrap,
)
from bench.contenders import Contender, contenders
from bench.frames import WrongAnswerError
from bench.machine import Bystanders, hardware, versions
from bench.plan import FULL, QUICK, Plan
from bench.process import NotStartedError, client_core, pinned
from bench.report import page
from bench.results import Setting, Sitting
from bench.rows import Row

BENCHMARKS: dict[str, Callable[[Plan, Sequence[Contender]], list[Row]]] = {
    "cold": startup.measure,
    "dropins": startup.measure_dropins,
    "stdio": calls.measure,
    "own": own.measure,
    "http": web.measure,
    "doors": web.measure_doors,
    "memory": memory.measure,
    "convert": convert.measure,
    "decode": decode.measure,
    "journal": journal.measure,
    "options": options.measure,
    "wrap": wrap.measure,
    "tools": growth.measure_tools,
    "arguments": growth.measure_arguments,
    "connections": growth_http.measure_connections,
    "workers": growth_http.measure_workers,
    "domains": domains.measure,
    "steady": growth_http.measure_steady,
}
"""The function of each benchmark; a new benchmark is a new module and a new line here."""

GOALS = ("cold", "stdio", "own", "http", "doors", "memory", "options", "wrap")
"""The benchmarks that the goals need."""

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Signet beside its peers.")
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument(
        "--only",
        default=",".join(BENCHMARKS),
        help=f"benchmarks to run, or 'goals' for {','.join(GOALS)} (default: %(default)s)",
    )
    parser.add_argument("--write", action="store_true", help="store the run even if it is short or partial")
    parser.add_argument(
        "--draw", action="store_true", help="draw page and charts from what is stored, without measuring"
    )
    parser.add_argument("--out", type=Path, help="file for a page of this run alone; nothing is stored")
    parser.add_argument("--signet", help="signet command to measure (default: the one beside this interpreter)")
    args = parser.parse_args()
    args.names = args.only.replace("goals", ",".join(GOALS)).split(",")
    if unknown := [name for name in args.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return args


def run(names: Sequence[str], plan: Plan, everyone: Sequence[Contender]) -> tuple[list[Row], list[str]]:
    """Run the named benchmarks one after the other on the client's core; return the rows and what failed."""
    gc.disable()
    rows: list[Row] = []
    failed: list[str] = []
    with pinned(client_core()):
        for name in names:
            begun = time.perf_counter()
            try:
                rows += BENCHMARKS[name](plan, everyone)
            except (WrongAnswerError, NotStartedError, OSError) as error:
                failed.append(name)
                print(f"bench: {name}: {error}", file=sys.stderr)
            print(f"{name} took {time.perf_counter() - begun:.0f} s", file=sys.stderr)
            gc.collect()
    return rows, failed


def keep(sitting: Sitting, *, whole: bool) -> None:
    """Store a run, in place of all runs or of their sections that it measured, and draw the page."""
    results.save([sitting] if whole else results.merged(results.load(), sitting))
    draw()


def draw() -> None:
    """Draw the page and its charts from the stored runs; a chart that is drawn no more is removed."""
    sittings = results.load()
    drawn = {chart.file for chart in charts.write(results.rows_of(sittings))}
    for file in charts.FOLDER.glob("*.svg"):
        if file.name not in drawn:
            file.unlink()
    PAGE.write_text(page(sittings), encoding="utf-8")


def main() -> int:
    """Run the benchmarks, print the page, store the run and draw; return the exit status."""
    # SIGTERM must unwind like Ctrl-C, so that every child is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments()
    if args.draw:
        draw()
        return 0
    bystanders = Bystanders()
    try:
        rows, failed = run(args.names, QUICK if args.quick else FULL, contenders(args.signet))
    except KeyboardInterrupt:
        return 130
    sitting = Sitting(
        Setting(
            hardware=hardware(),
            versions=versions(),
            two_cores=client_core() is not None,
            others=bystanders.share(),
            today=dt.datetime.now(dt.UTC).date(),
        ),
        rows,
    )
    text = page([sitting])
    print(text)
    whole = not args.quick and not failed and set(args.names) == set(BENCHMARKS)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    elif rows and (whole or args.write):
        keep(sitting, whole=whole)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
