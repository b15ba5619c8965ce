"""The databases with their rows, read from compact tables of samples.

The catalogue has the Bank's 50 databases, and the `RESERVED` ones, under names that the Bank does not use.

An entry of a table is one row, or `count` consecutive rows. `{n}` in its code and names counts from `first`, `{code}`
in its names is the code. An entry without a code is a heading; an entry with a code takes missing fields from the
table's `defaults`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any, Final

import msgspec

from .messages import refuse
from .series import FREQUENCIES, Number, SampleRow, SampleRule, SampleSeries

__all__ = ["FAILING", "LEVELS", "RESERVED", "SampleCatalogue", "SampleDatabase"]

FAILING: Final = {"FAIL500": "M181090S", "FAIL503": "M181091S"}
RESERVED: Final = {
    "TREE": "the manual's example of layers, series A to M",
    **{name: f"answers {message_id}" for name, message_id in FAILING.items()},
}
"""The databases that the Bank does not have, and the purpose of each."""

LEVELS: Final = 5
"""The number of layers; an unused layer is 0."""

Pair = tuple[str, str]
"""A text in Japanese and in English."""


class EndPeriod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last period and update of series, in data and in lists alike."""

    end: str
    update: int


class SampleEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a table."""

    at: list[int]
    names: Pair
    code: str = ""
    frequency: str = ""
    start: str = ""
    until: EndPeriod | None = None
    units: Pair = ("", "")
    categories: Pair = ("", "")
    notes: Pair = ("", "")
    rule: SampleRule = SampleRule()
    known: dict[str, list[Number]] = {}
    count: int = 1
    first: int = 1


class SampleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stored samples of one database."""

    rows: list[dict[str, Any]]
    defaults: dict[str, Any] = {}
    ends: dict[str, EndPeriod] = {}


class DatabaseIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names of the Bank's 50 databases in the order of its manual, and the default end periods."""

    ends: dict[str, EndPeriod]
    databases: dict[str, Pair]


class SampleDatabase:
    """The rows of one database, in the order of their layers."""

    def __init__(self, code: str, rows: Iterable[SampleRow]) -> None:
        self.code = code
        self.rows = tuple(sorted(rows, key=lambda row: row.layers))
        self._by_code = {row.code.upper(): row for row in self.rows if isinstance(row, SampleSeries)}

    def find(self, code: str) -> SampleSeries | None:
        """Return the series with this code in any case, or None."""
        return self._by_code.get(code.upper())

    def under(self, layers: tuple[int | None, ...]) -> list[tuple[int, SampleSeries]]:
        """Return the series below these layers, None being any, each with its row number counted from 1."""
        return [
            (number, row)
            for number, row in enumerate(self.rows, 1)
            if isinstance(row, SampleSeries)
            and all(wanted in (None, own) for wanted, own in zip(layers, row.layers, strict=False))
        ]


class SampleCatalogue:
    """All databases by name; each is read when it is first used."""

    def __init__(self) -> None:
        self._folder = files(__package__) / "samples"
        self._index = msgspec.json.decode((self._folder / "databases.json").read_bytes(), type=DatabaseIndex)
        self.names = self._index.databases
        self._databases: dict[str, SampleDatabase] = {}

    def find(self, name: str) -> SampleDatabase:
        """Return the database with this name in any case; raise Fault if there is none, or one that is to fail."""
        code = name.upper()
        if code in FAILING:
            raise refuse(FAILING[code])
        if code not in self.names and code not in RESERVED:
            raise refuse("M181005E")
        if code not in self._databases:
            table = msgspec.json.decode((self._folder / f"{code}.json").read_bytes(), type=SampleTable)
            self._databases[code] = SampleDatabase(code, _read_rows(table, self._index.ends))
        return self._databases[code]


def _read_rows(table: SampleTable, default_ends: dict[str, EndPeriod]) -> Iterator[SampleRow]:
    for fields in table.rows:
        entry = msgspec.convert({**table.defaults, **fields} if "code" in fields else fields, SampleEntry)
        yield from _expand(entry, {**default_ends, **table.ends})


def _expand(entry: SampleEntry, ends: dict[str, EndPeriod]) -> Iterator[SampleRow]:
    """Yield the rows of an entry."""
    series_fields = _series_fields(entry, ends) if entry.code else {}
    for step in range(entry.count):
        number, code = entry.first + step, entry.code.format(n=entry.first + step)
        layers = (*entry.at[:-1], entry.at[-1] + step)
        japanese, english = (name.format(n=number, code=code) for name in entry.names)
        make = SampleSeries if entry.code else SampleRow
        yield make(
            layers=layers + (0,) * (LEVELS - len(layers)),
            names=(japanese, english),
            code=code,
            units=entry.units,
            categories=entry.categories,
            notes=entry.notes,
            **series_fields,
        )


def _series_fields(entry: SampleEntry, ends: dict[str, EndPeriod]) -> dict[str, Any]:
    """Return the fields that a series has and a heading has not."""
    frequency = FREQUENCIES[entry.frequency]
    until = entry.until or ends[entry.frequency]
    known: dict[int, Number] = {}
    for label, values in entry.known.items():
        known |= dict(enumerate(values, frequency.index(label)))
    return {
        "frequency_name": frequency.name,
        "listed": (entry.start, until.end, str(until.update)),
        "frequency": frequency,
        "start": frequency.index(entry.start),
        "end": frequency.index(until.end),
        "last_update": until.update,
        "rule": entry.rule,
        "known": known,
    }
