"""A page while it is written: every tag that is opened gets closed, in order, and the limits are kept.

Pure. Text inside `pre`, `code`, `sup` and `sub` is held back until the element ends, since it is written as a whole.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from .signs import BACKSLASH, attributes, is_sign, prose, raised, safe_url, verbatim

__all__ = ["BLOCK_TAGS", "INLINE_TAGS", "MAX_DEPTH", "MAX_ELEMENTS", "MAX_MARKUP_CHARS", "MAX_TABLE_CELLS", "Page"]

MAX_DEPTH: Final = 32
"""What is nested deeper becomes text of this level: each list or quote indents all its lines once more."""

MAX_ELEMENTS: Final = 5_000
"""The converter's time grows with the elements times the characters of a block; a long statement has 600."""

MAX_MARKUP_CHARS: Final = 131_072
"""What the converter may be given at once: it holds the interpreter while it works."""

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
_NO_TEXT: Final = _LISTS | _SECTIONS | {"table", "tr"}
BLOCK_TAGS: Final = _HOLDERS | _HEADINGS | _TABLE_PARTS | {"p", "pre", "summary", "hr"}
INLINE_TAGS: Final = frozenset({"strong", "em", "del", "code", "a", "br", "img", "sup", "sub"})

_EMPHASIS: Final = frozenset({"strong", "em", "del"})

_ENDS: Final = {
    "li": frozenset({"li"}),
    "tr": frozenset({"tr", "caption"}),
    **dict.fromkeys(_CELLS, _CELLS | {"caption"}),
    **dict.fromkeys(_SECTIONS, _SECTIONS | {"caption"}),
    **dict.fromkeys(_HEADINGS, _HEADINGS | {"p"}),
    "a": frozenset({"a"}),
}
"""What a new element ends that was left open before it; any other block ends a paragraph."""

_WITHIN: Final = {"li": _LISTS | _CELLS, "table": frozenset[str](), **dict.fromkeys(_TABLE_PARTS, frozenset({"table"}))}
"""The elements beyond which an open one is not looked for."""


class Page:
    """Tidy HTML in the making; `full` once it is more than the converter should get."""

    def __init__(self) -> None:
        self.full = False
        self._out: list[str] = []
        self._chars = 0
        self._elements = 0
        self._open: list[str] = []
        self._held: list[tuple[str, list[str]]] = []
        self._language = ""
        self._table: list[int] | None = None
        """Of the table being written its rows, the cells of the last row, and the most cells of a row."""
        self._inner_tables = 0

    def finish(self) -> str:
        """Close what is open and give the whole."""
        self._release()
        self._close_down_to(0)
        return "".join(self._out)

    def text(self, text: str) -> None:
        """Take decoded text."""
        if self._held:
            self._held[-1][1].append(text)
            self._count(0, len(text))
            return
        line = re.sub(r"\s+", " ", text)
        if line != " " or not self._open or self._open[-1] not in _NO_TEXT:
            self._write(prose(line, in_table=self._table is not None, in_label="a" in self._open))

    def start(self, tag: str, attrs: str, after: str) -> None:
        """Take a start tag and the character behind it."""
        if tag in {"sup", "sub"}:
            if sum(one in {"sup", "sub"} for one, _ in self._held) < MAX_RAISED:
                self._held.append((tag, []))
        elif tag == "img":
            self._image(attributes(attrs))
        elif not self._absorbed(tag, attrs):
            if tag in _EMPHASIS and self._last().isalnum() and is_sign(after):
                self._write(" ")
            self._open_element(tag, attrs)

    def end(self, tag: str, after: str) -> None:
        """Take an end tag and the character behind it."""
        if any(tag == one for one, _ in self._held):
            while self._held and self._release_one(after) != tag:
                pass
        elif not self._held or (tag in BLOCK_TAGS and self._held[0][0] != "pre"):
            self._release()
            if self._is_flat(tag):
                self._inner_tables -= tag == "table"
                self._write(" ")
                return
            apart = tag in _EMPHASIS and is_sign(self._last()) and after.isalnum()
            self._end_open(frozenset({tag}), _WITHIN.get(tag, _CELLS if tag in BLOCK_TAGS else _HOLDERS))
            self._write(" " if apart else "")

    def _absorbed(self, tag: str, attrs: str) -> bool:
        """Tell whether a tag is part of what is held back; a block ends all that but `pre`."""
        if not self._held:
            return False
        if self._held[0][0] == "pre":
            if tag == "code":
                self._language = self._language or _language(attrs)
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
        """Tell whether a block stands in a table, where it can only be part of a cell's one line."""
        if tag not in BLOCK_TAGS or self._table is None:
            return False
        return bool(self._inner_tables) or tag not in _TABLE_PARTS | {"table"}

    def _open_element(self, tag: str, attrs: str) -> None:
        if tag == "table" and self._table:
            self._inner_tables += 1
        if self._is_flat(tag) and tag != "pre":
            self._write(" \N{BULLET} " if tag == "li" else " ")
            return
        if tag in BLOCK_TAGS or tag == "a":
            self._end_open(_ENDS.get(tag, frozenset({"p"})), _WITHIN.get(tag, _HOLDERS))
        if tag in _TABLE_PARTS and self._table is None:
            tag = "div"
        if tag in {"pre", "code"}:
            self._language = _language(attrs)
            self._held.append((tag, []))
        elif tag in {"br", "hr"}:
            self._write(f"<{tag}>", 1)
        elif len(self._open) >= MAX_DEPTH or (tag in _EMPHASIS and tag in self._open):
            self._write(" " if tag in BLOCK_TAGS else "")
        elif opening := self._opening(tag, attrs):
            if tag in _LISTS and self._open[-1:] and self._open[-1] in _LISTS and self._out[-1:] == ["</li>"]:
                # A list straight inside a list belongs to the item before it.
                self._out.pop()
                self._open.append("li")
            self._open.append(tag)
            self._write(opening, 1)

    def _opening(self, tag: str, attrs: str) -> str:
        """Write a start tag with the attributes that matter; a link to nowhere is none."""
        if tag == "table":
            self._table = [0, 0, 0]
        elif tag == "tr" and self._table:
            self._table[:2] = self._table[0] + 1, 0
        elif tag in _CELLS:
            return self._cell(tag, attributes(attrs))
        elif tag == "ol":
            start = attributes(attrs).get("start", "")
            return f'<ol start="{start}">' if re.fullmatch(r"[0-9]{1,9}", start) else "<ol>"
        elif tag == "a":
            given = attributes(attrs)
            url = safe_url(given.get("href", ""))
            return f'<a href="{escape(url)}"{_title(given)}>' if url else ""
        return f"<{tag}>"

    def _cell(self, tag: str, given: dict[str, str]) -> str:
        """Write a table cell and count it, and those that will be filled in beside it."""
        across, down = (_span(given.get(name, "")) for name in ("colspan", "rowspan"))
        table = self._table or [0, 0, 0]
        table[1] += across
        table[2] = max(table[1:])
        self.full = self.full or max(table[0], 1) * table[2] > MAX_TABLE_CELLS
        return f'<{tag} colspan="{across}" rowspan="{down}">' if across > 1 or down > 1 else f"<{tag}>"

    def _image(self, given: dict[str, str]) -> None:
        """Write an image, before any text that is held back; one without an address leaves its words."""
        url = safe_url(given.get("src") or given.get("data-src") or "")
        words = prose(" ".join(given.get("alt", "").split()), in_label=True).replace('"', "&quot;")
        if url:
            self._write(f'<img src="{escape(url)}" alt="{words}"{_title(given)}>', 1)
        else:
            self._write(words)

    def _end_open(self, tags: frozenset[str], within: frozenset[str]) -> None:
        """Close the innermost of some elements, and what was left open in it."""
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place] in tags:
                self._close_down_to(place)
                return
            if self._open[place] in within:
                return

    def _close_down_to(self, place: int) -> None:
        while len(self._open) > place:
            tag = self._open.pop()
            self._write(f"</{tag}>")
            if tag == "table":
                self._table = None
                self._inner_tables = 0

    def _release(self) -> None:
        while self._held:
            self._release_one("")

    def _release_one(self, after: str) -> str:
        """Write what was held back last."""
        tag, pieces = self._held.pop()
        text = "".join(pieces)
        if tag == "pre" and self._table is None:
            self._preformatted(text)
        elif tag in {"pre", "code"}:
            self._code(re.sub(r"\s", " ", text))
        else:
            written = raised("^" if tag == "sup" else "_", text, after)
            if self._held:
                self._held[-1][1].append(written)
            elif written:
                self._raised(written)
        return tag

    def _raised(self, written: str) -> None:
        """Write a power or an index into prose; an underscore might begin emphasis unless a word goes before it."""
        plain = written[0] == "^" or self._last().isalnum()
        self._write(("" if plain else BACKSLASH) + written[0] + prose(written[1:], in_table=self._table is not None))

    def _code(self, text: str) -> None:
        core = text.strip()
        if core:
            before, after = " " * text[0].isspace(), " " * text[-1].isspace()
            self._write(f"{before}<code>{verbatim(core)}</code>{after}", 1)

    def _preformatted(self, text: str) -> None:
        lines = re.sub(r"\A(?:[^\S\n]*\n)+", "", text.replace("\r\n", "\n")).rstrip()
        if lines:
            self._write(f"<pre><code{self._language}>{verbatim(lines)}</code></pre>", 1)

    def _last(self) -> str:
        return self._out[-1][-1:] if self._out else ""

    def _write(self, markup: str, elements: int = 0) -> None:
        if markup:
            self._out.append(markup)
            self._count(elements, len(markup))

    def _count(self, elements: int, chars: int) -> None:
        self._elements += elements
        self._chars += chars
        self.full = self.full or self._elements > MAX_ELEMENTS or self._chars > MAX_MARKUP_CHARS


def _language(attrs: str) -> str:
    """Read the language of code from its class."""
    found = re.search(r"(?:^|\s)lang(?:uage)?-([\w+#.-]{1,30})(?:\s|$)", attributes(attrs).get("class", ""))
    return f' class="language-{found[1]}"' if found else ""


def _span(text: str) -> int:
    return min(max(int(text), 1), MAX_SPAN) if re.fullmatch(r"[0-9]{1,9}", text) else 1


def _title(given: dict[str, str]) -> str:
    title = " ".join(given.get("title", "").split())
    return f' title="{escape(title)}"' if title else ""
