"""Markdown that may hold tags: told from HTML, and changed only where a tag stands.

    text ──_shields───▶ code and math, where no tag counts
         ──_islands───▶ block elements from tag to tag; the gaps between them tell Markdown from HTML
         ──indented──▶ in Markdown, code that is told by its indentation only: more shields, fewer islands

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

from .html_tidy import NAMES
from .inline import Inline
from .protected_spans import MAX_PLACES, TAG, Span, Tag, blocks, code_and_math, indented, is_within

__all__ = ["translate"]

MAX_DEPTH: Final = 3
"""How deep Markdown is looked for in elements of Markdown; each level reads the text once more."""

MAX_ISLANDS: Final = 200
"""With more block elements than this between its lines, a text is HTML: each is converted for itself."""

_UNSEEN: Final = re.compile(r"(?:</?(?:span|font|u|small|big)(?=[\s>])[^<>]*+>){0,4}+")
"""Tags that write nothing."""

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
    shields = code_and_math(text)
    if all(map(_is_escaped, _tags(text, shields))):
        return text
    islands = list(_islands(text, shields))
    if depth >= MAX_DEPTH or len(islands) > MAX_ISLANDS or not _is_markdown(text, shields, _gaps(text, islands)):
        return convert(text)
    code = [] if depth else list(indented(text, shields, islands))
    if code:
        shields = code_and_math(text, code)
        islands = list(_islands(text, shields))
    tags = list(islice(_tags(text, shields), MAX_PLACES))
    if len(tags) == MAX_PLACES:
        return convert(text)
    return _joined(
        (_gap(text, *gap, tags) for gap in _gaps(text, islands)),
        (_island(text[start:end], convert, depth) for start, end in islands),
    )


def _gaps(text: str, islands: Sequence[Span]) -> list[Span]:
    return list(zip([0, *(end for _, end in islands)], [*(start for start, _ in islands), len(text)], strict=True))


def _is_markdown(text: str, shields: Sequence[Span], gaps: Sequence[Span]) -> bool:
    """Tell whether Markdown stands between the block elements; without any, paragraphs or math are enough."""
    sign = _SIGNS if len(gaps) > 1 or any(_outside(blocks(text), shields)) else _PROSE
    return any(
        _MARKER.search(text, start, end) or sign.search(text, start, end)
        for start, end in gaps
        if text[start:end].strip()
    )


def _tags(text: str, shields: Iterable[Span]) -> Iterator[Tag]:
    """Give the tags that stand outside code and math."""
    return _outside((tag for tag in TAG.finditer(text) if tag[2].lower() in NAMES), shields)


def _outside(tags: Iterable[Tag], spans: Iterable[Span]) -> Iterator[Tag]:
    """Leave out the tags that begin within one of some spans; both are in order."""
    rest = chain(spans, [(maxsize, maxsize)])
    start, end = next(rest)
    for tag in tags:
        while end <= tag.start():
            start, end = next(rest)
        if tag.start() < start:
            yield tag


def _is_escaped(tag: Tag) -> bool:
    return tag.string[tag.start() - 1 : tag.start()] == "\\"


def _islands(text: str, shields: Sequence[Span]) -> Iterator[Span]:
    """Give the outermost block elements from start tag to end tag.

    One that is never ended is none; if other elements end behind it, it reaches to the end of the text.
    """
    position, unended = 0, {"hr"}
    while (tag := next(blocks(text, position), None)) is not None:
        position, name = tag.end(), tag[2].lower()
        if tag[1] or name in unended or is_within(shields, tag.start()):
            continue
        end = _end(text, name, position)
        if end is None:
            unended.add(name)
            if name in _ENDS_UNSAID or not any(later[1] for later in blocks(text, position)):
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
        unseen = _UNSEEN.match(text, tag.end())
        behind = unseen.end() if unseen else tag.end()
        writer.tag(tag, text[behind : behind + 1])
        position = tag.end()
        if writer.ended:
            return writer.finish()
    writer.text(text[position:end])
    return writer.finish()


def _island(html: str, convert: Callable[[str], str], depth: int) -> str:
    """Convert a block element; Markdown may go on in one that only groups."""
    tag = TAG.match(html)
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
