"""Block elements as Markdown: paragraphs, headings, lists, quotes, code and tables, each written when it ends.

    page ──html.feed──▶ text, tag, text, tag …  ──_BlockWriter──▶ Markdown, until there is enough of it

Pure, and linear in the page's length. Tags may be missing or misplaced: elements are closed in order all the same.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec import Struct, field

from . import html
from .html import BLOCK_TAGS, CELLS, LISTS, attributes
from .inline import RAISED, InlineWriter

__all__ = ["MAX_DEPTH", "MAX_MARKDOWN_CHARS", "from_html"]

MAX_MARKDOWN_CHARS: Final = 131_072
"""A page is converted until its Markdown is longer: it is cut below that."""

CELL_CHARS: Final = 2
"""The least that a cell takes."""

MAX_DEPTH: Final = 32
"""Deeper elements become text of this level: each list or quote indents all its lines once more."""

MAX_SPAN: Final = 16
"""The largest `colspan` and `rowspan`."""

_IMPLIED: Final = {"summary": "strong", "caption": "em"}


def from_html(page: str) -> str:
    """Return a page as Markdown; of a long page its beginning, which is longer than any result."""
    writer = _BlockWriter()
    html.feed(html.clean(page), writer.text, writer.start, writer.end, writer.inline.write, is_full=writer.is_full)
    return writer.finish()


class _Block(Struct):
    """An open element."""

    tag: str
    depth: int
    """How many inline elements were open when it started."""
    out: list[str]
    """The blocks to which the next one in it is added."""
    attrs: str = ""
    is_flat: bool = False
    """Whether it is part of a line."""
    items: list[list[str]] = field(default_factory=list)
    """The blocks of each item, if it is a list."""
    is_loose: bool = False
    """Whether an item holds more than text and lists."""


class _List(str):
    """A list that is written; a tight one may follow a line of text directly."""

    __slots__ = ("is_tight", "sign")
    is_tight: bool
    sign: str


class _Table:
    """The rows of a table, filled up where a cell of another row reaches into them."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self._width = self._text_chars = self._filled_rows = 0
        self._taken: dict[int, int] = {}
        """The columns that cells take in the last row, and how many rows they take from there."""

    def start_row(self) -> None:
        self.rows.append([])
        self._taken = {column: rows - 1 for column, rows in self._taken.items() if rows > 1}

    @property
    def has_text(self) -> bool:
        """Whether a cell is not blank."""
        return self._text_chars > 0

    @property
    def chars(self) -> int:
        """The least number of characters that the table takes; a table without text is not written."""
        return self._filled_rows * self._width * CELL_CHARS + self._text_chars if self._text_chars else 0

    def add(self, text: str, attrs: str) -> None:
        """Add a cell to the last row."""
        values = attributes(attrs)
        columns = html.number(values.get("colspan", ""), MAX_SPAN)
        rows = html.number(values.get("rowspan", ""), MAX_SPAN)
        if not self.rows:
            self.start_row()
        row = self.rows[-1]
        self._filled_rows += not row
        while len(row) in self._taken:
            row.append("  ")
        if rows > 1:
            self._taken |= dict.fromkeys(range(len(row), len(row) + columns), rows)
        row += [f" {text} ", *[" "] * (columns - 1)]
        self._width = max(self._width, len(row))
        self._text_chars += len(text)

    def written(self) -> str:
        """Return the table: its first row is the head, and each row is filled up to the longest.

        Few tags may ask for millions of cells: behind more than any result has room for, rows are left out.
        """
        lines: list[str] = []
        chars = 0
        for row in filter(None, self.rows):
            lines.append(f"|{'|'.join([*row, *['  '] * (self._width - len(row))])}|")
            if len(lines) == 1:
                lines.append(f"|{'|'.join([' --- '] * self._width)}|")
            chars += len(lines[-1])
            if chars > MAX_MARKDOWN_CHARS:
                break
        return "\n".join(lines)


class _BlockWriter:
    """Markdown while it is written from tags and text."""

    def __init__(self) -> None:
        self.inline = InlineWriter()
        self._blocks = [_Block("", 0, [])]
        self._table: _Table | None = None
        self._language = ""
        self._chars = 0

    def is_full(self) -> bool:
        """Return whether there is more Markdown than any page has room for."""
        in_table = self._table.chars if self._table is not None else 0
        return self._chars + self.inline.chars + in_table > MAX_MARKDOWN_CHARS

    def finish(self) -> str:
        """Close all elements and return the page."""
        self._release()
        self._close(1)
        self._flush()
        return "\n\n".join(self._blocks[0].out)

    def text(self, text: str) -> None:
        """Take decoded text; outside of all elements an empty line ends a paragraph, as in plain text."""
        inline = self.inline
        if not inline.pieces and text.isspace():
            return
        if inline.literal:
            inline.text(text)
        elif "\n" not in text or len(self._blocks) > 1 or inline.depth:
            inline.words(text, in_table=self._table is not None)
        else:
            for number, paragraph in enumerate(re.split(r"\n[ \t\r]*\n", text)):
                if number:
                    self._flush()
                inline.words(paragraph, in_table=False)

    def start(self, tag: str, attrs: str) -> None:
        """Take a start tag."""
        inline = self.inline
        if tag == "img":
            inline.image(attrs)
        elif inline.literal == "pre" and tag not in RAISED:
            if tag == "code":
                self._language = self._language or html.language(attrs)
            elif tag == "br" or (tag in BLOCK_TAGS and inline.pieces[-1][-1:] not in {"", "\n"}):
                inline.text("\n")
        elif tag in BLOCK_TAGS:
            self._release()
            self._open(tag, attrs)
        elif tag != "br":
            inline.start(tag, attrs)
        elif self._is_line() and not inline.literal:
            inline.space()
        else:
            inline.text(" " if inline.literal else "  \n")

    def end(self, tag: str, after: str) -> None:
        """Take an end tag and the character behind it."""
        if tag not in BLOCK_TAGS:
            self.inline.end(tag, after)
        elif tag == "pre" or self.inline.literal != "pre":
            self._release()
            self._close_open(*html.CLOSED_BY_END[tag])

    def _is_line(self) -> bool:
        return self._blocks[-1].is_flat or self._blocks[-1].tag in html.LINES

    def _release(self) -> None:
        """Close the literal elements, and write preformatted text."""
        literal = self.inline.literal
        text = self.inline.release() if literal else ""
        if literal == "pre" and self._is_line():
            self.inline.write("code", f" {text} ")
        elif literal == "pre":
            self._flush()
            lines = _without_empty_lines(text.replace("\r\n", "\n"))
            fence = "`" * max(3, html.longest_run(lines) + 1)
            if lines:
                self._write(f"{fence}{self._language}\n{lines}\n{fence}")

    def _open(self, tag: str, attrs: str) -> None:
        """Open a block, and close the elements that its start tag closes."""
        if tag in html.TABLE_PARTS and self._table is None:
            tag = "div"
        if self.inline.chars and tag in html.ENDS_HEADING:
            self._close_open(html.HEADINGS.keys(), html.ENDS_HEADING)
        self._close_open(*html.CLOSED_BY_START[tag])
        top = self._blocks[-1]
        is_flat = self._is_line() and (top.is_flat or top.tag not in html.ROWS or tag not in html.TABLE_PARTS)
        is_deep = len(self._blocks) > MAX_DEPTH
        if is_flat or (is_deep and tag not in {"pre", "hr"}):
            self.inline.space()
            self.inline.text("\N{BULLET} " if tag == "li" else "")
        else:
            self._flush()
            if top.tag == "li" and tag not in LISTS:
                self._blocks[-2].is_loose = True
        if tag == "pre":
            self._language = html.language(attrs)
            self.inline.start("pre")
        elif tag == "hr":
            if not is_flat:
                # `- ---` would be a rule instead of an item.
                self._write("___" if top.tag == "li" and not top.out else "---")
        elif not is_deep:
            self._push(_Block(tag, self.inline.depth, top.out, attrs, is_flat))

    def _push(self, block: _Block) -> None:
        tag = "" if block.is_flat else block.tag
        if tag == "li":
            if self._blocks[-1].tag not in LISTS:
                self._blocks.append(_Block("ul", block.depth, block.out))
            # Content between two items belongs to the first.
            block.out = self._blocks[-1].out = []
            self._blocks[-1].items.append(block.out)
        elif tag == "blockquote":
            block.out = []
        elif tag == "table":
            self._table = _Table()
        elif tag == "tr" and self._table:
            self._table.start_row()
        self._blocks.append(block)
        if tag in _IMPLIED:
            self.inline.start(_IMPLIED[tag])

    def _close_open(self, tags: AbstractSet[str], within: AbstractSet[str]) -> None:
        """Close the innermost element with one of some tags, unless it is open around one of some others."""
        for place in range(len(self._blocks) - 1, 0, -1):
            tag = self._blocks[place].tag
            if tag in tags:
                self._close(place)
                return
            if tag in within:
                return

    def _close(self, depth: int) -> None:
        """Close the innermost blocks down to a depth."""
        while len(self._blocks) > depth:
            block = self._blocks[-1]
            self.inline.cut(block.depth)
            if block.is_flat:
                self.inline.space()
            elif block.tag in CELLS and self._table:
                text = self.inline.finish().strip().replace("|", "\\|")
                self._table.add(text, block.attrs)
            else:
                self._flush()
            self._blocks.pop()
            if not block.is_flat:
                self._write_holder(block)

    def _write_holder(self, block: _Block) -> None:
        """Write a block that holds others."""
        if block.items:
            self._write_list(block)
        elif block.tag == "blockquote" and block.out:
            text = "\n\n".join(block.out)
            self._write("> " + html.indent(text, "> "), len(text))
        elif block.tag == "table" and self._table:
            if self._table.has_text:
                self._write(self._table.written())
            self._table = None

    def _write_list(self, block: _Block) -> None:
        sign, first = "-", 1
        if block.tag == "ol":
            # Right behind another list, another sign begins a new one.
            sign = ")" if [getattr(part, "sign", "") for part in self._blocks[-1].out[-1:]] == ["."] else "."
            first = html.number(attributes(block.attrs).get("start", ""))
        is_tight = not block.is_loose and all(
            getattr(part, "is_tight", not place) for item in block.items for place, part in enumerate(item)
        )
        gap = "\n" if is_tight else "\n\n"
        items = []
        for number, item in enumerate(block.items, first):
            marker = "- " if sign == "-" else f"{number}{sign} "
            items.append((marker + html.indent(gap.join(item), " " * len(marker))).rstrip())
        written = _List(gap.join(items))
        # Within a paragraph only the number 1 begins a list, and only with text behind it.
        written.is_tight = is_tight and first == 1 and bool(block.items[0])
        written.sign = sign
        self._write(written, sum(len(part) for item in block.items for part in item))

    def _flush(self) -> None:
        """Write the line that is complete as a paragraph or a heading."""
        text = self.inline.finish().strip() if self.inline.pieces else ""
        if text:
            heading = html.HEADINGS.get(self._blocks[-1].tag)
            self._write(html.heading(heading, text) if heading else html.paragraph(text))

    def _write(self, text: str, counted: int = 0) -> None:
        """Add a block, of which some characters are counted already."""
        if len(text) > MAX_MARKDOWN_CHARS:
            # What is in front of the rest fills the page already.
            text = text[:MAX_MARKDOWN_CHARS]
        self._blocks[-1].out.append(text)
        self._chars += len(text) - counted


def _without_empty_lines(text: str) -> str:
    """Return a text without the empty lines at its ends; its first line keeps its indentation."""
    first = text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1
    return text[first:].rstrip()
