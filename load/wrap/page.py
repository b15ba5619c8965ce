"""The page that a run of the wrapped load writes: docs/wrap-load.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from .accounts import Accounts
from .family import Sample

HEAD = """\
# Load on a wrapped server that is killed again and again

`make load-wrapped` wrote this page. It calls `signet wrap --serve` over HTTP, and kills the wrapped server with SIGKILL
after each {kill_every:,} calls while calls are in flight. The server notes each execution in a file before it answers.
Half of the calls change something: they must not be executed twice, whatever happens. The others are read-only or
idempotent, and may be sent again. A call that was sent and not answered is told in an error that it may have happened.
"""


def write(path: Path, accounts: Accounts, *, took_s: float, machine: str, in_flight: int, kill_every: int) -> None:
    """Write the page."""
    rows = [
        ("calls", f"{accounts.calls:,}"),
        ("in flight", f"{in_flight}"),
        ("seconds", f"{took_s:.0f}"),
        ("the server was killed, times", f"{accounts.kills:,}"),
        ("answered with a result", f"{accounts.kinds['result']:,}"),
        ("answered with an error that says that the call may have happened", f"{accounts.kinds['maybe']:,}"),
        ("… and had happened", f"{accounts.maybe_and_executed:,}"),
        ("answered with another error", f"{accounts.kinds['error']:,}"),
        ("lost: never answered", f"{accounts.kinds['lost']:,}"),
        ("wrong: the answer of another call", f"{accounts.kinds['wrong']:,}"),
        ("changing calls that were executed twice", f"{len(accounts.changed_twice):,}"),
        ("other calls that were executed twice", f"{accounts.sent_again:,}"),
        ("results of calls that the server never saw", f"{len(accounts.not_executed):,}"),
        ("processes left after the end", f"{len(accounts.left):,}"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    second, last = accounts.thirds()
    parts = (
        HEAD.format(kill_every=kill_every),
        machine,
        f"| figure | value |\n|---|---|\n{table}",
        "## What the wrapper holds",
        "Sampled before each kill. The first third of the run warms up.",
        f"| | second third | last third |\n|---|---|---|\n{_held(second, last)}",
        "## Promises that were broken",
        "\n".join(f"- {promise}" for promise in accounts.broken()) or "None.",
    )
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


def _held(second: Sequence[Sample], last: Sequence[Sample]) -> str:
    def cells(name: str, what: str, share: int = 1) -> str:
        ranges = [sorted(getattr(sample, what) / share for sample in part) or [0] for part in (second, last)]
        shown = [f"{part[0]:g} to {part[-1]:g}" if share == 1 else f"{statistics.median(part):.1f}" for part in ranges]
        return f"| {name} | {' | '.join(shown)} |"

    return "\n".join(
        (
            cells("processes: the wrapper, its server and a guard", "processes"),
            cells("file descriptors of the wrapper", "descriptors"),
            cells("resident memory of the wrapper, median, MB", "memory_kb", 1024),
        )
    )
