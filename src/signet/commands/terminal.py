"""Output for people: plain and safe text, tables, results, lines to paste."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from signet.kernel.outcome import Outcome
from signet.system.advice import program
from signet.system.text import SPACES, printable
from signet.transports.path_names import escaped

from .arguments import print_err_line

if TYPE_CHECKING:
    from rich.table import Column

__all__ = [
    "OAUTH_TOKEN",
    "Cell",
    "columns",
    "counted",
    "on_terminal",
    "paste_lines",
    "replace_unencodable",
    "say",
    "show",
    "show_error",
    "show_result",
    "table",
    "text_of",
    "write",
    "write_json",
]

OAUTH_TOKEN: Final = "ACCESS_TOKEN"  # noqa: S105 - the name of a variable
"""The variable that stands for an access token in lines to paste: the issuer hands them out, not Signet."""

HEIGHT: Final = 25

Cell = str | tuple[str, str]
"""The text of a table cell, alone or with its rich style."""


def replace_unencodable() -> None:
    """Print a question mark for each character that the encoding of standard output lacks."""
    from io import TextIOWrapper

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def write(text: str) -> None:
    """Write a line to standard output.

    Raises:
        OSError: standard output is closed or full, or its encoding lacks a character.
    """
    if sys.stdout is None:
        raise OSError(0, "it is closed")
    try:
        sys.stdout.write(text.rstrip("\n") + "\n")
    except UnicodeEncodeError:
        raise OSError(0, f"its encoding, {sys.stdout.encoding}, lacks a character; set PYTHONUTF8=1") from None


def say(text: str) -> None:
    """Write one sentence to standard error, behind the name of the program."""
    print_err_line("signet", text)


def counted(number: int, noun: str, form: str = ",") -> str:
    """Return a number with its noun, such as `1 call` and `2,000 calls`; `form` is the format of the number."""
    return f"{number:{form}} {noun}" if number == 1 else f"{number:{form}} {noun}s"


def on_terminal() -> bool:
    """Return True if standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int:
    """Return the width of the terminal, or that of COLUMNS, or 80."""
    import shutil

    return shutil.get_terminal_size().columns


def table(
    headings: Iterable[str | Column],
    rows: Iterable[Sequence[Cell]],
    *,
    pipe_width: int | None = None,
    strip: bool = False,
) -> str:
    """Return a table as text, in colours on a terminal; cells are plain and safe text, never markup.

    A column given by its heading alone folds long cells. `pipe_width` is the width where there is no terminal
    (default: 80 columns, or COLUMNS); `strip` removes the blanks at the end of lines.
    """
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    heads = [Column(column, overflow="fold") if isinstance(column, str) else column for column in headings]
    has_words = any(column.header for column in heads)
    grid = Table(*heads, box=None, header_style="bold", pad_edge=False, show_header=has_words)
    for row in rows:
        cells = ((cell, "") if isinstance(cell, str) else cell for cell in row)
        grid.add_row(*(Text(printable(text, keep=SPACES + "\n"), style) for text, style in cells))
    width = columns() if on_terminal() else pipe_width
    # Without a height too, rich takes 80 columns for the width of a simple terminal. Alone it keeps bold and dim where
    # NO_COLOR is set.
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(width=width, height=None if width is None else HEIGHT, color_system=colours)
    with console.capture() as captured:
        console.print(grid)
    lines = captured.get().splitlines()
    return "\n".join(line.rstrip() for line in lines) if strip else captured.get()


def show(outcome: Outcome, unknown_tool: str = "") -> None:
    """Print an outcome: for a person on a terminal, as one line of JSON into a pipe.

    `unknown_tool` replaces the message for a call whose tool is not there.
    """
    fault = outcome.fault
    if fault is not None:
        message = unknown_tool if outcome.tool is None else ""
        show_error(fault.name, fault.code, message or fault.message, said=message)
        return
    text = None
    if outcome.tool is not None and outcome.tool.to_content is not None and on_terminal():
        # A picture has no text: its JSON is shown.
        text = text_of(outcome.tool.to_content(outcome.result)) or None
    elif outcome.relayed is not None and outcome.relayed.structured is None and on_terminal():
        text = text_of(msgspec.json.decode(outcome.relayed.content or b"[]")) or None
    show_result(outcome.body, text)


def show_error(name: str, canonical_code: str, message: str, said: str = "") -> None:
    """Print the error of a call to standard error, as `said` where that is given, and as JSON into a pipe."""
    say(said or f"{name}: {message}")
    if not on_terminal():
        error = {"code": name, "canonical_code": canonical_code, "message": message}
        write(msgspec.json.encode({"error": error}).decode())


def show_result(body: bytes, text: str | None) -> None:
    """Print the result of a call: as it is into a pipe; on a terminal its text, or its JSON in colours."""
    if not on_terminal():
        write(body.decode())
    elif text is not None:
        write(printable(text, keep=SPACES + "\n\t", substitute=None))
    else:
        write(_in_colours(body))


def text_of(blocks: list[Any]) -> str:
    """Return the text among content blocks."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _in_colours(body: bytes) -> str:
    """Return JSON in colours, with control characters escaped."""
    from rich.console import Console
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    json = Text(_escaped(msgspec.json.format(body).decode()))
    JSONHighlighter().highlight(json)
    console = Console()
    with console.capture() as captured:
        console.print(json, soft_wrap=True)
    return captured.get()


def write_json(text: str) -> None:
    """Write JSON to standard output: unchanged into a pipe, with control characters escaped on a terminal."""
    write(_escaped(text) if on_terminal() else text)


def _escaped(json: str) -> str:
    """Escape what JSON itself does not: C1 and bidi controls, which stand in strings only."""
    return printable(json, keep=SPACES + "\n", substitute=None)


def paste_lines(url: str, tool: str, example: Mapping[str, Any], flags: str, token: str) -> str:
    """Return three lines to paste: curl, a client's configuration, the command line with its flags.

    `token` is the variable with the caller's token; empty where none is needed. A client of OAuth gets one by itself.
    """
    body = msgspec.json.encode(example).decode()
    header = f' -H "Authorization: Bearer ${token}"' if token else ""
    server: dict[str, object] = {"type": "http", "url": f"{url}/mcp"}
    if token and token != OAUTH_TOKEN:
        server["headers"] = {"Authorization": f"Bearer ${{{token}}}"}
    config = msgspec.json.encode({"mcpServers": {"signet": server}}).decode()
    path = f"/api/tools/{escaped(tool)}"
    curl = f"curl -s {url}{path} -H 'Content-Type: application/json'{header} -d {shlex.quote(body)}"
    call = f"{program()} call {shlex.quote(tool)}{flags} --json {shlex.quote(body)}"
    return f"Try it, or give it to a client:\n  {curl}\n  {config}\n  {call}\nCtrl-C stops it.\n"
