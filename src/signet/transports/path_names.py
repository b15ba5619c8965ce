"""Names of tools as parts of a path. Pure.

A name of letters, digits and `-._~` stands in a path as it is, and is compared as it stands there. Any other name is
percent-encoded, and decoded where it is read.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["escaped", "unescaped"]

PLAIN: Final = re.compile(r"[A-Za-z0-9._~-]*")


def escaped(name: str) -> str:
    """Return a name as it is written in a path."""
    if PLAIN.fullmatch(name):
        return name
    from urllib.parse import quote

    return quote(name, safe="")


def unescaped(part: str) -> str:
    """Return the name that a part of a path may spell, or the part itself where it spells none."""
    if "%" not in part:
        return part
    from urllib.parse import unquote_to_bytes

    try:
        name = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        return part
    return part if PLAIN.fullmatch(name) else name
