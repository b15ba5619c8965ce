"""Equal names in one object of a JSON text: parsers disagree about which of them counts. Pure.

the text is what an encoder writes of its value ── no names are equal
otherwise, without escapes of characters ───────── the members of the text are counted, and those of the value
otherwise ──────────────────────────────────────── the text is read once more, with the names of each object
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw

from .wire import PIECE_BYTES, encode

if TYPE_CHECKING:
    from json import JSONDecoder

__all__ = ["has_equal_members", "has_equal_names", "has_equal_names_in_pieces"]

ESCAPE: Final = b"\\u"
END_OF_NAME: Final = b'":'
"""Stands once behind each name, and in strings only behind a backslash: there in the text and in its copy alike."""


MAX_READ_BYTES: Final = 1 << 20
"""The longest text that is read once more: no other thread has its turn meanwhile."""

_list: Final = msgspec.json.Decoder(list[Raw]).decode
_dict: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class _EqualNamesError(Exception):
    """An object has two members of one name."""


def has_equal_names(text: Raw | bytes, value: Any = UNSET) -> bool:
    """Return whether an object of a JSON text, at any level, has two members of one name; `value` is the text decoded.

    A text that cannot be read counts as one that has.
    """
    text = bytes(text)
    try:
        copy = encode(msgspec.json.decode(text) if value is UNSET else value)
        if copy == text:
            return False
        if ESCAPE in text:
            return _is_found(text)
        return msgspec.json.format(text, indent=-1).count(END_OF_NAME) != copy.count(END_OF_NAME)
    except (ValueError, RecursionError):
        return _is_found(text)


def has_equal_members(text: Raw | bytes) -> bool:
    """Return whether an object has two members of one name; what is in the members is not looked at."""
    text = bytes(text)
    try:
        if encode(_dict(text)) == text:
            return False
        text = msgspec.json.format(text, indent=-1)
        return encode(_dict(text)) != text and _is_found(text)
    except (ValueError, RecursionError):
        return True


def has_equal_names_in_pieces(text: Raw | bytes, value: Any = UNSET) -> bool:
    """Return the same of a text without white space around it; a large one is read in pieces, for other threads."""
    if len(text) <= PIECE_BYTES:
        return has_equal_names(text, value)
    first = bytes(memoryview(text)[:1])
    if first == b"[":
        return any(has_equal_names_in_pieces(part) for part in _list(text))
    if first == b"{":
        return has_equal_members(text) or any(has_equal_names_in_pieces(part) for part in _dict(text).values())
    return False


def _is_found(text: bytes) -> bool:
    if len(text) > MAX_READ_BYTES:
        return True
    try:
        _decoder().decode(text.decode())
    except (_EqualNamesError, ValueError, RecursionError):
        return True
    return False


@cache
def _decoder() -> JSONDecoder:
    """Return a decoder that makes no values, and stops at the first object with equal names."""
    from json import JSONDecoder

    return JSONDecoder(object_pairs_hook=_check_names, parse_float=len, parse_int=len, parse_constant=len)


def _check_names(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({name for name, _ in pairs}) < len(pairs):
        raise _EqualNamesError
