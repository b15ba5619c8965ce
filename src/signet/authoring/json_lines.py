"""The line of a place in JSON text, for messages about files that people edit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["line_of"]

BLANKS: Final = " \t\r\n"


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Return the line of the member or item at a path in valid JSON, or of the last part of the path that exists."""
    from json import JSONDecoder

    decode = JSONDecoder().raw_decode
    at = found = _skip(text, 0)
    for step in path:
        opening, number = text[at], 0
        at = _skip(text, at + 1)
        while text[at] not in "]}":
            begin, key = at, number
            if opening == "{":
                key, at = decode(text, at)
                at = _skip(text, _skip(text, at) + 1)
            if key == step:
                found = begin
                break
            _, at = decode(text, at)
            at = _skip(text, at)
            at = _skip(text, at + 1) if text[at] == "," else at
            number += 1
        else:
            break
        if text[at] not in "[{":
            break
    return text.count("\n", 0, found) + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANKS:
        at += 1
    return at
