"""Values inside tags: attributes read, addresses made safe to show.

Pure, and linear in the tag's length.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from .escaping import decode

__all__ = ["attributes", "language", "safe_url", "span", "title"]

MAX_TAG_CHARS: Final = 16_384
"""A tag with more attributes than this is read without them."""

MAX_URL_CHARS: Final = 2_048
"""A longer address is left out."""

_UNSAFE: Final = re.compile(r"(?:javascript|vbscript|data|file|blob):", re.IGNORECASE)
_UNWRITTEN: Final = str.maketrans({" ": "%20", "<": "%3C", ">": "%3E", "\\": "%5C", "|": "%7C", "`": "%60"})
_BRACKETS: Final = str.maketrans({"(": "%28", ")": "%29"})
_BALANCED: Final = re.compile(r"[^()]*+(?:\([^()]*+\)[^()]*+)*+")
_ATTRIBUTE: Final = re.compile(
    r"""(?<![\w:-])([a-z][\w:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE
)
_LANGUAGE: Final = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]{1,30})(?:\s|$)")


def attributes(text: str) -> dict[str, str]:
    """Read a tag's attributes; of two with one name the first counts."""
    if not text or len(text) > MAX_TAG_CHARS:
        return {}
    found = [(one[1].lower(), one[2] or one[3] or one[4] or "") for one in _ATTRIBUTE.finditer(text)]
    return {name: decode(value) for name, value in reversed(found)}


def safe_url(address: str) -> str:
    """Give an address that may be shown; none if it runs something, holds the thing itself or is endless."""
    url = address.strip()
    if not url.isprintable():
        url = "".join(filter(str.isprintable, url))
    if len(url) > MAX_URL_CHARS or _UNSAFE.match(url.replace(" ", "")):
        return ""
    url = url.translate(_UNWRITTEN)
    return url if _BALANCED.fullmatch(url) else url.translate(_BRACKETS)


def language(given: dict[str, str]) -> str:
    """Write the attribute that tells the language of code, if its class does."""
    found = _LANGUAGE.search(given.get("class", ""))
    return f' class="language-{found[1]}"' if found else ""


def title(given: dict[str, str]) -> str:
    """Write the attribute that a reader sees on pointing at a link or an image."""
    line = " ".join(given.get("title", "").split())
    return f' title="{escape(line)}"' if line else ""


def span(text: str, most: int) -> int:
    """Read how many rows or columns a cell takes."""
    return min(max(int(text), 1), most) if re.fullmatch(r"[0-9]{1,9}", text) else 1
