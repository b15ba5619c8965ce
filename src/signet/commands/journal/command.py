"""`signet journal`: the last records, those that fit, those to come, or the answer to a question in SQL."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from signet.app import JOURNALS
from signet.commands.terminal import Cell, on_terminal, say, table, write, write_json
from signet.journal.reading import JournalFollower, JournalLine, find_files, last_lines, merged
from signet.settings.usage import UsageError

from .filters import add_filters, filter_of

if TYPE_CHECKING:
    from rich.table import Column

__all__ = ["add"]

SHOWN: Final = 20
EVERY_S: Final = 0.3
PIPE_WIDTH: Final = 200
HEADINGS: Final = ("time", "tool", "door", "code", "ms", "message")

EPILOG: Final = """\
The files of all workers are read as one, in the order of time.

examples:
  signet journal                                the last 20 calls of the latest run
  signet journal --follow --code INVALID_INPUT  calls to come that were refused
  signet journal --all --tool boj.get_data_code --since 1h --json
  signet journal --all --sql "SELECT tool, count(*), quantile_cont(duration_ms, 0.95) FROM journal GROUP BY tool"

The columns of the table `journal`: ts, tool, transport, route, status, code, message, duration_ms, input_bytes,
output_bytes, request_id, trace_id, span_id, step_id, filename.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet journal`."""
    parser.add_argument(
        "folders", nargs="*", metavar="DIR", help=f"folders of journals (default: {JOURNALS}, or SIGNET_LOG_DIR)"
    )
    parser.add_argument("--all", action="store_true", help="read all runs that are kept, not the latest alone")
    parser.add_argument("-n", "--last", type=_count, metavar="N", help=f"show N records (default: {SHOWN})")
    parser.add_argument("-f", "--follow", action="store_true", help="show records as they come, until Ctrl-C")
    add_filters(parser)
    parser.add_argument("--json", action="store_true", help="print the records as they are, one on a line")
    parser.add_argument("--sql", metavar="QUERY", help="ask the table `journal` with DuckDB (pip install duckdb)")
    parser.epilog = EPILOG
    parser.set_defaults(run=_run)


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not number:
        raise argparse.ArgumentTypeError("write a number, such as 100")
    return number


def _run(args: argparse.Namespace) -> int:
    try:
        return _answer(args)
    except OSError as error:
        if error.filename is None:
            # It is about standard output.
            raise
        raise UsageError(f"cannot read {error.filename} ({error.strerror})") from None


def _answer(args: argparse.Namespace) -> int:
    folders = args.folders or [os.environ.get("SIGNET_LOG_DIR") or JOURNALS]
    wanted = filter_of(args)
    if args.sql is not None:
        if not args.sql.strip():
            raise UsageError("--sql is empty: write a query, such as 'SELECT * FROM journal'")
        if args.follow or wanted.is_set or args.last is not None:
            raise UsageError("--sql takes no other filter: write a WHERE and a LIMIT")
        from .sql import ask

        return ask(args.sql, _files(folders, all_runs=args.all), as_json=args.json)
    followers = [JournalFollower(folder) for folder in folders] if args.follow else []
    paths = _files(folders, all_runs=args.all, may_lack=args.follow)
    count = args.last or SHOWN
    if wanted.is_set:
        lines = list(_last_of(filter(wanted.fits, merged(paths)), None if args.last is None and args.all else count))
    else:
        lines = last_lines(paths, count)
    _show(lines, as_json=args.json)
    while followers:
        time.sleep(EVERY_S)
        new = [line for follower in followers for line in follower.new_lines() if wanted.fits(line)]
        _show(new, as_json=args.json, with_heads=False)
    return 0


def _files(folders: list[str], *, all_runs: bool, may_lack: bool = False) -> list[str]:
    """Return the journals of folders; raise UsageError where there is none."""
    paths: list[str] = []
    for folder in folders:
        try:
            paths += find_files(folder, all_runs=all_runs)
        except OSError as error:
            if not may_lack:
                raise UsageError(f"{folder}: {error.strerror}; write the folder of the journal (--log-dir)") from None
    if not paths and not may_lack:
        raise UsageError(f"there is no journal in {', '.join(folders)}: a server writes one with its first call")
    return paths


def _last_of(lines: Iterable[JournalLine], count: int | None) -> Iterable[JournalLine]:
    return lines if count is None else deque(lines, maxlen=count)


def _show(lines: list[JournalLine], *, as_json: bool, with_heads: bool = True) -> None:
    if not lines:
        if with_heads and on_terminal():
            say("no record fits")
        return
    if as_json or not on_terminal():
        for line in lines:
            write_json(line.raw.decode("utf-8", "replace"))
    else:
        rows = [_row(line) for line in lines]
        write(table(_heads(with_words=with_heads), rows, pipe_width=PIPE_WIDTH, strip=True))
    if sys.stdout is not None:
        sys.stdout.flush()


def _row(line: JournalLine) -> tuple[Cell, ...]:
    code = line.code, "green" if line.status == "ok" else "red"
    return (
        line.ts.replace("T", " ").removesuffix("Z"),
        line.tool,
        line.door,
        code,
        f"{line.duration_ms:.1f}",
        line.message,
    )


def _heads(*, with_words: bool) -> list[Column]:
    """Return the columns: the message alone may be broken."""
    from rich.table import Column

    names = HEADINGS if with_words else ("",) * len(HEADINGS)
    return [Column(name, no_wrap=at < len(names) - 1, overflow="fold") for at, name in enumerate(names)]
