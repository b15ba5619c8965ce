"""Limits of JSON text, checked before it is decoded: the values that would be made of it, and the digits of a number.

    text ── few commas and brackets ──────────────────────────────▶ within the limits
         ── many ── the same without its strings, piece by piece ──▶ within the limits, or the reason why not

Pure. A decoder works in one step that no other thread can interrupt, and a byte of text takes up to 500 ns of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf
from typing import Final

__all__ = ["MAX_VALUES", "excess", "outside_strings", "parse_float"]

MAX_VALUES: Final = 50_000
"""Far more values than any call has; so many arrays or objects are decoded in 18 ms."""
MAX_DIGITS: Final = 1_000
"""The time that a number takes grows with the square of its digits."""
PIECE_BYTES: Final = 65_536
STRIDE: Final = 25
"""Every 25th byte of a long number is a digit too, and to look at those alone takes a tenth of the time."""

_ZEROS: Final = b"0" * MAX_DIGITS
_SAMPLED_ZEROS: Final = b"0" * (MAX_DIGITS // STRIDE)
_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"0" * 9)


def excess(text: bytes, max_values: int = MAX_VALUES) -> str:
    """Return which limit a JSON text exceeds, or nothing."""
    if len(text) <= max_values or (_count(text) < max_values and not _has_long_number(text)):
        return ""
    values, end = 1, b""
    for part in outside_strings(text):
        values += _count(part)
        if values > max_values:
            return f"more than {max_values:,} values"
        if _has_long_number(end + part):
            return f"a number of more than {MAX_DIGITS:,} digits"
        end = (end + part)[-MAX_DIGITS:]
    return ""


def outside_strings(text: bytes | bytearray) -> Iterator[bytes]:
    """Yield a JSON text without the characters of its strings, piece by piece."""
    within = start = 0
    while start < len(text):
        piece = text[start : start + PIECE_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            # The last backslash escapes the first character of the next piece.
            piece = text[start : start + PIECE_BYTES + 1]
        start += len(piece)
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        yield b"".join(parts[within::2])
        within ^= (len(parts) - 1) % 2


def parse_float(text: str) -> float:
    """Return the number of a JSON literal; a decoder that asks for it needs 1 µs for literals that take it 12 µs.

    Raises:
        ValueError: the number is too large.
    """
    number = float(text)
    if isinf(number):
        raise ValueError("Number out of range")
    return number


def _count(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _has_long_number(text: bytes) -> bool:
    if _SAMPLED_ZEROS not in text[::STRIDE].translate(_AS_ZEROS):
        return False
    # In pieces that overlap: the heap has room for a piece, while a copy of a large text is new memory each time.
    for start in range(0, len(text), PIECE_BYTES):
        if _ZEROS in text[start : start + PIECE_BYTES + MAX_DIGITS].translate(_AS_ZEROS):
            return True
    return False
