"""Run all tests again and again while all cores are busy, and write docs/test-runs.md.

A test that depends on how fast the machine is fails sooner or later.

    python scripts/repeat_tests.py [--runs 10] [--spinners 2] [--resume]

The spinners take the time that the tests leave, at the lowest priority. The log of each run is below build/test-runs.
A series belongs to the files that it ran; `--resume` goes on with one that was cut off, if no file has changed since.
A run that fails ends the series.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build/test-runs"
PAGE = ROOT / "docs/test-runs.md"
SERIES = ROOT / "docs/test-runs.json"
SPIN = "import os\nos.nice(19)\nwhile os.getppid() == {parent}:\n    sum(range(100_000))"
HEAD = """\
# Runs of the tests, one after the other

`make repeat` wrote this page: all tests, again and again, as on a fresh machine (`CI=true`, where a skipped test is a
failure), while processes of the lowest priority take what the tests leave of each core."""


class Run(NamedTuple):
    """One run of all tests."""

    begun: str
    """When, in UTC."""
    tests: int
    failed: int
    skipped: int
    seconds: float
    busy: float
    """The part of the processors' time in which they were not idle."""
    status: int
    """The exit status of `make test`, which checks style and types too."""

    @property
    def is_good(self) -> bool:
        """Whether everything passed."""
        return not (self.status or self.failed or self.skipped) and self.tests > 0


def main() -> int:
    """Run the tests so many times; return 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="make repeat", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="how many times in all (default: 10)")
    parser.add_argument("--spinners", type=int, default=os.cpu_count() or 1, help="idle processes (default: the cores)")
    parser.add_argument("--resume", action="store_true", help="go on with a series of the same files that was cut off")
    args = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    files, head = fingerprint(), commit()
    runs = stored(files) if args.resume else []
    with spinning(args.spinners):
        while len(runs) < args.runs and all(run.is_good for run in runs):
            runs.append(run_once(len(runs) + 1))
            if fingerprint() != files:
                print("a file has changed while the tests ran: begin anew", file=sys.stderr)
                return 1
            SERIES.write_text(json.dumps({"files": files, "runs": runs}, indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(page(runs, args.spinners, head), encoding="utf-8")
            print(f"run {len(runs)}: {runs[-1]}", flush=True)
    return 0 if all(run.is_good for run in runs) else 1


def fingerprint() -> str:
    """Return a digest of all files of the checkout but those that this script writes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    digest = hashlib.sha256()
    for path in sorted(ROOT / name for name in listed if name):
        if path.is_file() and path not in {PAGE, SERIES}:
            digest.update(str(path.relative_to(ROOT)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def stored(files: str) -> list[Run]:
    """Return the runs of a series of these files, none if it was of others."""
    try:
        series = json.loads(SERIES.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [Run(*run) for run in series["runs"]] if series["files"] == files else []


@contextlib.contextmanager
def spinning(number: int) -> Iterator[None]:
    """Keep the cores busy until the block ends."""
    command = [sys.executable, "-c", SPIN.format(parent=os.getpid())]
    spinners = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def run_once(number: int) -> Run:
    """Run all tests; what they print goes to a file."""
    report = LOGS / f"{number}.xml"
    report.unlink(missing_ok=True)
    begun = dt.datetime.now(dt.UTC).strftime("%m-%d %H:%M")
    before, started_s = _times(), time.monotonic()
    with (LOGS / f"{number}.log").open("wb") as log:
        command = ["make", "test", f"ARGS=--junitxml={report}"]
        status = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "CI": "true"}, stdout=log, stderr=log, check=False
        ).returncode
    seconds, (idle, whole) = (
        time.monotonic() - started_s,
        (now - then for now, then in zip(_times(), before, strict=True)),
    )
    counts = _counts(report) if report.exists() else {}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    busy = 1 - idle / max(whole, 1)
    return Run(begun, counts.get("tests", 0), failed, counts.get("skipped", 0), seconds, busy, status)


def _counts(report: Path) -> dict[str, int]:
    suites = ET.parse(report).getroot().iter("testsuite")
    counts: dict[str, int] = {}
    for suite in suites:
        for name in ("tests", "failures", "errors", "skipped"):
            counts[name] = counts.get(name, 0) + int(suite.get(name, "0"))
    return counts


def _times() -> tuple[int, int]:
    """Return the time in which the processors were idle, and all of it, in the kernel's ticks."""
    parts = [int(part) for part in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return parts[3] + parts[4], sum(parts)


def commit() -> str:
    """Return the commit that is checked out."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def page(runs: list[Run], spinners: int, commit: str) -> str:
    """Return the page of so many runs."""
    today = dt.datetime.now(dt.UTC).date()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    good = sum(run.is_good for run in runs)
    lines = [
        HEAD,
        "",
        f"Until {today}, at {commit}, {machine}, {spinners} such processes: {good} of {len(runs)} runs passed.",
        "",
        "| run | begun (UTC) | tests | failed | skipped | minutes | cores busy | exit status |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for number, run in enumerate(runs, 1):
        minutes, rest = divmod(round(run.seconds), 60)
        cells = (
            number,
            run.begun,
            f"{run.tests:,}",
            run.failed,
            run.skipped,
            f"{minutes}:{rest:02}",
            f"{run.busy:.0%}",
            run.status,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
