"""The journal on disk, by the literal names of spec 5, so that a journal that moves is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = "mcp_server/envelope_validation"
"""The folder of the journals, below the log directory."""
LATEST = "envelope_validation.latest.jsonl"
"""The link to the journal of the most recent run, in that folder."""
VOLATILE = ("ts", "traceId", "spanId", "requestId", "durationMs")
"""The fields that differ between two runs of the same calls."""
ROUTING = ("transport", "route")
"""The fields that differ between two doors."""


def records_in(log_dir: Path) -> list[dict[str, Any]]:
    """Return the records of the most recent run below a log directory."""
    return [json.loads(line) for line in (log_dir / FOLDER / LATEST).read_text(encoding="utf-8").splitlines()]


def differences(one: object, other: object, **options: Any) -> object:
    """Return what DeepDiff finds; it is loaded here, since it loads pandas, which no other test of a run needs."""
    from deepdiff import DeepDiff

    return DeepDiff(one, other, **options)
