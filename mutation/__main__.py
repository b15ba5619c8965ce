"""Run the mutation check: `python -m mutation [--sample N] [--package NAME] …`."""

from __future__ import annotations

import argparse
import sys

from .coverage_map import BUILD, open_map
from .packages import PACKAGES
from .progress import Progress, known_verdicts
from .running import run_all
from .sample import all_mutants, drawn

SAMPLE = 60
VERDICTS = BUILD / "verdicts.jsonl"


def main() -> int:
    """Do what the flags say; return 1 if a package is below its goal."""
    args = _parser().parse_args()
    tests = open_map(args.jobs, fresh=args.map, stale=args.stale, more=args.trace)
    chosen = [package for package in PACKAGES if not args.package or package.name in args.package]
    mutants = {package.name: drawn(all_mutants(package), args.sample) for package in chosen}
    known = known_verdicts(VERDICTS) if args.resume or args.survivors else {}
    done = {key for key, one in known.items() if args.resume or one.outcome == "killed"}
    # One mutant of each package after the other: a run that is ended early tells something of each.
    work = [
        (package, mutants[package.name][place])
        for place in range(args.sample)
        for package in chosen
        if place < len(mutants[package.name]) and mutants[package.name][place].key not in done
    ]
    run_all(work, tests, args.jobs, Progress(VERDICTS, len(work)))
    return 0


def _parser() -> argparse.ArgumentParser:
    names = [package.name for package in PACKAGES]
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"mutants of each package (default: {SAMPLE})")
    parser.add_argument("--package", action="append", choices=names, help="only this package; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once (default: 2)")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts of the run before")
    parser.add_argument("--survivors", action="store_true", help="keep the killed of the run before; try the rest again")
    parser.add_argument("--map", action="store_true", help="trace all tests anew")
    parser.add_argument("--stale", action="store_true", help="take the coverage map as it is")
    parser.add_argument("--trace", nargs="*", default=[], metavar="FILE", help="trace these test files into the map")
    return parser


if __name__ == "__main__":
    sys.exit(main())
