"""What people are shown: tables, answers, lines to paste."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import msgspec

from signet.kernel.outcome import Outcome
from signet.kernel.tools import Tool, Toolbox

from .arguments import print_err

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["paste_lines", "show", "tool_table", "write"]


def write(text: str) -> None:
    """Write a line to standard output.

    Raises:
        OSError: it is closed or full, or has no such characters.
    """
    if sys.stdout is None:
        raise OSError(0, "it is closed")
    try:
        sys.stdout.write(text.rstrip("\n") + "\n")
    except UnicodeEncodeError:
        raise OSError(0, f"its encoding, {sys.stdout.encoding}, lacks a character; set PYTHONUTF8=1") from None


def tool_table(toolbox: Toolbox) -> None:
    """Show the tools: name, slug, and what each is for."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("tool", "slug", "what it does"):
        table.add_column(heading, overflow="fold")
    for tool in toolbox:
        table.add_row(tool.name, tool.slug, tool.description)
    console = _console()
    with console.capture() as shown:
        console.print(table)
    write(shown.get())


def show(outcome: Outcome) -> None:
    """Show an answer: for a person on a terminal, as one line of JSON into a pipe."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    fault = outcome.fault
    if fault is not None:
        hint = "; 'signet tools' lists what there is" if outcome.tool is None else ""
        print_err(f"signet: {fault.name}: {fault.message}{hint}\n")
        if not terminal:
            error = {"code": fault.name, "canonical_code": fault.code, "message": fault.message}
            write(msgspec.json.encode({"error": error}).decode())
    elif terminal:
        write(_for_people(outcome))
    else:
        write(outcome.body.decode())


def _for_people(outcome: Outcome) -> str:
    """Give the text that a tool's result is, or its JSON in colours."""
    if outcome.tool is not None and outcome.tool.to_content is not None:
        return "\n".join(block["text"] for block in outcome.tool.to_content(outcome.result) if block["type"] == "text")
    console = _console()
    with console.capture() as shown:
        console.print_json(outcome.body.decode())
    return shown.get()


def _console() -> Console:
    from rich.console import Console

    return Console()


def _program() -> str:
    """Give what to write to start this program again."""
    if sys.argv[0].endswith("__main__.py"):
        return f"{shlex.quote(sys.executable)} -m signet"
    return shlex.quote(sys.argv[0])


def paste_lines(url: str, tool: Tool, flags: str, *, secured: bool) -> str:
    """Give three lines that work at once: curl, a client's configuration, the command line with its flags."""
    body = msgspec.json.encode(tool.example).decode()
    header = ' -H "Authorization: Bearer $SIGNET_TOKEN"' if secured else ""
    server: dict[str, object] = {"type": "http", "url": f"{url}/mcp"}
    if secured:
        server["headers"] = {"Authorization": "Bearer ${SIGNET_TOKEN}"}
    config = msgspec.json.encode({"mcpServers": {"signet": server}}).decode()
    curl = f"curl -s {url}/api/tools/{tool.name} -H 'Content-Type: application/json'{header} -d {shlex.quote(body)}"
    call = f"{_program()} call {tool.name}{flags} --json {shlex.quote(body)}"
    return f"Try it, or give it to a client:\n  {curl}\n  {config}\n  {call}\nCtrl-C stops it.\n"
