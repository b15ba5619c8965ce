"""`signet oj show`: a statement, rendered for the terminal, and as Markdown into a pipe."""

from __future__ import annotations

from signet.commands.arguments import SPACES, printable
from signet.commands.terminal import on_terminal, write

from .problem import FoundProblem

__all__ = ["show"]


def show(problem: FoundProblem) -> int:
    """Print a statement."""
    page = printable(problem.page, keep=SPACES + "\n\t", substitute=None)
    if not on_terminal():
        write(page)
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as captured:
        console.print(Markdown(page, hyperlinks=False), width=min(console.width, 100))
    write(captured.get())
    return 0
