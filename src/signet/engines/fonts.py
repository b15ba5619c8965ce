"""The widths of a TrueType font's characters, read from its tables. Pure.

A diagram is laid out with the widths of the font that draws it; with any other, texts overlap or stick out of their
boxes.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Any, Final

__all__ = ["read_widths"]

DIGITS: Final = 5
"""The digits of a width that are kept: enough for a pixel in a line of 10,000 pixels."""


def read_widths(font: bytes) -> dict[str, Any]:
    """Return the widths by code point, with those of a missing character, ascent and descent, all in parts of an em.

    Raises:
        ValueError: the bytes are no TrueType font with a Unicode table.
    """
    tables = {}
    (count,) = unpack_from(">H", font, 4)
    for number in range(count):
        name, _, start, _ = unpack_from(">4sIII", font, 12 + 16 * number)
        tables[name] = start
    if not {b"head", b"hhea", b"hmtx", b"cmap"} <= set(tables):
        raise ValueError("it is no TrueType font")
    (units,) = unpack_from(">H", font, tables[b"head"] + 18)
    ascent, descent = unpack_from(">hh", font, tables[b"hhea"] + 4)
    (long_metrics,) = unpack_from(">H", font, tables[b"hhea"] + 34)
    advances = unpack_from(f">{long_metrics * 2}H", font, tables[b"hmtx"])[::2]
    last = long_metrics - 1
    widths = {code: round(advances[min(glyph, last)] / units, DIGITS) for code, glyph in _cmap(font, tables[b"cmap"])}
    facts = {"ascent": ascent / units, "descent": -descent / units, "missing": advances[0] / units}
    return {**facts, "widths": widths}


def _cmap(font: bytes, start: int) -> list[tuple[int, int]]:
    """Return the code points with their glyphs, from the largest table that can be read."""
    (count,) = unpack_from(">H", font, start + 2)
    found: list[tuple[int, int]] = []
    for number in range(count):
        platform, _, offset = unpack_from(">HHI", font, start + 4 + 8 * number)
        (form,) = unpack_from(">H", font, start + offset)
        if platform in {0, 3} and form in {4, 12}:
            pairs = (_segments if form == 4 else _groups)(font, start + offset)  # noqa: PLR2004 - a format's number
            found = max(found, pairs, key=len)
    if not found:
        raise ValueError("it has no Unicode table")
    return found


def _groups(font: bytes, start: int) -> list[tuple[int, int]]:
    """Return the pairs of a table of format 12."""
    (count,) = unpack_from(">I", font, start + 12)
    numbers = unpack_from(f">{count * 3}I", font, start + 16)
    triples = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    return [(code, glyph + code - first) for first, last, glyph in triples for code in range(first, last + 1)]


def _segments(font: bytes, start: int) -> list[tuple[int, int]]:
    """Return the pairs of a table of format 4."""
    count = unpack_from(">H", font, start + 6)[0] // 2
    ends = unpack_from(f">{count}H", font, start + 14)
    begin = start + 16 + 2 * count
    starts = unpack_from(f">{count}H", font, begin)
    deltas = unpack_from(f">{count}H", font, begin + 2 * count)
    offsets = unpack_from(f">{count}H", font, begin + 4 * count)
    pairs = []
    for number, (first, last) in enumerate(zip(starts, ends, strict=True)):
        for code in range(first, min(last, 0xFFFE) + 1):
            glyph = code
            if offsets[number]:
                place = begin + 4 * count + 2 * number + offsets[number] + 2 * (code - first)
                (glyph,) = unpack_from(">H", font, place)
            glyph = (glyph + deltas[number]) & 0xFFFF if glyph else 0
            if glyph:
                pairs.append((code, glyph))
    return pairs
