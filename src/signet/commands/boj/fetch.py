"""`signet boj fetch`: download every page of a query onto the disk, then write one file.

Progress goes to standard error: a bar on a terminal, a line per page elsewhere. No interruption can spoil the pages of
an unfinished download:

    {"signet_part":1,"question":{…}}              the query
    {"sum":"…","page":{"start":1,"next":251,…}}   a line per page, on the disk before the next page is requested
    {"sum":"…","pa                                an incomplete line, left by an interruption: dropped and read again

The sum is the SHA-256 of the page, and each page starts where the previous one says, so that no page is changed, lost
or moved unnoticed. The file can be cut anywhere: the complete pages before the cut are used.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from msgspec import Raw, Struct

from signet.commands.terminal import say
from signet.files import lock, open_private
from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.settings import Settings

from .extent import Extent
from .output_files import FORMATS, Writer, import_arrow, replacing_output, suffix_of, write_csv
from .series_query import SeriesPage, SeriesQuery, open_query, read_pages, to_flags

__all__ = ["PartialDownload", "fetch"]

FAILED: Final = 1
INTERRUPTED: Final = 130
FORMAT: Final = 1
"""The version of the format; a file of another version is not resumed."""
OPENING: Final = b'{"signet_part":'
"""The first bytes of a file, in every version."""


def fetch(args: Any, settings: Settings) -> int:
    """Download the series, resuming an earlier download if there is one; return the exit status.

    Raises:
        UsageError: the query or the output file is not valid.
    """
    out = Path(args.out)
    suffix = suffix_of(out, FORMATS)
    if suffix == "parquet":
        # Before anything is requested.
        import_arrow()
    server, query = open_query(args, settings)
    try:
        part = PartialDownload(out.with_name(f"{out.name}.part"), query, restart=args.restart)
    except Fault as fault:
        say(fault.message)
        return FAILED
    except OSError as error:
        say(f"cannot write {error.filename or out} ({error.strerror}); write another --out")
        return FAILED
    writer = FORMATS[suffix]
    if suffix == "csv":
        writer = partial(write_csv, spreadsheet_safe=args.spreadsheet_safe)
    return _run(server, query, part, out, writer)


def _run(server: Server, query: SeriesQuery, part: PartialDownload, out: Path, writer: Writer) -> int:
    """Download the missing pages and write the file; after a failure, the downloaded pages are kept."""
    status = FAILED
    try:
        if part.pages:
            say(f"going on with {part.path}, which has {_amount(part)}")
        _download(server, query, part)
        with replacing_output(out) as file:
            writer(file, query, part.stored())
        say(f"wrote {out}: {_amount(part)}; source: {query.source}")
        say(part.extent.describe(query.db, query.lang))
        status = 0
    except Fault as fault:
        say(to_flags(fault).removesuffix(".") + _outlook(part, retryable=fault.code is not Code.INVALID_INPUT))
    except OSError as error:
        say(f"cannot write {out} ({error.strerror})" + _outlook(part))
    except KeyboardInterrupt:
        say("interrupted" + _outlook(part))
        status = INTERRUPTED
    finally:
        # Without a page there is nothing to resume.
        part.close(keep=status != 0 and part.pages > 0)
    return status


def _download(server: Server, query: SeriesQuery, part: PartialDownload) -> None:
    """Download the missing pages; each is on the disk before the next is requested."""
    with _progress(query, part) as show:

        def keep(page: SeriesPage) -> None:
            part.add(page)
            show()

        asyncio.run(read_pages(server, query, keep, part.next))


def _outlook(part: PartialDownload, *, retryable: bool = True) -> str:
    """Return what the same command would do next."""
    if part.pages:
        return f"; {_amount(part)} are kept in {part.path}: the same command goes on where this one stopped"
    return "; no page had come: the same command begins again" if retryable else ""


def _amount(part: PartialDownload) -> str:
    return f"{_count(part.pages, 'page')}, {part.series:,} series, {_count(part.points, 'observation')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@contextlib.contextmanager
def _progress(query: SeriesQuery, part: PartialDownload) -> Iterator[Callable[[], None]]:
    """Show the progress of a download; yield the function that shows a new state."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: say(f"{query.db}: {_amount(part)} so far")
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        # A query by layers has no known total: the bar only moves.
        task = bar.add_task(query.db, total=query.last_position, amount=_amount(part))

        def show() -> None:
            completed = query.last_position if part.next is None else part.next - 1
            bar.update(task, completed=completed or 0, amount=_amount(part))

        show()
        yield show


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
        descriptor = open_private(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._file = os.fdopen(descriptor, "a+b", buffering=0)
        try:
            if not lock(self._file.fileno()):
                raise self._refusal("is being written by another process: wait for it, or write another --out")
            header = _encode(_Header(FORMAT, Raw(_encode(query)))) + b"\n"
            if not self._resumes(header, restart=restart):
                self._file.truncate(0)
                self._append(header)
            self._load()
        except (Fault, OSError):
            self._file.close()
            raise

    def add(self, page: SeriesPage) -> None:
        """Append a page and sync it to the disk; raise Fault if that fails (the pages before it are safe)."""
        body = _encode(page)
        try:
            self._append(_encode(_Line(_sum(body), Raw(body))) + b"\n")
        except OSError as error:
            raise Fault(Code.INTERNAL_ERROR, f"cannot write {self.path} ({error.strerror})") from None
        self._count(page)

    def stored(self) -> Iterator[SeriesPage]:
        """Yield the pages in order."""
        with self._reader() as file:
            file.readline()
            for _ in range(self.pages):
                yield _pages.decode(_lines.decode(file.readline()).page)

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
        self._file.truncate(end)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[IO[bytes]]:
        """Read the file from its beginning, by its descriptor: its path may lead to another file by now."""
        with open(self._file.fileno(), "rb", closefd=False) as file:
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

    def _append(self, line: bytes) -> None:
        """Write a line and sync it; if that fails, cut off its beginning."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise

    def _count(self, page: SeriesPage) -> None:
        self.next = page.next
        self.pages += 1
        self.series += len(page.series)
        self.points += sum(map(self.extent.add, page.series))


def _sum(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()
