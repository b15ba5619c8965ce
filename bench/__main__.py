"""`python -m bench`: run the benchmarks, print the page and write it to docs/benchmarks.md."""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import calls, convert, decode, journal, memory, own, startup, telemetry, web, wrap
from bench.contenders import Contender, contenders
from bench.frames import WrongAnswerError
from bench.machine import Bystanders, hardware, versions
from bench.plan import FULL, QUICK, Plan
from bench.process import NotStartedError, client_core, pinned
from bench.report import page
from bench.results import Setting
from bench.rows import Row

BENCHMARKS: dict[str, Callable[[Plan, Sequence[Contender]], list[Row]]] = {
    "cold": startup.measure,
    "dropins": startup.measure_dropins,
    "stdio": calls.measure,
    "own": own.measure,
    "http": web.measure,
    "rest": web.measure_rest,
    "memory": memory.measure,
    "convert": convert.measure,
    "decode": decode.measure,
    "journal": journal.measure,
    "telemetry": telemetry.measure,
    "wrap": wrap.measure,
}
"""The function of each benchmark; a new benchmark is a new module and a new line here."""

GOALS = ("cold", "stdio", "own", "http", "rest", "telemetry", "wrap")
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
    parser.add_argument("--write", action="store_true", help="write the page even if the run is short or partial")
    parser.add_argument("--out", type=Path, help="file to write (default: docs/benchmarks.md)")
    parser.add_argument("--signet", help="signet command to measure (default: the one beside this interpreter)")
    args = parser.parse_args()
    args.names = args.only.replace("goals", ",".join(GOALS)).split(",")
    if unknown := [name for name in args.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return args


def run(names: Sequence[str], plan: Plan, everyone: Sequence[Contender]) -> list[Row]:
    """Run the named benchmarks one after the other on the client's core."""
    gc.disable()
    with pinned(client_core()):
        rows: list[Row] = []
        for name in names:
            rows += BENCHMARKS[name](plan, everyone)
            gc.collect()
        return rows


def main() -> int:
    """Run the benchmarks, print the page and write it; return the exit status."""
    # SIGTERM must unwind like Ctrl-C, so that every child is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments()
    bystanders = Bystanders()
    try:
        rows = run(args.names, QUICK if args.quick else FULL, contenders(args.signet))
    except (WrongAnswerError, NotStartedError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    setting = Setting(
        hardware=hardware(),
        versions=versions(),
        two_cores=client_core() is not None,
        others=bystanders.share(),
        today=dt.datetime.now(dt.UTC).date(),
    )
    text = page(rows, setting)
    print(text)
    whole = not args.quick and set(args.names) == set(BENCHMARKS)
    if whole or args.write or args.out:
        (args.out or PAGE).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
