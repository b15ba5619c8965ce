"""The pieces of a chart as SVG: the frame with its two colour schemes, texts, lines, and the width of a text. Pure.

One file serves both schemes: its style asks the reader's browser, and it has a background of its own, so that it can be
read wherever it stands. It works as a picture on a page of GitHub's, where no script runs and no font is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

__all__ = ["LABEL", "MARGIN", "SMALL", "SUBTITLE", "TITLE", "WIDTH", "amount", "frame", "line", "rect", "text", "width"]

WIDTH = 720
MARGIN = 24
TITLE, SUBTITLE, LABEL, SMALL = 18, 13, 13, 12
"""The sizes of texts."""
FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif'

LIGHT = {
    "ground": "#ffffff", "edge": "#d1d9e0", "ink": "#1f2328", "soft": "#59636e", "grid": "#e6eaef", "axis": "#818b98",
    "signet": "#0969da", "peer": "#a3adb8", "bound": "#d5dbe1", "missed": "#d4720b",
    "s1": "#b26a00", "s2": "#5f6b78", "s3": "#98a2ad", "s4": "#2f8f7f", "s5": "#77b8a8",
    "s6": "#8a6fb0", "s7": "#b7a3cf",
}  # fmt: skip
DARK = {
    "ground": "#0d1117", "edge": "#3d444d", "ink": "#f0f6fc", "soft": "#9ea7b1", "grid": "#242b33", "axis": "#6b747e",
    "signet": "#58a6ff", "peer": "#59636e", "bound": "#363d46", "missed": "#e8923a",
    "s1": "#d69a3c", "s2": "#aab4bf", "s3": "#7d8792", "s4": "#56b3a3", "s5": "#357f72",
    "s6": "#a98fd0", "s7": "#75609a",
}  # fmt: skip
"""Blue and orange, ochre, greys, green-blues and violets: told apart by those who do not see red and green alike."""

_LINES = {"edge", "grid", "axis"}
_NARROW, _WIDE = set("iljtfr.,:;'|!()[]/ -"), set("mwMW@%")
_CAPITAL_EM, _NARROW_EM, _WIDE_EM, _OTHER_EM, _BOLD = 0.68, 0.36, 0.89, 0.58, 1.1


def width(words: str, size: float, *, bold: bool = False) -> float:
    """Return about how wide a text is in a usual font, rather too wide than too narrow."""
    em = 0.0
    for letter in words:
        if letter in _NARROW:
            em += _NARROW_EM
        elif letter in _WIDE:
            em += _WIDE_EM
        else:
            em += _CAPITAL_EM if letter.isupper() else _OTHER_EM
    return em * size * (_BOLD if bold else 1.0)


def amount(value: float) -> str:
    """Return a number with three digits or so, as a person reads it."""
    for least, decimals in ((100, 0), (10, 1), (1, 2)):
        if value >= least:
            return _trimmed(f"{value:,.{decimals}f}")
    return _trimmed(f"{value:.2f}")


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def text(x: float, y: float, words: str, *, size: float = LABEL, of: str = "ink", anchor: str = "start") -> str:
    """Return a text whose baseline begins, is centred or ends at a place."""
    weight = ' font-weight="600"' if of in {"title", "signet-text"} else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text class="{of}" {place}{weight}>{escape(words)}</text>'


def rect(x: float, y: float, wide: float, high: float, of: str) -> str:
    """Return a filled rectangle."""
    return f'<rect class="{of}" x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0):.1f}" height="{high:.1f}" rx="2"/>'


def line(points: Sequence[tuple[float, float]], of: str, thick: float = 1, dash: str = "") -> str:
    """Return a line through these points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline class="{of}" points="{path}" fill="none" stroke-width="{thick:g}"{dashes}/>'


def frame(title: str, subtitle: str, description: str, height: float, parts: Sequence[str]) -> str:
    """Return the whole file: the title, the line below it, and the parts on a ground of their own."""
    attributes = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" role="img"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {attributes} aria-label={quoteattr(title)}>',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>{_style()}</style>",
            f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="8"/>',
            text(MARGIN, 34, title, size=TITLE, of="title"),
            text(MARGIN, 56, subtitle, size=SUBTITLE, of="soft"),
            *parts,
            "</svg>",
            "",
        ]
    )


def _style() -> str:
    dark = "".join(_rules(DARK))
    return f"text{{font-family:{FONT}}}{''.join(_rules(LIGHT))}@media (prefers-color-scheme:dark){{{dark}}}"


def _rules(colours: dict[str, str]) -> list[str]:
    rules = [f".ground{{fill:{colours['ground']};stroke:{colours['edge']}}}.title{{fill:{colours['ink']}}}"]
    for name, colour in colours.items():
        if name not in _LINES | {"ground"}:
            rules.append(f".{name}{{fill:{colour}}}")
        # The text of a value stands on lines: a rim of the ground's colour keeps it legible.
        rules.append(f".{name}-line{{stroke:{colour}}}")
    rim = f"stroke:{colours['ground']};stroke-width:3px;paint-order:stroke;stroke-linejoin:round"
    rules.append(f".signet-text{{fill:{colours['signet']};{rim}}}.missed-text{{fill:{colours['missed']}}}")
    return rules
