"""An SVG as an engine gives it: what it says against the diagram, its size, its margin and background. Pure."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

import msgspec

__all__ = [
    "DARK",
    "LIGHT",
    "DiagramError",
    "Size",
    "find_error",
    "frame",
    "is_unsupported",
    "lacks_graphviz",
    "size_of",
    "without_unsafe_links",
]

LIGHT: Final = "#FFFFFF"
DARK: Final = "#1B1B1B"
"""The background of PlantUML's dark pictures."""
MARGIN: Final = 6
"""The space around a picture: some kinds of diagrams draw on the very edge."""

_ROOT: Final = re.compile(r"<svg\b[^>]*>")
_TEXT: Final = re.compile(r"<text\b[^>]*>([^<]*)</text>")
_PLACE: Final = re.compile(r"\[From (?:string|textarea|[^\]]*?) ?\(line (\d+)\) ?\]")
_BACKGROUND: Final = re.compile(r"background(?:-color)?:\s*(#[0-9A-Fa-f]{6})\b")
_HEADS: Final = ("PlantUML version ", "PlantUML ", "Welcome to PlantUML!")
"""How the first text of an error picture begins."""
_ERROR_COLOUR: Final = "#33FF02"
_BANNER: Final = re.compile(rf'<rect\b[^>]*\bfill="{_ERROR_COLOUR}"[^>]*/><text\b[^>]*>([^<]*)</text>')
"""The bar with the error's place: what stands above it changes with the length of the diagram, and with the minute."""
_CRASH: Final = "An error has occured"
_NO_DATA: Final = "Your data does not sound like"
_NO_GRAPHVIZ: Final = (
    "Dot Executable", "Dot executable", "Cannot find Graphviz", "There is an issue with your Dot/Graphviz installation"
)  # fmt: skip
_SHAPE: Final = re.compile(r"<(?:rect|path|line|polygon|ellipse|image)\b")
_TAG: Final = re.compile(r"""<[A-Za-z](?:[^<>"']|"[^"]*"|'[^']*')*>""")
_LINK: Final = re.compile(r"""\s+(?:xlink:)?href\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_SAFE_LINK: Final = re.compile(r"https?://|mailto:|#|data:image/(?:png|jpeg|gif);base64,", re.IGNORECASE)


class DiagramError(msgspec.Struct, frozen=True):
    """What is wrong with a diagram."""

    message: str
    line: int | None = None
    """The line, counted from 1 in the text that the engine was given; None where the engine names none."""
    unsupported: bool = False
    """Whether the engine does not know this kind of diagram, so that another one may draw it."""


class Size(msgspec.Struct, frozen=True):
    """The width and the height of a picture, in pixels."""

    width: int
    height: int


def find_error(svg: str) -> DiagramError | None:
    """Return what an error picture says, or None for any other picture.

    A label may hold any text, so the picture is told by its beginning or its bar, and by its colour.
    """
    first = _TEXT.search(svg)
    head = _plain(first[1]) if first else ""
    if head.startswith(_CRASH):
        return DiagramError(f"the engine failed on this diagram ({head.partition(':')[2].strip()[:200]})")
    if head.startswith(_NO_DATA) and len(_TEXT.findall(svg)) == 1 and not _SHAPE.search(svg):
        # A label with these words stands in a box.
        return DiagramError(head)
    if _ERROR_COLOUR not in svg:
        return None
    if not head.startswith(_HEADS) and not any(_PLACE.fullmatch(_plain(bar)) for bar in _BANNER.findall(svg)):
        return None
    texts = [_plain(text) for text in _TEXT.findall(svg)]
    for number, text in enumerate(texts):
        if place := _PLACE.fullmatch(text):
            message = next(filter(None, reversed(texts[number + 1 :])), "") or "Syntax Error?"
            return DiagramError(message, int(place[1]))
    return None


def _plain(text: str) -> str:
    return unescape(text).replace("\u00a0", " ").strip()


def is_unsupported(svg: str) -> bool:
    """Return whether a picture says that the engine does not know this kind of diagram."""
    first = _TEXT.search(svg)
    if first is None:
        return False
    if first[1].startswith("Diagram not supported by this release of PlantUML"):
        return True
    # What older releases say.
    return first[1] == "No @startuml/@enduml found" and _ERROR_COLOUR in svg


def lacks_graphviz(svg: str) -> bool:
    """Return whether a picture says that the engine cannot draw the diagram without Graphviz."""
    first = _TEXT.search(svg)
    # A label may have these words, but not this colour too.
    return first is not None and first[1].startswith(_NO_GRAPHVIZ) and f'fill="{_ERROR_COLOUR}"' in first[0]


def size_of(svg: str) -> Size:
    """Return the size of a picture; zero where it states none."""
    root = _ROOT.search(svg)
    numbers = [
        re.search(rf"""\s{name}=["']([\d.]+)(?:px)?["']""", root[0]) if root else None for name in ("width", "height")
    ]
    width, height = (round(float(number[1])) if number else 0 for number in numbers)
    return Size(width, height)


def without_unsafe_links(svg: str) -> str:
    """Return a picture whose links lead to web pages, mail addresses and places in itself, and nowhere else."""

    def judge(link: re.Match[str]) -> str:
        return link[0] if _SAFE_LINK.match(unescape(link[1] or link[2] or "")) else ""

    return _TAG.sub(lambda tag: _LINK.sub(judge, tag[0]) if "href" in tag[0].lower() else tag[0], svg)


def frame(svg: str, *, dark: bool) -> str:
    """Return a picture with a margin around it and a background behind it."""
    root = _ROOT.search(svg)
    if root is None:
        return svg
    size = size_of(svg)
    width, height = size.width + 2 * MARGIN, size.height + 2 * MARGIN
    stated = _BACKGROUND.search(root[0])
    colour = stated[1] if stated else DARK if dark else LIGHT
    tag = re.sub(r'\s(?:viewBox|width|height)="[^"]*"', "", root[0])[:-1]
    box = f'viewBox="{-MARGIN} {-MARGIN} {width} {height}" width="{width}" height="{height}"'
    paper = f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width}" height="{height}" fill="{colour}"/>'
    return f"{svg[: root.start()]}{tag} {box}>{paper}{svg[root.end() :]}"
