"""Texts of servers as people may see them: invisible characters made visible, two texts compared word by word. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, Literal

import msgspec

__all__ = ["Segment", "difference", "hidden_characters", "mixed_scripts", "visible"]

MAX_PARTS: Final = 500
"""The most words or lines that are compared between what both texts begin and end with."""
KEPT_CHARS: Final = 60
"""How much of an unchanged passage is shown at each side of a change."""
BLANK_LOOKING: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
"""Characters of other categories that show nothing."""
JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Characters that belong to emoji and to the scripts of Persia and India, behind a character that is not ASCII."""
VARIATIONS: Final = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
TAGS: Final = (0xE0000, 0xE007F)
HIDDEN: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""The scripts whose letters look alike."""
WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
LETTERS: Final = re.compile(r"[^\W\d_]{2,100}")


class Segment(msgspec.Struct, frozen=True):
    """A passage of two texts."""

    kind: Literal["same", "removed", "added"]
    text: str
    """Safe to print: every invisible character stands as its code point, such as ⟨U+200B⟩.

    In a removed or added passage a blank other than U+0020 does too, and every character that is not ASCII where the
    two passages look alike.
    """


def visible(text: str, *, keep: str = "\n") -> str:
    """Return a text with each character that shows nothing, or moves others, as its code point."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(_shown(char, before, keep) for before, char in zip(" " + text, text, strict=False))


def _shown(char: str, before: str, keep: str) -> str:
    return char if char in keep or not _is_hidden(char, before) else _code_point(char)


def _meant(char: str) -> str:
    """Return the letter that a tag character stands for."""
    low = ord(char) - TAGS[0]
    return f" {chr(low)}" if TAGS[0] <= ord(char) <= TAGS[1] and chr(low).isprintable() else ""


def _is_hidden(char: str, before: str) -> bool:
    if char in JOINERS:
        return before.isascii()
    if char.isascii():
        return not char.isprintable()
    code = ord(char)
    return (
        char in BLANK_LOOKING
        or unicodedata.category(char) in HIDDEN
        or any(first <= code <= last for first, last in VARIATIONS)
    )


def hidden_characters(text: str) -> list[str]:
    """Return the code points in a text that show nothing, as often as they are there; tabs and line ends are none."""
    if text.isprintable() and text.isascii():
        return []
    found = (char for before, char in zip(" " + text, text, strict=False) if _is_hidden(char, before))
    return [f"U+{ord(char):04X}" for char in found if char not in "\t\r\n"]


def mixed_scripts(text: str) -> list[str]:
    """Return the words in which letters of scripts that look alike are mixed, each once."""
    if text.isascii():
        return []
    words = dict.fromkeys(LETTERS.findall(text))
    return [word for word in words if not word.isascii() and len(_scripts(word)) > 1]


def _scripts(word: str) -> set[str]:
    names = (unicodedata.name(char, "").partition(" ")[0] for char in word)
    return {name for name in names if name in SCRIPTS}


def difference(old: str, new: str) -> tuple[Segment, ...]:
    """Return how a text became another, by words where few changed, else by lines; long unchanged passages are cut."""
    for before, after in (
        (WORD.findall(old), WORD.findall(new)),
        (old.splitlines(keepends=True), new.splitlines(keepends=True)),
    ):
        head = _common(zip(before, after, strict=False))
        tail = _common(zip(reversed(before[head:]), reversed(after[head:]), strict=False))
        if max(len(before), len(after)) - head - tail <= MAX_PARTS:
            return tuple(_segments(before, after, head, tail))
    return tuple(_replaced(old, new))


def _common(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _segments(before: list[str], after: list[str], head: int, tail: int) -> Iterator[Segment]:
    if head:
        yield Segment("same", visible(_cut("".join(before[:head]), at_start=True, at_end=False)))
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Segment("same", visible(_cut("".join(old[start:end]), at_start=False, at_end=False)))
            continue
        yield from _replaced("".join(old[start:end]), "".join(new[new_start:new_end]))
    if tail:
        yield Segment("same", visible(_cut("".join(before[-tail:]), at_start=False, at_end=True)))


def _replaced(old: str, new: str) -> Iterator[Segment]:
    """Yield a passage and what took its place, spelled out where they look alike."""
    show = _spelled if unicodedata.normalize("NFKC", old) == unicodedata.normalize("NFKC", new) else _with_blanks
    if old:
        yield Segment("removed", show(old))
    if new:
        yield Segment("added", show(new))


def _with_blanks(text: str) -> str:
    """Return a visible text in which each blank that is not U+0020 stands as its code point."""
    return "".join(
        _code_point(char) if char != " " and unicodedata.category(char) == "Zs" else char for char in visible(text)
    )


def _spelled(text: str) -> str:
    """Return a visible text in which each character that is not ASCII stands as its code point."""
    shown = (_shown(char, before, "\n") for before, char in zip(" " + text, text, strict=False))
    return "".join(_code_point(one) if len(one) == 1 and not one.isascii() else one for one in shown)


def _code_point(char: str) -> str:
    return f"⟨U+{ord(char):04X}{_meant(char)}⟩"


def _cut(text: str, *, at_start: bool, at_end: bool) -> str:
    """Return the ends of an unchanged passage that stand beside a change."""
    head = "" if at_start else text[:KEPT_CHARS]
    tail = "" if at_end else text[-KEPT_CHARS:]
    return text if len(text) <= len(head) + len(tail) + 1 else f"{head}…{tail}"
