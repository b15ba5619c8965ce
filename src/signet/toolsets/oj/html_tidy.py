"""HTML taken apart and written anew, in time linear in its length.

    html ──_TOKEN──▶ text, tag, text, tag …  ──tidy───▶ a small and well-formed part of HTML, or None beyond the limits
                                                         (what touches there and must not in Markdown is put apart)
                                             ──strip──▶ plain text, when nothing better can be had

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from .escaping import BACKSLASH, clean, decode
from .html_writer import BLOCK_TAGS, INLINE_TAGS, HtmlWriter

__all__ = ["BLOCKS", "MAX_TAGS", "NAMES", "RAW", "TAGS", "strip", "tidy"]

MAX_TAGS: Final = 8_000
"""The converter's time grows with the tags times the characters of a block; a long statement has 800."""

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

_RAW: Final = f"(?i:{'|'.join(RAW)})(?=[\\s/>])"
_ATTRIBUTES: Final = r"""[^=<>]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^=<>]*+)*+"""
_TOKEN: Final = re.compile(
    r"<(code|sup|sub)>(?P<inside>[^<]*+)</\1>"
    rf"|<(/?)(?!(?=[instINST]){_RAW})([a-zA-Z][^\s/<>]*+)({_ATTRIBUTES})(?P<end>>|(?=<)|\Z)"
    r"|<!--(?:-?>|.*?(?:--!?>|\Z))"
    rf"|<(?P<raw>{_RAW})[^>]*+(?:>|\Z).*?(?:</(?i:(?P=raw))(?=[\s/>])[^>]*+(?:>|\Z)|\Z)"
    r"|<[!?/][^>]*+(?P<other>>|\Z)",
    re.DOTALL,
)
"""The commonest elements when they hold text only (name, text); a tag (slash, name, attributes, end); a comment; an
element that vanishes; or some other declaration (end).

What is never finished ends at the next tag or where the text does: then it is text, and it was searched only once.
"""

_TOUCHING: Final = re.compile(
    r"<(?=[esd])(?<=[^\W_]<)(?P<opening>(?:em|strong)>(?:<(?:em|strong)>)*+|del>)(?=[^\w\s]|_)(?!</)"
    r"|</(?=[esd])(?:"
    r"(?:(?<![\w\s]</)|(?<=_</))(?P<closing>(?:em|strong|del)>(?:</(?:em|strong|del)>)*+)(?=[^\W_])"
    r"|(?P<between>em>(?=<strong>)|strong>(?=<em>))"
    rf"|(?<=[^\W_]</)(?P<name>em|strong)>{BACKSLASH}(?P<index>_(?:[a-zA-Z0-9]++|\([^()<>]*+\)(?![^\W_]))))"
)
"""Emphasis that would show its stars: a sign stands between them and a word that they touch, or they touch others.
And an index behind emphasis, which is better off within."""

_AFTER_BLOCK: Final = re.compile("(</(?:ul|ol|table)>)(?=<p>)")
_QUOTES: Final = re.compile("</blockquote>(?=(?:</?div>)*+<blockquote>)")
_END_NAME: Final = re.compile(r"</([a-zA-Z][^\s/>]*)")
_BREAKS: Final = {"br": "\n", "li": "\n", "tr": "\n", "td": " ", "th": " "}


def tidy(html: str) -> str | None:
    """Write a page's tags and texts anew, fit for the converter; None if they are too many."""
    html = clean(html)
    ended = cache(lambda: frozenset(_END_NAME.findall(html)))
    page = HtmlWriter()
    position = 0
    for number, token in enumerate(_TOKEN.finditer(html)):
        start, end = token.span()
        kind = token.lastgroup
        if html[end - 1] != ">" and kind in {"end", "other"}:
            continue
        if position < start:
            text = html[position:start]
            page.text(decode(text) if "&" in text else text)
        position = end
        if kind == "end":
            _take(page, token, html[end : end + 1], ended)
        elif kind == "inside":
            page.whole(token[1], decode(token[2]), html[end : end + 1])
        if page.full or number >= MAX_TAGS:
            return None
    if position < len(html):
        page.text(decode(html[position:]))
    markup = page.finish()
    return None if markup is None else _spaced(markup)


def _spaced(markup: str) -> str:
    """Put apart what the converter or a reader of Markdown would run together."""
    for name in ("strong", "em", "strong", "del"):
        markup = markup.replace(f"</{name}><{name}>", "")
    markup = markup.replace("</code><code>", "</code> <code>").replace("!<a ", f"{BACKSLASH}!<a ")
    markup = _TOUCHING.sub(_apart, markup)
    if "<blockquote>" in markup:
        markup = _QUOTES.sub("</blockquote><br>", _AFTER_BLOCK.sub(r"\1<span></span>", markup))
    return markup


def _apart(found: re.Match[str]) -> str:
    if found.lastgroup == "opening":
        return f" {found[0]}"
    return f"{found['index']}</{found['name']}>" if found.lastgroup == "index" else f"{found[0]} "


def _take(page: HtmlWriter, tag: re.Match[str], after: str, ended: Callable[[], frozenset[str]]) -> None:
    """Give a tag to the page, as what it is written as."""
    slash, name, attrs = tag.group(3, 4, 5)
    written = TAGS.get(name) or TAGS.get(name.lower())
    if written is None:
        if not (slash or name.lower() in NAMES or "=" in attrs or "/" in attrs or ":" in name or name in ended()):
            # `List<Integer>` is no element: nobody knows its name, and it is never ended.
            page.text(decode(tag[0]))
    elif slash:
        page.end(written, after)
    else:
        page.start(written, attrs)


def strip(html: str) -> str:
    """Leave out all tags and resolve all references; `<` and `>` that were text are written as references."""
    lines = re.sub(r"[^\S\n]+", " ", decode(_TOKEN.sub(_stripped, clean(html)))).split("\n")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in lines)).strip()
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _stripped(token: re.Match[str]) -> str:
    """Write a line break for a block, and what a tag is not."""
    if token.lastgroup in {"end", "other"} and token[0][-1] != ">":
        return token[0]
    name = (token[1] or token[4] or "").lower()
    if name in BLOCKS or name == "br":
        return _BREAKS.get(name, "\n\n")
    return ("^" if name == "sup" and not token[3] else "") + (token[2] or "")
