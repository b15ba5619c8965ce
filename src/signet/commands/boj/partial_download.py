"""The pages of an unfinished download, in a file that no interruption can spoil.

    {"signet_part":1,"question":{…}}              the query
    {"sum":"…","page":{"start":1,"next":251,…}}   a line per page, on the disk before the next page is requested
    {"sum":"…","pa                                an incomplete line, left by an interruption: dropped and read again

The sum is the SHA-256 of the page, and each page starts where the previous one says, so that no page is changed, lost
or moved unnoticed. The file can be cut anywhere: the complete pages before the cut are used.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Raw, Struct

from signet.kernel.errors import Code, Fault
from signet.system.files import lock
from signet.system.line_file import LineFile

from .extent import Extent
from .series_query import SeriesPage, SeriesQuery

__all__ = ["PartialDownload"]

FORMAT: Final = 1
"""The version of the format; a file of another version is not resumed."""
OPENING: Final = b'{"signet_part":'
"""The first bytes of a file, in every version."""


class _Header(Struct, frozen=True):
    signet_part: int
    question: Raw = Raw(b"null")
    """The query, as this version writes it."""


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    sum: str
    page: Raw


_encode: Final = msgspec.json.Encoder().encode
_headers: Final = msgspec.json.Decoder(_Header)
_lines: Final = msgspec.json.Decoder(_Line)
_pages: Final = msgspec.json.Decoder(SeriesPage)


class PartialDownload:
    """An unfinished download: its pages so far, and the position of the next one."""

    def __init__(self, path: Path, query: SeriesQuery, *, restart: bool = False) -> None:
        """Open the download of a query, or begin one.

        Raises:
            Fault: the file holds something else, or another process writes it.
            OSError: the file cannot be opened or written.
        """
        self.path = path
        self.next: int | None = 1
        """The position of the next page; None after the last page."""
        self.pages = self.series = self.points = 0
        self.extent = Extent()
        self._file = LineFile(str(path))
        try:
            # Not `LineFile.lock`: without locks, the pages of two processes would mix, so that is an error.
            if not lock(self._file.descriptor):
                raise self._refusal("is being written by another process: wait for it, or write another --out")
            header = _encode(_Header(FORMAT, Raw(_encode(query)))) + b"\n"
            if not self._resumes(header, restart=restart):
                self._file.cut(0)
                self._file.append_all(header, 0, sync=True)
            self._load()
        except (Fault, OSError):
            self._file.close()
            raise

    def add(self, page: SeriesPage) -> None:
        """Append a page and sync it to the disk; raise Fault if that fails (the pages before it are safe)."""
        body = _encode(page)
        try:
            self._file.append_all(_encode(_Line(_sum(body), Raw(body))) + b"\n", sync=True)
        except OSError as error:
            raise Fault(Code.INTERNAL_ERROR, f"cannot write {self.path} ({error.strerror})") from None
        self._count(page)

    def stored(self) -> Iterator[SeriesPage]:
        """Yield the pages in order."""
        with self._reader() as file:
            file.readline()
            for _ in range(self.pages):
                yield _pages.decode(_lines.decode(file.readline()).page)

    def has_values(self) -> bool:
        """Return True if one of the observations has a value."""
        all_series = (series for page in self.stored() for series in page.series)
        return any(point.value is not None for series in all_series for point in series.observations())

    def close(self, *, keep: bool) -> None:
        """Close the file and, unless it is kept, remove it."""
        self._file.close()
        if not keep:
            self.path.unlink(missing_ok=True)

    def _resumes(self, header: bytes, *, restart: bool) -> bool:
        """Return True if the file can be resumed for this query; raise Fault if it holds something else."""
        with self._reader() as file:
            first, second = file.readline(), file.readline()
        # An empty file, or the beginning of a header that an interruption cut off.
        if not first.endswith(b"\n") and first[: len(OPENING)] == OPENING[: len(first)]:
            return False
        try:
            version = _headers.decode(first).signet_part
        except (ValueError, RecursionError):
            raise self._refusal("is in the way and no part of a fetch: move it, or write another --out") from None
        if first == header or restart or not second.endswith(b"\n"):
            return first == header and not restart
        owner = "another question" if version == FORMAT else "another version of Signet"
        why = f"holds pages of {owner}: write --restart to discard them, or another --out"
        raise self._refusal(why)

    def _refusal(self, why: str) -> Fault:
        return Fault(Code.INVALID_INPUT, f"{self.path} {why}")

    def _load(self) -> None:
        """Count the complete pages, and cut off the rest of the file."""
        with self._reader() as file:
            end = len(file.readline())
            for line in file:
                page = self._parse(line)
                if page is None:
                    break
                end += len(line)
                self._count(page)
        self._file.cut(end)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[IO[bytes]]:
        """Read the file from its beginning, by its descriptor: its path may lead to another file by now."""
        with open(self._file.descriptor, "rb", closefd=False) as file:
            file.seek(0)
            yield file

    def _parse(self, line: bytes) -> SeriesPage | None:
        """Return the page of a line, or None if the line is incomplete, changed or out of order."""
        try:
            entry = _lines.decode(line)
            page = _pages.decode(entry.page)
        except (ValueError, RecursionError):
            return None
        is_sound = line.endswith(b"\n") and page.start == self.next and entry.sum == _sum(bytes(entry.page))
        return page if is_sound else None

    def _count(self, page: SeriesPage) -> None:
        self.next = page.next
        self.pages += 1
        self.series += len(page.series)
        self.points += sum(map(self.extent.add, page.series))


def _sum(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()
