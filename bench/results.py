"""Results: what was measured as a file, from which the page and the charts are drawn again without measuring.

    Sitting(setting, rows) ──▶ docs/benchmarks.json ──▶ page, charts

A partial run (`--only`) replaces the sections that it measured and keeps the others with the setting of their own run.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.rows import Row

__all__ = ["FILE", "Setting", "Sitting", "load", "merged", "rows_of", "save"]

FILE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.json"


@dataclass(frozen=True)
class Setting:
    """The circumstances of one run."""

    hardware: str
    versions: str
    two_cores: bool
    others: float | None
    """The share of the processor that other processes took, if it is known."""
    today: dt.date


@dataclass(frozen=True)
class Sitting:
    """The rows of one run and its circumstances."""

    setting: Setting
    rows: list[Row]


def load(path: Path = FILE) -> list[Sitting]:
    """Return the stored runs, or none if there is no file."""
    return msgspec.json.decode(path.read_bytes(), type=list[Sitting]) if path.exists() else []


def save(sittings: Sequence[Sitting], path: Path = FILE) -> None:
    """Write the runs, one value per line, so that a change of one value is one line of a diff."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(sittings), indent=1) + b"\n")


def merged(stored: Sequence[Sitting], new: Sitting) -> list[Sitting]:
    """Return the stored runs without the sections of the new run, and the new run behind them."""
    sections = {row.metric.section for row in new.rows}
    kept = [
        Sitting(sitting.setting, [row for row in sitting.rows if row.metric.section not in sections])
        for sitting in stored
    ]
    return [*(sitting for sitting in kept if sitting.rows), new]


def rows_of(sittings: Sequence[Sitting]) -> list[Row]:
    """Return the rows of all runs."""
    return [row for sitting in sittings for row in sitting.rows]
