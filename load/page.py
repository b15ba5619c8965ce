"""The page that a load run writes: docs/load.md."""

from __future__ import annotations

from pathlib import Path

from .accounts import Accounts
from .faults import Ordered

HEAD = """\
# Load, with faults

`make load` wrote this page. It starts three servers of two workers behind HAProxy, with Redis for what they share and
with the Bank's sandbox behind them, and calls through every HTTP door as four principals while faults happen. A caller
whose connection is lost sends the call again under the same idempotency key. One principal has a limit of 50 calls a
second, so that some calls are refused.
"""


def write(
    path: Path, accounts: Accounts, faults: list[Ordered], *, took_s: float, machine: str, interval_s: float
) -> None:
    """Write the page."""
    gap = f"{accounts.bank_least_gap_s:.3f} s" if accounts.bank_requests > 1 else "-"
    rows = [
        ("calls", f"{accounts.calls:,}"),
        ("requests, with those sent again", f"{accounts.tries:,}"),
        ("seconds", f"{took_s:.0f}"),
        ("answered by a server", f"{accounts.answered:,}"),
        ("lost: never answered", f"{len(accounts.lost):,}"),
        ("wrong: the answer of another call", f"{len(accounts.wrong):,}"),
        ("refused by a limit, by principal", _counted(accounts.refused)),
        ("errors that the caller did not deserve", _counted(accounts.undeserved)),
        ("answers without a line in an audit log", f"{len(accounts.without_line):,}"),
        ("request ids with two lines", f"{accounts.doubled_lines:,}"),
        ("lines of the audit logs, checkpoints included", f"{accounts.audit_lines:,}"),
        ("lines of calls in the audit logs", f"{accounts.audit_calls:,}"),
        ("records of the journals", f"{accounts.journal_records:,}"),
        ("entries that were written twice", f"{len(accounts.made_twice):,}"),
        ("entries that were answered and not written", f"{accounts.unwritten:,}"),
        ("requests to the Bank, over all servers", f"{accounts.bank_requests:,}"),
        (f"least time between two of them (the interval is {interval_s:g} s)", gap),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    done = "\n".join(f"| {one.name} | {one.last - one.first:,} |" for one in faults)
    verified = "\n".join(f"- {line}" for line in accounts.audit_verified)
    parts = (
        HEAD,
        machine,
        f"| figure | value |\n|---|---|\n{table}",
        "## The faults, and the calls that were answered meanwhile",
        f"| fault | calls |\n|---|---|\n{done}",
        "## `signet audit verify`",
        verified,
    )
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "0"
