"""Names as lenient parsers compare them: without regard to case, and up to the first U+0000. Pure.

Go's encoding/json, .NET, Jackson and others may read `Path` where a server declares `path`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ["equal_when_folded", "fold", "fold_all"]

BETWEEN: Final = "\x01"
MAX_CHARS: Final = 256
"""The longest name of other alphabets that is compared: to sort its marks takes the square of their number."""
DOTLESS: Final = "\u0131"
DOTTED: Final = "i\u0307"
"""The small i without a dot and, folded, the capital one with a dot: some parsers take both for an i."""


def fold(name: str) -> str:
    """Return what all names have in common that some parser takes for this one."""
    name = name.partition("\0")[0]
    return name.lower() if name.isascii() else _fold_any(name[:MAX_CHARS])


def fold_all(names: Collection[str], longest: int = MAX_CHARS) -> list[tuple[str, str]]:
    """Return names with their folded forms; those of other alphabets that have more than `longest` characters may lack.

    They are folded together: one by one, as many as a message may have would take ten times as long.
    """
    joined = BETWEEN.join(names)
    if joined.isascii() and "\0" not in joined:
        together = joined.lower().split(BETWEEN)
        if len(together) == len(names):
            return list(zip(names, together, strict=True))
    # A folded form has no fewer characters than its name.
    longest = min(longest, MAX_CHARS)
    short = [name for name in names if len(name) <= longest or _is_plain(name.partition("\0")[0], longest)]
    together = _fold_any(BETWEEN.join([name.partition("\0")[0] for name in short])).split(BETWEEN)
    if len(together) != len(short):
        return [(name, fold(name)) for name in short]
    return list(zip(short, together, strict=True))


def equal_when_folded(names: Collection[str]) -> tuple[str, str] | None:
    """Return two names that some parser takes for one, or None."""
    seen: dict[str, str] = {}
    for name, folded in fold_all(names):
        other = seen.setdefault(folded, name)
        if other is not name:
            return other, name
    return None


def _is_plain(name: str, longest: int) -> bool:
    return len(name) <= longest or name.isascii()


def _fold_any(text: str) -> str:
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFKD", text.replace(DOTLESS, "i")).upper().casefold().replace(DOTTED, "i")
