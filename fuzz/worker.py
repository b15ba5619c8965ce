"""A worker: one target fuzzed in a process of its own, `python -m fuzz.worker TARGET SECONDS SEED REPORT`.

The input that runs is kept in a file, so that it is known when the process dies.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import mmap
import sys
import time
from dataclasses import asdict
from pathlib import Path

from .catalogue import NAMES, find_target
from .session import Session
from .target import Run

__all__ = ["ROOM_BYTES", "main"]

ROOM_BYTES = 1 << 17
EVERY_S = 5.0
"""The seconds between two lines of progress."""


def main() -> int:
    """Fuzz one target for some time; print lines of progress, and write a report."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.worker", description=__doc__)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("seconds", type=float)
    parser.add_argument("seed", type=int)
    parser.add_argument("report", type=Path)
    parser.add_argument("--unguided", action="store_true", help="keep no inputs that reach new paths")
    args = parser.parse_args()
    faulthandler.enable()
    target = find_target(args.target)
    with target.open() as run:
        session = Session(target, _kept(run, args.report.with_suffix(".input")), args.seed, is_guided=not args.unguided)
        _fuzz(session, args.seconds)
    failures = [{**asdict(one), "data": one.data.hex()} for one in session.failures.values()]
    report = {"inputs": session.inputs, "paths": session.paths.count, "failures": failures}
    report["figures"] = target.figures()
    args.report.write_text(json.dumps(report), encoding="utf-8")
    return 0


def _kept(run: Run, path: Path) -> Run:
    """Return a run that writes each input into a file before; its length stands in the first bytes."""
    path.write_bytes(b"\0" * ROOM_BYTES)
    with path.open("r+b") as file:
        room = mmap.mmap(file.fileno(), ROOM_BYTES)

    def keep_and_run(data: bytes) -> None:
        room[: 4 + len(data)] = len(data).to_bytes(4, "big") + data
        run(data)

    return keep_and_run


def _fuzz(session: Session, seconds: float) -> None:
    session.replay()
    start_s = told_s = time.monotonic()
    told = session.inputs
    while (now_s := time.monotonic()) - start_s < seconds and not session.is_over:
        session.step()
        if now_s - told_s >= EVERY_S:
            rate = (session.inputs - told) / (now_s - told_s)
            told_s, told = now_s, session.inputs
            counted = f"{session.inputs:9,} inputs {rate:7.0f}/s {session.paths.count:6,} paths"
            print(f"  {session.target.name:9} {counted} {len(session.failures):3} failures", flush=True)


if __name__ == "__main__":
    sys.exit(main())
