"""Values of the Bank's responses in either format: text fields, the rows made of them, and observations.

    [202401,202402]  [11.50,null]  ──▶  [{"survey_date":"202401","value":"11.50"},{"survey_date":"202402","value":null}]

Pure. Fields are trimmed, and blank fields are None. Observations are written as JSON while they are read: no point
becomes a Python value, a number keeps its digits, and a series of 60,000 points takes three times the memory of the
Bank's text instead of ten times. Arrays are processed in pieces, so that no step holds the interpreter for long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from .faults import undecodable
from .models import MAX_RESULT_BYTES, CodeParameter, LayerParameter, MetadataEntry, Series
from .outline import checked
from .validation import BANK_NAMES, WHITE, unsigned

__all__ = [
    "NO_POINTS",
    "Fields",
    "append_point",
    "as_entry",
    "as_parameter",
    "as_series",
    "clean",
    "close_points",
    "number",
    "points_from_arrays",
    "text_of",
]

Fields = Mapping[str, str | None]
"""Texts by name; the case of a name is the Bank's."""

P = TypeVar("P", CodeParameter, LayerParameter)

LAYERS: Final = frozenset({"layer1", "layer2", "layer3", "layer4", "layer5"})
NUMBERS: Final = frozenset({"STATUS", "NEXTPOSITION", "STARTPOSITION", *map(str.upper, LAYERS)})
"""The fields that are numbers: one that cannot be read is not passed over."""
OPENINGS: Final = frozenset({b"[", b"{"})
SERIES_FIELDS: Final = tuple(name for name in Series.__struct_fields__ if name not in {"points", "extras"})
ENTRY_FIELDS: Final = tuple(name for name in MetadataEntry.__struct_fields__ if name != "extras")

NO_POINTS: Final = b"[]"
BATCH: Final = 512
PIECE_BYTES: Final = 8_192
QUOTE: Final = b'"'
BLANKS: Final = b" \t\r\n"
NESTED: Final = "a value is nested where a plain one should be"
NO_DATE: Final = "a date is null"
UNEQUAL: Final = "a series has not as many values as dates"
MAX_TEXT_BYTES: Final = MAX_RESULT_BYTES
"""A longer value would not fit into a result."""
TOO_LONG: Final = f"a value has more than {MAX_TEXT_BYTES:,} bytes"
TOKEN: Final = re.compile(
    rb'"[^"\\]{0,%d}+(?:\\.[^"\\]{0,%d}+){0,4096}"|[^\s,"]++|"' % (MAX_TEXT_BYTES, MAX_TEXT_BYTES)
)
"""A scalar, the first character of a nested value, or the quote of a string that is too long; the array is JSON."""

_encode: Final = msgspec.json.Encoder().encode
_decode_text: Final = msgspec.json.Decoder(str).decode


def clean(text: str | None) -> str | None:
    """Return a text trimmed, or None if it is blank."""
    return (text.strip(WHITE) or None) if text else None


def number(name: str, text: str | None) -> int | None:
    """Parse an unsigned integer of 32 bits, None for a blank text or the word null; raise Fault for other text."""
    text = clean(text)
    if text is None or text.lower() == "null":
        return None
    value = unsigned(text)
    if value is None:
        raise undecodable(f"{name} is {text[:50]!r}, which is no number")
    return value


def as_parameter(shape: type[P], fields: Fields) -> P:
    """Return the query as the Bank understood it; a field that is unknown is kept as it is among the extras."""
    texts = {name.upper(): text for name, text in fields.items() if text is not None}
    known: dict[str, Any] = {}
    for field in shape.__struct_fields__:
        if field == "extras":
            continue
        name = BANK_NAMES.get(field, field.upper())
        text = clean(texts.pop(name, None))
        is_number = field == "start_position" or (field in LAYERS and text != "*")
        known[field] = number(name, text) if is_number else text
    return shape(**known, extras=texts)


def as_series(fields: Fields, points: bytes | bytearray) -> Series:
    """Return a series with these attributes and points, which are JSON; raise Fault if it has no code."""
    known, extras = _split_known(fields, SERIES_FIELDS)
    if known["series_code"] is None:
        raise undecodable("a series has no SERIES_CODE")
    return Series(**known, points=Raw(points), extras=extras)


def as_entry(fields: Fields) -> MetadataEntry:
    """Return a row of a database's tree; raise Fault if one of its layers is not a number."""
    known, extras = _split_known(fields, ENTRY_FIELDS)
    layers: dict[str, Any] = {name: number(name.upper(), known.pop(name)) for name in sorted(LAYERS)}
    return MetadataEntry(**known, **layers, extras=extras)


def _split_known(fields: Fields, names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Return the fields with these names, trimmed, and the others as they are, under the Bank's spelling."""
    known: dict[str, Any] = dict.fromkeys(names)
    extras: dict[str, str | None] = {}
    for name, text in fields.items():
        field = name.lower()
        if field in known:
            known[field] = clean(text)
        else:
            extras[name] = text
    return known, extras


def text_of(raw: Raw | bytes | bytearray | None, name: str = "") -> str | None:
    """Return a JSON scalar as text: the characters of a string, the digits of a number, None for null and absence.

    An array or an object counts as absent, unless `name` is that of a number.

    Raises:
        Fault: the value is too long, or a number is an array or an object.
        ValueError: the string is not Unicode text.
    """
    if raw is None:
        return None
    token = bytes(raw)
    if token[:1] not in OPENINGS:
        return _scalar(token)
    if name.upper() in NUMBERS:
        raise undecodable(NESTED)
    return None


def _scalar(token: bytes) -> str | None:
    if len(token) > MAX_TEXT_BYTES and token[:1] not in OPENINGS:
        raise undecodable(TOO_LONG)
    if token == b'""':  # rule: @_scalar
        return ""
    if token == b"null":
        return None
    if token[:1] == b'"':
        return checked(_decode_text, token)
    if token[:1] in OPENINGS:
        raise undecodable(NESTED)
    return token.decode()


def points_from_arrays(dates: Raw, values: Raw) -> bytes | bytearray:
    """Return the observations of a series, given as two JSON arrays.

    Raises:
        Fault: they are not arrays of scalars, have different lengths, or a date is null.
    """
    days, figures = bytes(dates), bytes(values)
    if days[:1] != b"[" or figures[:1] != b"[":
        raise undecodable("SURVEY_DATES and VALUES must be arrays")
    if b'"' in days or b'"' in figures:
        return _joined(_pairs_of_scalars(days, figures))
    days, figures = days.translate(None, BLANKS), figures.translate(None, BLANKS)
    # Each array has one bracket of its own.
    if b"{" in days or b"{" in figures or days.count(b"[") > 1 or figures.count(b"[") > 1:
        raise undecodable(NESTED)
    # null is the only scalar without quotes that has this letter.
    if b"n" in days:
        raise undecodable(NO_DATE)
    if days.count(b",") != figures.count(b",") or (days == NO_POINTS) != (figures == NO_POINTS):
        raise undecodable(UNEQUAL)
    return _joined(_pairs_of_numbers(days, figures))


def append_point(points: bytearray, date: str, value: str | None) -> None:
    """Append an observation to an array, which `close_points` ends."""
    points += b',{"survey_date":%b,"value":%b}' % (_encode(date), _encode(value))


def close_points(points: bytearray) -> bytes | bytearray:
    """End an array of observations that begins with a comma instead of a bracket."""
    if not points:  # rule: @close_points
        return NO_POINTS
    points[:1] = b"["
    points += b"]"
    return points


def _joined(objects: Iterator[bytes]) -> bytes | bytearray:
    points = bytearray()
    while batch := b",".join(islice(objects, BATCH)):
        points += b","
        points += batch
    return close_points(points)


def _pairs_of_numbers(dates: bytes, values: bytes) -> Iterator[bytes]:
    """Return observations whose text needs no escaping."""
    return (
        b'{"survey_date":"%b","value":"%b"}' % (date, value)
        if value != b"null"  # rule: 3.output.values
        else b'{"survey_date":"%b","value":null}' % date
        for date, value in zip(_items(dates), _items(values), strict=True)
    )


def _items(array: bytes) -> Iterator[bytes]:
    """Split an array of numbers at its commas, a piece at a time."""
    start, last = 1, len(array) - 1
    while start < last:
        end = array.find(b",", start + PIECE_BYTES)
        end = last if end < 0 else end  # rule: @_items
        yield from array[start:end].split(b",")
        start = end + 1


def _pairs_of_scalars(dates: bytes, values: bytes) -> Iterator[bytes]:
    """Return observations of scalars of any kind."""
    for date, value in zip_longest(_tokens(dates), _tokens(values), fillvalue=b""):
        if not date or not value:
            raise undecodable(UNEQUAL)
        if date == b"null":
            raise undecodable(NO_DATE)
        if QUOTE in (date, value):
            raise undecodable(TOO_LONG)
        yield b'{"survey_date":%b,"value":%b}' % (_encode(_scalar(date)), _encode(_scalar(value)))


def _tokens(array: bytes) -> Iterator[bytes]:
    return (match[0] for match in TOKEN.finditer(array, 1, len(array) - 1))
