"""Values as texts of a request: the styles of parameters, each as RFC 6570 has it, percent-encoded. Pure.

style           primitive   list            object          exploded list       exploded object
simple          5           3,4             R,1,G,2         3,4                 R=1,G=2
label           .5          .3,4            .R,1,G,2        .3.4                .R=1.G=2
matrix          ;id=5       ;id=3,4         ;id=R,1,G,2     ;id=3;id=4          ;R=1;G=2
form            id=5        id=3,4          id=R,1,G,2      id=3&id=4           R=1&G=2
spaceDelimited              id=3%204        id=R%201%20G…   id=3&id=4           R=1&G=2
pipeDelimited               id=3%7C4        id=R%7C1%7CG…   id=3&id=4           R=1&G=2
deepObject                  id[0]=3&id[1]=4                                     id[R]=1&id[G]=2
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from .plan import Style

__all__ = ["Quote", "path_text", "query_pairs", "quoted", "reserved", "text_of", "unquoted"]

Quote = Callable[[str], str]
SENT_RESERVED: Final = ":/?@!$'()*,;"
"""Those reserved characters that mean nothing in the value of a query: `&`, `=`, `+`, `#` and brackets stay encoded."""
MAX_DEPTH: Final = 20
DELIMITERS: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def quoted(text: str) -> str:
    """Return a text in which everything but letters, digits and `-._~` is percent-encoded."""
    from urllib.parse import quote

    return quote(text, safe="", errors="replace")


def reserved(text: str) -> str:
    """Return a text whose reserved characters stay, where they mean nothing in a query."""
    from urllib.parse import quote

    return quote(text, safe=SENT_RESERVED, errors="replace")


def unquoted(text: str) -> str:
    """Return a text as it is: headers are not percent-encoded."""
    return text


def text_of(value: Any) -> str:
    """Return a value as a text: true and false in words, whole numbers without a point, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - exact as an integer
        return str(int(value))
    return msgspec.json.encode(value).decode()


def path_text(name: str, value: Any, style: Style, quote: Quote = quoted, *, explode: bool) -> str:
    """Return the text of a parameter in a path or a header: simple, label or matrix."""
    prefix, between = {"label": (".", "."), "matrix": (";", ";")}.get(style, ("", ","))
    if style == "matrix":
        return _matrix(quote(name), value, quote, explode=explode)
    if isinstance(value, dict):
        pairs = [(quote(key), quote(text_of(one))) for key, one in value.items()]
        if explode:
            return prefix + between.join(f"{key}={text}" for key, text in pairs)
        return prefix + ",".join(part for pair in pairs for part in pair)
    if isinstance(value, list):
        return prefix + (between if explode else ",").join(quote(text_of(one)) for one in value)
    return prefix + quote(text_of(value))


def _matrix(name: str, value: Any, quote: Quote, *, explode: bool) -> str:
    if isinstance(value, dict):
        pairs = [(quote(key), quote(text_of(one))) for key, one in value.items()]
        if explode:
            return "".join(f";{key}={text}" if text else f";{key}" for key, text in pairs)
        return f";{name}=" + ",".join(part for pair in pairs for part in pair)
    texts = [quote(text_of(one)) for one in value] if isinstance(value, list) else [quote(text_of(value))]
    if explode and isinstance(value, list):
        return "".join(f";{name}={text}" if text else f";{name}" for text in texts)
    joined = ",".join(texts)
    return f";{name}={joined}" if joined else f";{name}"


def query_pairs(
    name: str, value: Any, style: Style, *, explode: bool, quote: Quote = quoted
) -> Iterator[tuple[str, str]]:
    """Yield the encoded names and values of a parameter in a query or a form."""
    if style == "deepObject":
        yield from _deep(quoted(name), value, quote, 0)
    elif isinstance(value, dict):
        pairs = [(quoted(key), quote(text_of(one))) for key, one in value.items()]
        if explode:
            yield from pairs
        elif pairs:
            yield quoted(name), DELIMITERS[style].join(part for pair in pairs for part in pair)
    elif isinstance(value, list):
        texts = [quote(text_of(one)) for one in value]
        if explode:
            yield from ((quoted(name), text) for text in texts)
        elif texts:
            yield quoted(name), DELIMITERS[style].join(texts)
    else:
        yield quoted(name), quote(text_of(value))


def _deep(name: str, value: Any, quote: Quote, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a value whose parts are named in brackets."""
    if depth < MAX_DEPTH and isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in parts:
            if one is not None:
                yield from _deep(f"{name}%5B{quoted(str(key))}%5D", one, quote, depth + 1)
    else:
        yield name, quote(text_of(value))
