"""Inline tags in Markdown: each is written in Markdown's own way, and every other character stays.

Pure. A tag without a partner in its paragraph stays as it is; one that says nothing in Markdown is left out.
"""

from __future__ import annotations

import re
from typing import Final

from .attributes import attributes, safe_url
from .escaping import BACKSLASH, code_span, decode, is_sign, label, raised
from .html_tidy import BLOCKS, RAW, TAGS

__all__ = ["Inline"]

MAX_OPEN: Final = 32
"""How many elements may be open at once; what is opened beyond is left out."""

MAX_RAISED: Final = 4
"""How deep `sup` and `sub` may stand in each other."""

_SIGNS: Final = {"strong": "**", "em": "*", "del": "~~", "code": "`", "sup": "^", "sub": "_"}
_RAISED: Final = frozenset({"sup", "sub"})
_PARAGRAPH_END: Final = re.compile(r"\n[ \t\r]*\n")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")


class Inline:
    """One stretch of Markdown while it is written; `ended` once an element has swallowed the rest."""

    def __init__(self) -> None:
        self.ended = False
        self._out: list[str] = []
        self._open: list[tuple[str, int, str]] = []
        self._wrapped = 0
        """How much there was when an element had last been written."""
        self._line = ""
        """The first visible character of the line being written."""

    def finish(self) -> str:
        """Give the whole."""
        return "".join(self._out)

    def text(self, text: str) -> None:
        """Take text as it is; no element reaches beyond a paragraph."""
        if _PARAGRAPH_END.search(text):
            self._open.clear()
        _, newline, tail = text.rpartition("\n")
        self._line = (tail if newline else self._line + tail).lstrip()[:1]
        if text:
            self._out.append(text)

    def tag(self, tag: re.Match[str], after: str) -> None:
        """Take a tag (slash, name, attributes), and the character behind it."""
        closing, name, attrs = tag[1], tag[2].lower(), tag[3]
        written = TAGS.get(name, "")
        if name in RAW:
            self.ended = not closing
        elif written == "br":
            self.text(" " if self._line == "|" else "  " if after == "\n" else "  \n")
        elif written == "img":
            self._image(attributes(attrs))
        elif name in BLOCKS:
            self._block(written)
        elif written and closing:
            self._end(written, tag[0], after)
        elif written:
            self._start(written, tag[0], attrs)

    def _start(self, written: str, tag: str, attrs: str) -> None:
        """Keep the tag in its place until the partner is there."""
        names = [name for name, _, _ in self._open]
        if "code" in names and written not in _RAISED:
            return
        if len(names) < MAX_OPEN and sum(name in _RAISED for name in names) < MAX_RAISED:
            url = safe_url(attributes(attrs).get("href", "")) if written == "a" else ""
            self._open.append((written, len(self._out), url))
        self._out.append(tag)

    def _end(self, written: str, tag: str, after: str) -> None:
        names = [name for name, _, _ in self._open]
        if written not in names:
            self.text("" if "code" in names else tag)
            return
        place = len(names) - 1 - names[::-1].index(written)
        _, start, url = self._open[place]
        inside = "".join(self._out[start + 1 :])
        del self._open[place:], self._out[start:]
        if written in _RAISED or written == "code":
            self._whole(written, inside, after)
        elif written == "a":
            self._link(inside, url)
        else:
            self._emphasis(_SIGNS[written], inside, after)
        self._wrapped = len(self._out)

    def _whole(self, written: str, inside: str, after: str) -> None:
        """Write an element whose text cannot hold signs of its own."""
        if written == "code":
            text = decode(_ESCAPE.sub(r"\1", inside)).strip()
            if text:
                self._out.append(" " * (self._last() == "`") + code_span(text) + " " * (after == "`"))
            return
        formed = raised(_SIGNS[written], inside, after)
        if formed and written == "sub" and not any(one[0] == "code" for one in self._open):
            self._index(formed, after)
        else:
            self.text(formed)

    def _index(self, formed: str, after: str) -> None:
        """Write an index; its underscore might begin emphasis, unless a word goes before it."""
        last = self._out.pop() if self._wrapped == len(self._out) > 0 else ""
        word = last.rstrip("*")
        if word != last and word[-1:].isalnum() and not (after.isalnum() and is_sign(formed[-1])):
            self._out += [word, formed, last[len(word) :]]
            return
        self.text(last)
        self.text(formed if self._last().isalnum() else f"\\{formed}")

    def _emphasis(self, sign: str, inside: str, after: str) -> None:
        """Put signs around a text; white space at its edges goes outside, where Markdown wants it."""
        core = inside.strip()
        if not core:
            self.text(inside)
            return
        before, first = self._last(), core.lstrip(sign[0])[:1]
        clash = before == "*" == sign[0] or (before.isalnum() and is_sign(first))
        left = inside[: inside.index(core)] or " " * clash
        right = inside[len(inside.rstrip()) :] or " " * (after.isalnum() and is_sign(core[-1]))
        self._out.append(f"{left}{sign}{core}{sign}{right}")

    def _link(self, inside: str, url: str) -> None:
        """Write a link; a link to nowhere is only what it holds."""
        core = inside.strip()
        if not core or not url:
            self.text(inside)
            return
        left, right = inside[: inside.index(core)], inside[len(inside.rstrip()) :]
        if self._last() == "!" and not left:
            self._out[-1] = f"{self._out[-1][:-1]}\\!"
        self._out.append(f"{left}[{core}]({url}){right}")

    def _last(self) -> str:
        return self._out[-1][-1:] if self._out else ""

    def _image(self, given: dict[str, str]) -> None:
        words = label(given.get("alt", "")).replace(BACKSLASH, "\\")
        url = safe_url(given.get("src") or given.get("data-src") or "")
        self._out.append(f"![{words}]({url})" if url else words)

    def _block(self, written: str) -> None:
        """Begin a new line or paragraph for a block that is not closed."""
        if written == "hr":
            self.text("\n\n---\n\n")
        elif written == "li":
            self.text("\n- " if self._line else "- ")
        elif self._line:
            self.text("\n\n")
