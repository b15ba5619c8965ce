"""HTML as it is read, and text as it is written: elements, tokens, attributes and references; escapes of Markdown.

Pure, and linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from importlib.resources import files
from typing import Final

from msgspec import json

__all__ = [
    "BLOCKS", "BLOCK_TAGS", "CELLS", "CLOSED_BY_END", "CLOSED_BY_START", "ENDS_HEADING", "HEADINGS", "LINES", "LISTS",
    "NAMES", "RAW", "ROWS", "TABLE_PARTS", "TAGS", "attributes", "clean", "decode", "escape_text", "feed",
    "heading", "indent", "language", "longest_run", "number", "paragraph", "target",
]  # fmt: skip

WINDOW_CHARS: Final = 65_536
"""How much of a page is searched for tags in one step, in which no other thread can run."""

TEXT_CHARS: Final = 32_768
"""The longest text that is passed on in one piece."""

MAX_REFERENCE_CHARS: Final = 40
"""The longest character reference has 33."""

MAX_TAG_CHARS: Final = 16_384
"""The attributes of a longer tag are ignored."""

MAX_URL_CHARS: Final = 2_048
"""A longer address is left out."""

HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
CELLS: Final = frozenset({"td", "th"})
LISTS: Final = frozenset({"ul", "ol"})
ROWS: Final = frozenset({"table", "thead", "tbody", "tr"})
TABLE_PARTS: Final = CELLS | ROWS - {"table"} | {"caption"}
_HOLDERS: Final = CELLS | LISTS | {"table", "li", "blockquote", "div", "details"}
BLOCK_TAGS: Final = _HOLDERS | TABLE_PARTS | HEADINGS.keys() | {"p", "pre", "summary", "hr"}
ENDS_HEADING: Final = LISTS | {"table", "p", "pre", "blockquote", "details", "hr"}
"""The blocks that end a heading with text which was not closed."""
INLINE_TAGS: Final = ("strong", "em", "del", "code", "sup", "sub", "a", "br", "img")
LINES: Final = TABLE_PARTS | HEADINGS.keys() | {"table", "summary"}
"""The elements that become one line: spaces separate the blocks in them."""

# rule: 2.T1.invisible
RAW: Final = ("script", "style", "noscript", "template", "iframe", "noembed", "noframes", "title")
"""The elements that vanish with their content, to the end of the page if they are not closed."""

_ALIASES: Final = json.decode((files(__package__) / "elements.json").read_bytes(), type=dict[str, list[str]])
"""The other names of elements, by the element as which they are written; by an empty name, those of which only the
content is."""
TAGS: Final = {name: name for name in (*BLOCK_TAGS, *INLINE_TAGS)} | {
    alias: tag for tag, aliases in _ALIASES.items() if tag for alias in aliases
}
"""The element as which each element is written; of all others only the content is kept."""

BLOCKS: Final = frozenset(name for name, tag in TAGS.items() if tag in BLOCK_TAGS) | set(RAW)
"""The elements that stand on lines of their own."""

NAMES: Final = frozenset(TAGS) | BLOCKS | set(_ALIASES[""])
"""The names that make `<name>` a tag instead of text."""

_P, _LI, _TABLE = (frozenset({tag}) for tag in ("p", "li", "table"))
CLOSED_BY_START: Final = {
    **dict.fromkeys(BLOCK_TAGS, (_P, _HOLDERS)),
    **dict.fromkeys(HEADINGS, (_P | HEADINGS.keys(), _HOLDERS)),
    **dict.fromkeys(("thead", "tbody"), (frozenset({"thead", "tbody", "caption"}), _TABLE)),
    **dict.fromkeys(CELLS, (CELLS | {"caption"}, _TABLE)),
    "caption": (_P, _TABLE),
    "tr": (frozenset({"tr", "caption"}), _TABLE),
    "li": (_LI, LISTS | CELLS),
}
"""The open elements that a start tag closes, and the open elements at which the search for them stops."""

CLOSED_BY_END: Final = {
    tag: (frozenset({tag}), _TABLE if tag in TABLE_PARTS else LISTS | CELLS if tag == "li" else CELLS)
    for tag in BLOCK_TAGS
} | {"table": (_TABLE, frozenset[str]())}
"""The same for an end tag."""

_RAW: Final = f"(?i:{'|'.join(RAW)})(?=[\\s/>])"
_TOKEN: Final = re.compile(
    r"<(?:(code|sup|sub)>([^<]*+)</\1>"
    rf"|(/?)(?!(?=[instINST]){_RAW})([a-zA-Z][^\s/<>]*+)"
    r"""([^=<>]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?[^=<>]*+)*)(>|(?=<)|\Z)"""
    r"|!--(?:-?>|.*?(?:--!?>|\Z))"
    rf"|(?P<raw>{_RAW})[^>]*+(?:>|\Z).*?(?:</(?i:(?P=raw))(?=[\s/>])[^>]*+(?:>|\Z)|\Z)"
    r"|([!?/][^>]*+)(>|\Z))",
    re.DOTALL,
)
"""The commonest elements when they hold text only (name, text); a tag (slash, name, attributes, end); a comment; an
element that vanishes (name); or another declaration (text, end).

A tag that is never finished ends at the next tag or at the end of the text: it is text, and was searched only once.
"""
_END_NAME: Final = re.compile(r"</([a-zA-Z][^\s/>]*)")
_ATTRIBUTE: Final = re.compile(
    r"""(?<![\w:-])([a-z][\w:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE
)
_LANGUAGE: Final = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]{1,30})(?:\s|$)")
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_HUGE_REFERENCE: Final = re.compile(r"&#(?:[0-9]{16,}|x[0-9a-f]{16,});?", re.IGNORECASE)
"""`unescape` makes an int of any number of digits, which Python refuses from 4,300 digits on."""

# Possessive quantifiers stand behind single characters only: before Python 3.11.5, groups under them match wrongly.
_MATH: Final = re.compile(r"(\$\$[^$]+\$\$|\$[^$]+\$|\\\((?:(?!\\[()]).)*\\\)|\\\[(?:(?!\\[\[\]]).)*\\\])", re.DOTALL)
_ANY_SIGN: Final = re.compile(r"[\\`*_~\[\]<$]")
_SIGN: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~]|\s*\Z)|`|\*+|_+|~~+|<(?=[a-zA-Z/!?]|\Z)|\](?=\()")
_SIGN_OR_BRACKET: Final = re.compile(rf"{_SIGN.pattern}|[\[\]]")
"""The characters that a reader of Markdown would take for markup; behind a last `<` a tag may be left out."""

_LINE_START: Final = re.compile(
    r"(\A\d{1,9}|(?<=\n\n)\d{1,9}|^1)(?=[.)](?:\s|\Z))"
    r"|^(?=[-+](?:\s|\Z)|-[- ]*$|\#{1,6}(?:\s|\Z)|>|\[(?:[^\[\]\\]|\\.)*\]:)"
    r"|(?<=\n)(?==+ *$)",
    re.MULTILINE,
)
"""The place for a backslash in a line that would be a list item, a rule, a heading, a quote or a definition."""

_BREAK: Final = re.compile(r" {0,3}\n\s*+")
_UNSAFE: Final = re.compile(r"(?:javascript|vbscript|data|file|blob):", re.IGNORECASE)
_URL_ESCAPES: Final = str.maketrans({" ": "%20", "<": "%3C", ">": "%3E", "\\": "%5C", "|": "%7C", "`": "%60"})
_URL_BRACKETS: Final = str.maketrans({"(": "%28", ")": "%29"})
_BALANCED_URL: Final = re.compile(r"[^()]*+(?:\([^()]*+\)[^()]*+|(?!))*+")
_BALANCED_LABEL: Final = re.compile(
    r"[^\[\]]*+(?:\[[^\[\]]*+(?:\[[^\[\]]*+\](?!\()[^\[\]]*+|(?!))*+\](?!\()[^\[\]]*+|(?!))*+"
)


def clean(text: str) -> str:
    """Replace null characters, and make each no-break space a space."""
    return text.replace("\0", "\ufffd").replace("\xa0", " ")


def decode(text: str) -> str:
    """Resolve character references once."""
    return clean(unescape(_HUGE_REFERENCE.sub("\ufffd", text))) if "&" in text else text


def attributes(text: str) -> dict[str, str]:
    """Return a tag's attributes; of two with the same name the first counts."""
    if not text or len(text) > MAX_TAG_CHARS:
        return {}
    pairs = [(match[1].lower(), match[2] or match[3] or match[4] or "") for match in _ATTRIBUTE.finditer(text)]
    return {name: decode(value) for name, value in reversed(pairs)}


def language(attrs: str) -> str:
    """Return the language of code, if the element's class names one."""
    match = _LANGUAGE.search(attributes(attrs).get("class", ""))
    return match[1] if match else ""


def number(text: str, most: int = 999_999_999) -> int:
    """Return a number of at most nine digits, or the largest that is allowed; 1 if the text is not a number."""
    return min(int(text), most) if _NUMBER.fullmatch(text) else 1


def feed(
    html: str,
    on_text: Callable[[str], None],
    on_start: Callable[[str, str], None],
    on_end: Callable[[str, str], None],
    on_literal: Callable[[str, str, str], None],
    *,
    is_full: Callable[[], bool] = bool,
) -> bool:
    """Pass on text, start tags with attributes, end tags and plain literals with the character behind them.

    Return False if the page does not end there: `is_full` says that no more is wanted.
    """
    ended = cache(lambda: frozenset({match[1] for match in _END_NAME.finditer(html)}))
    behind = 0
    for token in _tokens(html):
        if not _feed_text(html[behind : token.start()], on_text, is_full):
            return False
        behind = token.end()
        literal, inside, slash, name, attrs, end = token.group(1, 2, 3, 4, 5, 6)
        if name:
            tag = TAGS.get(name) or TAGS.get(name.lower())
            is_known = tag or slash or name.lower() in NAMES or re.search("[=/]", attrs) or ":" in name
            if not end or not (is_known or name in ended()):
                # `List<Integer>` is not an element: its name is unknown, and it never ends.
                _feed_text(f"<{slash}{name}{attrs}{end}", on_text, is_full)
            elif tag and slash:
                on_end(tag, html[behind : behind + 1])
            elif tag:
                on_start(tag, attrs)
        elif literal:
            on_literal(literal, decode(inside), html[behind : behind + 1])
        elif token[8] and not token[9]:
            _feed_text(f"<{token[8]}", on_text, is_full)
    return _feed_text(html[behind:], on_text, is_full)


def _tokens(html: str) -> Iterator[re.Match[str]]:
    """Yield the tokens of a page, which is searched in windows; a token that reaches over an edge is read again."""
    position = 0
    while position < len(html):
        edge = min(position + WINDOW_CHARS, len(html))
        for token in _TOKEN.finditer(html, position, edge):
            whole = _TOKEN.match(html, token.start()) if token.end() == edge < len(html) else None
            yield whole or token
            if whole is not None:
                position = whole.end()
                break
        else:
            # A token may begin with the last character.
            position = edge - 1 if html[edge - 1] == "<" and edge < len(html) else edge


def _feed_text(text: str, on_text: Callable[[str], None], is_full: Callable[[], bool]) -> bool:
    """Pass on the text between two tags, a long one in pieces; return False if no more is wanted."""
    while len(text) > TEXT_CHARS:
        # Between two words, and not within a character reference.
        edge = max(text.rfind(sign, TEXT_CHARS // 2, TEXT_CHARS) for sign in " \n")
        edge = edge if edge > 0 else max(text.rfind("&", TEXT_CHARS - MAX_REFERENCE_CHARS, TEXT_CHARS), 0) or TEXT_CHARS
        on_text(decode(text[:edge]))
        text = text[edge:]
        if is_full():
            return False
    if text:
        on_text(decode(text))
    return not is_full()


def escape_text(text: str, *, in_table: bool = False, in_label: bool = False) -> str:
    """Escape the characters of plain text that Markdown would misread; math stays as it is.

    The text of a link or an image is a label: its brackets need escapes unless they are pairs.
    """
    if not _ANY_SIGN.search(text):
        return text
    sign = _SIGN_OR_BRACKET if in_label and not _BALANCED_LABEL.fullmatch(text) else _SIGN
    parts = _MATH.split(text)
    parts[::2] = [sign.sub(_escaped, part) for part in parts[::2]]
    if in_table:
        # Readers disagree whether the pipe after two backslashes ends the cell; `\\Vert` is the same sign without one.
        parts[1::2] = [part.replace("\\|", "\\Vert ") for part in parts[1::2]]
    return "".join(parts)


def _escaped(match: re.Match[str]) -> str:
    """Put a backslash before a sign; stars and underscores that cannot mean emphasis stay plain."""
    sign = match[0]
    if sign[0] in "*_":
        # Two characters, since a space at the edge of the text is dropped where a mark is put around the text.
        before = match.string[max(match.start() - 2, 0) : match.start()]
        after = match.string[match.end() : match.end() + 2]
        is_alone = before[1:].isspace() and after[:-1].isspace()
        if is_alone or (sign[0] == "_" and before[-1:].isalnum() and after[:1].isalnum()):
            return sign
    return "".join(f"\\{character}" for character in sign)


def paragraph(text: str) -> str:
    """Write a paragraph: no line of it is taken for another block, and several line breaks are an empty line."""
    if "\n" in text:
        text = _BREAK.sub(lambda match: "  \n\n"[: 2 + match[0].count("\n")], text)
    return _LINE_START.sub(r"\1\\", text) if "\n" in text or not text[0].isalpha() else text


def heading(signs: str, text: str) -> str:
    """Write a heading; signs at its end, which a reader would drop, get a backslash."""
    return f"{signs} " + re.sub(r"(?<!\S)(?=#+\Z)", r"\\", text)


def indent(text: str, prefix: str) -> str:
    """Put a prefix before each line but the first; before an empty line it does not end with a space."""
    if "\n\n" not in text:
        return text.replace("\n", f"\n{prefix}")
    return re.sub(r"\n(?=\n)", f"\n{prefix.rstrip()}", re.sub(r"\n(?!\n)", f"\n{prefix}", text))


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text))) if "`" in text else 0


def target(address: str, title: str) -> str:
    """Write the address and the title of a link or an image; nothing for a script, inline data or a long address."""
    url = "".join(filter(str.isprintable, address.strip()))
    if not url or len(url) > MAX_URL_CHARS or _UNSAFE.match(url.replace(" ", "")):
        return ""
    url = url.translate(_URL_ESCAPES)
    url = url if _BALANCED_URL.fullmatch(url) else url.translate(_URL_BRACKETS)
    words = " ".join(title.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'({url} "{words}")' if words else f"({url})"
