"""Code and math in Markdown: the spans in which tags do not count.

    text ──code_and_math──▶ fenced code, code spans, formulas
         ──indented_code──▶ code that only its indentation shows

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

from .html import BLOCKS, RAW

__all__ = ["MAX_PLACES", "TAG", "Span", "Tag", "block_tags", "code_and_math", "indented_code", "is_within"]

MAX_PLACES: Final = 20_000
"""With more tags than this a text is HTML, whatever its lines look like; as many backticks and dollars are paired."""

MAX_TAGS_WITHIN: Final = 32
"""Two backticks or dollars with more block tags than this between them are not a pair."""

Span = tuple[int, int]
Tag = re.Match[str]

# `a <b and c> d` is not a tag: attributes must follow the name. `<script async>` is one, whatever follows.
_AFTER_RAW: Final = f"(?i:{'|'.join(f'(?<=[</]{name})' for name in RAW)})"
TAG: Final = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)(\s*+/?|\s++(?i:open|hidden|reversed|controls)\b[^<>]*+"
    rf"""|\s++[a-zA-Z][\w:-]*+\s*+=(?:"[^"<]*+"|'[^'<]*+'|[^<>"']|(?!))*+|{_AFTER_RAW}[\s/][^<>]*+)>"""
)
"""Slash, name, attributes."""

_SIGNS: Final = ("`", "$", "~~~")
_FENCE: Final = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.MULTILINE)
_DELIMITER: Final = re.compile(r"`+|(?<!\\)\$+|\n[ \t\r]*\n\s*")
_UNREAD: Final = re.compile(
    r"""<(?:[a-zA-Z][a-zA-Z0-9-]*+(?:\s++[a-zA-Z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?)*\s*+/?>"""
    r"|[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*+>|(!--|\?|!\[CDATA\[|![a-zA-Z]))"
)
"""A tag, an address, or how a comment, an instruction or a declaration begins: a sign in one of these is no mark."""
_UNREAD_ENDS: Final = {"!--": "-->", "?": "?>", "![CDATA[": "]]>"}

_LINE: Final = re.compile(r"^([ \t]*+)(?![\r\n])([^\n]++)", re.MULTILINE)
_INDENT: Final = re.compile(r" {4}| {0,3}\t")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")


def code_and_math(text: str, code: Sequence[Span] = ()) -> list[Span]:
    """Return the fenced code, the indented code that is given, the code spans and the formulas in order."""
    if not code and not any(sign in text for sign in _SIGNS):
        return []
    spans: list[Span] = []
    position = 0
    for start, end in sorted([*_fences(text), *code]):
        if start >= position:
            spans += [*_pairs(text, position, start), (start, end)]
            position = end
    return [*spans, *_pairs(text, position, len(text))]


def _fences(text: str) -> Iterator[Span]:
    start, sign = 0, ""
    for fence in _FENCE.finditer(text):
        if not sign:
            start, sign = fence.start(), fence[1]
        elif fence[1].startswith(sign) and not fence[2].strip():
            yield start, fence.end()
            sign = ""
    # Three backticks in an HTML example are not a fence: without an end they must not hide the tags behind them.
    if sign and not any(tag[1] for tag in block_tags(text, start)):
        yield start, len(text)


def _pairs(text: str, start: int, end: int) -> Iterator[Span]:
    """Pair runs of backticks, and of dollars, with the next run of the same length in their paragraph and block."""
    marks = list(islice(_DELIMITER.finditer(text, start, end), MAX_PLACES))
    partners = _partners(marks)
    tags = list(block_tags(text, start, end)) if any(partners) else []
    open_outside: Counter[str] = Counter()
    unread = _Unread(text, start, end)
    index = place = 0
    while index < len(marks):
        mark, partner = marks[index], partners[index]
        index += 1
        if not partner or text[mark.start() - 1 : mark.start()] == "\\" or unread.holds(mark.start()):
            continue
        while place < len(tags) and tags[place].start() < mark.start():
            open_outside[tags[place][2].lower()] += -1 if tags[place][1] else 1
            place += 1
        behind = bisect_right(tags, marks[partner].start(), key=re.Match.start)
        within = tags[place:behind]
        if len(within) > MAX_TAGS_WITHIN or _is_torn(mark[0][0], within, open_outside):
            continue
        if _is_doubtful(text[mark.start() : marks[partner].start()], within):
            continue
        yield mark.start(), marks[partner].end()
        index, place = partner + 1, behind
        unread.move(marks[partner].end())


class _Unread:
    """The tags, addresses, comments and declarations of a text from a place on: readers look for no marks in them."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._end = end
        self._span: Span = (start, start)
        self._endless: set[str] = set()

    def holds(self, place: int) -> bool:
        """Return True if a place is in one of them; the places of later calls are behind it."""
        while self._span[1] <= place:
            self._span = self._next(self._span[1])
        return self._span[0] < place

    def move(self, place: int) -> None:
        """Leave out what begins before a place."""
        if self._span[0] < place:
            self._span = (place, place)

    def _next(self, position: int) -> Span:
        while found := _UNREAD.search(self._text, position, self._end):
            if not found[1]:
                return found.span()
            ending = _UNREAD_ENDS.get(found[1], ">")
            if ending not in self._endless:
                if (last := self._text.find(ending, found.end(), self._end)) >= 0:
                    return found.start(), last + len(ending)
                self._endless.add(ending)
            position = found.end()
        return self._end, maxsize


def _partners(marks: Sequence[Tag]) -> list[int]:
    """Return for each mark the index of the next mark like it in its paragraph, or 0."""
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


def _is_torn(sign: str, tags: Sequence[Tag], open_outside: Counter[str]) -> bool:
    """Return True if a block begins or ends between two backticks or dollars, which then are not a pair.

    `vector<p>` and `$a<p>b$` hold no block, and `<p>x</p>` may be code.
    """
    open_within: list[str] = []
    for tag in tags:
        name, before = tag[2].lower(), tag.string[tag.start() - 1]
        if not tag[1]:
            if before in "\n\t" or (sign == "$" and before == " ") or name == "hr":
                return True
            open_within.append(name)
        elif sign == "$":
            return True
        elif name in open_within:
            open_within.remove(name)
        elif open_outside[name] > 0:
            return True
    return False


def _is_doubtful(inside: str, tags: Sequence[Tag]) -> bool:
    """Return True if an element that vanishes is in math, in several lines or in cells: not every reader sees code."""
    return any(tag[2].lower() in RAW for tag in tags) and (inside[0] == "$" or "\n" in inside or "|" in inside)


def indented_code(text: str, protected: Sequence[Span], islands: Sequence[Span]) -> Iterator[Span]:
    """Yield indented code: it begins after an empty line, outside of lists, block elements and other code."""
    start, end, in_list = 0, len(text), False
    for line in _LINE.finditer(text):
        is_indented, follows_gap = _INDENT.match(line[1]) is not None, line.start() > end + 1
        if start and not is_indented:
            yield start, end
            start = 0
        if is_indented:
            is_free = not any(is_within(spans, line.start()) for spans in (protected, islands))
            if follows_gap and not start and not in_list and is_free:
                start = line.start()
        elif _ITEM.match(line[2]):
            in_list = True
        elif not line[1] and (follows_gap or line[2][0] == "#"):
            in_list = False
        end = line.end()
    if start:
        yield start, end


def block_tags(text: str, start: int = 0, end: int = maxsize) -> Iterator[Tag]:
    """Yield the tags of block elements."""
    return (tag for tag in TAG.finditer(text, start, end) if tag[2].lower() in BLOCKS)


def is_within(spans: Sequence[Span], place: int) -> bool:
    """Return True if one of some spans, which are in order, holds a place."""
    index = bisect_right(spans, (place, maxsize)) - 1
    return index >= 0 and place < spans[index][1]
