"""The accounts of a load run: what the callers got, beside what audit logs, journals, ledger and Bank have seen."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from .callers import Sent
from .fleet import SIGNET


@dataclass
class Accounts:
    """The figures of a run."""

    calls: int = 0
    answered: int = 0
    lost: list[int] = field(default_factory=list)
    """Calls that no server has answered, however often they were sent."""
    wrong: list[int] = field(default_factory=list)
    """Answers that are not those of their calls."""
    undeserved: Counter[str] = field(default_factory=Counter)
    """Errors that the caller did nothing to deserve, by tool and name."""
    refused: Counter[str] = field(default_factory=Counter)
    """Calls that a limit refused, by principal."""
    tries: int = 0
    without_line: list[str] = field(default_factory=list)
    """Answers that have no line in an audit log."""
    doubled_lines: int = 0
    audit_lines: int = 0
    audit_calls: int = 0
    audit_verified: list[str] = field(default_factory=list)
    journal_records: int = 0
    made_twice: list[str] = field(default_factory=list)
    """Entries of the ledger that were written more than once."""
    unwritten: int = 0
    """Calls that were answered with a result and are not in the ledger."""
    bank_requests: int = 0
    bank_least_gap_s: float = 0.0


def take(sent: list[Sent], folder: Path, ledger: Path, bank_times: list[float]) -> Accounts:
    """Return the figures of a run."""
    accounts = Accounts(calls=len(sent))
    _count_answers(accounts, sent)
    _count_lines(accounts, sent, folder)
    accounts.journal_records = sum(1 for _ in _lines(folder.glob("*/runs/mcp_server/envelope_validation/*Z.*.jsonl")))
    written = Counter(ledger.read_text().split()) if ledger.exists() else Counter()
    accounts.made_twice = [entry for entry, count in written.items() if count > 1]
    done = [call for call in sent if call.tool == "add_entry" and call.code == "OK"]
    accounts.unwritten = sum(1 for call in done if f"entry-{call.number}" not in written)
    times = sorted(bank_times)
    accounts.bank_requests = len(times)
    accounts.bank_least_gap_s = min((after - before for before, after in pairwise(times)), default=0)
    return accounts


def _count_answers(accounts: Accounts, sent: list[Sent]) -> None:
    for call in sent:
        accounts.tries += len(call.request_ids)
        if not call.status:
            accounts.lost.append(call.number)
        elif call.code == "WRONG":
            accounts.wrong.append(call.number)
        elif call.code == "RATE_LIMITED":
            accounts.refused[call.principal] += 1
        elif call.code != "OK":
            accounts.undeserved[f"{call.tool}: {call.code}"] += 1
        accounts.answered += bool(call.status)


def _count_lines(accounts: Accounts, sent: list[Sent], folder: Path) -> None:
    """Compare each answer with the lines of the audit logs."""
    lines: Counter[str] = Counter()
    for path in sorted(folder.glob("*/audit.jsonl")):
        for line in _lines([path]):
            request_id = str(line.get("requestId") or "")
            accounts.audit_lines += 1
            if request_id.startswith("load-"):
                lines[request_id] += 1
                accounts.audit_calls += 1
        ended = subprocess.run([SIGNET, "audit", "verify", str(path)], capture_output=True, text=True, check=False)
        first = (ended.stdout or ended.stderr).strip().splitlines()[0]
        accounts.audit_verified.append(f"{path.parent.name}: {first.removeprefix(str(path) + ': ')}")
    answered = [call.request_ids[-1] for call in sent if call.status]
    accounts.without_line = [request_id for request_id in answered if not lines[request_id]]
    accounts.doubled_lines = sum(1 for count in lines.values() if count > 1)


def _lines(paths: Iterator[Path] | list[Path]) -> Iterator[dict[str, object]]:
    for path in paths:
        if path.is_symlink():
            continue
        with path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield json.loads(line)
