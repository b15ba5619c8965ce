"""What people are shown of the tools: a table, and lines to paste."""

from __future__ import annotations

import shlex
import sys

import msgspec

from signet.kernel.tools import Tool, Toolbox

__all__ = ["paste_lines", "tool_table"]


def paste_lines(url: str, tool: Tool, *, secured: bool) -> str:
    """Give three lines that work at once: curl, a client's configuration, the command line."""
    body = msgspec.json.encode(tool.example).decode()
    header = ' -H "Authorization: Bearer $SIGNET_TOKEN"' if secured else ""
    server: dict[str, object] = {"type": "http", "url": f"{url}/mcp"}
    if secured:
        server["headers"] = {"Authorization": "Bearer ${SIGNET_TOKEN}"}
    config = msgspec.json.encode({"mcpServers": {"signet": server}}).decode()
    curl = f"curl -s {url}/api/tools/{tool.name} -H 'Content-Type: application/json'{header} -d {shlex.quote(body)}"
    call = f"{shlex.quote(sys.argv[0])} call {tool.name} --json {shlex.quote(body)}"
    return f"Try it, or give it to a client:\n  {curl}\n  {config}\n  {call}\nCtrl-C stops it.\n"


def tool_table(toolbox: Toolbox) -> None:
    """Print the tools: name, slug, and what each is for."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("tool", "slug", "what it does"):
        table.add_column(heading, overflow="fold")
    for tool in toolbox:
        table.add_row(tool.name, tool.slug, tool.description)
    Console().print(table)
