"""The command `signet contract diff OLD NEW`: what it takes, what it shows, how it ends."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

import msgspec
from msgspec import UNSET

from signet.commands.terminal import write

from .diff import Finding, compare
from .sources import read_set

__all__ = ["add"]

BREAKS: Final = 1
PIPE_WIDTH: Final = 160
MAX_EXAMPLE_CHARS: Final = 300
COLOURS: Final = {"breaking": "bold red", "removed": "bold red", "added": "green"}
SOURCES: Final = """\
A set is a folder with tools/*.json (or a folder of such bundles), a wheel, http://…/mcp or 'stdio:COMMAND …'.
The status is 0 when all is compatible, 1 when something breaks, 2 when a set cannot be read.

examples:
  signet contract diff contracts/0.1.0 src/signet/schemas
  signet contract diff signet_mcp-0.1.0-py3-none-any.whl signet_mcp-0.2.0-py3-none-any.whl
  signet contract diff http://127.0.0.1:8080/mcp 'stdio:signet stdio' --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add what can be written behind `signet contract`."""
    actions = parser.add_subparsers(
        title="actions",
        metavar="ACTION",
        required=True,
        prog=parser.prog,
        help="diff OLD NEW: compare two contract sets",
    )
    text = "Say of each tool whether its contracts are compatible with what they were, with an example if not."
    diff = actions.add_parser(
        "diff",
        help="compare two contract sets: compatible or breaking, with an example",
        description=text,
        epilog=SOURCES,
        formatter_class=parser.formatter_class,
    )
    diff.add_argument("old", metavar="OLD", help="the set that clients rely on")
    diff.add_argument("new", metavar="NEW", help="the set that is to take its place")
    diff.add_argument("--json", action="store_true", help="as JSON, with whole examples")
    diff.add_argument("--token", help="bearer token to ask the servers with (none)")
    diff.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Compare, and show."""
    found = compare(read_set(args.old, token=args.token), read_set(args.new, token=args.token))
    breaks = any(one.breaks for one in found)
    if args.json:
        report = {"old": args.old, "new": args.new, "breaking": breaks, "findings": found}
        write(msgspec.json.encode(report).decode())
    else:
        write(_table(found) + "\n" + _summary(found))
    return BREAKS if breaks else 0


def _summary(found: list[Finding]) -> str:
    tools = {one.tool for one in found}
    broken = {one.tool for one in found if one.breaks}
    added = sum(one.verdict == "added" for one in found)
    kept = len(tools) - len(broken) - added
    return f"tools: {len(tools)}, breaking: {len(broken)}, compatible: {kept}, added: {added}"


def _table(found: list[Finding]) -> str:
    """Draw the findings; what a server said is shown as plain text, never taken for markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("tool", "side", "verdict", "why", "example"):
        table.add_column(heading, overflow="fold")
    for one in found:
        cells = (one.tool, one.side, one.verdict, one.why, _example(one.example))
        style = COLOURS.get(one.verdict, "")
        table.add_row(*(Text(_printable(cell), style if place == 2 else "") for place, cell in enumerate(cells)))  # noqa: PLR2004
    console = Console(width=None if sys.stdout is not None and sys.stdout.isatty() else PIPE_WIDTH)
    with console.capture() as shown:
        console.print(table)
    return "\n".join(line.rstrip() for line in shown.get().splitlines())


def _example(value: Any) -> str:
    if value is UNSET:
        return ""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_EXAMPLE_CHARS else text[:MAX_EXAMPLE_CHARS] + "…"


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "�" for sign in text)
