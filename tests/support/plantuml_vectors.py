"""The golden PlantUML vectors, and spec 4's encoding written down a second time, by the standard library alone.

Expectations are made from this module, never from the encoder under test.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

from processes import ROOT

__all__ = ["ROWS", "VECTORS", "Vector", "bytes_of", "fifty_kilobytes", "raw_deflate", "string_of", "text_of"]

BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
PLANTUML = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
"""The character mapping as spec 4 prints it."""


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


def raw_deflate(data: bytes) -> bytes:
    """Compress without header or checksum, at level 9."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


def string_of(text: str) -> str:
    """Encode a text step by step: UTF-8, raw deflate, base64 without padding, the alphabet."""
    digits = base64.b64encode(raw_deflate(text.encode("utf-8"))).decode().rstrip("=")
    return digits.translate(str.maketrans(BASE64, PLANTUML))


def bytes_of(encoded: str) -> bytes:
    """Undo the alphabet and base64."""
    assert set(encoded) <= set(PLANTUML), encoded
    digits = encoded.translate(str.maketrans(PLANTUML, BASE64))
    return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)


def text_of(encoded: str) -> str:
    """Decode a string whichever compressor has made it; what is behind the compressed bytes is an error."""
    inflate = zlib.decompressobj(-15)
    data = inflate.decompress(bytes_of(encoded))
    assert (inflate.eof, inflate.unused_data) == (True, b""), encoded
    return data.decode("utf-8")


def fifty_kilobytes() -> str:
    """Build a diagram of exactly 51200 bytes."""
    messages = [f"P{i % 17} -> P{(7 * i + 3) % 17} : message {i}" for i in range(2106)]
    return "\n".join(["@startuml", *messages, "'" + "x" * 14, "@enduml"])


def _vector(row: dict[str, Any]) -> Vector:
    text = fifty_kilobytes() if row.get("rule") == "fifty_kilobytes" else row["text"] * row.get("times", 1)
    return Vector(row["name"], text, row.get("encoded"), row.get("encoded_sha256"), row["jar"])


ROWS: list[dict[str, Any]] = json.loads((ROOT / "tests/golden/plantuml.json").read_text(encoding="utf-8"))
VECTORS = {row["name"]: _vector(row) for row in ROWS}
