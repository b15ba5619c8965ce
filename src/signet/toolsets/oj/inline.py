"""Inline elements as Markdown: links, images, emphasis, code, powers and indices, and the text between them.

    start, text, end …  ──InlineWriter──▶  pieces of text and marks  ──_join──▶  a line of Markdown

Marks are set when a line is complete, because they may have to be kept apart from both of their neighbours.
Pure, and linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .html import attributes, escape_text, longest_run, target

__all__ = ["MAX_OPEN", "RAISED", "InlineWriter"]

MAX_OPEN: Final = 32
"""How many elements may be open at once; the tags of any more are ignored."""

MAX_RAISED: Final = 4
"""How deep `sup` and `sub` may be nested."""

RAISED: Final = {"sup": "^", "sub": "_"}
_LITERALS: Final = frozenset({"pre", "code", *RAISED})
"""Elements whose text is written as a whole when they end; all tags in them but `sup` and `sub` are ignored."""

_ONE_TERM: Final = re.compile(r"[-+\u2212]?(?:[^\W_]|\.)+|[^\w\s]|\([^()]*\)")
"""A power or index that needs no brackets."""


class _Opening(str):
    """A mark before a text."""

    __slots__ = ()


class _Closing(str):
    """A mark behind a text."""

    __slots__ = ()


_SIGNS: Final = {"strong": "**", "em": "*", "del": "~~"}
_OPENINGS: Final = {tag: _Opening(sign) for tag, sign in _SIGNS.items()} | {"a": _Opening("[")}
_CLOSINGS: Final = {tag: _Closing(sign) for tag, sign in _SIGNS.items()}


class InlineWriter:
    """One line of Markdown while it is written."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.is_fresh = True
        """Whether the line is empty or ends with white space, so that a space would say nothing."""
        self.literal = ""
        """The tag of the outermost open literal element, if any."""
        self._open: list[tuple[str, int, str]] = []
        """Of each other open element the tag, the place of its start tag in the line, and the closing mark, if any."""
        self._held: list[tuple[str, list[str], bool]] = []
        """Of each open literal element the tag, and `pieces` and `is_fresh` as they are outside of it."""
        self._left = dict.fromkeys(RAISED, 0)
        """How many powers and indices were left for a link, but have not ended yet."""
        self._has_marks = False
        self._chars = self._held_chars = 0

    @property
    def chars(self) -> int:
        """The number of characters that the line has so far, without its white space and marks."""
        return self._chars + self._held_chars

    @property
    def depth(self) -> int:
        """The number of open elements that are not literal."""
        return len(self._open)

    def text(self, text: str) -> None:
        """Append text as it is."""
        if text:
            self.pieces.append(text)
            self.is_fresh = text[-1].isspace()
            if text.isspace():
                return
            if self._held:
                self._held_chars += len(text)
            else:
                self._chars += len(text)

    def space(self) -> None:
        """Append a space where there is none yet."""
        if not self.is_fresh:
            self.text(" ")

    def words(self, text: str, *, in_table: bool) -> None:
        """Append plain text, with each white space as one space."""
        words = " ".join(text.split())
        if words:
            before = " " if text[0].isspace() and not self.is_fresh else ""
            after = " " if text[-1].isspace() else ""
            in_label = bool(self._open) and any(tag == "a" and closing for tag, _, closing in self._open)
            self.text(escape_text(f"{before}{words}{after}", in_table=in_table, in_label=in_label))
        elif text:
            self.space()

    def image(self, attrs: str) -> None:
        """Append an image, before open literal elements; of an image without an address its words."""
        values = attributes(attrs)
        address = target(values.get("src") or values.get("data-src") or "", values.get("title", ""))
        words = escape_text(" ".join(values.get("alt", "").split()), in_label=True)
        written = f"![{words}]{address}" if address else words
        if self._held:
            tag, outer, _ = self._held[0]
            outer.append(written)
            self._held[0] = (tag, outer, False)
        else:
            self.text(written)

    def start(self, tag: str, attrs: str = "", source: str = "") -> None:
        """Open an element; `source` stays in the place of its start tag if the element never ends."""
        if tag in _LITERALS:
            if not self._held or (tag in RAISED and len(self._held) <= MAX_RAISED):
                self._held.append((tag, self.pieces, self.is_fresh))
                self.pieces = [source]
                self.literal = self.literal or tag
        elif not self._held or (tag == "a" and self._leave_raised()):
            if tag == "a":
                self.end("a")
            if len(self._open) < MAX_OPEN:
                self._open.append((tag, len(self.pieces), self._closing(tag, attrs)))
            self.pieces.append(source)

    def _leave_raised(self) -> bool:
        """Make the text of open powers and indices plain, since a link follows in them; return False in code."""
        if any(tag not in RAISED for tag, _, _ in self._held):
            return False
        while self._held:
            tag, outer, _ = self._held.pop()
            self._left[tag] += 1
            outer += self.pieces[1:]
            self.pieces = outer
        self._chars, self._held_chars, self.literal = self._chars + self._held_chars, 0, ""
        return True

    def _closing(self, tag: str, attrs: str) -> str:
        """Return the closing mark of an element; nothing for a link without an address, and emphasis in its like."""
        if tag != "a":
            return "" if any(tag == name for name, _, _ in self._open) else _CLOSINGS[tag]
        values = attributes(attrs)
        address = target(values.get("href", ""), values.get("title", ""))
        return _Closing(f"]{address}") if address else ""

    def end(self, tag: str, after: str = "") -> bool:
        """Close an element, given the character behind its end tag; return False if no such element is open."""
        if self._held:
            if any(tag == name for name, _, _ in self._held):
                self.release(tag, after)
            return True
        if self._left.get(tag):
            self._left[tag] -= 1
            return True
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == tag:
                self.cut(index + 1)
                self._mark(*self._open.pop())
                return True
        return False

    def cut(self, depth: int) -> None:
        """Close the innermost elements down to a depth, but those that have a source never end."""
        while len(self._open) > depth:
            tag, place, closing = self._open.pop()
            if not self.pieces[place]:
                self._mark(tag, place, closing)

    def _mark(self, tag: str, place: int, closing: str) -> None:
        """Set the marks around the pieces behind a place, unless they are blank."""
        last = len(self.pieces) - 1
        while last > place and (not self.pieces[last] or self.pieces[last].isspace()):
            last -= 1
        self.pieces[place] = ""
        if closing and last > place:
            self.pieces[place] = _OPENINGS[tag]
            self.pieces.append(closing)
            self._has_marks = True

    def release(self, last: str = "", after: str = "") -> str:
        """Close the literal elements, down to the last one to close; return the text of `pre`, which is a block."""
        while self._held:
            pieces = self.pieces
            tag, self.pieces, self.is_fresh = self._held.pop()
            if not self._held:
                self.literal, self._held_chars = "", 0
            text = "".join(pieces[1:])
            if tag == "pre":
                return text
            self.write(tag, text, after)
            if tag == last:
                break
        return ""

    def forget(self) -> None:
        """Leave all open elements without an end: the sources of their start tags stay."""
        self._open.clear()
        self.literal = ""
        while self._held:
            _, outer, _ = self._held.pop()
            outer += self.pieces
            self.pieces = outer

    def write(self, tag: str, text: str, after: str = "") -> None:
        """Append a literal element, given the character behind it."""
        if tag in RAISED:
            text = _raised(RAISED[tag], text, after)
        if self._held:
            self.text(text)
        elif tag == "code":
            self._code(self._plain(text))
        elif text:
            self._power(text[0], self._escaped(text[1:]), after)

    def _plain(self, text: str) -> str:
        """Return the text of code."""
        return text

    def _escaped(self, text: str) -> str:
        """Escape the text of a power or an index."""
        return escape_text(text)

    def _code(self, text: str) -> None:
        core = text.strip()
        if not core:
            return
        if not core.isprintable():
            core = re.sub(r"\s", " ", core)
        if text[0].isspace() or (self.pieces and _ends_with("`", self.pieces[-1])):
            self.space()
        run = longest_run(core)
        ticks, pad = "`" * (run + 1), " " if run else ""
        self.text(f"{ticks}{pad}{core}{pad}{ticks}")
        if text[-1].isspace():
            self.space()

    def _power(self, mark: str, text: str, after: str) -> None:
        """Append a power or an index; an underscore might begin emphasis unless a word goes before it."""
        place = len(self.pieces)
        while place and isinstance(self.pieces[place - 1], _Closing) and self.pieces[place - 1][0] == "*":
            place -= 1
        follows_word = place > 0 and self.pieces[place - 1][-1:].isalnum()
        if mark == "^" or (follows_word and place == len(self.pieces)):
            self.text(mark + text)
        elif follows_word and not (after.isalnum() and _is_sign(text[-1])):
            self.pieces.insert(place, mark + text)  # `*y_1*` reads better than `*y*\_1`
        else:
            self.text(f"\\{mark}{text}")

    def finish(self) -> str:
        """Return the line and begin the next one, in which the same elements are open."""
        self.release()
        still_open = [(tag, place, closing) for place, (tag, _, closing) in enumerate(self._open)]
        self.cut(0)
        line = _join(self.pieces) if self._has_marks else "".join(self.pieces)
        self.pieces = [""] * len(still_open)
        self._open = still_open
        self._has_marks, self.is_fresh, self._chars = False, True, 0
        return line


def _raised(mark: str, text: str, after: str) -> str:
    """Write a power (`^`) or an index (`_`): `2^31`, `a_i`, `10^-5`, `i^th`, and in brackets all else: `2^(n+1)`.

    Brackets also separate it from a letter that follows directly: `a_(i)b`, since `a_ib` would read as one index.
    """
    if text.isalnum() and not after.isalnum():
        return mark + text
    body = " ".join(text.split())
    if not body:
        return ""
    runs_on = after.isascii() and after.isalnum() and body[-1].isalnum() and (after.isdigit() or body[-1].isalpha())
    return f"{mark}{body}" if _ONE_TERM.fullmatch(body) and not runs_on else f"{mark}({body})"


def _is_sign(character: str) -> bool:
    """Return True if emphasis between this character and a word would show its stars, as in `**so:**and`."""
    return not character.isalnum() and not character.isspace()


def _ends_with(sign: str, text: str) -> bool:
    """Return True if text ends with a sign that is not escaped."""
    return text.endswith(sign) and not text.endswith(f"\\{sign}")


def _join(pieces: Sequence[str]) -> str:
    """Join text and marks: white space goes outside of marks, and marks that would be misread get a space."""
    out: list[str] = []
    waiting: list[str] = []
    space, needs_gap = "", False
    for piece in pieces:
        if isinstance(piece, _Opening):
            if out and out[-1] == piece and isinstance(out[-1], _Closing) and not (space or waiting):
                out.pop()  # `**a****b**` is `**ab**`
                needs_gap = False
            else:
                waiting.append(piece)
        elif isinstance(piece, _Closing):
            needs_gap = piece[0] != "]" and _is_sign(out[-1][-1])
            out.append(piece)
        elif core := piece.strip():
            space += piece[: piece.index(core)]
            if not space and out:
                space = _gap(out, waiting, core) if waiting else " " * (needs_gap and core[0].isalnum())
            out += [space, *waiting, core] if space else [*waiting, core]
            space, needs_gap = piece[len(piece.rstrip()) :], False
            waiting.clear()
        else:
            space += piece
    return "".join(out) + space


def _gap(out: list[str], waiting: Sequence[str], core: str) -> str:
    """Return a space if opening marks would be misread behind the last piece."""
    last = out[-1][-1]
    if waiting[0] == "[":
        if last == "!":
            out[-1] = f"{out[-1][:-1]}\\!"
        return ""
    first = "[" if "[" in waiting else core[0]
    clashes = (waiting[0][0] == "*" and _ends_with("*", out[-1])) or (last.isalnum() and _is_sign(first))
    return " " if clashes else ""
