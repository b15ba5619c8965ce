"""A page while it is written: every tag that is opened gets closed, in order, and the limits are kept.

Pure. Text inside `pre`, `code`, `sup` and `sub` is held back until the element ends, since it is written as a whole.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from .attributes import attributes, language, safe_url, span, title
from .escaping import BACKSLASH, prose, raised, verbatim

__all__ = ["BLOCK_TAGS", "INLINE_TAGS", "MAX_DEPTH", "MAX_MARKUP_CHARS", "MAX_TABLE_CELLS", "HtmlWriter"]

MAX_DEPTH: Final = 32
"""What is nested deeper becomes text of this level: each list or quote indents all its lines once more."""

MAX_MARKUP_CHARS: Final = 131_072
"""What the converter may be given at once: it holds the interpreter while it works, here for a tenth of a second."""

MAX_TABLE_CELLS: Final = 10_000
"""Rows times columns: each row is filled up to the longest, so that few tags could ask for millions of cells."""

MAX_SPAN: Final = 16
"""What `colspan` and `rowspan` are cut to."""

MAX_RAISED: Final = 4
"""How deep `sup` and `sub` may stand in each other."""

_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CELLS: Final = frozenset({"td", "th"})
_LISTS: Final = frozenset({"ul", "ol"})
_SECTIONS: Final = frozenset({"thead", "tbody"})
_TABLE_PARTS: Final = _CELLS | _SECTIONS | {"tr", "caption"}
_HOLDERS: Final = _CELLS | _LISTS | {"table", "li", "blockquote", "div", "details"}
_EMPHASIS: Final = frozenset({"strong", "em", "del"})
_RAISED: Final = frozenset({"sup", "sub"})
BLOCK_TAGS: Final = _HOLDERS | _HEADINGS | _TABLE_PARTS | {"p", "pre", "summary", "hr"}
INLINE_TAGS: Final = _EMPHASIS | _RAISED | {"code", "a", "br", "img"}

_PLAIN: Final = {tag: f"<{tag}>" for tag in (BLOCK_TAGS | _EMPHASIS) - _CELLS - _LISTS - {"table", "tr", "pre", "hr"}}
_ITSELF: Final = {tag: frozenset({tag}) for tag in BLOCK_TAGS | INLINE_TAGS}
_ENDS: Final = {
    **dict.fromkeys(BLOCK_TAGS, _ITSELF["p"]),
    **dict.fromkeys(_CELLS, _CELLS | {"caption"}),
    **dict.fromkeys(_SECTIONS, _SECTIONS | {"caption"}),
    **dict.fromkeys(_HEADINGS, _HEADINGS | {"p"}),
    "tr": frozenset({"tr", "caption"}),
    "li": _ITSELF["li"],
    "a": _ITSELF["a"],
}
"""What a new element ends that was left open before it."""

_WITHIN: Final = {
    **dict.fromkeys(BLOCK_TAGS, _CELLS),
    **dict.fromkeys(_TABLE_PARTS, _ITSELF["table"]),
    "table": frozenset[str](),
    "li": _LISTS | _CELLS,
}
"""The elements beyond which the start of one that ends is not looked for; for all others, those that hold blocks."""


class HtmlWriter:
    """Tidy HTML in the making; `full` once it has more than the converter should get."""

    def __init__(self) -> None:
        self.full = False
        self._out: list[str] = []
        self._fresh = True
        """Whether a line or block has just begun, so that a space would say nothing."""
        self._open: list[str] = []
        self._held: list[tuple[str, list[str]]] = []
        self._language = ""
        self._table: list[int] = []
        """Of the table being written its rows, the cells of the last row, and the most cells of a row."""
        self._inner_tables = 0

    def finish(self) -> str | None:
        """Close what is open and give the whole, unless it is too long."""
        self._release()
        self._close(len(self._open))
        markup = "".join(self._out)
        return markup if len(markup) <= MAX_MARKUP_CHARS else None

    def text(self, text: str) -> None:
        """Take decoded text; outside all elements an empty line ends a paragraph, as in plain text."""
        if self._held:
            self._held[-1][1].append(text)
        elif self._open or "\n" not in text:
            self._line(text)
        else:
            for number, paragraph in enumerate(re.split(r"\n[ \t\r]*\n", text)):
                if number and not self._fresh:
                    self._write("<p></p>", fresh=True)
                self._line(paragraph)

    def _line(self, text: str) -> None:
        """Write text with each white space as one space, and with none where something begins."""
        words = " ".join(text.split())
        if words:
            before = " " if text[0].isspace() and not self._fresh else ""
            after = " " if text[-1].isspace() else ""
            self._write(prose(f"{before}{words}{after}", in_table=bool(self._table), in_label="a" in self._open))
        elif text and not self._fresh:
            self._write(" ")

    def whole(self, tag: str, text: str, after: str) -> None:
        """Take a `code`, `sup` or `sub` that holds nothing but text, and the character behind it."""
        if self._held:
            self.start(tag, "")
            self.text(text)
            self.end(tag, after)
        else:
            self._release_one(tag, text, after)

    def start(self, tag: str, attrs: str) -> None:
        """Take a start tag."""
        if tag in _RAISED:
            if sum(one in _RAISED for one, _ in self._held) < MAX_RAISED:
                self._held.append((tag, []))
        elif tag == "img":
            self._image(attributes(attrs))
        elif not self._held or not self._absorbed(tag, attrs):
            self._open_element(tag, attrs)

    def end(self, tag: str, after: str) -> None:
        """Take an end tag and the character behind it."""
        if self._held:
            if any(tag == one for one, _ in self._held):
                self._release(tag, after)
                return
            if tag not in BLOCK_TAGS or self._held[0][0] == "pre":
                return
            self._release()
        if self._table and self._is_flat(tag):
            self._inner_tables -= tag == "table"
            self._write(" ")
            return
        self._end_open(_ITSELF[tag], _WITHIN.get(tag, _HOLDERS))

    def _absorbed(self, tag: str, attrs: str) -> bool:
        """Tell whether a tag is part of what is held back; a block ends all that but `pre`."""
        if self._held[0][0] == "pre":
            if tag == "code":
                self._language = self._language or language(attributes(attrs))
            elif tag == "br" or (tag in BLOCK_TAGS and "".join(self._held[-1][1][-1:])[-1:] not in {"", "\n"}):
                self.text("\n")
            return True
        if tag in BLOCK_TAGS:
            self._release()
            return False
        if tag == "br":
            self.text(" ")
        return True

    def _is_flat(self, tag: str) -> bool:
        """Tell whether a tag of a table's inside is a block that can only be part of a cell's one line."""
        return tag in BLOCK_TAGS and (self._inner_tables > 0 or (tag not in _TABLE_PARTS and tag != "table"))

    def _open_element(self, tag: str, attrs: str) -> None:
        if self._table:
            self._inner_tables += tag == "table"
            if tag != "pre" and self._is_flat(tag):
                self._write(" \N{BULLET} " if tag == "li" else " ")
                return
        elif tag in _TABLE_PARTS:
            tag = "div"
        if tag in _ENDS:
            self._end_open(_ENDS[tag], _WITHIN[tag] if tag in _TABLE_PARTS or tag == "li" else _HOLDERS)
        if tag in {"pre", "code"}:
            self._language = language(attributes(attrs)) if attrs else ""
            self._held.append((tag, []))
        elif tag in {"br", "hr"}:
            self._write(f"<{tag}>", fresh=True)
        elif len(self._open) >= MAX_DEPTH or (tag in _EMPHASIS and tag in self._open):
            self._write(" " if tag in BLOCK_TAGS else "")
        elif opening := _PLAIN.get(tag) or self._opening(tag, attrs):
            self._open.append(tag)
            self._out.append(opening)
            self._fresh = tag in BLOCK_TAGS

    def _opening(self, tag: str, attrs: str) -> str:
        """Write a start tag that has attributes or begins something; a link to nowhere is none."""
        if tag == "table":
            self._table = [0, 0, 0]
        elif tag == "tr":
            self._table[:2] = self._table[0] + 1, 0
        elif tag in _CELLS:
            return self._cell(tag, attributes(attrs))
        elif tag in _LISTS:
            return self._list(tag, attributes(attrs))
        else:
            given = attributes(attrs)
            url = safe_url(given.get("href", ""))
            return f'<a href="{escape(url)}"{title(given)}>' if url else ""
        return f"<{tag}>"

    def _list(self, tag: str, given: dict[str, str]) -> str:
        """Write the start of a list; one straight inside a list belongs to the item before it."""
        if self._open and self._open[-1] in _LISTS and self._out[-1] == "</li>":
            self._out.pop()
            self._open.append("li")
        start = given.get("start", "")
        return f'<ol start="{start}">' if tag == "ol" and re.fullmatch(r"[0-9]{1,9}", start) else f"<{tag}>"

    def _cell(self, tag: str, given: dict[str, str]) -> str:
        """Write a table cell and count it, and those that will be filled in beside it."""
        across, down = (
            (span(given.get("colspan", ""), MAX_SPAN), span(given.get("rowspan", ""), MAX_SPAN)) if given else (1, 1)
        )
        rows, cells, most = self._table
        self._table[1:] = cells + across, max(most, cells + across)
        self.full = self.full or max(rows, 1) * self._table[2] > MAX_TABLE_CELLS
        return f"<{tag}>" if across == down == 1 else f'<{tag} colspan="{across}" rowspan="{down}">'

    def _image(self, given: dict[str, str]) -> None:
        """Write an image, before any text that is held back; one without an address leaves its words."""
        url = safe_url(given.get("src") or given.get("data-src") or "")
        words = prose(" ".join(given.get("alt", "").split()), in_label=True).replace('"', "&quot;")
        self._write(f'<img src="{escape(url)}" alt="{words}"{title(given)}>' if url else words)

    def _end_open(self, tags: frozenset[str], within: frozenset[str]) -> None:
        """Close the innermost of some elements, and what was left open in it."""
        for count, tag in enumerate(reversed(self._open), 1):
            if tag in tags:
                self._close(count)
                return
            if tag in within:
                return

    def _close(self, count: int) -> None:
        for _ in range(count):
            tag = self._open.pop()
            self._out.append(f"</{tag}>")
            self._fresh = tag in BLOCK_TAGS
            if tag == "table":
                self._table = []
                self._inner_tables = 0

    def _release(self, last: str = "", after: str = "") -> None:
        """Write what is held back, down to a tag."""
        while self._held:
            tag, pieces = self._held.pop()
            self._release_one(tag, "".join(pieces), after)
            if tag == last:
                return

    def _release_one(self, tag: str, text: str, after: str) -> None:
        if tag in _RAISED:
            written = raised("^" if tag == "sup" else "_", text, after)
            if self._held:
                self._held[-1][1].append(written)
            elif written:
                self._raised(written)
        elif tag == "code" or self._table:
            self._code(text if tag == "code" else f" {text} ")
        else:
            self._preformatted(text)

    def _raised(self, written: str) -> None:
        """Write a power or an index into prose; an underscore might begin emphasis unless a word goes before it."""
        plain = written[0] == "^" or self._last().isalnum()
        self._write(("" if plain else BACKSLASH) + written[0] + prose(written[1:], in_table=bool(self._table)))

    def _code(self, text: str) -> None:
        core = text.strip()
        if core:
            if not core.isprintable():
                core = re.sub(r"\s", " ", core)
            before, after = " " * text[0].isspace(), " " * text[-1].isspace()
            self._write(f"{before}<code>{verbatim(core)}</code>{after}")

    def _preformatted(self, text: str) -> None:
        lines = re.sub(r"\A(?:[^\S\n]*\n)+", "", text.replace("\r\n", "\n")).rstrip()
        if lines:
            self._write(f"<pre><code{self._language}>{verbatim(lines)}</code></pre>", fresh=True)

    def _last(self) -> str:
        return self._out[-1][-1:] if self._out else ""

    def _write(self, markup: str, *, fresh: bool = False) -> None:
        if markup:
            self._out.append(markup)
            self._fresh = fresh
