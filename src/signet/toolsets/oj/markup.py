"""HTML taken apart: any text in, tags and texts out, in time linear in its length.

    html ──_TOKEN──▶ text, tag, text, tag …  ──tidy───▶ a small and well-formed part of HTML, or None beyond the limits
                                             ──strip──▶ plain text, when nothing better can be had

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .page import BLOCK_TAGS, INLINE_TAGS, Page
from .signs import decode

__all__ = ["BLOCKS", "NAMES", "RAW", "TAGS", "strip", "tidy"]

RAW: Final = ("script", "style", "noscript", "template", "iframe", "noembed", "noframes", "title")
"""Elements that vanish with all that they hold, to the end of the page if they are not closed."""

_SAME_AS: Final = {
    "div": "address article aside body center dd dl dt fieldset figcaption figure footer form header html main nav "
    "section",
    "ul": "dir menu",
    "tbody": "tfoot",
    "strong": "b",
    "em": "i cite dfn",
    "del": "s strike",
    "code": "kbd samp tt",
}
_UNWRITTEN: Final = (
    "abbr acronym audio bdi bdo big button col colgroup data embed font head input ins label link mark math meta meter "
    "object optgroup option output picture progress q rp rt ruby select small source span svg textarea time track u "
    "var video wbr"
)
TAGS: Final = {name: name for name in BLOCK_TAGS | INLINE_TAGS} | {
    name: tag for tag, names in _SAME_AS.items() for name in names.split()
}
"""What each element is written as; of all others only what they hold is kept."""

BLOCKS: Final = frozenset(name for name, tag in TAGS.items() if tag in BLOCK_TAGS) | set(RAW)
"""The elements that stand on lines of their own."""

NAMES: Final = frozenset(TAGS) | BLOCKS | set(_UNWRITTEN.split())
"""Every name that makes `<name>` a tag rather than text."""

_ATTRIBUTES: Final = r"""[^=>]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^=>]*+)*+"""
_TOKEN: Final = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rf"|<({'|'.join(RAW)})(?=[\s/>]){_ATTRIBUTES}>.*?(?:</\1(?=[\s/>])[^>]*+>|\Z)"
    rf"|<(/?)([a-z][^\s/>]*+)({_ATTRIBUTES})(>|\Z)"
    r"|<[!?/][^>]*+(>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""A comment, an element that vanishes, a tag (slash, name, attributes, end), or some other declaration (end).

Each of them may also end where the text does: what is never closed is searched once, not from each of its beginnings.
"""

_BREAKS: Final = {"br": "\n", "li": "\n", "tr": "\n", "td": " ", "th": " "}


def tidy(html: str) -> str | None:
    """Write a page's tags and texts anew, fit for the converter; None if they are too many."""
    page = Page()
    ended = NAMES.union(re.findall(r"</([a-z][^\s/>]*)", html.lower()))
    for text, tag in _tokens(html):
        if text:
            page.text(decode(text))
        if tag is not None:
            name, after = tag[3].lower(), html[tag.end() : tag.end() + 1]
            written = TAGS.get(name)
            if written is not None:
                page.end(written, after) if tag[2] else page.start(written, tag[4], after)
            elif name not in ended and name.rstrip(",").isalnum() and not re.search("[=/]", tag[4]):
                # `List<Integer>` is no element: nobody knows its name, and it is never ended.
                page.text(decode(tag[0]))
        if page.full:
            return None
    return page.finish()


def strip(html: str) -> str:
    """Leave out all tags and resolve all references; `<` and `>` that were text are written as references."""
    parts: list[str] = []
    for text, tag in _tokens(html):
        parts.append(text)
        if tag is not None:
            name = tag[3].lower()
            parts.append(_BREAKS.get(name, "\n\n") if name in BLOCKS or name == "br" else "")
            parts.append("^" if name == "sup" and not tag[2] else "")
    lines = re.sub(r"[^\S\n]+", " ", decode("".join(parts))).split("\n")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in lines)).strip()
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _tokens(html: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Give each text with the tag behind it; what vanishes counts as nothing, the last text has no tag."""
    position = 0
    for token in _TOKEN.finditer(html):
        if "" in (token[5], token[6]) and (token[3] or "").lower() not in RAW:
            break
        yield html[position : token.start()], token if token[5] else None
        position = token.end()
    yield html[position:], None
