"""`signet boj fetch`: download every page of a query onto the disk, then write one file.

Progress goes to standard error: a bar on a terminal, a line per page elsewhere. No interruption can spoil the pages of
an unfinished download, which `partial_download` keeps.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from msgspec import structs

from signet.commands.terminal import counted, say
from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.settings.model import Settings
from signet.settings.usage import UsageError

from .extent import Extent, no_values
from .output_files import FORMATS, import_arrow, replacing_output, suffix_of, write_csv
from .partial_download import PartialDownload
from .series_query import SeriesPage, SeriesQuery, check_query, open_query, read_pages, to_flags
from .shaping import OutputForm, shape_all, span_to_fetch
from .wide import WIDE

__all__ = ["PartialDownload", "fetch"]

FAILED: Final = 1
INTERRUPTED: Final = 130
STDOUT: Final = "-"
CHUNK_BYTES: Final = 65_536

Write = Callable[[IO[bytes], SeriesQuery, Iterator[SeriesPage]], None]


def fetch(args: Any, settings: Settings) -> int:
    """Download the series, resuming an earlier download if there is one; return the exit status.

    Raises:
        UsageError: the query or the output file is not valid.
    """
    form = OutputForm(args.units, args.base, period_end=args.period_end)
    if (form.units == "index") != (form.base is not None):
        raise UsageError("--units index needs --base, the period that is 100; other units take none")
    if form.units != "level":
        # The span as it was given, before more than it is fetched.
        check_query(args)
        form = structs.replace(form, since=args.start, until=args.end)
        try:
            args.start, args.end = span_to_fetch(form)
        except ValueError as error:
            raise UsageError(f"--base: {error}") from None
    output = _Output(form, _writer(args, form))
    server, query = open_query(args, settings)
    with contextlib.ExitStack() as stack:
        out = Path(args.out)
        if args.out == STDOUT:
            # Nothing can be resumed that was not written to a file.
            out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="signet-"))) / "out"
        try:
            part = PartialDownload(out.with_name(f"{out.name}.part"), query, restart=args.restart)
        except Fault as fault:
            say(fault.message)
            return FAILED
        except OSError as error:
            say(f"cannot write {error.filename or out} ({error.strerror}); write another --out")
            return FAILED
        return _run(server, query, part, None if args.out == STDOUT else out, output)


class _Output(NamedTuple):
    """The form of the output, and the function that writes it."""

    form: OutputForm
    write: Write


class _Content(NamedTuple):
    """What the output has."""

    extent: Extent
    amount: str
    has_values: bool


def _content(part: PartialDownload, form: OutputForm) -> _Content:
    """Return what the output has, which is not what was fetched where values are computed."""
    if form.units == "level":
        return _Content(part.extent, _amount(part), part.has_values())
    extent, count, points, has_values = Extent(), 0, 0, False
    for series in shape_all(part.stored(), form):
        extent.note(series.frequency, series.unit, [point.survey_date for point in series.points])
        count += 1
        points += len(series.points)
        has_values = has_values or any(point.value is not None for point in series.points)
    return _Content(extent, f"{count:,} series, {counted(points, 'observation')}", has_values)


def _writer(args: Any, form: OutputForm) -> Write:
    """Return the function that writes the output; raise UsageError if there is none for it."""
    out = Path(args.out)
    suffix = "csv" if args.out == STDOUT else suffix_of(out, FORMATS)
    if suffix == "parquet":
        # Before anything is requested.
        import_arrow()
    if args.wide:
        if suffix not in WIDE:
            raise UsageError(f"--wide writes .csv or .parquet, not .{suffix}")
        writer = WIDE[suffix]
    elif suffix == "csv":
        writer = partial(write_csv, spreadsheet_safe=args.spreadsheet_safe)
    else:
        writer = FORMATS[suffix]
    return lambda file, query, pages: writer(file, query, pages, form)


def _run(server: Server, query: SeriesQuery, part: PartialDownload, out: Path | None, output: _Output) -> int:
    """Download the missing pages and write the file; after a failure, the downloaded pages are kept."""
    # What goes to standard output has no file by which it could be resumed.
    status, is_over = FAILED, out is None
    name = out or "standard output"
    try:
        if part.pages:
            say(f"going on with {part.path}, which has {_amount(part)}")
        _download(server, query, part)
        content = _content(part, output.form)
        if not content.has_values:
            is_over = True
            say(f"nothing was written ({content.amount})")
            say(no_values(query.db))
            return FAILED
        with replacing_output(out) if out else _standard_output() as file:
            output.write(file, query, part.stored())
        say(f"wrote {out or 'to standard output'}: {content.amount}; source: {query.source}")
        say(content.extent.describe(query.db, query.lang))
        status = 0
    except Fault as fault:
        # What cannot be asked for or computed would not be better the next time.
        is_over = is_over or fault.code is Code.INVALID_INPUT
        say(to_flags(fault).removesuffix(".") + _outlook(part, is_over=is_over))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise  # the reader has enough: `… --out - | head -1`
        say(f"cannot write {name} ({error.strerror})" + _outlook(part, is_over=is_over))
    except KeyboardInterrupt:
        say("interrupted" + _outlook(part, is_over=is_over))
        status = INTERRUPTED
    finally:
        # Without a page there is nothing to resume.
        part.close(keep=status != 0 and part.pages > 0 and not is_over)
    return status


@contextlib.contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Write to standard output once all is known to be good."""
    with tempfile.TemporaryFile(prefix="signet-") as file:
        yield file
        file.seek(0)
        if sys.stdout is None:
            raise OSError(0, "it is closed")
        while chunk := file.read(CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def _download(server: Server, query: SeriesQuery, part: PartialDownload) -> None:
    """Download the missing pages; each is on the disk before the next is requested."""
    with _progress(query, part) as show:

        def keep(page: SeriesPage) -> None:
            part.add(page)
            show()

        asyncio.run(read_pages(server, query, keep, part.next))


def _outlook(part: PartialDownload, *, is_over: bool) -> str:
    """Return what the same command would do next; an empty text if it could not go on."""
    if is_over:
        return ""
    if part.pages:
        return f"; {_amount(part)} are kept in {part.path}: the same command goes on where this one stopped"
    return "; no page had come: the same command begins again"


def _amount(part: PartialDownload) -> str:
    return f"{counted(part.pages, 'page')}, {part.series:,} series, {counted(part.points, 'observation')}"


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
