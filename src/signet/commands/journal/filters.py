"""Which records of a journal are wanted: by tool, door, code, text and time."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from signet.journal.reading import JournalLine

__all__ = ["Filter", "add_filters", "age", "filter_of"]

UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Filter(msgspec.Struct, frozen=True):
    """What a record must have; an empty text stands for anything."""

    tool: str = ""
    door: str = ""
    code: str = ""
    text: str = ""
    since: str = ""
    """The time of the oldest record, as the journal writes times."""

    @property
    def is_set(self) -> bool:
        """Whether any record is left out."""
        return self != Filter()

    def fits(self, line: JournalLine) -> bool:
        """Return whether a record is wanted."""
        return (
            (not self.tool or self.tool.lower() in line.tool.lower())
            and (not self.door or self.door.lower() in line.door.lower())
            and (not self.code or self.code.upper() == line.code)
            and (not self.text or self.text.encode() in line.raw)
            and line.ts >= self.since
        )


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a filter."""
    parser.add_argument("--tool", default="", metavar="TEXT", help="of tools whose slug has TEXT in it")
    parser.add_argument("--door", default="", metavar="TEXT", help="of doors with TEXT in their names: stdio, rest")
    parser.add_argument("--code", default="", metavar="CODE", help="with this canonical code, or OK")
    parser.add_argument("--text", default="", metavar="TEXT", help="with TEXT anywhere, such as a request id")
    parser.add_argument("--since", type=age, default=None, metavar="AGE", help="not older than this: 90s, 10m, 2h, 7d")


def age(text: str) -> timedelta:
    """Return a length of time; raise ArgumentTypeError, which says what to write."""
    found = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError("write a number and a unit: 90s, 10m, 2h, 7d")
    if not int(found[1]):
        raise argparse.ArgumentTypeError("write more than nothing: 90s, 10m, 2h, 7d")
    return timedelta(seconds=int(found[1]) * UNITS[found[2]])


def filter_of(args: argparse.Namespace) -> Filter:
    """Return the filter that the flags describe."""
    since = ""
    if args.since is not None:
        try:
            since = (datetime.now(UTC) - args.since).strftime("%Y-%m-%dT%H:%M:%S")
        except OverflowError:
            since = ""
    return Filter(args.tool, args.door, args.code, args.text, since)
