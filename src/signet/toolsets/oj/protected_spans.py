"""Code and math in Markdown: the stretches in which no tag counts.

    text ──code_and_math──▶ fenced blocks, code spans, formulas
         ──indented───────▶ code that is told by its indentation only

Pure, and linear in the text's length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from sys import maxsize
from typing import Final

from .html_tidy import BLOCKS

__all__ = ["MAX_PLACES", "TAG", "Span", "Tag", "blocks", "code_and_math", "indented", "is_within"]

MAX_PLACES: Final = 20_000
"""With more tags than this a text is HTML, whatever its lines look like; as many backticks and dollars are paired."""

MAX_HELD: Final = 32
"""With more block tags than this between them, two backticks or dollars are no pair."""

Span = tuple[int, int]
Tag = re.Match[str]

_REST: Final = (
    r"(\s*+/?|\s++(?i:open|hidden|reversed|controls)\b[^<>]*+"
    r"""|\s++[a-zA-Z][\w:-]*+\s*+=(?:"[^"<]*+"|'[^'<]*+'|[^<>"'])*+)>"""
)
"""`a <b and c> d` is no tag: what follows the name must look like attributes."""

TAG: Final = re.compile(rf"<(/?)([a-zA-Z][a-zA-Z0-9]*+){_REST}")
"""Slash, name, attributes."""

_SHIELDING: Final = ("`", "$", "~~~")
_FENCE: Final = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.MULTILINE)
_DELIMITER: Final = re.compile(r"`+|(?<!\\)\$+|\n[ \t\r]*\n\s*")
_LINE: Final = re.compile(r"^([ \t]*+)(?![\r\n])([^\n]++)", re.MULTILINE)
_INDENT: Final = re.compile(r" {4}| {0,3}\t")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")


def code_and_math(text: str, code: Sequence[Span] = ()) -> list[Span]:
    """Give the fenced blocks, the indented ones, the code spans and the formulas in order."""
    return list(_all(text, code)) if code or any(sign in text for sign in _SHIELDING) else []


def _all(text: str, code: Sequence[Span]) -> Iterator[Span]:
    position = 0
    for start, end in sorted([*_fences(text), *code]):
        if start >= position:
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
    if sign and not any(tag[1] for tag in blocks(text, start)):
        yield start, len(text)


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Pair runs of backticks, and of dollars, with the next of the same length in their paragraph and block."""
    marks = list(islice(_DELIMITER.finditer(text, start, end), MAX_PLACES))
    partners = _partners(marks)
    tags = list(blocks(text, start, end)) if any(partners) else []
    outer: Counter[str] = Counter()
    index = place = 0
    while index < len(marks):
        mark, partner = marks[index], partners[index]
        index += 1
        if not partner or text[mark.start() - 1 : mark.start()] == "\\":
            continue
        while place < len(tags) and tags[place].start() < mark.start():
            outer[tags[place][2].lower()] += -1 if tags[place][1] else 1
            place += 1
        held = bisect_right(tags, marks[partner].start(), key=re.Match.start)
        if held - place <= MAX_HELD and not _is_torn(mark[0][0], tags[place:held], outer):
            yield mark.start(), marks[partner].end()
            index, place = partner + 1, held


def _partners(marks: Sequence[Tag]) -> list[int]:
    """Give for each mark the place of the next one like it in its paragraph, or 0."""
    partners = [0] * len(marks)
    following: dict[tuple[str, int], int] = {}
    for index in range(len(marks) - 1, -1, -1):
        kind = marks[index][0][0], marks[index].end() - marks[index].start()
        if kind[0] == "\n":
            following.clear()
        else:
            partners[index] = following.get(kind, 0)
            following[kind] = index
    return partners


def _is_torn(sign: str, tags: Sequence[Tag], outer: Counter[str]) -> bool:
    """Tell whether a block begins or ends between two backticks or dollars, which then are no pair.

    `vector<p>` and `$a<p>b$` hold no block, and `<p>x</p>` may be code.
    """
    inner: list[str] = []
    for tag in tags:
        name, before = tag[2].lower(), tag.string[tag.start() - 1]
        if not tag[1]:
            if before in "\n\t" or (sign == "$" and before == " ") or name == "hr":
                return True
            inner.append(name)
        elif sign == "$":
            return True
        elif name in inner:
            inner.remove(name)
        elif outer[name] > 0:
            return True
    return False


def indented(text: str, shields: Sequence[Span], islands: Sequence[Span]) -> Iterator[Span]:
    """Give the indented code: each begins after an empty line, in no list, no block element and no other code."""
    start, end, listed = 0, len(text), False
    for line in _LINE.finditer(text):
        deep, parted = _INDENT.match(line[1]) is not None, line.start() > end + 1
        if start and not deep:
            yield start, end
            start = 0
        if deep:
            if parted and not (start or listed or any(is_within(one, line.start()) for one in (shields, islands))):
                start = line.start()
        elif _ITEM.match(line[2]):
            listed = True
        elif not line[1] and (parted or line[2][0] == "#"):
            listed = False
        end = line.end()
    if start:
        yield start, end


def blocks(text: str, start: int = 0, end: int = maxsize) -> Iterator[Tag]:
    """Give the tags of block elements."""
    return (tag for tag in TAG.finditer(text, start, end) if tag[2].lower() in BLOCKS)


def is_within(spans: Sequence[Span], place: int) -> bool:
    """Tell whether one of some spans, which are in order, holds a place."""
    index = bisect_right(spans, (place, maxsize)) - 1
    return index >= 0 and place < spans[index][1]
