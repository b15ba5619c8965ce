"""The command `signet parity`: run a corpus through every channel, print a table and the first difference."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from signet.catalogue import TOOLSETS
from signet.commands.terminal import write
from signet.settings import Settings

from .builtin import built_in
from .channels import CHANNELS
from .corpus import read_corpus, with_slugs
from .engine import ProgressCallback, run_corpus
from .report import OK, SAME, ParityReport

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["add"]

DIFFERS: Final = 1
TERMINATED: Final = 128 + signal.SIGTERM
PIPE_WIDTH: Final = 160
CHECK_MARK: Final = "✓"
ASCII_CHECK_MARK: Final = "ok"

EPILOG: Final = """\
A corpus is a file with one JSON object per line: {"name": its row in the table, "tool": the tool's name,
"arguments": {…}, "order": [faults that the sandbox injects into this call]}. The built-in corpus covers every tool and
every kind of error. The exit status is 0 if all results agree, 1 if some differ, 2 if the corpus cannot be read.

examples:
  signet parity
  signet parity --toolsets plantuml --json
  signet parity --corpus calls.jsonl
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet parity`."""
    parser.epilog = EPILOG
    parser.add_argument("--corpus", metavar="FILE", help="calls to run, one JSON object per line (default: built in)")
    parser.add_argument(
        "--toolsets", metavar="A,B", default="", help="toolsets to run, separated by commas (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Run the corpus and print the report."""
    toolsets = enabled(Settings(toolsets=args.toolsets)) if args.toolsets else TOOLSETS
    calls = read_corpus(args.corpus) if args.corpus is not None else built_in(toolsets)
    calls = with_slugs(calls, [tool for toolset in toolsets for tool in tools_of(toolset)])
    # Unwind on SIGTERM, so that every process that was started is stopped.
    signal.signal(signal.SIGTERM, _leave)
    with _progress(len(calls) * len(CHANNELS)) as on_progress:
        report = run_corpus(calls, toolsets, on_progress=on_progress)
    if args.json:
        write(msgspec.json.encode({"agrees": report.agrees, **msgspec.to_builtins(report)}).decode())
    else:
        write(f"{_table(report)}\n\n{_summary(report)}")
    return 0 if report.agrees else DIFFERS


def _leave(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[ProgressCallback]:
    """Yield a callback that shows the progress to a person at a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=total)
        yield lambda call, channel: progress.update(
            task, advance=1, description=f"{channel.name}: {_printable(call.name)}"
        )


def _table(report: ParityReport) -> str:
    """Return the table as text: coloured on a terminal, in plain columns elsewhere."""
    from rich.console import Console

    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    console = Console(width=None if is_terminal else PIPE_WIDTH)
    with console.capture() as capture:
        console.print(_rich_table(report))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _rich_table(report: ParityReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    check_mark = _check_mark()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("call", overflow="fold")
    table.add_column("outcome", overflow="fold")
    for name in report.ways:
        table.add_column(name.replace(" ", "\n", 1), overflow="fold")
    for row in report.rows:
        outcome = Text(row.outcome, "" if row.outcome == OK else "yellow")
        cells = (Text(check_mark, "green") if cell == SAME else Text(cell, "bold red") for cell in row.ways.values())
        table.add_row(Text(_printable(row.name)), outcome, *cells)
    return table


def _check_mark() -> str:
    """Return the check mark, or a word if the encoding of standard output lacks it."""
    try:
        CHECK_MARK.encode(sys.stdout.encoding if sys.stdout is not None else "ascii")
    except (UnicodeError, LookupError):
        return ASCII_CHECK_MARK
    return CHECK_MARK


def _summary(report: ParityReport) -> str:
    """Return the counts and the first difference."""
    counts = f"calls: {len(report.rows)}, ways: {len(report.ways)}"
    first = report.first
    if first is None:
        return f"{counts}, all agree"
    differing = sum(not row.agrees for row in report.rows)
    head = f"{counts}, calls on which they differ: {differing}"
    fields = ", ".join(first.fields)
    where = f"'{_printable(first.call)}': {first.way} differs from {first.against} in {fields}"
    return f"{head}\n\n{where}\n{_printable(first.diff)}"


def _printable(text: str) -> str:
    """Replace characters that could control a terminal; text of a corpus or a server may hold some."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)
