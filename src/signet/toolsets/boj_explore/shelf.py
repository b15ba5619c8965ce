"""The index of series: a shelf with one store for each database, in a folder or in memory.

    ~/.cache/signet/boj/www.stat-search.boj.or.jp/FM08.sqlite3     complete, or not there at all
                                                  FM08.sqlite3.new-4711  being written by a process
                                                  lock                   held by the process that asks the Bank

A store is replaced as a whole: a process that reads it keeps the old one until it looks again. A store that cannot be
read is removed and counts as missing. Where nothing can be written, stores are kept in memory. Call it in a thread.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from heapq import nsmallest
from threading import RLock
from typing import Final

from msgspec import Struct

from signet.system.files import lock, make_private_folders, open_private, open_regular
from signet.toolsets.boj.databases import DATABASES, Database
from signet.toolsets.boj.models import MetadataEntry

from .store import IndexedSeries, ListFacts, SeriesStore, WordFilter, write_store
from .words import SearchQuery, fold

__all__ = ["ORDER", "Found", "Shelf", "database_words", "folder_of"]

ORDER: Final = {database.code: place for place, database in enumerate(DATABASES)}
"""The databases in the order of the Bank's manual."""
SUFFIX: Final = ".sqlite3"
MAX_SERIES_IN_MEMORY: Final = 100_000
"""The most series that are kept in memory where the folder cannot be written."""
MIN_LIKENESS: Final = 0.7
IN_MEMORY: Final = (0, 0)
"""In place of the identity of a file."""
DATABASE_SCORE: Final = 6
"""What a word in the names of a database adds to the rank of its series."""


class Found(Struct, frozen=True):
    """What a search found."""

    total: int
    hits: list[IndexedSeries]
    some: bool
    """Whether no series has all of the words, so that these have a part of them."""


def folder_of(root: str, origin: str) -> str:
    """Return the folder for the lists of one origin."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", origin.partition("://")[2].lower())
    return os.path.join(root, name.strip("._") or "_")


@cache
def _names(database: Database) -> str:
    return "\n".join(map(fold, database))


def database_words(database: Database, query: Iterable[str]) -> frozenset[str]:
    """Return the words that the names of a database have."""
    return frozenset(word for word in query if word in _names(database))


class Shelf:
    """The stores of one origin."""

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self.trouble = ""
        """Why stores are kept in memory, where a folder was to hold them."""
        self._stores: dict[str, tuple[tuple[int, int], SeriesStore]] = {}
        """The open stores, each with the identity of its file."""
        self._lock = RLock()

    def facts(self) -> dict[str, ListFacts]:
        """Return what is there, by database, after a look at the folder."""
        with self._lock:
            for db in ORDER:
                self._refresh(db)
            return {db: self._stores[db][1].facts for db in ORDER if db in self._stores}

    def put(self, db: str, made_at: str, rows: Callable[[], Iterable[MetadataEntry]]) -> None:
        """Write the store of a database, into memory if the folder cannot be written; raise Fault for bad rows."""
        facts = ListFacts(db, made_at, time.time(), 0)
        if self.folder is not None and self._write(self.folder, facts, rows):
            return
        in_memory = (store for identity, store in self._stores.values() if identity == IN_MEMORY)
        if self.folder is None or sum(store.facts.series for store in in_memory) <= MAX_SERIES_IN_MEMORY:
            store = SeriesStore(write_store(":memory:", facts, rows()))
            with self._lock:
                self._replace(db, IN_MEMORY, store)

    def _write(self, folder: str, facts: ListFacts, rows: Callable[[], Iterable[MetadataEntry]]) -> bool:
        path = self._path(facts.db)
        new = f"{path}.new-{os.getpid()}"
        try:
            make_private_folders(folder)
            os.close(open_private(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            write_store(new, facts, rows()).close()
            os.replace(new, path)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            # Without the folder: clients of a server read this, and its paths are not theirs to know.
            self.trouble = f"the index cannot be written ({reason}) and is kept in memory"
            return False
        finally:
            with contextlib.suppress(OSError):
                os.unlink(new)
        return True

    def has(self, db: str) -> bool:
        """Return True if the database is there."""
        with self._lock:
            self._refresh(db)
            return db in self._stores

    def lock(self) -> int | None:
        """Return a descriptor that holds the lock of the folder until it is closed, or None if another process does."""
        if self.folder is None:
            return -1
        try:
            make_private_folders(self.folder)
            file = open_private(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT)
        except OSError:
            # Nothing can be written, so nobody can be disturbed.
            return -1
        try:
            is_ours = lock(file)
        except OSError:
            # A file system without locks.
            is_ours = True
        if is_ours:
            return file
        os.close(file)
        return None

    def search(self, query: SearchQuery, db: str | None, frequency: str | None, limit: int) -> Found:
        """Return the best series that have all words, or a part of them if there is none."""
        with self._lock:
            found = self._search(query, db, frequency, limit, some=False)
            return found if found.total or not query.words else self._search(query, db, frequency, limit, some=True)

    def find(self, code: str, db: str | None = None) -> list[IndexedSeries]:
        """Return the series with a code, one for each database that has it."""
        found = []
        for name in [db] if db else ORDER:
            store = self._open(name)
            with self._lock, self._removing(name):
                series = store.find(code) if store else None
                if series is not None:
                    found.append(series)
        return found

    def nearest(self, code: str, db: str | None = None, count: int = 3) -> list[IndexedSeries]:
        """Return the series whose codes are the closest to a code that does not exist."""
        wanted = code.upper()
        scored: list[tuple[float, str, str]] = []
        for name in [db] if db else ORDER:
            store = self._open(name)
            with self._lock, self._removing(name):
                for known in store.codes_like(wanted) if store else ():
                    likeness = _likeness(wanted, known)
                    if likeness >= MIN_LIKENESS:
                        scored.append((-likeness, known, name))
        best = nsmallest(count, scored)
        return [series for _, known, name in best for series in self.find(known, name)]

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            for _, store in self._stores.values():
                store.close()
            self._stores.clear()

    def _search(self, query: SearchQuery, db: str | None, frequency: str | None, limit: int, *, some: bool) -> Found:
        total = 0
        hits: list[tuple[float, int, int, IndexedSeries]] = []
        words = query.pieces if some else query.words
        for place, database in enumerate(DATABASES):
            store = self._open(database.code) if db in {None, database.code} else None
            if store is None:
                continue
            own = database_words(database, words)
            with self._removing(database.code):
                count, found = store.search(WordFilter(query, own, frequency, some), limit)
                total += count
                rank = DATABASE_SCORE * len(own)
                hits += [(-series.score - rank, place, at, series) for at, series in enumerate(found)]
        return Found(total, [series for *_, series in nsmallest(limit, hits)], some)

    def _open(self, db: str) -> SeriesStore | None:
        return self._stores[db][1] if db in self._stores else None

    def _refresh(self, db: str) -> None:
        """Open the store of a database, unless it is open; one in the folder replaces one in memory."""
        if self.folder is None or db not in ORDER:
            return
        path = self._path(db)
        try:
            # SQLite would wait for ever to open a FIFO.
            file = open_regular(path, os.O_RDONLY, follow_link=True)
        except OSError:
            return
        status = os.fstat(file)
        os.close(file)
        identity = (status.st_mtime_ns, status.st_ino)
        known = self._stores.get(db)
        if known is not None and (known[0] == identity or known[1].facts.built_s > status.st_mtime):
            return
        with self._removing(db):
            uri = f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro&immutable=1"
            store = SeriesStore(sqlite3.connect(uri, uri=True, check_same_thread=False))
            self._replace(db, identity, store)

    @contextlib.contextmanager
    def _removing(self, db: str) -> Iterator[None]:
        """Remove a store that turns out to be unreadable."""
        try:
            yield
        except (sqlite3.Error, IndexError, TypeError) as error:
            if db in self._stores:
                self._stores.pop(db)[1].close()
            is_passing = isinstance(error, sqlite3.OperationalError) and not str(error).startswith("no such")
            if self.folder is not None and not is_passing:
                with contextlib.suppress(OSError):
                    os.unlink(self._path(db))

    def _replace(self, db: str, identity: tuple[int, int], store: SeriesStore) -> None:
        old = self._stores.get(db)
        self._stores[db] = (identity, store)
        if old is not None:
            old[1].close()

    def _path(self, db: str) -> str:
        return os.path.join(self.folder or "", db + SUFFIX)


def _likeness(wanted: str, known: str) -> float:
    """Return how alike two codes are, from 0 to 1; zeros that were left out or added count little."""
    bonus = 0.05 if wanted.replace("0", "") == known.replace("0", "") else 0.0
    return round(SequenceMatcher(None, wanted, known.upper(), autojunk=False).ratio() + bonus, 4)
