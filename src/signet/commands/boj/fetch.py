"""`signet boj fetch`: download every page of a query onto the disk, then write one file.

Progress goes to standard error: a bar on a terminal, a line per page elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from signet.commands.terminal import say
from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.settings import Settings

from .output_files import FORMATS, Writer, import_arrow, replacing_output, suffix_of, write_csv
from .partial_download import PartialDownload
from .series_query import SeriesPage, SeriesQuery, open_query, read_pages, to_flags

__all__ = ["fetch"]

FAILED: Final = 1
INTERRUPTED: Final = 130


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
