"""Run the mutation check: `python -m mutation [--sample N] [--package NAME] …`."""

from __future__ import annotations

import argparse
import datetime as dt
import sys

from . import report, results
from .coverage_map import BUILD, CoverageMap, open_map
from .mutants import Mutant
from .packages import PACKAGES, Package
from .progress import Progress, known_verdicts
from .proving import prove_clauses
from .running import run_all
from .sample import all_mutants, drawn

SAMPLE = 150
VERDICTS = BUILD / "verdicts.jsonl"


def main() -> int:
    """Do what the flags say; return 1 if a package is below its goal."""
    args = _parser().parse_args()
    if args.clauses:
        prove_clauses(args.jobs, args.spec or [], resume=args.resume)
    if args.clauses or (args.page and not VERDICTS.exists()):
        report.write(results.load())
        return 0
    chosen = [package for package in PACKAGES if not args.package or package.name in args.package]
    mutants = {package.name: all_mutants(package) for package in chosen}
    sample = {name: drawn(found, args.sample) for name, found in mutants.items()}
    if not args.page:
        tests = open_map(args.jobs, fresh=args.map, stale=args.stale, more=args.trace)
        _run(args, chosen, sample, tests)
    return _write(args.package or [], chosen, mutants, sample)


def _run(args: argparse.Namespace, chosen: list[Package], sample: dict[str, list[Mutant]], tests: CoverageMap) -> None:
    known = known_verdicts(VERDICTS) if args.resume or args.survivors else {}
    if not known and not args.package:
        VERDICTS.unlink(missing_ok=True)
    done = {key for key, one in known.items() if args.resume or one.outcome == "killed"}
    # One mutant of each package after the other: a run that is ended early tells something of each.
    work = [
        (package, sample[package.name][place])
        for place in range(args.sample)
        for package in chosen
        if place < len(sample[package.name]) and sample[package.name][place].key not in done
    ]
    run_all(work, tests, args.jobs, Progress(VERDICTS, len(work)), quick=args.quick)


def _write(only: list[str], chosen: list[Package], mutants: dict[str, list[Mutant]],
           sample: dict[str, list[Mutant]]) -> int:  # fmt: skip
    """Write the figures and the page; those of packages that were not run stay as they are."""
    verdicts, reasons = known_verdicts(VERDICTS), results.read_reasons()
    before = {score.package: score for score in results.load().scores} if only and results.FILE.exists() else {}
    for package in chosen:
        name = package.name
        before[name] = results.collect(package, mutants[name], sample[name], verdicts)
    scores = [before[package.name] for package in PACKAGES if package.name in before]
    found = results.Results(dt.datetime.now(dt.UTC).date(), scores)
    results.save(found)
    report.write(found)
    low = [score.package for score in scores if score.share(reasons) < report.GOAL]
    for score in scores:
        print(f"{score.package}: {score.share(reasons):.1%} of {score.run}, survivors {len(score.survivors)}")
    return 1 if low else 0


def _parser() -> argparse.ArgumentParser:
    names = [package.name for package in PACKAGES]
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"mutants of each package (default: {SAMPLE})")
    parser.add_argument("--package", action="append", choices=names, help="only this package; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once (default: 2)")
    parser.add_argument("--clauses", action="store_true", help="take the rules of the clauses away instead")
    parser.add_argument("--spec", action="append", help="with --clauses: only clauses below this name (4, 4.cors)")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page from the verdicts at hand")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts of the run before")
    parser.add_argument(
        "--survivors", action="store_true", help="keep the killed of the run before; try the rest again"
    )
    parser.add_argument("--quick", action="store_true", help="ask only the tests of the coverage map")
    parser.add_argument("--map", action="store_true", help="trace all tests anew")
    parser.add_argument("--stale", action="store_true", help="take the coverage map as it is")
    parser.add_argument("--trace", nargs="*", default=[], metavar="FILE", help="trace these test files into the map")
    return parser


if __name__ == "__main__":
    sys.exit(main())
