"""The widths of a font, held against fontTools' own reading of the same file."""

from __future__ import annotations

import pytest

from signet.engines.assets import find_assets
from signet.engines.fonts import read_widths

ASSETS = find_assets()
assert ASSETS is not None, "run npm ci"


@pytest.mark.parametrize("face", ["sans", "sans-bold", "mono", "mono-bold"])
def test_the_widths_are_those_of_fonttools(face: str) -> None:
    from fontTools.ttLib import TTFont

    path = ASSETS.faces[face]
    with open(path, "rb") as file:
        read = read_widths(file.read())
    font = TTFont(path)
    units = font["head"].unitsPerEm

    assert read["widths"] == {
        code: round(font["hmtx"][glyph][0] / units, 5) for code, glyph in font.getBestCmap().items()
    }
    assert read["ascent"] == font["hhea"].ascent / units
    assert read["descent"] == -font["hhea"].descent / units


def test_other_bytes_are_no_font() -> None:
    with pytest.raises(ValueError, match="no TrueType font"):
        read_widths(b"\0" * 64)
