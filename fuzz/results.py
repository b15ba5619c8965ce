"""Results: what every run so far has counted, in `fuzz/results.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["PATH", "add_run", "read_results", "write_results"]

PATH = Path(__file__).parent / "results.json"
FOUND = Path(__file__).parent / "corpus"


def read_results(path: Path = PATH) -> dict[str, Any]:
    """Return the counts of each target."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def add_run(results: dict[str, Any], target: str, report: dict[str, Any], seed: int, seconds: float) -> None:
    """Add the counts of one run to those of its target."""
    row = results.setdefault(target, {"inputs": 0, "minutes": 0.0, "paths": 0, "failures": 0, "seeds": []})
    row["inputs"] += report["inputs"]
    row["minutes"] = round(row["minutes"] + seconds / 60, 1)
    row["paths"] = max(row["paths"], report["paths"])
    row["failures"] = len(report["failures"])
    for name, figure in report.get("figures", {}).items():
        row.setdefault("figures", {})[name] = max(figure, row.get("figures", {}).get(name, 0.0))
    row["seeds"] = sorted({*row["seeds"], seed})


def write_results(results: dict[str, Any], path: Path = PATH) -> None:
    """Write the counts."""
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
