"""Run the load: `python -m load [--calls N] [--callers N] [--page FILE]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from signet.sandbox.hosting import build, host_in_thread
from signet.settings.catalogue import find_toolset

from . import accounts, faults, page
from .callers import Callers
from .fleet import ROOT, SIGNET, Fleet

PRINCIPALS = ("alice", "bob", "ci", "slow")
INTERVAL_MS = 1000


def main() -> int:
    """Run the load and write the page; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="number of calls (default: 100000)")
    parser.add_argument("--callers", type=int, default=32, help="callers at once (default: 32)")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/load.md", help="where to write the figures")
    parser.add_argument("--keep", type=Path, help="an empty folder for the logs and journals, which are kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signet-load-") as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return asyncio.run(_run(args, folder))


async def _run(args: argparse.Namespace, folder: Path) -> int:
    bank, stop = host_in_thread(build(find_toolset("boj"), None))
    tokens_file = folder / "tokens"
    tokens = {name: _token(name, tokens_file) for name in PRINCIPALS}
    try:
        with Fleet(folder, bank.url, tokens_file, INTERVAL_MS) as fleet:
            callers = Callers(fleet.port, tokens, args.calls)
            started_s = time.monotonic()
            progress = asyncio.ensure_future(_tell(callers, args.calls))
            ordering = asyncio.ensure_future(faults.order_all(fleet, bank, callers, args.calls))
            await callers.run(args.callers)
            took_s = time.monotonic() - started_s
            done = await ordering
            progress.cancel()
        times = [request.time_s for request in bank.requests if not request.target.startswith("/_sandbox")]
    finally:
        stop()
    found = accounts.take(callers.sent, folder, fleet.ledger, times)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    page.write(args.page, found, done, took_s=took_s, machine=machine, interval_s=INTERVAL_MS / 1000)
    print(args.page.read_text(encoding="utf-8"))
    return 1 if _broken(found) or any(one.first == one.last for one in done) else 0


def _broken(found: accounts.Accounts) -> bool:
    """Return whether a promise was broken."""
    gap_s = found.bank_least_gap_s if found.bank_requests > 1 else 1.0
    return bool(found.lost or found.wrong or found.without_line or found.doubled_lines or gap_s < INTERVAL_MS / 1000)


def _token(name: str, path: Path) -> str:
    command = [SIGNET, "token", "new", name, "--tokens-file", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]


async def _tell(callers: Callers, calls: int) -> None:
    """Show on standard error how far the run is."""
    while not callers.is_ended:
        print(json.dumps({"calls": len(callers.sent), "of": calls, "in_flight": callers.in_flight}), file=sys.stderr)
        await asyncio.sleep(5)


if __name__ == "__main__":
    sys.exit(main())
