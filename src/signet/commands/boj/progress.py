"""How far a fetch is: a bar for a person at a terminal, a line a page for a log; all of it on standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from .partial_download import PartialDownload
from .series_query import SeriesQuery

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ProgressWatch", "amount", "printable", "say", "watching"]


class ProgressWatch(Protocol):
    """Is told of each page that has come."""

    def __call__(self, part: PartialDownload) -> None:
        """Show how far it is."""


def say(text: str) -> None:
    """Say a sentence; nobody there to hear it is no reason to stop."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"signet: {printable(text)}\n")
            sys.stderr.flush()


def printable(text: str) -> str:
    """Take away what would move a terminal's cursor or change its colours: the text may come from outside."""
    return "".join(char if char.isprintable() or char == "\u3000" else " " for char in text)


def amount(part: PartialDownload) -> str:
    """Say how much has come."""
    return f"{_many(part.pages, 'page')}, {part.series:,} series, {_many(part.points, 'observation')}"


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


@contextlib.contextmanager
def watching(question: SeriesQuery, part: PartialDownload) -> Iterator[ProgressWatch]:
    """Give what shows the progress, until the block ends."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda part: say(f"{question.db}: {amount(part)} so far")
        return
    progress = _bar()
    with progress:
        # Without a last position there is no telling how much is left: the bar only shows that it moves.
        task = progress.add_task(question.db, total=question.last_position, amount=amount(part))
        _show(progress, task, part)
        yield lambda part: _show(progress, task, part)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True))


def _show(progress: Progress, task: TaskID, part: PartialDownload) -> None:
    total = progress.tasks[task].total
    done = total if part.next is None else part.next - 1
    progress.update(task, completed=done or 0, amount=amount(part))
