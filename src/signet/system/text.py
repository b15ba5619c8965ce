"""Texts from outside as people, terminals and logs may get them: printable, visible, on one line, cut. Pure."""

from __future__ import annotations

from typing import Final

__all__ = ["REPLACEMENT", "SPACES", "code_point", "cut", "fit", "hidden_characters", "one_line", "printable", "visible"]

REPLACEMENT: Final = "�"
SPACES: Final = "\u00a0\u2002\u2003\u2009\u202f\u3000"
"""The blanks of French and Japanese texts and of formulas; not printable by Python's rule, and harmless."""
BIDI_CONTROLS: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""The controls of the writing direction, by which a text can be read as another."""

BLANK_LOOKING: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
"""Characters of other categories that show nothing."""
JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Characters that belong to emoji and to the scripts of Persia and India, behind a character that is not ASCII."""
VARIATIONS: Final = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
TAGS: Final = (0xE0000, 0xE007F)
HIDDEN: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))


def printable(text: str, *, keep: str = "", substitute: str | None = " ") -> str:
    """Substitute every character that could move a terminal's cursor, change its colours or reorder its text.

    The text may come from outside. Python calls white space other than the blank unprintable: `keep` names the
    characters that stay all the same, such as the line feed. Controls of the writing direction are always shown
    escaped, and without a substitute all characters are.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escaped(char, substitute) for char in text)


def _escaped(char: str, substitute: str | None) -> str:
    if substitute is not None and char not in BIDI_CONTROLS:
        return substitute
    # As JSON writes it: by its UTF-16 units.
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def one_line(text: str) -> str:
    """Return a text as words with one blank between them."""
    return " ".join(printable(text).split())


def cut(text: str, chars: int) -> str:
    """Return so many characters of a text at most, and an ellipsis where it had more."""
    return text if len(text) <= chars else f"{text[:chars]}…"


def fit(text: str, chars: int) -> str:
    """Return so many characters at most, the last of them an ellipsis where the text had more."""
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def visible(text: str, *, keep: str = "\n", in_ascii: bool = False) -> str:
    """Return a text with each character that shows nothing, or moves others, as its code point: ⟨U+200B⟩.

    In ASCII, every other character stands as its code point too.
    """
    if text.isprintable() and text.isascii():
        return text

    def shown(char: str, before: str) -> str:
        is_spelled = in_ascii and not char.isascii()
        return code_point(char) if is_spelled or (char not in keep and _is_hidden(char, before)) else char

    return "".join(shown(char, before) for before, char in zip(" " + text, text, strict=False))


def hidden_characters(text: str) -> list[str]:
    """Return the code points in a text that show nothing, as often as they are there; tabs and line ends are none."""
    if text.isprintable() and text.isascii():
        return []
    found = (char for before, char in zip(" " + text, text, strict=False) if _is_hidden(char, before))
    return [f"U+{ord(char):04X}" for char in found if char not in "\t\r\n"]


def code_point(char: str) -> str:
    """Return the code point of a character, with the letter that a tag character stands for."""
    low = ord(char) - TAGS[0]
    meant = f" {chr(low)}" if TAGS[0] <= ord(char) <= TAGS[1] and chr(low).isprintable() else ""
    return f"⟨U+{ord(char):04X}{meant}⟩"


def _is_hidden(char: str, before: str) -> bool:
    if char in JOINERS:
        return before.isascii()
    if char.isascii():
        return not char.isprintable()
    from unicodedata import category

    code = ord(char)
    is_variation = any(first <= code <= last for first, last in VARIATIONS)
    return char in BLANK_LOOKING or category(char) in HIDDEN or is_variation
