"""Fuzz every reader of outside bytes: `python -m fuzz [--target NAME,NAME] [--minutes M] [--seed N]`.

Each target runs in a process of its own, one after the other. An input that fails is made smaller and written to
build/fuzz/crashes; the exit status is 1 if there is one. The counts go to fuzz/results.json and docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from .catalogue import NAMES
from .page import write_page
from .results import add_run, read_results, write_results

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build/fuzz"
PATIENCE = 3
"""A worker that takes so many times its time, and a minute, hangs outside of any input."""


def main() -> int:
    """Run the targets; return 1 if an input failed."""
    parser = argparse.ArgumentParser(
        prog="make fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--target", default=",".join(NAMES), metavar="NAME,…", help=f"which targets (default: all): {', '.join(NAMES)}"
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long all of them take together (default: 10)")
    parser.add_argument("--seed", type=int, help="the seed of all that is random (default: another one each time)")
    parser.add_argument("--unguided", action="store_true", help="keep no inputs that reach new paths, to compare")
    args = parser.parse_args()
    names = [name.strip() for name in args.target.split(",")]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; write one of: {', '.join(NAMES)}")
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}; {args.minutes:g} minutes for {', '.join(names)}", flush=True)
    results = read_results()
    failed = 0
    for name in names:
        report = _run(name, args.minutes * 60 / len(names), seed, unguided=args.unguided)
        failed += len(report["failures"])
        if not args.unguided:
            add_run(results, name, report, seed, args.minutes * 60 / len(names))
            write_results(results)
            write_page(results)
    return 1 if failed else 0


def _run(name: str, seconds: float, seed: int, *, unguided: bool) -> dict[str, Any]:
    """Fuzz one target in a process of its own; what it dies of is a failure too."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "fuzz.worker", name, str(seconds), str(seed), str(path)]
    with subprocess.Popen([*command, "--unguided"] if unguided else command, cwd=ROOT) as process:
        try:
            process.wait(PATIENCE * seconds + 60)
        except subprocess.TimeoutExpired:
            process.kill()
    if path.exists():
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    else:
        told = f"the process ended with {process.returncode}"
        report = {
            "inputs": 0,
            "paths": 0,
            "failures": [{"kind": "death", "place": "", "told": told, "data": _last_input(path).hex()}],
        }
    print(
        f"{name}: {report['inputs']:,} inputs, {report['paths']:,} paths, {len(report['failures'])} failures",
        flush=True,
    )
    for figure, value in report.get("figures", {}).items():
        print(f"  {figure}: {value:g}", flush=True)
    for failure in report["failures"]:
        _keep(name, failure)
    return report


def _last_input(path: Path) -> bytes:
    kept = path.with_suffix(".input")
    data = kept.read_bytes() if kept.exists() else b"\0" * 4
    return data[4 : 4 + int.from_bytes(data[:4], "big")]


def _keep(name: str, failure: dict[str, Any]) -> None:
    """Write a failing input and what it led to."""
    data = bytes.fromhex(failure["data"])
    folder = BUILD / "crashes" / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure['kind']}-{sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    path.with_name(path.name + ".txt").write_text(failure["told"], encoding="utf-8", errors="replace")
    print(f"  FAILED: {failure['kind']} {failure['place']}: {path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
