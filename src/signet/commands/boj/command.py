"""What can be written behind `signet boj`, and what each of it runs; what they need is imported when they run."""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from . import CREDIT

if TYPE_CHECKING:
    from signet.settings import Settings

__all__ = ["add"]

EXAMPLES: Final = f"""\
examples:
  signet boj databases exchange                      find a database by a word, in either language
  signet boj fetch FM08 --codes FXERD01 --start 202401 --out rates.csv
  signet boj fetch MD10 --layers '*' --frequency Q --out deposits.parquet
  signet boj plot FM09 --codes FX180110001,FX180110002 --start 200001 --out rates.svg

--sandbox asks embedded sample data in place of the Bank of Japan.
{CREDIT}
"""

UPSTREAM: Final = {
    "--boj-base-url": ("URL", "where the API is (the Bank of Japan's public host)"),
    "--boj-timeout-ms": ("MS", "how long one attempt may take (10000)"),
    "--boj-retry-max": ("N", "how often to ask again (2)"),
    "--boj-retry-backoff-ms": ("MS", "the wait before the first retry, doubled each time (200)"),
    "--boj-min-interval-ms": ("MS", "least time between requests (1000 for the public host, else 0)"),
    "--call-timeout-s": ("S", "seconds that a page may take (60)"),
    "--log": ("FILTER", "what is logged on stderr: off, error … trace, or target=level (warn)"),
}
"""The settings that a question is asked under."""


def add(parser: argparse.ArgumentParser) -> None:
    """Say what can be written."""
    parser.epilog = EXAMPLES
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=parser.prog)

    databases = _command(parser, commands, "databases", _databases, "list the databases, in both languages")
    databases.add_argument("text", nargs="*", help="words that a database must have in its code, name or field")
    databases.add_argument("--json", action="store_true", help="as JSON")

    text = "fetch series into a file, page by page to the end; after a break the same command goes on where it stopped"
    fetch = _command(parser, commands, "fetch", _fetch, text)
    fetch.add_argument("db", help="the database, such as FM08")
    which = fetch.add_mutually_exclusive_group(required=True)
    _codes(which)
    which.add_argument("--layers", metavar="1,*,2", help="series by their place in the database: 1 to 5 levels")
    fetch.add_argument("--frequency", metavar="F", help="with --layers: CY, FY, CH, FH, Q, M, W or D")
    _span(fetch)
    fetch.add_argument("--out", required=True, metavar="FILE", help="where to: .csv, .json or .parquet")
    fetch.add_argument("--restart", action="store_true", help="discard what an earlier fetch left in FILE.part")
    _upstream(fetch)

    plot = _command(parser, commands, "plot", _plot, "draw series in the terminal, and into a PNG or SVG")
    plot.add_argument("db", help="the database, such as FM08")
    _codes(plot, required=True)
    _span(plot)
    plot.add_argument("--out", metavar="FILE", help="a picture too: .png or .svg")
    _upstream(plot)
    plot.set_defaults(layers=None, frequency=None)


def _command(parser: argparse.ArgumentParser, commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    sentence = text[:1].upper() + text[1:] + "."
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=sentence, formatter_class=parser.formatter_class
    )
    command.set_defaults(run=run)
    return command


def _codes(container: Any, **more: Any) -> None:
    container.add_argument("--codes", metavar="A,B", help="series by their codes, all of one frequency", **more)


def _span(command: argparse.ArgumentParser) -> None:
    shape = "YYYY, or YYYY and the half, quarter or month"
    command.add_argument("--start", metavar="DATE", help=f"the first period: {shape} (all there is)")
    command.add_argument("--end", metavar="DATE", help="the last period, written likewise")
    command.add_argument("--lang", choices=("en", "jp"), default="en", help="the language of names and units (en)")


def _upstream(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sandbox", action="store_true", default=None, help="ask embedded sample data")
    for flag, (metavar, text) in UPSTREAM.items():
        command.add_argument(flag, metavar=metavar, help=text)


def _settings(args: argparse.Namespace) -> Settings:
    from signet.settings import Settings, known_settings

    flags = {name: value for name, value in vars(args).items() if name in known_settings()}
    return Settings.read(os.environ, {**flags, "toolsets": "boj"})


def _speak_up() -> None:
    """Let an output that has no Japanese, or no lines to draw with, show a question mark in their place."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _databases(args: argparse.Namespace) -> int:
    from .listing import databases

    _speak_up()
    return databases(" ".join(args.text), as_json=args.json)


def _fetch(args: argparse.Namespace) -> int:
    from signet.settings import UsageError

    from .fetch import fetch

    if (args.layers is None) != (args.frequency is None):
        message = "--layers and --frequency go together; --codes needs neither"
        raise UsageError(message)
    return fetch(args, _settings(args))


def _plot(args: argparse.Namespace) -> int:
    from .plot import plot

    _speak_up()
    return plot(args, _settings(args))
