"""JSON with comments and trailing commas, as text: its tokens, its value, the places of its members. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

__all__ = ["Braces", "Member", "line_of", "newline_of", "parse_json", "read_braces", "tokens"]

MAX_DEPTH: Final = 200

TOKEN: Final = re.compile(
    r'(?P<space>[ \t\r\n]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\x00-\x1f]++|\\.)*+")'
    r'|(?P<mark>[{}\[\],:])|(?P<word>[^ \t\r\n{}\[\],:"/]+)|(?P<wrong>.)',
    re.DOTALL,
)

Token = tuple[str, int, int]


class Member(NamedTuple):
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
    members: list[Member]


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
        if kind == "wrong":
            what = "a string that does not end" if found[0] == '"' else f"{found[0]!r}, which is not JSON"
            raise ValueError(f"line {line_of(text, found.start())}: {what}")
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
    blanks, before, comma, depth = [], "", None, 0
    for kind, start, end in tokens(text):
        if kind == "comment":
            blanks.append((start, end))
            continue
        mark = text[start] if kind == "mark" else "value"
        if text[start:end] in {"NaN", "Infinity", "-Infinity"}:
            raise ValueError(f"line {line_of(text, start)}: {text[start:end]}, which is not JSON")
        if mark in "}]" and comma is not None:
            blanks.append(comma)
        comma = (start, end) if mark == "," and before in {"value", "}", "]"} else None
        depth += (mark in {"{", "["}) - (mark in {"}", "]"})
        if depth > MAX_DEPTH:
            raise ValueError(f"line {line_of(text, start)}: objects and lists in each other, deeper than {MAX_DEPTH}")
        before = mark
    return sorted(blanks)


def read_braces(text: str, place: int) -> Braces:
    """Return the object that opens at a place of a text that has been parsed."""
    members: list[Member] = []
    key: tuple[str, int] | None = None
    depth = opened = 0
    for kind, start, end in tokens(text, place):
        mark = text[start] if kind == "mark" else ""
        if mark in {"{", "["}:
            opened = start if depth == 1 else opened
            depth += 1
        elif mark in {"}", "]"}:
            depth -= 1
            if depth == 0:
                return Braces(place, start, members)
        if kind == "comment" or depth != 1 or mark in {":", "{", "["}:
            continue
        if mark == ",":
            members[-1] = members[-1]._replace(comma=start)
        elif key is None:
            key = json.loads(text[start:end]), start
        else:
            members.append(Member(*key, opened if mark else start, end))
            key = None
    raise ValueError(f"line {line_of(text, place)}: an object that does not end")
