"""Run the load on a wrapped server: `python -m load.wrap [--calls N] [--in-flight N] [--kill-every N]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from load.fleet import ROOT

from . import accounts, page
from .callers import Callers
from .family import Family, Sample

SERVER = Path(__file__).with_name("ledger_server.py")


class Killer:
    """Samples the wrapper and kills its server whenever so many calls were sent."""

    def __init__(self, family: Family, every: int, calls: int) -> None:
        self._family = family
        self._every = every
        self._calls = calls
        self.samples: list[Sample] = []
        self.kills = 0

    def count(self, number: int) -> None:
        """Take note of a call that is about to be sent."""
        if number % self._every == 0 and number < self._calls:
            self.samples.append(self._family.sample())
            self.kills += self._family.kill_server()
            print(f"{number:,} calls, {self.samples[-1]}", file=sys.stderr)


def main() -> int:
    """Run the load and write the page; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="make load-wrapped", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="number of calls (default: 100000)")
    parser.add_argument("--in-flight", type=int, default=64, help="calls at once (default: 64)")
    parser.add_argument("--kill-every", type=int, default=1_000, help="calls between two kills (default: 1000)")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/wrap-load.md", help="where to write the figures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signet-load-") as folder:
        return _run(args, Path(folder))


def _run(args: argparse.Namespace, folder: Path) -> int:
    ledger = folder / "ledger"
    server = [sys.executable, "-I", "-S", str(SERVER), str(ledger)]
    with Family(server, folder) as family:
        killer = Killer(family, args.kill_every, args.calls)
        callers = Callers(family.port, args.calls, killer.count)
        started_s = time.monotonic()
        asyncio.run(callers.run(args.in_flight))
        took_s = time.monotonic() - started_s
        left = family.end()
    found = accounts.take(callers.sent, ledger.read_text(encoding="ascii").split(), killer.kills, killer.samples, left)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    settings = {"took_s": took_s, "machine": machine, "in_flight": args.in_flight, "kill_every": args.kill_every}
    page.write(args.page, found, **settings)
    print(args.page.read_text(encoding="utf-8"))
    for text, count in found.errors.most_common(10):
        print(f"{count:,} errors: {text}", file=sys.stderr)
    if broken := found.broken():
        print(f"broken: {', '.join(broken)}\n{family.log()[-3000:]}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
