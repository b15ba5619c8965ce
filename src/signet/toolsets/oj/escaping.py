"""Text between tags: references resolved, Markdown's signs escaped, powers and indices in plain characters.

Pure, and linear in the text's length. `BACKSLASH` stands for a backslash on the way through the converter.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Final

__all__ = [
    "BACKSLASH",
    "clean",
    "code_span",
    "decode",
    "is_sign",
    "label",
    "prose",
    "raised",
    "verbatim",
]

BACKSLASH: Final = "\ufdd0"
"""A character that no text may hold; the converter would double a real backslash."""

_HUGE_REFERENCE: Final = re.compile(r"&#(?:[0-9]{16,}|x[0-9a-f]{16,});?", re.IGNORECASE)
"""`unescape` makes an int of any number of digits, and Python refuses that from 4,300 on."""

_MATH: Final = re.compile(r"(\$\$[^$]+\$\$|\$[^$]+\$|\\\((?:(?!\\[()]).)*+\\\)|\\\[(?:(?!\\[\[\]]).)*+\\\])", re.DOTALL)
_SIGN_IN_LABEL: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\s*\Z)|`|\*+|_+|~~+|<(?=[a-zA-Z/!?])")
_SIGN: Final = re.compile(rf"{_SIGN_IN_LABEL.pattern}|\](?=\()|\A\s*\[(?=[^\[\]]*+\]:)")
"""What a reader of Markdown would take for more than a character."""

_ANY_SIGN: Final = re.compile(r"[\\`*_~\[\]<>&$]")
"""Text without one of these is the same in HTML and in Markdown."""

_ONE_TERM: Final = re.compile(r"[-+\u2212]?(?:[^\W_]|\.)+|[^\w\s]|\([^()]*\)")
"""A power or index that needs no brackets."""


def clean(text: str) -> str:
    """Leave out what no text should hold and what would be mistaken for something else on the way."""
    return text.replace("\0", "\ufffd").replace(BACKSLASH, "\ufffd").replace("\xa0", " ")


def decode(text: str) -> str:
    """Resolve character references once, and make each no-break space a space."""
    return clean(unescape(_HUGE_REFERENCE.sub("\ufffd", text))) if "&" in text else text


def prose(text: str, *, in_table: bool = False, in_label: bool = False) -> str:
    """Write decoded text as HTML whose signs Markdown will not misread; math stays as it is.

    The words of a link or an image are a label: the converter escapes its brackets.
    """
    if not _ANY_SIGN.search(text):
        return text
    sign = _SIGN_IN_LABEL if in_label else _SIGN
    parts = _MATH.split(text)
    parts[::2] = [sign.sub(_escaped, part) for part in parts[::2]]
    if in_table:
        # Readers disagree whether the pipe after two backslashes ends the cell; `\\Vert` is the same sign without one.
        parts[1::2] = [part.replace("\\|", "\\Vert ") for part in parts[1::2]]
    return verbatim("".join(parts).replace("\\", BACKSLASH))


def _escaped(found: re.Match[str]) -> str:
    """Put a backslash before a sign; stars and underscores that cannot mean emphasis stay plain."""
    sign = found[0]
    if sign[0] in "*_":
        # Two characters, since a space at the edge of the text is dropped where something is put around it.
        before, after = (
            found.string[max(found.start() - 2, 0) : found.start()],
            found.string[found.end() : found.end() + 2],
        )
        alone = before[1:].isspace() and after[:-1].isspace()
        if alone or (sign[0] == "_" and before[-1:].isalnum() and after[:1].isalnum()):
            return sign
    elif sign[-1] == "[":
        return f"{sign[:-1]}{BACKSLASH}["
    return "".join(BACKSLASH + one for one in sign)


def is_sign(character: str) -> bool:
    """Tell whether a character would hide emphasis that stands between it and a word: `**so:**and` shows its stars."""
    return bool(character) and character != "<" and not character.isalnum() and not character.isspace()


def verbatim(text: str) -> str:
    """Write text as HTML and change nothing about it."""
    return escape(text, quote=False)


def label(text: str) -> str:
    """Write the words of an image on one line, its brackets escaped."""
    return " ".join(text.split()).replace("[", f"{BACKSLASH}[").replace("]", f"{BACKSLASH}]")


def code_span(text: str) -> str:
    """Put text between as many backticks as it takes."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def raised(mark: str, text: str, after: str = "") -> str:
    """Write a power (`^`) or an index (`_`): `2^31`, `a_i`, `10^-5`, `i^th`, and in brackets all else: `2^(n+1)`.

    Brackets also part it from what follows directly: `a_(i)b`, since `a_ib` would read as one index.
    """
    if text.isalnum() and not after.isalnum():
        return mark + text
    body = " ".join(text.split())
    if not body:
        return ""
    runs_on = after.isascii() and after.isalnum() and body[-1].isalnum() and (after.isdigit() or body[-1].isalpha())
    return f"{mark}{body}" if _ONE_TERM.fullmatch(body) and not runs_on else f"{mark}({body})"
