"""The command `signet parity`: run a corpus through every channel, print a table and the first difference."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from signet.commands.arguments import add_server_command
from signet.commands.terminal import Cell, columns, counted, on_terminal, say, table, write, write_json
from signet.settings.catalogue import TOOLSETS, find_toolset, load_toolsets
from signet.settings.usage import UsageError
from signet.system.text import printable

from .channels import CHANNELS
from .corpus import CorpusCall, built_in, read_corpus, with_slugs
from .engine import ProgressCallback, run_corpus
from .report import OK, SAME, ParityReport, ReportRow

if TYPE_CHECKING:
    from signet.settings.server_spec import ServerSpec

__all__ = ["add"]

DIFFERS: Final = 1
TERMINATED: Final = 128 + signal.SIGTERM
PIPE_WIDTH: Final = 160
PROGRESS_S: Final = 5.0
"""How long nothing is said of the progress, where it is written as lines."""
CHECK_MARK: Final = "✓"
ASCII_CHECK_MARK: Final = "ok"

RECORDING_TEXT: Final = """calls to run: those of a recorded server; the server behind -- answers those of tools that
    only read, and without one the recording itself answers all"""
RECORDED_SERVER: Final = "recorded"
EPILOG: Final = """\
A corpus is a file with one JSON object per line: {"name": its row in the table, "tool": the tool's name,
"arguments": {…}, "order": [faults that the sandbox injects into this call]}. The built-in corpus covers every tool and
every kind of error. For a server behind -- the calls are made up, and tools are called that say that they only read.
The exit status is 0 if all results agree, 1 if some differ, 2 if the corpus cannot be read.

examples:
  signet parity
  signet parity --toolsets plantuml --json
  signet parity --corpus calls.jsonl
  signet parity -- uvx mcp-server-time
  signet parity --recording recording
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet parity`."""
    parser.epilog = EPILOG
    parser.add_argument("--corpus", metavar="FILE", help="calls to run, one JSON object per line (default: built in)")
    parser.add_argument(
        "--toolsets", metavar="A,B", default="", help="toolsets to run, separated by commas (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--recording", "--tape", metavar="DIR", help=RECORDING_TEXT)
    parser.add_argument("--config", metavar="FILE", help="run the read-only tools of the servers of this signet.toml")
    parser.usage = "signet parity [options]"
    add_server_command(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Run the corpus and print the report."""
    if args.server_command or args.recording or args.config:
        return _run_servers(args)
    toolsets = load_toolsets(args.toolsets or ",".join(TOOLSETS))
    calls = read_corpus(args.corpus) if args.corpus is not None else built_in(toolsets)
    calls = with_slugs(calls, [tool for name in toolsets for tool in find_toolset(name).tools()])
    # Unwind on SIGTERM, so that every process that was started is stopped.
    signal.signal(signal.SIGTERM, _leave)
    with _progress(len(calls)) as on_progress:
        report = run_corpus(calls, toolsets, on_progress=on_progress)
    return _show(report, args)


def _run_servers(args: argparse.Namespace) -> int:
    """Run the calls of a recording, or made-up ones of tools that only read, on wrapped servers."""
    from .servers import calls_of_recording, made_up_calls, run_servers, tools_of

    if args.corpus or args.toolsets:
        raise UsageError("--corpus and --toolsets are for toolsets: leave them out, or leave the server out")
    signal.signal(signal.SIGTERM, _leave)
    specs = _specs(args)
    calls: list[CorpusCall] = []
    for spec in specs:
        say(f"reading the tools of {spec.name}")
        listed = tools_of(spec)
        calls += (
            calls_of_recording(args.recording, listed, reads_only=not spec.tape)
            if args.recording
            else made_up_calls(listed)
        )
    if not calls:
        raise UsageError(
            "there is nothing to call: no tool says that it only reads; a --recording has calls of all tools"
        )
    with _progress(len(calls)) as on_progress:
        return _show(run_servers(calls, specs, on_progress), args)


def _specs(args: argparse.Namespace) -> tuple[ServerSpec, ...]:
    """Return the servers to call: that behind `--`, those of a file, or that of the recording itself."""
    from signet.commands.wrapped import spec_of
    from signet.settings.file import find_file
    from signet.settings.server_spec import ServerSpec
    from signet.settings.servers import read_servers

    spec = spec_of(args)
    if spec is not None:
        return (spec,)
    if args.config is None:
        return (ServerSpec(name=RECORDED_SERVER, tape=args.recording),)
    file = find_file(os.environ, {"config": args.config})
    specs = tuple(one for one in read_servers(file, os.environ) if not one.openapi) if file is not None else ()
    if not specs:
        raise UsageError(f"{args.config} names no server: write [servers.NAME] into it")
    return specs


def _show(report: ParityReport, args: argparse.Namespace) -> int:
    """Print a report, and return the exit status."""
    if args.json:
        write_json(msgspec.json.encode({"agrees": report.agrees, **msgspec.to_builtins(report)}).decode())
    else:
        write(f"{_table(report)}\n\n{_summary(report)}")
    return 0 if report.agrees else DIFFERS


def _leave(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)


@contextlib.contextmanager
def _progress(calls: int) -> Iterator[ProgressCallback]:
    """Yield a callback that shows the progress on standard error: a bar on a terminal, else a line now and then."""
    total = calls * len(CHANNELS)
    if sys.stderr is None or not sys.stderr.isatty():
        yield _progress_lines(calls, total)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=total)
        yield lambda call, channel: progress.update(
            task, advance=1, description=escape(f"{channel.name}: {printable(call.name)}")
        )


def _progress_lines(calls: int, total: int) -> ProgressCallback:
    """Say what begins, and return a callback that says how far it is, every few seconds."""
    say(f"comparing {counted(calls, 'call')} through {len(CHANNELS)} doors")
    started, last = 0, time.monotonic()

    def on_progress(*_: object) -> None:
        nonlocal started, last
        started += 1
        if time.monotonic() - last >= PROGRESS_S:
            last = time.monotonic()
            say(f"{started} of {total} calls")

    return on_progress


def _table(report: ParityReport) -> str:
    """Draw the report as a table: a row for each call, a column for each channel."""
    needed = sum(max(map(len, column)) + 2 for column in zip(*_plain_cells(report), strict=True))
    if on_terminal() and columns() < needed:
        return _narrow_table(report)
    good = (_check_mark(), "green")
    rows: list[list[Cell]] = [
        [*_first_cells(row), *(good if cell == SAME else (cell, "bold red") for cell in row.ways.values())]
        for row in report.rows
    ]
    heads = ["call", "outcome", *(name.replace(" ", "\n", 1) for name in report.ways)]
    return table(heads, rows, pipe_width=PIPE_WIDTH, strip=True)


def _narrow_table(report: ParityReport) -> str:
    """Draw the report with numbered channels, which are named below, as are the differences."""
    good, bad = (_check_mark(), "green"), ("!", "bold red")
    rows = [[*_first_cells(row), *(good if cell == SAME else bad for cell in row.ways.values())] for row in report.rows]
    drawn = table(["call", "outcome", *(str(number) for number, _ in enumerate(report.ways, 1))], rows, strip=True)
    names = [f"{number} {name}" for number, name in enumerate(report.ways, 1)]
    differing = [
        f"{printable(row.name)}: {', '.join(f'{way} {cell}' for way, cell in row.ways.items() if cell != SAME)}"
        for row in report.rows
        if not row.agrees
    ]
    return "\n".join([drawn, "", *names, *([""] if differing else []), *differing])


def _first_cells(row: ReportRow) -> list[Cell]:
    return [printable(row.name, keep="\n"), (row.outcome, "" if row.outcome == OK else "yellow")]


def _plain_cells(report: ParityReport) -> Iterator[list[str]]:
    """Yield the texts of each line of the table: the wider half of a channel's name, then those of the rows."""
    yield ["call", "outcome", *(max(name.split(" ", 1), key=len) for name in report.ways)]
    for row in report.rows:
        yield [row.name, row.outcome, *(cell if cell != SAME else "ok" for cell in row.ways.values())]


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
    call, diff = printable(first.call, keep="\n"), printable(first.diff, keep="\n")
    return f"{head}\n\n'{call}': {first.way} differs from {first.against} in {fields}\n{diff}"
