"""Single values of the Bank's answers, and the rows that are made of them, whichever format they came in.

Pure. What is read here is text or nothing; what comes out is trimmed, with nothing in place of blanks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from msgspec import Raw

from .faults import undecodable
from .models import CodeParameter, LayerParameter, MetadataEntry, Series
from .validation import WHITE, unsigned

__all__ = ["MAX_ROWS", "MORE_ROWS", "Fields", "as_entry", "as_parameter", "as_series", "clean", "number"]

Fields = Mapping[str, str | None]
"""Texts by their names, in whatever case the names came."""

P = TypeVar("P", CodeParameter, LayerParameter)

MAX_ROWS: Final = 200_000
"""More than the largest database has series."""
MORE_ROWS: Final = f"it has more than the {MAX_ROWS:,} rows that are read"

LAYERS: Final = frozenset({"layer1", "layer2", "layer3", "layer4", "layer5"})
SERIES_FIELDS: Final = tuple(name for name in Series.__struct_fields__ if name not in {"points", "extras"})
ENTRY_FIELDS: Final = tuple(name for name in MetadataEntry.__struct_fields__ if name != "extras")
ECHOES: Final = {"start_date": "STARTDATE", "end_date": "ENDDATE", "start_position": "STARTPOSITION"}
"""The Bank's names of parameters where they are not ours in upper case."""


def clean(text: str | None) -> str | None:
    """Trim a text; a blank one is none."""
    return (text.strip(WHITE) or None) if text else None


def number(name: str, text: str | None) -> int | None:
    """Read a number of at most 32 bits; a blank and the word null are none.

    Raises:
        Fault: it is something else.
    """
    text = clean(text)
    if text is None or text.lower() == "null":
        return None
    found = unsigned(text)
    if found is None:
        message = f"{name} is {text[:50]!r}, which is no number"
        raise undecodable(message)
    return found


def as_parameter(shape: type[P], given: Fields) -> P:
    """Read what the Bank understood; what has no field of its own and is not blank stands among the extras."""
    told = {name.upper(): value for name, text in given.items() if (value := clean(text)) is not None}
    known: dict[str, str | int | None] = {}
    for field in shape.__struct_fields__:
        if field == "extras":
            continue
        name = ECHOES.get(field, field.upper())
        text = told.pop(name, None)
        counted = field == "start_position" or (field in LAYERS and text != "*")
        known[field] = number(name, text) if counted else text
    return shape(**known, extras=told)  # type: ignore[arg-type]


def as_series(fields: Fields, points: bytes | bytearray) -> Series:
    """Make a series of its attributes and of its points, which are JSON already.

    Raises:
        Fault: it has no code.
    """
    known, extras = _sorted_out(fields, SERIES_FIELDS)
    if known["series_code"] is None:
        raise undecodable("a series has no SERIES_CODE")
    return Series(**known, points=Raw(points), extras=extras)  # type: ignore[arg-type]


def as_entry(fields: Fields) -> MetadataEntry:
    """Make a row of a database's tree.

    Raises:
        Fault: one of its layers is no number.
    """
    known, extras = _sorted_out(fields, ENTRY_FIELDS)
    layers = {name: number(name.upper(), known.pop(name)) for name in sorted(LAYERS)}
    return MetadataEntry(**known, **layers, extras=extras)  # type: ignore[arg-type]


def _sorted_out(fields: Fields, names: tuple[str, ...]) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Part what has a field of its own from what has none; the latter keeps its name as it came."""
    known: dict[str, str | None] = dict.fromkeys(names)
    extras: dict[str, str | None] = {}
    for name, text in fields.items():
        field = name.lower()
        if field in known:
            known[field] = clean(text)
        else:
            extras[name] = clean(text)
    return known, extras
