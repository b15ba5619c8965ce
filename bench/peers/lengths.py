"""A tool that only tells the length of a text, as often as it is wanted: what it costs is the cost of the server. Pure.

Signet and FastMCP read its contract from the function, so `source` writes the functions as a user would.
"""

from __future__ import annotations

__all__ = ["DESCRIPTION", "FASTMCP", "PARAMETERS", "SIGNET", "Style", "length", "name", "source"]

from dataclasses import dataclass

DESCRIPTION = "Tell how long a text is, in characters or in bytes of UTF-8, with or without the space around it."
PARAMETERS = {
    "text": ("string", "the text to measure"),
    "unit": ("string", "characters or bytes"),
    "trim": ("boolean", "leave out the space around the text"),
}


def name(number: int) -> str:
    """Return the name of one of the tools."""
    return f"length_{number}"


def length(text: str, unit: str = "characters", *, trim: bool = False) -> int:
    """Run the tool."""
    text = text.strip() if trim else text
    return len(text.encode()) if unit == "bytes" else len(text)


@dataclass(frozen=True)
class Style:
    """How a library wants its tools: the text above them, the line above each, and the text below them."""

    head: str
    decorator: str
    tail: str = ""


SIGNET = Style("import signet", "@signet.tool(inline=True)\ndef")
# A coroutine, because FastMCP sends a plain function to a worker thread and that costs it time.
FASTMCP = Style(
    'from fastmcp import FastMCP\n\nmcp = FastMCP("lengths", version="1.0.0")',
    "@mcp.tool\nasync def",
    "\n\nmcp.run(show_banner=False)",
)


def source(count: int, style: Style) -> str:
    """Return a Python file with so many tools."""
    arguments = "".join(f"        {parameter}: {words}\n" for parameter, (_, words) in PARAMETERS.items())
    tools = (
        f"{style.decorator} {name(number)}(text: str, unit: str = 'characters', trim: bool = False) -> int:\n"
        f'    """{DESCRIPTION}\n\n    Args:\n{arguments}    """\n'
        "    return length(text, unit, trim=trim)"
        for number in range(count)
    )
    head = f"from bench.peers.lengths import length\n{style.head}"
    return "\n\n\n".join([head, *tools]) + f"{style.tail}\n"
