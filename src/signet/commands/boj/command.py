"""The arguments of `signet boj`, and its command `databases`; every other module is imported when a command runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from signet.commands.arguments import Parser, add_settings, flags_of
from signet.system.advice import advise

if TYPE_CHECKING:
    from signet.settings.model import Settings
    from signet.toolsets.boj.databases import Database

__all__ = ["add"]

FAILED: Final = 1

EXAMPLES: Final = """\
examples:
  signet boj databases exchange                      find a database by a word, in either language
  signet boj search dollar yen                       find series by words, in either language
  signet boj info FM08 FXERD01                       what the Bank says of a series
  signet boj fetch FM08 --codes FXERD01 --start 202401 --out rates.csv
  signet boj fetch MD10 --layers '*' --frequency Q --out deposits.parquet
  signet boj plot FM09 --codes FX180110001,FX180110002 --start 200001 --out rates.svg

--sandbox uses embedded sample data instead of the Bank of Japan.
"""

PERIODS: Final = """\
periods, by the frequency of the series (--frequency; `signet boj info DB CODE` tells it):
  CY, FY   2024              calendar and fiscal years
  CH, FH   202401, 202402    halves of those years
  Q        202401 to 202404  quarters
  M        202401 to 202412  months
  W, D     202401 to 202412  weeks and days, by their months
FY 2025 ends in March 2025. For weeks and days, --start and --end name months.
"""

UNITS_TEXT: Final = """\
units and values: a unit is written as the Bank gives it (such as "Yen per U.S. Dollar" or "100 million yen"), and
the Bank's own digits are kept unless --units computes others; a value that the Bank does not have is empty
(JSON: null). Series of different units are drawn in panels of their own.

language: the commands ask for English unless --lang jp is given, and so does boj_get_series. The Bank's own tools
(boj_get_data_code, boj_get_data_layer, boj_get_metadata) leave the choice to the Bank, whose default is Japanese:
give them lang=en.
"""

FINDING: Final = """\
A database is read by its code. To list its series with codes, units, frequencies, first and last periods:
  signet call boj_get_metadata db=FM08 lang=en
"""

UNITS: Final = ("level", "change", "percent_change", "percent_change_year_ago", "index", "log")
"""The units that can be computed; a test compares them with those of the tool."""

UPSTREAM: Final = (
    "boj_base_url",
    "boj_timeout_ms",
    "boj_retry_max",
    "boj_retry_backoff_ms",
    "boj_min_interval_ms",
    "call_timeout_s",
    "log",
)
"""The settings that can be given as flags."""


def add(parser: Parser) -> None:
    """Add the commands and flags of `signet boj`."""
    parser.pending.append(lambda given: _add_examples(parser) if given is None else None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=parser.prog)

    databases = _command(commands, "databases", _databases, "list the databases in English and Japanese")
    databases.add_argument("text", nargs="*", help="words to find in code, name or field; all must match")
    databases.add_argument("--json", action="store_true", help="print JSON")
    databases.epilog = FINDING

    text = "download series into a file, page by page; after an interruption, the same command resumes the download"
    fetch = _command(commands, "fetch", _fetch, text)
    fetch.add_argument("db", help="database code, for example FM08")
    selection = fetch.add_mutually_exclusive_group(required=True)
    _add_codes(selection)
    selection.add_argument(
        "--layers", metavar="1,*,2", help="select series by layer: 1 to 5 levels, each a number or *"
    )
    fetch.add_argument(
        "--frequency", metavar="F", help="frequency, required with --layers: CY, FY, CH, FH, Q, M, W or D"
    )
    _add_span(fetch)
    _add_output(fetch)
    _add_upstream(fetch)
    fetch.epilog = f"{PERIODS}\n{UNITS_TEXT}"

    plot = _command(commands, "plot", _plot, "draw series in the terminal, and with --out into an image")
    plot.add_argument("db", help="database code, for example FM08")
    _add_codes(plot, required=True)
    _add_span(plot)
    plot.add_argument("--out", metavar="FILE", help="also write an image: .png or .svg")
    _add_upstream(plot)
    plot.epilog = f"{PERIODS}\n{UNITS_TEXT}"
    plot.set_defaults(layers=None, frequency=None)
    _add_explore(commands)


def _add_examples(parser: Parser) -> None:
    """Give the help its examples, and the Bank's notice, which the toolset has."""
    from signet.toolsets.boj.sources import CREDIT

    parser.epilog = f"{EXAMPLES}{CREDIT}\n"


def _add_explore(commands: Any) -> None:
    """Add the commands that use the index of series."""
    search = _command(commands, "search", _search, "find series by words, in English or Japanese, or by a code")
    search.add_argument("text", nargs="+", help="words; all must match if a series has all of them")
    search.add_argument("--db", metavar="DB", help="search in this database only, for example FM08")
    search.add_argument("--frequency", metavar="F", help="only this frequency: CY, FY, CH, FH, Q, M, W or D")
    search.add_argument("--limit", metavar="N", type=int, help="number of series, 1 to 50 (default: 10)")
    search.add_argument("--json", action="store_true", help="print JSON")
    _add_upstream(search, "boj_index_dir", "boj_index_days")

    info = _command(commands, "info", _info, "show what the Bank says of series: names, unit, first and last period")
    info.add_argument("db", help="database code, for example FM08")
    info.add_argument("codes", nargs="+", metavar="code", help="series code")
    info.add_argument("--json", action="store_true", help="print JSON")
    _add_upstream(info, "boj_index_dir", "boj_index_days")

    text = "fill the index that search uses; after an interruption, the same command goes on"
    index = _command(commands, "index", _index, text)
    index.add_argument("--rebuild", action="store_true", help="ask for every list again, whatever its age")
    _add_upstream(index, "boj_index_dir", "boj_index_days")


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
    command: Parser = commands.add_parser(name, help=text, description=text[:1].upper() + text[1:] + ".")
    command.set_defaults(run=run)
    return command


def _add_codes(container: Any, **options: Any) -> None:
    text = "select series by code; all must have the same frequency"
    container.add_argument("--codes", metavar="A,B", help=text, **options)


def _add_span(command: argparse.ArgumentParser) -> None:
    shape = "YYYY, or YYYY and two digits for the half, quarter or month"
    command.add_argument("--start", metavar="DATE", help=f"first period: {shape} (default: the first available)")
    command.add_argument("--end", metavar="DATE", help="last period, in the same format (default: the last available)")
    text = "language of names, units and the Bank's messages: en or jp (default: en)"
    command.add_argument("--lang", choices=("en", "jp"), default="en", help=text)


def _add_output(fetch: argparse.ArgumentParser) -> None:
    text = "output file: .csv, .json or .parquet; - writes CSV to standard output"
    fetch.add_argument("--out", required=True, metavar="FILE", help=text)
    text = "write the last day of each period into the column date (default: the first day)"
    fetch.add_argument("--period-end", action="store_true", help=text)
    text = "write one row for each period and one column for each series, into .csv or .parquet"
    fetch.add_argument("--wide", action="store_true", help=text)
    text = f"what to write: {', '.join(UNITS)} (default: level, the Bank's own values)"
    fetch.add_argument("--units", choices=UNITS, default="level", metavar="U", help=text)
    text = "for --units index: the date or period whose average is 100, for example 2020 or 2020-01"
    fetch.add_argument("--base", metavar="DATE", help=text)
    fetch.add_argument(
        "--restart", action="store_true", help="discard the pages that an earlier fetch left in FILE.part"
    )
    fetch.add_argument(
        "--no-spreadsheet-safe",
        dest="spreadsheet_safe",
        action="store_false",
        help="write names and units into .csv as they are; by default an apostrophe stands before those that begin "
        "with =, +, -, @, tab or CR and are no numbers, since a spreadsheet would take them for formulas",
    )


def _add_upstream(command: Parser, *more: str) -> None:
    text = "use embedded sample data instead of the Bank of Japan"
    add_settings(
        command,
        "config",
        "sandbox",
        *more,
        *UPSTREAM,
        sandbox=text,
        call_timeout_s="seconds that a page may take (default: 50)",
    )


def _settings(args: argparse.Namespace) -> Settings:
    from signet.settings.reading import read_settings

    return read_settings(os.environ, {**flags_of(args), "toolsets": "boj,boj-explore"})


def _databases(args: argparse.Namespace) -> int:
    import msgspec

    from signet.commands.terminal import on_terminal, replace_unencodable, say, write
    from signet.toolsets.boj.databases import search

    replace_unencodable()
    text = " ".join(args.text)
    matches = search(text)
    if args.json:
        write(msgspec.json.encode([database._asdict() for database in matches]).decode())
    elif matches:
        lines = (f"{each.code}\t{each.english}\t{each.japanese}\t{each.category_english}" for each in matches)
        write(_table(matches) if on_terminal() else "\n".join(lines))
    if matches:
        if on_terminal() and not args.json:
            arguments = [f"db={matches[0].code}", "lang=en"]
            write(f"To list its series: {advise('boj.list', arguments=arguments)}")
        return 0
    say(f"no database has '{text}' in its code, name or field; without a text, all are listed")
    return FAILED


def _table(databases: list[Database]) -> str:
    """Return a table of databases under the headings of their fields."""
    from itertools import groupby

    from rich.table import Column

    from signet.commands.terminal import Cell, table

    columns = (
        Column("database", no_wrap=True),
        Column("name", overflow="fold", ratio=3),
        Column("Japanese name", overflow="fold", ratio=2),
    )
    rows: list[tuple[Cell, ...]] = []
    for (japanese, english), group in groupby(databases, lambda each: (each.category_japanese, each.category_english)):
        rows.append(("", (english, "bold cyan"), (japanese, "cyan")))
        rows += [(database.code, database.english, database.japanese) for database in group]
    return table(columns, rows)


def _fetch(args: argparse.Namespace) -> int:
    from signet.settings.usage import UsageError

    from .fetch import fetch

    if (args.layers is None) != (args.frequency is None):
        raise UsageError("--layers and --frequency go together; --codes needs neither")
    return fetch(args, _settings(args))


def _search(args: argparse.Namespace) -> int:
    from signet.commands.terminal import replace_unencodable

    from .explore import search

    replace_unencodable()
    return search(args, _settings(args))


def _info(args: argparse.Namespace) -> int:
    from signet.commands.terminal import replace_unencodable

    from .explore import info

    replace_unencodable()
    return info(args, _settings(args))


def _index(args: argparse.Namespace) -> int:
    from .index import index

    return index(args, _settings(args))


def _plot(args: argparse.Namespace) -> int:
    from signet.commands.terminal import replace_unencodable

    from .plot import plot

    replace_unencodable()
    return plot(args, _settings(args))
