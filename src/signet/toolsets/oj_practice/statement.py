"""A statement as a sequence of parts: headings, paragraphs, code and tables, read from Markdown or from HTML.

Pure, and linear in the statement's length. Nothing is escaped or joined: a part holds the characters of the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from signet.toolsets.oj import html

__all__ = ["Kind", "StatementPart", "parts_of"]

_HTML: Final = re.compile(r"</(?:p|pre|div|section)\s*>", re.IGNORECASE)
_MARKDOWN: Final = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|```|~~~)", re.MULTILINE)

_PRE_BODY: Final = re.compile(r"<pre\b.*?</pre\s*>", re.IGNORECASE | re.DOTALL)
"""Preformatted text, in which a line that begins with # is no heading."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_PRE: Final = re.compile(r"\s*<pre[^>]*>", re.IGNORECASE)
_PRE_END: Final = re.compile(r"</pre\s*>", re.IGNORECASE)
_RULE: Final = frozenset("|:- ")
_CELL: Final = re.compile(r"(?<!\\)\|")
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SPAN: Final = re.compile(r"(?<!`)`++([^`]++)`")
_INDENTED: Final = re.compile(r"^(?: {4}| {0,3}\t)")
BLOCKS: Final = html.BLOCK_TAGS | {"br"}


class Kind(Enum):
    """What a part is."""

    HEADING = auto()
    TEXT = auto()
    ITEM = auto()
    """A paragraph that is an item of a list."""
    CODE = auto()
    TABLE = auto()


class StatementPart(Struct, frozen=True):
    """One part of a statement."""

    kind: Kind
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    """The cells of a table, the heading's row first; a line break in a cell is a line feed."""


def parts_of(content: str) -> list[StatementPart]:
    """Return the parts of a statement."""
    if _HTML.search(content) and not _MARKDOWN.search(_without_preformatted(content)):
        reader = _HtmlReader()
        is_fed = html.feed(html.clean(content), reader.text, reader.start, reader.end, reader.literal)
        return reader.finish() if is_fed else []
    return list(_from_markdown(content.replace("\r\n", "\n").split("\n")))


def _without_preformatted(content: str) -> str:
    """Return a text without its preformatted parts; behind the last end tag, however many begin, none ends."""
    end = max((match.end() for match in _PRE_END.finditer(content)), default=0)
    return _PRE_BODY.sub("", content[:end]) + content[end:]


def _from_markdown(lines: list[str]) -> Iterator[StatementPart]:
    place = 0
    while place < len(lines):
        line = lines[place]
        start = place
        place += 1
        fence, heading = _FENCE.match(line), _HEADING.match(line)
        if not line.strip():
            continue
        if fence:
            place = _end_of_fence(lines, place, fence[1])
            yield StatementPart(Kind.CODE, "\n".join(lines[start + 1 : place]))
            place += 1
        elif heading:
            yield StatementPart(Kind.HEADING, heading[1].strip().rstrip("#").rstrip())
        elif _PRE.match(line):
            place = next((at + 1 for at in range(start, len(lines)) if _PRE_END.search(lines[at])), len(lines))
            text = _PRE_END.sub("", _PRE.sub("", "\n".join(lines[start:place]), count=1))
            yield StatementPart(Kind.CODE, html.decode(text).removeprefix("\n"))
        elif _INDENTED.match(line):
            place = _end_of_indented(lines, place)
            yield StatementPart(Kind.CODE, "\n".join(_INDENTED.sub("", one) for one in lines[start:place]))
        elif line.lstrip().startswith("|") and _is_rule(lines, place):
            while place < len(lines) and lines[place].lstrip().startswith("|"):
                place += 1
            yield StatementPart(Kind.TABLE, rows=tuple(_cells(row) for row in (line, *lines[start + 2 : place])))
        else:
            while place < len(lines) and lines[place].strip() and not _begins_block(lines[place]):
                place += 1
            yield StatementPart(Kind.TEXT, "\n".join(one.strip() for one in lines[start:place]))


def _is_rule(lines: list[str], place: int) -> bool:
    """Return whether a line is the rule under the heading of a table."""
    return place < len(lines) and "-" in lines[place] and set(lines[place]) <= _RULE


def _begins_block(line: str) -> bool:
    return bool(_FENCE.match(line) or _HEADING.match(line) or _PRE.match(line))


def _end_of_fence(lines: list[str], place: int, fence: str) -> int:
    """Return the line that closes a fence; a fence that is never closed reaches to the end."""
    for at in range(place, len(lines)):
        bare = lines[at].strip()
        if len(bare) >= len(fence) and set(bare) == {fence[0]}:
            return at
    return len(lines)


def _end_of_indented(lines: list[str], place: int) -> int:
    """Return the line behind indented code; empty lines within it belong to it."""
    end = place
    while place < len(lines) and (not lines[place].strip() or _INDENTED.match(lines[place])):
        place += 1
        if lines[place - 1].strip():
            end = place
    return end


def _cells(row: str) -> tuple[str, ...]:
    """Return the cells of a row of Markdown; of a cell with code, the pieces of code, one on each line."""
    bare = row.strip().removeprefix("|").removesuffix("|")
    return tuple(_cell(cell.strip().replace("\\|", "|")) for cell in _CELL.split(bare))


def _cell(cell: str) -> str:
    spans = _SPAN.findall(cell)
    return "\n".join(spans) if spans else html.decode(_BREAK.sub("\n", cell))


class _HtmlReader:
    """Collects the parts of a page."""

    def __init__(self) -> None:
        self._parts: list[StatementPart] = []
        self._text: list[str] = []
        self._kind = Kind.TEXT
        self._in_pre = False
        self._rows: list[list[str]] | None = None

    def text(self, text: str) -> None:
        """Take the text between two tags."""
        self._text.append(text if self._in_pre else re.sub(r"\s+", " ", text))

    def literal(self, tag: str, text: str, _: str) -> None:
        """Take the text of an element that holds nothing else."""
        self.text(f"^{text}" if tag == "sup" else text)

    def start(self, tag: str, _: str) -> None:
        """Take a start tag."""
        if tag == "br":
            self._text.append("\n")
        elif self._in_pre:
            # The lines of a sample may be blocks of their own.
            self._text.append("\n" if tag in BLOCKS and "".join(self._text[-1:])[-1:] not in {"", "\n"} else "")
        elif self._rows is not None:
            self._start_in_table(tag)
        elif tag in BLOCKS:
            self._flush()
            self._in_pre = tag == "pre"
            self._rows = [] if tag == "table" else None
            self._kind = Kind.HEADING if tag in html.HEADINGS else Kind.ITEM if tag == "li" else self._kind

    def end(self, tag: str, _: str) -> None:
        """Take an end tag."""
        if tag == "pre" and self._in_pre:
            # A line feed right behind the tag is not part of the text.
            self._parts.append(StatementPart(Kind.CODE, "".join(self._text).removeprefix("\n").removesuffix("\n")))
            self._text, self._in_pre = [], False
        elif tag == "table" and self._rows is not None:
            self._end_cell()
            self._parts.append(StatementPart(Kind.TABLE, rows=tuple(tuple(row) for row in self._rows)))
            self._rows = None
        elif tag in BLOCKS and self._rows is None and not self._in_pre:
            self._flush()

    def finish(self) -> list[StatementPart]:
        """Return all parts."""
        self._flush()
        return self._parts

    def _start_in_table(self, tag: str) -> None:
        rows = self._rows
        if rows is None or tag not in html.CELLS | {"tr"}:
            return
        self._end_cell()
        if tag == "tr":
            rows.append([])
        elif rows:
            rows[-1].append("")

    def _end_cell(self) -> None:
        """Give the collected text to the cell that is open."""
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] += "".join(self._text).strip()
        self._text = []

    def _flush(self) -> None:
        text = "\n".join(line.strip() for line in "".join(self._text).split("\n")).strip()
        if text:
            self._parts.append(StatementPart(self._kind, text))
        self._text, self._kind = [], Kind.TEXT
