"""The tools of the load run: one that writes down each time it runs, so that a call made twice shows."""

from __future__ import annotations

import os

import signet

LEDGER = os.environ.get("LOAD_LEDGER", os.devnull)


@signet.tool(annotations={"readOnlyHint": False, "idempotentHint": False}, example={"entry": "entry-1"})
def add_entry(entry: str) -> dict[str, str]:
    """Add an entry to the ledger."""
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(ledger, entry.encode() + b"\n")
    finally:
        os.close(ledger)
    return {"entry": entry}
