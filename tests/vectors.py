"""The golden PlantUML vectors, whole: the file's texts, the long ones built by their rule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from processes import ROOT

__all__ = ["VECTORS", "Vector", "fifty_kilobytes"]


@dataclass(frozen=True)
class Vector:
    """One text and what vanilla zlib makes of it."""

    name: str
    text: str
    encoded: str | None
    """The exact string; None where only its digest is kept."""
    encoded_sha256: str | None
    jar: str
    """What PlantUML 1.2020.02 decodes: `same` text, `normalised` text, or `fails`."""


def fifty_kilobytes() -> str:
    """Build a diagram of exactly 51200 bytes."""
    messages = [f"P{i % 17} -> P{(7 * i + 3) % 17} : message {i}" for i in range(2106)]
    return "\n".join(["@startuml", *messages, "'" + "x" * 14, "@enduml"])


def _vector(row: dict[str, Any]) -> Vector:
    text = fifty_kilobytes() if row.get("rule") == "fifty_kilobytes" else row["text"] * row.get("times", 1)
    return Vector(row["name"], text, row.get("encoded"), row.get("encoded_sha256"), row["jar"])


ROWS: list[dict[str, Any]] = json.loads((ROOT / "tests/golden/plantuml.json").read_text(encoding="utf-8"))
VECTORS = {row["name"]: _vector(row) for row in ROWS}
