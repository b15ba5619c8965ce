"""Two texts of a server compared word by word, and words of letters that look alike. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, Literal

import msgspec

from signet.system.text import code_point, visible

__all__ = ["Segment", "difference", "mixed_scripts"]

MAX_PARTS: Final = 500
"""The most words or lines that are compared between what both texts begin and end with."""
KEPT_CHARS: Final = 60
"""How much of an unchanged passage is shown at each side of a change."""
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
        code_point(char) if char != " " and unicodedata.category(char) == "Zs" else char for char in visible(text)
    )


def _spelled(text: str) -> str:
    """Return a visible text in which each character that is not ASCII stands as its code point."""
    return visible(text, in_ascii=True)


def _cut(text: str, *, at_start: bool, at_end: bool) -> str:
    """Return the ends of an unchanged passage that stand beside a change."""
    head = "" if at_start else text[:KEPT_CHARS]
    tail = "" if at_end else text[-KEPT_CHARS:]
    return text if len(text) <= len(head) + len(tail) + 1 else f"{head}…{tail}"
