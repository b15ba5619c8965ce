"""`signet boj databases`: the Bank of Japan's databases, in both languages."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Final

import msgspec

from signet.commands.terminal import write
from signet.toolsets.boj.databases import Database, search

from .progress import say

__all__ = ["databases"]

FAILED: Final = 1


def databases(text: str, *, as_json: bool) -> int:
    """Show the databases that have every word of a text; the result is the exit status."""
    found = search(text)
    if as_json:
        write(msgspec.json.encode([one._asdict() for one in found]).decode())
    elif sys.stdout is not None and sys.stdout.isatty() and found:
        _table(found)
    elif found:
        write("\n".join(f"{one.code}\t{one.english}\t{one.japanese}\t{one.category_english}" for one in found))
    if not found:
        say(f"no database has '{text}' in its code, name or field; without a text, all are listed")
        return FAILED
    return 0


def _table(found: list[Database]) -> None:
    """Show them under the fields that they belong to."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("database", no_wrap=True)
    table.add_column("name", overflow="fold", ratio=3)
    table.add_column("Japanese name", overflow="fold", ratio=2)
    for (japanese, english), ones in groupby(found, lambda one: (one.category_japanese, one.category_english)):
        table.add_row("", Text(english, "bold cyan"), Text(japanese, "cyan"))
        for one in ones:
            table.add_row(one.code, one.english, one.japanese)
    console = Console(markup=False, highlight=False)
    with console.capture() as shown:
        console.print(table)
    write(shown.get())
