"""Tools that fail in each way, and the doors through which a failure is told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from processes import SIGNET, Pipe, Server, piping, serving

TOKEN = "tok-4711-a-very-secret-token"
"""The server's token; the tools below give it away where they can."""
EXCEPTION = "the-text-of-the-exception"
VALUE = "the-value-of-the-result"

TOOLS = f'''
import asyncio
import os
import time

import signet


@signet.tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b


@signet.tool
def fail(how: str) -> int:
    """Fail."""
    try:
        return {{}}["first-cause"]
    except KeyError as error:
        raise RuntimeError("{EXCEPTION} " + how + os.environ["SIGNET_TOKEN"]) from error


@signet.tool
def lie(what: str) -> list[int]:
    """Return what breaks the contract."""
    return [1, "{VALUE}" if what == "short" else os.environ["SIGNET_TOKEN"] * 100]


@signet.tool
def circle() -> list[int]:
    """Return what is no JSON."""
    return [1, object()]


@signet.tool
async def hold() -> int:
    """Hold the event loop."""
    time.sleep(0.2)
    return 1
'''

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Call a tool; return the whole response."""


class Doors:
    """One server on HTTP and one on stdio, with the same flags."""

    def __init__(self, server: Server, pipe: Pipe) -> None:
        self.server = server
        self.pipe = pipe

    def ask(self, door: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool through a door; return the response."""
        call = {"name": tool, "arguments": arguments}
        mcp = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        invoke = {"tool": f"mcp.tool:tools.{tool}", "input": arguments}
        envelope = {"jsonrpc": "2.0", "id": "1", "method": "mcp.tool.invoke", "params": invoke}
        headers = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
        answer: dict[str, Any]
        if door.startswith("stdio"):
            answer = self.pipe.ask(mcp if door == "stdio mcp" else envelope)
        elif door == "http mcp":
            answer = self.server.post("/mcp", mcp, headers).json()
        elif door == "rest":
            answer = self.server.post(f"/api/tools/{tool}", arguments, headers).json()
        else:
            answer = self.server.post(f"/mcp/tool/tools.{tool}", envelope, headers).json()
        return answer

    def facts(self, door: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool that fails; return the part of the response that holds what is known of the fault."""
        answer = self.ask(door, tool, arguments)
        found: dict[str, Any]
        if "result" in answer:
            assert answer["result"]["isError"], answer
            return {"message": answer["result"]["content"][0]["text"], **answer["result"]["_meta"]}
        found = answer["error"]
        return found if door == "rest" else {"message": found["message"], **found["data"]}


DOORS = ("stdio mcp", "stdio envelope", "http mcp", "rest", "http envelope")


@contextlib.contextmanager
def open_doors(folder: Path, *flags: str) -> Iterator[Doors]:
    """Serve the tools on HTTP and on stdio."""
    file = folder / "tools.py"
    file.write_text(TOOLS, encoding="utf-8")
    env = {"SIGNET_TOKEN": TOKEN, "SIGNET_LOG_DIR": str(folder / "journal")}
    with (
        serving(str(file), *flags, env=env) as server,
        piping(SIGNET, "stdio", str(file), *flags, env=env) as pipe,
    ):
        yield Doors(server, pipe)
