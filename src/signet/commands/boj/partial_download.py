"""The pages of an unfinished fetch, in a file that no break can spoil.

    {"signet_part":1,"question":{…}}              whose pages these are
    {"sum":"…","page":{"start":1,"next":251,…}}   one line a page, on the disk before the next one is asked for
    {"sum":"…","pa                                what a break left of a line: dropped, and asked for again

A sum is over its page, and a page starts where the one before it says, so that none is changed, lost or moved unseen.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct

from signet.kernel.errors import Code, Fault

from .pages import SeriesPage, points_of
from .series_query import SeriesQuery

__all__ = ["PartialDownload"]

FORMAT: Final = 1
"""Goes up when the lines change their meaning; a file of another format is not gone on with."""
OPENING: Final = b'{"signet_part":'
"""How the first line begins in every format."""


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    signet_part: int
    question: SeriesQuery


class _Mark(Struct, frozen=True):
    """What the first line has in every format."""

    signet_part: int


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    sum: str
    page: Raw


_encode: Final = msgspec.json.Encoder().encode
_marks: Final = msgspec.json.Decoder(_Mark)
_lines: Final = msgspec.json.Decoder(_Line)
_pages: Final = msgspec.json.Decoder(SeriesPage)


class PartialDownload:
    """An unfinished fetch: what has come of it, and where it goes on."""

    def __init__(self, path: Path, question: SeriesQuery, *, restart: bool = False) -> None:
        """Open the pages that there are of a question, or begin with none.

        Raises:
            Fault: they are another question's, or in use.
            OSError: the file cannot be had.
        """
        self.path = path
        self.next: int | None = 1
        """Where the next page starts; None once all have come."""
        self.pages = self.series = self.points = 0
        self._header = _Header(FORMAT, question)
        self._end = 0
        self._file = path.open("a+b", buffering=0)
        try:
            self._lock()
            if not self._goes_on(restart=restart):
                self._begin()
            self._take()
        except (Fault, OSError):
            self._file.close()
            raise

    def add(self, page: SeriesPage) -> None:
        """Write a page, and see that it is on the disk.

        Raises:
            Fault: it cannot be written; the pages before it are safe.
        """
        body = _encode(page)
        line = _Line(_sum(body), Raw(body))
        try:
            self._write(_encode(line) + b"\n")
        except OSError as error:
            raise Fault(Code.INTERNAL_ERROR, f"cannot write {self.path} ({error.strerror})") from None
        self._count(page)

    def stored(self) -> Iterator[SeriesPage]:
        """Give the pages in their order, one at a time."""
        with self.path.open("rb") as file:
            file.readline()
            for _ in range(self.pages):
                yield _pages.decode(_lines.decode(file.readline()).page)

    def close(self, *, keep: bool) -> None:
        """Let go of the file, or take it away."""
        self._file.close()
        if not keep:
            self.path.unlink(missing_ok=True)

    def _lock(self) -> None:
        """Keep other processes out until this one ends, however it ends; where the system has no such lock, trust."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{self.path} is being written by another process: wait for it, or write another --out"
            raise Fault(Code.INVALID_INPUT, message) from None

    def _goes_on(self, *, restart: bool) -> bool:
        """Whether there is something to go on with, and not something that somebody may want for another end.

        Raises:
            Fault: there is, and it is not to be discarded.
        """
        with self.path.open("rb") as file:
            first, second = file.readline(), file.readline()
        own = _encode(self._header) + b"\n"
        # What a break left of a first line, if it left anything.
        if not first.endswith(b"\n") and first[: len(OPENING)] == OPENING[: len(first)]:
            return False
        try:
            mark = _marks.decode(first)
        except (ValueError, RecursionError):
            message = f"{self.path} is in the way and no part of a fetch: move it, or write another --out"
            raise Fault(Code.INVALID_INPUT, message) from None
        if first == own or restart or not second.endswith(b"\n"):
            return first == own and not restart
        whose = "another question" if mark.signet_part == FORMAT else "another version of Signet"
        message = f"{self.path} holds pages of {whose}: write --restart to discard them, or another --out"
        raise Fault(Code.INVALID_INPUT, message)

    def _begin(self) -> None:
        self._file.truncate(0)
        self._write(_encode(self._header) + b"\n")

    def _take(self) -> None:
        """Count the pages that are whole, and drop what is behind them."""
        with self.path.open("rb") as file:
            self._end = len(file.readline())
            for line in file:
                page = self._whole(line)
                if page is None:
                    break
                self._end += len(line)
                self._count(page)
        self._file.truncate(self._end)

    def _whole(self, line: bytes) -> SeriesPage | None:
        """Read a line if it is one, and the next one in order."""
        try:
            told = _lines.decode(line)
            page = _pages.decode(told.page)
        except (ValueError, RecursionError):
            return None
        fits = line.endswith(b"\n") and page.start == self.next and told.sum == _sum(bytes(told.page))
        return page if fits else None

    def _write(self, line: bytes) -> None:
        """Write a line whole; what a full disk took of it is taken back."""
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._end += len(line)

    def _count(self, page: SeriesPage) -> None:
        self.next = page.next
        self.pages += 1
        self.series += len(page.series)
        self.points += sum(len(points_of(one)) for one in page.series)


def _sum(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()
