"""What a person is shown: a row a call, a column a way, the first difference, and progress while it goes on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from .channels import Channel
from .corpus import CorpusCall
from .report import OK, SAME, ParityReport

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["summary", "table", "watching"]

PIPE_WIDTH: Final = 160
GOOD: Final = "✓"
GOOD_IN_ASCII: Final = "ok"


def table(board: ParityReport) -> str:
    """Draw the board: in colours on a terminal, in plain columns into a pipe."""
    from rich.console import Console

    console = Console(width=None if _on_terminal() else PIPE_WIDTH)
    with console.capture() as shown:
        console.print(_drawn(board))
    return "\n".join(line.rstrip() for line in shown.get().splitlines())


def _drawn(board: ParityReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    good = _good()
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    drawn.add_column("call", overflow="fold")
    drawn.add_column("outcome", overflow="fold")
    for way in board.ways:
        drawn.add_column(way.replace(" ", "\n", 1), overflow="fold")
    for row in board.rows:
        outcome = Text(row.outcome, "" if row.outcome == OK else "yellow")
        cells = (Text(good, "green") if cell == SAME else Text(cell, "bold red") for cell in row.ways.values())
        drawn.add_row(Text(_plain(row.name)), outcome, *cells)
    return drawn


def summary(board: ParityReport) -> str:
    """Say how it went, and show the first difference."""
    calls, ways = len(board.rows), len(board.ways)
    if board.first is None:
        return f"calls: {calls}, ways: {ways}, all agree"
    apart = sum(not row.agrees for row in board.rows)
    first = board.first
    where = ", ".join(first.fields)
    head = f"calls: {calls}, ways: {ways}, calls on which they differ: {apart}"
    return (
        f"{head}\n\n'{_plain(first.call)}': {first.way} differs from {first.against} in {where}\n{_plain(first.diff)}"
    )


@contextlib.contextmanager
def watching(calls: int, ways: int) -> Iterator[Callable[[CorpusCall, Channel], None]]:
    """Give what shows how far it is, to a person at a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=calls * ways)
        yield lambda asked, way: progress.update(task, advance=1, description=f"{way.name}: {_plain(asked.name)}")


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _good() -> str:
    """Give the sign for agreement, as the output can carry it."""
    try:
        GOOD.encode(sys.stdout.encoding if sys.stdout is not None else "ascii")
    except (UnicodeError, LookupError):
        return GOOD_IN_ASCII
    return GOOD


def _plain(text: str) -> str:
    """Take away what would move a terminal's cursor or change its colours: the text may come from outside."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)
