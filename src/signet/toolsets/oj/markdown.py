"""Markdown that may hold tags: told from HTML, and changed only where a tag stands.

    text ──_shields──▶ code and math, where no tag counts
         ──_islands──▶ block elements from tag to tag; the gaps between them tell Markdown from HTML

Pure, and linear in the text's length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, zip_longest
from sys import maxsize
from typing import Final

from .inline import Inline
from .markup import BLOCKS, NAMES

__all__ = ["translate"]

MAX_DEPTH: Final = 3
"""How deep Markdown is looked for in elements of Markdown; each level reads the text once more."""

MAX_ISLANDS: Final = 200
"""With more block elements than this between its lines, a text is HTML: each is converted for itself."""

MAX_PLACES: Final = 20_000
"""With more tags than this a text is HTML, whatever its lines look like; as many backticks and dollars are paired."""

Span = tuple[int, int]
Tag = re.Match[str]

_REST: Final = (
    r"(\s*+/?|\s++(?i:open|hidden|reversed|controls)\b[^<>]*+"
    r"""|\s++[a-zA-Z][\w:-]*+\s*+=(?:"[^"<]*+"|'[^'<]*+'|[^<>"'])*+)>"""
)
"""`a <b and c> d` is no tag: what follows the name must look like attributes."""

_TAG: Final = re.compile(rf"<(/?)([a-zA-Z][a-zA-Z0-9]*+){_REST}")
"""Slash, name, attributes."""

_SHIELDING: Final = ("`", "$", "~~~")
_FENCE: Final = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.MULTILINE)
_DELIMITER: Final = re.compile(r"`+|(?<!\\)\$+|\n[ \t\r]*\n\s*")
_MARKER: Final = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|```|~~~|\|)", re.MULTILINE)
_SIGNS: Final = re.compile(r"\*\*\S|`[^`\n]+`|\]\(")
"""Emphasis, code, a link."""

_PROSE: Final = re.compile(rf"{_SIGNS.pattern}|\$|\S[ \t\r]*\n[ \t\r]*\n\s*\S")
"""These, math, and two paragraphs."""

_ENDS_UNSAID: Final = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot"})
"""Elements that need no end tag."""

_TRANSPARENT: Final = frozenset({"article", "aside", "center", "details", "div", "figure", "main", "section"})
"""Elements in which Markdown goes on."""


def translate(text: str, convert: Callable[[str], str], depth: int = 0) -> str:
    """Give Markdown with its tags translated and all else untouched; what is HTML goes through `convert`."""
    shields = list(_shields(text)) if any(sign in text for sign in _SHIELDING) else []
    if all(map(_is_escaped, _tags(text, shields))):
        return text
    islands = list(_islands(text, shields))
    if depth >= MAX_DEPTH or len(islands) > MAX_ISLANDS:
        return convert(text)
    gaps = list(zip([0, *(end for _, end in islands)], [*(start for start, _ in islands), len(text)], strict=True))
    sign = _SIGNS if islands or any(_outside(_blocks(text), shields)) else _PROSE
    if not any(_MARKER.search(text, *gap) or sign.search(text, *gap) for gap in gaps):
        return convert(text)
    tags = list(islice(_tags(text, shields), MAX_PLACES))
    if len(tags) == MAX_PLACES:
        return convert(text)
    return _joined(
        (_gap(text, *gap, tags) for gap in gaps),
        (_island(text[start:end], convert, depth) for start, end in islands),
    )


def _tags(text: str, shields: Iterable[Span]) -> Iterator[Tag]:
    """Give the tags that stand outside code and math."""
    return _outside((tag for tag in _TAG.finditer(text) if tag[2].lower() in NAMES), shields)


def _blocks(text: str, start: int = 0) -> Iterator[Tag]:
    return (tag for tag in _TAG.finditer(text, start) if tag[2].lower() in BLOCKS)


def _outside(tags: Iterable[Tag], spans: Iterable[Span]) -> Iterator[Tag]:
    """Leave out the tags that begin within one of some spans; both are in order."""
    rest = chain(spans, [(maxsize, maxsize)])
    start, end = next(rest)
    for tag in tags:
        while end <= tag.start():
            start, end = next(rest)
        if tag.start() < start:
            yield tag


def _is_within(spans: Sequence[Span], place: int) -> bool:
    index = bisect_right(spans, (place, maxsize)) - 1
    return index >= 0 and place < spans[index][1]


def _is_escaped(tag: Tag) -> bool:
    return tag.string[tag.start() - 1 : tag.start()] == "\\"


def _shields(text: str) -> Iterator[Span]:
    """Give the fenced blocks, code spans and formulas in order."""
    position = 0
    for start, end in _fences(text):
        yield from _spans(text, position, start)
        yield start, end
        position = end
    yield from _spans(text, position, len(text))


def _fences(text: str) -> Iterator[Span]:
    start, sign = 0, ""
    for fence in _FENCE.finditer(text):
        if not sign:
            start, sign = fence.start(), fence[1]
        elif fence[1].startswith(sign) and not fence[2].strip():
            yield start, fence.end()
            sign = ""
    # Three backticks in an HTML example open no block: one that is not closed must not hide the tags behind it.
    if sign and not any(tag[1] for tag in _blocks(text, start)):
        yield start, len(text)


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Pair runs of backticks, and of dollars, with the next of the same length in their paragraph."""
    marks = list(islice(_DELIMITER.finditer(text, start, end), MAX_PLACES))
    partners = [0] * len(marks)
    following: dict[tuple[str, int], int] = {}
    for index in range(len(marks) - 1, -1, -1):
        kind = marks[index][0][0], marks[index].end() - marks[index].start()
        if kind[0] == "\n":
            following.clear()
        else:
            partners[index] = following.get(kind, 0)
            following[kind] = index
    index = 0
    while index < len(marks):
        partner = partners[index]
        if partner and text[marks[index].start() - 1 : marks[index].start()] != "\\":
            yield marks[index].start(), marks[partner].end()
        index = partner + 1 if partner else index + 1


def _islands(text: str, shields: Sequence[Span]) -> Iterator[Span]:
    """Give the outermost block elements from start tag to end tag.

    One that is never ended is none; if other elements end behind it, it reaches to the end of the text.
    """
    position, unended = 0, {"hr"}
    while (tag := next(_blocks(text, position), None)) is not None:
        position, name = tag.end(), tag[2].lower()
        if tag[1] or name in unended or _is_within(shields, tag.start()):
            continue
        end = _end(text, name, position)
        if end is None:
            unended.add(name)
            if name in _ENDS_UNSAID or not any(later[1] for later in _blocks(text, position)):
                continue
            end = len(text)
        yield tag.start(), end
        position = end


def _end(text: str, name: str, position: int) -> int | None:
    """Find where an element ends whose start tag ends at a place; a paragraph holds no other."""
    depth = 1
    for tag in _tag_named(name).finditer(text, position):
        depth += -1 if tag[1] else name != "p"
        if not depth:
            return tag.end()
    return None


@cache
def _tag_named(name: str) -> re.Pattern[str]:
    return re.compile(rf"<(/?){name}(?=[\s/>])[^<>]*+>", re.IGNORECASE)


def _gap(text: str, start: int, end: int, tags: Sequence[Tag]) -> str:
    """Translate the inline tags of a stretch of Markdown."""
    writer = Inline()
    position = start
    first, last = (bisect_right(tags, edge - 1, key=re.Match.start) for edge in (start, end))
    for tag in tags[first:last]:
        if _is_escaped(tag):
            continue
        writer.text(text[position : tag.start()])
        writer.tag(tag, text[tag.end() : tag.end() + 1])
        position = tag.end()
        if writer.ended:
            return writer.finish()
    writer.text(text[position:end])
    return writer.finish()


def _island(html: str, convert: Callable[[str], str], depth: int) -> str:
    """Convert a block element; Markdown may go on in one that only groups."""
    tag = _TAG.match(html)
    if tag is None or tag[2].lower() not in _TRANSPARENT:
        return convert(html)
    end = html.rindex("<") if html.endswith(">") else len(html)
    return translate(html[tag.end() : end], convert, depth + 1)


def _joined(gaps: Iterable[str], islands: Iterable[str]) -> str:
    """Put stretches and islands together in turn, with an empty line around each island that holds anything."""
    groups: list[list[str]] = [[]]
    for gap, island in zip_longest(gaps, islands, fillvalue=""):
        groups[-1].append(gap)
        if island.strip():
            groups += [[island], []]
    if len(groups) == 1:
        return "".join(groups[0])
    texts = ("".join(group).strip("\n") for group in groups)
    return "\n\n".join(text for text in texts if text.strip())
