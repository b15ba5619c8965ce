"""A database: its rows in the order of their layers, read from a table of samples that says much in few lines.

An entry of a table is one row, or with `count` that many, one beside the other. `{n}` in its code and names counts from
`first`, `{code}` in its names is the code. An entry without a code is a heading; one with a code has what the table's
`defaults` say and it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from .periods import FREQUENCIES
from .series import Known, Number, SampleRow, SampleRule, SampleSeries

__all__ = ["LEVELS", "EndPeriod", "Pair", "Position", "SampleDatabase", "SampleTable", "read_rows"]

LEVELS: Final = 5
"""How deep a tree may go; a level that is not used is 0."""

Pair = tuple[str, str]
"""Japanese and English."""

Position = tuple[int, SampleSeries]
"""A series and the number of its row in its database, headings counted, from 1."""


class EndPeriod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far series go; what the metadata tell of it is the same unless it is told here."""

    end: str
    update: int
    told_end: str = ""
    told_update: str = ""


class SampleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The samples of one database as they are stored."""

    rows: list[dict[str, Any]]
    defaults: dict[str, Any] = {}
    ends: dict[str, EndPeriod] = {}


class SampleEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a table."""

    at: list[int]
    names: Pair
    code: str = ""
    every: str = ""
    start: str = ""
    until: EndPeriod | None = None
    units: Pair = ("", "")
    categories: Pair = ("", "")
    notes: Pair = ("", "")
    rule: SampleRule = SampleRule()
    known: dict[str, list[Number]] = {}
    count: int = 1
    first: int = 1


class SampleDatabase:
    """The rows of one database, found by code or by layer."""

    def __init__(self, code: str, rows: list[SampleRow]) -> None:
        self.code = code
        self.rows = tuple(sorted(rows, key=lambda row: row.layers))
        self._by_code = {row.code.upper(): row for row in self.rows if isinstance(row, SampleSeries)}

    def find(self, code: str) -> SampleSeries | None:
        """Give a series by its code in any case."""
        return self._by_code.get(code.upper())

    def under(self, layers: tuple[int | None, ...]) -> list[Position]:
        """Give the series whose first layers are these, None being any; headings are none."""
        return [
            (number, row)
            for number, row in enumerate(self.rows, 1)
            if isinstance(row, SampleSeries)
            and all(asked in (None, own) for asked, own in zip(layers, row.layers, strict=False))
        ]


def read_rows(table: SampleTable, ends: dict[str, EndPeriod]) -> list[SampleRow]:
    """Write out a table; `ends` are those of frequencies of which it says nothing itself."""
    known_ends = {**ends, **table.ends}
    rows: list[SampleRow] = []
    for line in table.rows:
        entry = msgspec.convert({**table.defaults, **line} if "code" in line else line, SampleEntry)
        rows += _written_out(entry, known_ends)
    return rows


def _written_out(entry: SampleEntry, ends: dict[str, EndPeriod]) -> Iterator[SampleRow]:
    parts = _parts(entry, ends) if entry.code else {}
    for step in range(entry.count):
        number, code = entry.first + step, entry.code.format(n=entry.first + step)
        at = (*entry.at[:-1], entry.at[-1] + step)
        japanese, english = (name.format(n=number, code=code) for name in entry.names)
        make = SampleSeries if entry.code else SampleRow
        yield make(
            layers=at + (0,) * (LEVELS - len(at)),
            names=(japanese, english),
            code=code,
            units=entry.units,
            categories=entry.categories,
            notes=entry.notes,
            **parts,
        )


def _parts(entry: SampleEntry, ends: dict[str, EndPeriod]) -> dict[str, Any]:
    """Give what a series has beyond a heading."""
    frequency = FREQUENCIES[entry.every]
    until = entry.until or ends[entry.every]
    known: Known = {}
    for label, values in entry.known.items():
        known |= dict(enumerate(values, frequency.index(label)))
    return {
        "every": frequency.name,
        "told": (entry.start, until.told_end or until.end, until.told_update or str(until.update)),
        "frequency": frequency,
        "start": frequency.index(entry.start),
        "end": frequency.index(until.end),
        "last_update": until.update,
        "rule": entry.rule,
        "known": known,
    }
