"""The index of one database: an SQLite file with its series, its headings, and a full-text table of trigrams.

    rows of the list ── write_store ──▶ FM08.sqlite3 ── SeriesStore ──▶ hits, series by code, codes alike

The full-text table keeps only which trigram stands in which row, which makes it small; what is found by it is compared
with the text itself. Words of two characters have no trigram: they are looked for in the texts alone. Call it in a
thread: SQLite waits for the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, Final

from msgspec import Struct

from signet.toolsets.boj.models import MetadataEntry
from signet.toolsets.boj.periods import frequency_code

from .words import SearchQuery, fold

__all__ = ["IndexedSeries", "ListFacts", "SeriesStore", "WordFilter", "check_sqlite", "write_store"]

FORMAT: Final = 1
"""The version of the tables; a file of another version is made anew."""
TRIGRAM: Final = 3
MIN_ALIKE: Final = 2
"""The fewest characters that codes share which are alike."""
MAX_CODES_ALIKE: Final = 500
"""The most codes that one range gives."""
ENOUGH_ALIKE: Final = 50
"""Once there are so many codes that begin alike, those that share less are not looked at."""
MAX_CODE_CHARS: Final = 40
"""The limit of a code that is compared: no code of the Bank has so many characters."""
RECENT_YEARS: Final = 2
"""A series that ended longer ago, seen from its list, is no longer updated."""

TABLES: Final = """
CREATE TABLE facts (format INTEGER, db TEXT, made_at TEXT, built_s REAL, series INTEGER);
CREATE TABLE headings (layers TEXT PRIMARY KEY, name TEXT, name_j TEXT) WITHOUT ROWID;
CREATE TABLE series (
  id INTEGER PRIMARY KEY, code TEXT, name TEXT, name_j TEXT, unit TEXT, unit_j TEXT, frequency TEXT, category TEXT,
  start TEXT, "end" TEXT, updated TEXT, layers TEXT, current INTEGER, name_chars INTEGER, text TEXT
);
"""
TEXTS: Final = """
CREATE VIRTUAL TABLE texts USING fts5(
  text, content='series', content_rowid='id', tokenize='trigram case_sensitive 1', detail='none', columnsize=0
)
"""
NO_SQLITE: Final = (
    "Python's SQLite ({version}) has no full-text search by trigrams: the index of series needs SQLite 3.34 or newer "
    "with FTS5"
)


class ListFacts(Struct, frozen=True):
    """What a store says of itself."""

    db: str
    made_at: str
    """When the Bank made the list."""
    built_s: float
    """When the store was built, in seconds since 1970."""
    series: int


class IndexedSeries(Struct, frozen=True):
    """A series as the index has it."""

    db: str
    code: str
    name: str
    name_j: str
    unit: str
    unit_j: str
    frequency: str
    category: str
    start: str
    end: str
    updated: str
    layers: list[int]
    path: list[str]
    """The headings above it, in English."""
    path_j: list[str]
    current: bool
    """Whether it is still updated."""
    score: float = 0.0


class WordFilter(Struct, frozen=True):
    """A search within one database."""

    query: SearchQuery
    in_database: frozenset[str]
    """The words that the database's own names have: all of its series match them."""
    frequency: str | None = None
    some: bool = False
    """Whether a part of the words is enough."""


def check_sqlite() -> str:
    """Return a sentence if this SQLite cannot hold an index, else nothing."""
    try:
        with sqlite3.connect(":memory:") as memory:
            memory.execute("CREATE TABLE series (id INTEGER PRIMARY KEY, text TEXT)")
            memory.execute(TEXTS)
    except sqlite3.Error:
        return NO_SQLITE.format(version=sqlite3.sqlite_version)
    finally:
        memory.close()
    return ""


def write_store(path: str, facts: ListFacts, rows: Iterable[MetadataEntry]) -> sqlite3.Connection:
    """Write a store into a new file, or into memory, and return its connection; the caller moves the file.

    Raises:
        sqlite3.Error: the disk is full, or fails.
    """
    store = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    try:
        store.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;" + TABLES)
        store.execute(TEXTS)
        writer = _Rows(store, facts.made_at)
        columns = f"({', '.join('?' * 15)})"
        store.executemany(f"INSERT INTO series VALUES {columns}", writer.series(rows))
        store.execute("INSERT INTO texts(rowid, text) SELECT id, text FROM series")
        store.execute("CREATE INDEX codes ON series(code)")
        values = (FORMAT, facts.db, facts.made_at, facts.built_s, writer.count)
        store.execute("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", values)
        store.execute("COMMIT")
    except BaseException:
        store.close()
        raise
    return store


class _Rows:
    """Turns the rows of a list into rows of the tables; a heading stands before the series under it."""

    def __init__(self, store: sqlite3.Connection, made_at: str) -> None:
        self.count = 0
        self._store = store
        year = made_at[:4]
        self._recent = str(int(year) - RECENT_YEARS) if year.isdecimal() else ""
        self._headings: dict[tuple[int, ...], str] = {}

    def series(self, rows: Iterable[MetadataEntry]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of series, and write the headings."""
        for row in rows:
            layers = tuple(layer or 0 for layer in (row.layer1, row.layer2, row.layer3, row.layer4, row.layer5))
            if not row.series_code:
                self._heading(layers, row)
                continue
            self.count += 1
            yield self._values(layers, row)

    def _heading(self, layers: tuple[int, ...], row: MetadataEntry) -> None:
        names = (row.name_of_time_series or "", row.name_of_time_series_j or "")
        place = tuple(layer for layer in layers if layer)
        self._headings[place] = "\n".join(map(fold, names))
        text = ",".join(map(str, place))
        self._store.execute("INSERT OR REPLACE INTO headings VALUES (?, ?, ?)", (text, *names))

    def _values(self, layers: tuple[int, ...], row: MetadataEntry) -> tuple[Any, ...]:
        code, name, name_j = row.series_code or "", row.name_of_time_series or "", row.name_of_time_series_j or ""
        names = f"{fold(name)}\n{fold(name_j)}"
        above = [self._headings.get(layers[:depth], "") for depth in range(1, len(layers))]
        texts = (names, code.casefold(), fold(row.category or ""), fold(row.category_j or ""), *above)
        text = "\n".join(text for text in dict.fromkeys(texts) if text)
        place = ",".join(str(layer) for layer in layers if layer)
        end = row.end_of_the_time_series or ""
        try:
            frequency = frequency_code(row.frequency)
        except ValueError:
            frequency = row.frequency or ""
        return (
            self.count, code, name, name_j, row.unit or "", row.unit_j or "", frequency, row.category or "",
            row.start_of_the_time_series or "", end, row.last_update or "", place, end >= self._recent, len(names),
            text,
        )  # fmt: skip


class SeriesStore:
    """An open store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take a connection over.

        Raises:
            sqlite3.Error: it is no store, or one of another version.
        """
        self._connection = connection
        self._lock = Lock()
        version, *facts = self._all("SELECT format, db, made_at, built_s, series FROM facts")[0]
        if version != FORMAT:
            raise sqlite3.DatabaseError("the store is of another version")
        self.facts = ListFacts(*facts)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def search(self, words: WordFilter, limit: int) -> tuple[int, list[IndexedSeries]]:
        """Return the number of series that match, and the best of them."""
        where, values = _condition(words)
        (total,) = self._all(f"SELECT count(*) FROM {where}", values)[0]
        if not total:
            return 0, []
        score, scored = _score(words)
        order = "ORDER BY score DESC, s.id LIMIT ?"
        rows = self._all(f"SELECT s.*, {score} AS score FROM {where} {order}", [*scored, *values, limit])
        return total, [self._series(row) for row in rows]

    def find(self, code: str) -> IndexedSeries | None:
        """Return the series with a code, in any case."""
        rows = self._all("SELECT *, 0 FROM series WHERE code IN (?, ?) LIMIT 1", (code, code.upper()))
        return self._series(rows[0]) if rows else None

    def codes_like(self, code: str) -> list[str]:
        """Return codes of about the same length: all but one place alike, or with the longest common beginnings."""
        if not MIN_ALIKE <= len(code) <= MAX_CODE_CHARS:
            return []
        found: dict[str, None] = {}
        for place in range(len(code) - MIN_ALIKE):
            # A character that is wrong, missing, too many or in its neighbour's place leaves both sides as they are.
            found |= dict.fromkeys(self._codes(len(code), code[:place], code[place + 2 :]))
        for size in range(len(code), MIN_ALIKE - 1, -1):
            if len(found) >= ENOUGH_ALIKE:
                break
            found |= dict.fromkeys(self._codes(len(code), code[:size], ""))
        return list(found)

    def _codes(self, length: int, first: str, last: str) -> list[str]:
        """Return codes of about a length that begin and end with some characters."""
        where = "code >= ? AND code < ? AND abs(length(code) - ?) <= 2 AND substr(code, ?) = ?"
        # Without an end, the part from the place after the last character on is compared.
        values = (first, first + "\U0010ffff", length, -len(last) or length + MIN_ALIKE + 1, last)
        return [code for (code,) in self._all(f"SELECT code FROM series WHERE {where} LIMIT {MAX_CODES_ALIKE}", values)]

    def _series(self, row: tuple[Any, ...]) -> IndexedSeries:
        _, code, name, name_j, unit, unit_j, frequency, category, start, end, updated, place, current, _, _, score = row
        layers = [int(layer) for layer in place.split(",") if layer]
        above = [",".join(map(str, layers[:depth])) for depth in range(1, len(layers))]
        headings = [self._all("SELECT name, name_j FROM headings WHERE layers = ?", (place,)) for place in above]
        found = [rows[0] for rows in headings if rows]
        return IndexedSeries(
            self.facts.db, code, name, name_j, unit, unit_j, frequency, category, start, end, updated, layers,
            [english for english, _ in found], [japanese for _, japanese in found], bool(current), score,
        )  # fmt: skip

    def _all(self, statement: str, values: Iterable[Any] = ()) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, tuple(values)).fetchall()


def _condition(words: WordFilter) -> tuple[str, list[Any]]:
    """Return the tables and the condition of a search; a word of the database's own names is in every row."""
    values: list[Any] = []
    conditions = []
    tables = "series s"
    query = words.query
    if words.some:
        pieces = [piece for piece in query.pieces if piece not in words.in_database]
        own = len(query.pieces) - len(pieces)
        found = " + ".join(["(instr(text, ?) > 0)"] * len(pieces)) or "0"
        conditions.append(f"{found} >= ?")
        values += [*pieces, -(-len(query.pieces) * 3 // 5) - own]
    else:
        needed = [word for word in query.words if word not in words.in_database]
        trigrams = {word[at : at + TRIGRAM] for word in needed for at in range(len(word) - TRIGRAM + 1)}
        if trigrams:
            tables += " JOIN texts ON texts.rowid = s.id"
            conditions.append("texts MATCH ?")
            values.append(" AND ".join(f'"{trigram}"' for trigram in sorted(trigrams)))
        conditions += ["instr(s.text, ?) > 0"] * len(needed)
        values += needed
    if words.frequency:
        conditions.append("frequency = ?")
        values.append(words.frequency)
    return f"{tables} WHERE {' AND '.join(conditions) or '1'}".replace("instr(text", "instr(s.text"), values


def _score(words: WordFilter) -> tuple[str, list[Any]]:
    """Return the rank of a row: an exact code first, then words in the name, a series that is still updated."""
    query = words.query
    pieces = query.pieces if words.some else query.words
    in_name = " + ".join(["20 * (instr(s.text, ?) BETWEEN 1 AND name_chars)"] * len(pieces)) or "0"
    code = query.phrase.upper()
    rank = (
        f"1000 * (code = ?) + 100 * (substr(code, 1, ?) = ?) + 15 * (instr(s.text, ?) > 0) + 10 * current + {in_name}"
    )
    return rank, [code, len(code) or 1, code, query.phrase, *pieces]
