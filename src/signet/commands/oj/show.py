"""`signet oj show`: a statement, rendered for the terminal, and as Markdown into a pipe."""

from __future__ import annotations

import re
from typing import Final

from signet.commands.terminal import on_terminal, write
from signet.system.text import SPACES, printable

from .problem import FoundProblem

__all__ = ["show"]

LIMIT_LINE: Final = re.compile(r"^(\*\*[^*\n]+:?\*\*:?[^\n]*\S)\n(?=\*\*)", re.MULTILINE)
"""A line that begins in bold type, before another one."""


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
        # Judges write the limits on lines of their own, which Markdown would join.
        lines = LIMIT_LINE.sub(r"\1  \n", page)
        console.print(Markdown(lines, hyperlinks=False), width=min(console.width, 100))
    write(captured.get())
    return 0
