"""JSON with comments and trailing commas, as text: its tokens, its value, the places of its members. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

__all__ = ["Braces", "JsonMember", "line_of", "newline_of", "parse_json", "read_braces", "tokens"]

MAX_DEPTH: Final = 200

STRING: Final = r'"(?:[^"\\\x00-\x1f]++|\\.|(?!))*+"'
COMMENT: Final = r"//[^\r\n]*+|/\*(?:[^*]++|\*(?!/)|(?!))*+\*/"
TOKEN: Final = re.compile(
    rf"(?P<space>[ \t\r\n]+)|(?P<comment>{COMMENT})|(?P<string>{STRING})|(?P<mark>[{{}}\[\],:])"
    r'|(?P<word>[^ \t\r\n{}\[\],:"/]+)|(?P<wrong>.)',
    re.DOTALL,
)
LANDMARK: Final = re.compile(
    rf"(?P<string>{STRING})|(?P<comment>{COMMENT})|(?P<open>[{{\[])|(?P<close>[}}\]])"
    rf"|(?P<trailing>,(?=(?:[ \t\r\n]++|{COMMENT}|(?!))*+[}}\]]))|(?P<wrong>[\"/]|NaN|-?Infinity)",
    re.DOTALL,
)
"""What decides how a file is read before `json` reads it; values and other commas are passed over."""
UP_TO_BRACKET: Final = re.compile(rf'(?:[^"\[\]{{}}/]++|{STRING}|{COMMENT}|(?!))*+[\[\]{{}}]', re.DOTALL)

Token = tuple[str, int, int]


class JsonMember(NamedTuple):
    """A member of an object, by its places in the text."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None = None
    """The place of the comma behind it."""


class Braces(NamedTuple):
    """An object, by its places in the text."""

    open: int
    close: int
    members: list[JsonMember]


class _Number(str):
    """A number as it is written; it may have any length."""

    __slots__ = ()


def newline_of(text: str) -> str:
    """Return the line end of a text, by its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def line_of(text: str, place: int) -> int:
    """Return the number of the line at a place."""
    return text.count("\n", 0, place) + 1


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens and comments of a text from a place on."""
    for found in TOKEN.finditer(text, start):
        kind = found.lastgroup or ""
        if kind != "space":
            yield kind, found.start(), found.end()


def parse_json(text: str) -> Any:
    """Return the object that a text holds, or None where it holds nothing but comments."""
    blanks = _blanks(text)
    pieces, end = [], 0
    for start, stop in blanks:
        pieces += [text[end:start], re.sub(r"[^\r\n]", " ", text[start:stop])]
        end = stop
    plain = "".join([*pieces, text[end:]])
    if not plain.strip(" \t\r\n"):
        return None
    try:
        value = json.loads(plain, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from None
    if not isinstance(value, dict):
        raise ValueError("line 1: the file holds no object")  # noqa: TRY004 - the text is wrong, not a type
    return value


def _blanks(text: str) -> list[tuple[int, int]]:
    """Return the places of comments and trailing commas; raise ValueError for what is not even a token."""
    blanks: list[tuple[int, int]] = []
    depth = end = 0
    is_empty = True
    for found in LANDMARK.finditer(text):
        kind, start = found.lastgroup, found.start()
        # Whether there is anything yet in the innermost collection.
        is_empty = is_empty and not text[end:start].strip(" \t\r\n")
        end = found.end()
        if kind == "wrong":
            what = "a string that does not end" if found[0] == '"' else f"{found[0]}, which is not JSON"
            raise ValueError(f"line {line_of(text, start)}: {what}")
        if kind == "comment" or (kind == "trailing" and not is_empty):
            blanks.append((start, end))
            continue
        depth += (kind == "open") - (kind == "close")
        if depth > MAX_DEPTH:
            raise ValueError(f"line {line_of(text, start)}: objects and lists in each other, deeper than {MAX_DEPTH}")
        is_empty = kind == "open"
    return blanks


def read_braces(text: str, place: int) -> Braces:
    """Return the object that opens at a place of a text that has been parsed."""
    members: list[JsonMember] = []
    key: tuple[str, int] | None = None
    end = place + 1
    while (found := TOKEN.match(text, end)) is not None:
        kind, start, end = found.lastgroup, found.start(), found.end()
        mark = found[0] if kind == "mark" else ""
        if mark == "}":
            return Braces(place, start, members)
        if kind in {"space", "comment"} or mark == ":":
            continue
        if mark == ",":
            members[-1] = members[-1]._replace(comma=start)
        elif key is None:
            key = json.loads(found[0]), start
        else:
            end = _end_of_collection(text, end) if mark else end
            members.append(JsonMember(*key, start, end))
            key = None
    raise ValueError(f"line {line_of(text, place)}: an object that does not end")


def _end_of_collection(text: str, place: int) -> int:
    """Return the place behind the bracket that closes the collection which has been opened before this place."""
    depth = 1
    while depth and (found := UP_TO_BRACKET.match(text, place)) is not None:
        place = found.end()
        depth += 1 if text[place - 1] in "{[" else -1
    return place
