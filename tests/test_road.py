"""The one road, kept true: which modules a call walks through, in which order, and how few functions it takes."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

from signet.app import build_app, build_server
from signet.settings.model import Settings
from signet.transports.connection import Connection
from signet.transports.conversation import Conversation
from signet.transports.slots import ConnectionLimits, Slots
from signet.transports.stdio import Prologue

MAX_FUNCTIONS = {
    "stdio": 35,
    "stdio, with an event loop": 35,
    "/mcp": 52,
    "/api/tools/encodePlantUML": 52,
    "/mcp/tool/plantuml.encode": 52,
}
MAX_MODULES = 16

CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    b'"params":{"name":"encodePlantUML","arguments":{"plantumlCode":"A"}}}'
)
INVOKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"mcp.tool.invoke",'
    b'"params":{"tool":"mcp.tool:plantuml.encode","input":{"plantumlCode":"A"}}}'
)
ROAD = [
    "kernel.pipeline",  # find the tool and its contracts: the input keeps its own, and the call can be made
    "toolsets.plantuml.tools",
    "toolsets.plantuml.encoding",
    "kernel.pipeline",  # the output, as it is written,
    "kernel.wire",
    "kernel.pipeline",  # keeps its own
    "journal.writer",  # one record, whichever door
]
"""What every door has in common."""

ENGINE = ["kernel.server", "kernel.wire", "kernel.server", "kernel.wire", "kernel.server"]
"""The message is decoded once, and its params once."""
WEB_IN = [
    "transports.connection",
    "transports.reader",  # bytes to a request
    "transports.heads",
    "transports.connection",
    "transports.reader",
    "transports.web_app",  # its route and its refusal
    "transports.guard",
    "transports.web_app",
]
WEB_OUT = [
    "transports.connection",
    "transports.writer",
    "transports.heads",
    "transports.writer",  # what is written at the end of the turn
    "transports.slots",
    "transports.connection",
    "transports.slots",  # the time until the next request
    "transports.connection",
    "transports.slots",
    "transports.writer",  # one write
]
DOORS = {
    "stdio": (
        ["transports.stdio", "system.lines", "transports.stdio", *ENGINE],
        ["kernel.protocol", "kernel.wire", "transports.stdio", "transports.pipes"],
    ),
    "stdio, with an event loop": (
        ["transports.conversation", "system.lines", "transports.conversation", *ENGINE],
        ["kernel.protocol", "kernel.wire", "transports.conversation", "transports.pipes"],
    ),
    "/mcp": (
        [*WEB_IN, "transports.http", *ENGINE],
        ["kernel.protocol", "kernel.wire", "transports.http", *WEB_OUT],
    ),
    "/api/tools/encodePlantUML": (
        [*WEB_IN, "transports.rest", "kernel.wire", "transports.rest"],
        ["transports.rest", *WEB_OUT],
    ),
    "/mcp/tool/plantuml.encode": (
        [*WEB_IN, "transports.envelope", "kernel.server", "kernel.wire", "kernel.envelope", "kernel.schemas",
         "kernel.server"],
        ["kernel.envelope", "kernel.wire", "transports.envelope", *WEB_OUT],
    ),
}  # fmt: skip
"""What comes before it and after it at each door."""


class Walk:
    """Notes each function of ours that is entered, by module."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self.functions: list[str] = []

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("signet."):
            self.modules.append(module.removeprefix("signet."))
            self.functions.append(f"{self.modules[-1]}.{frame.f_code.co_qualname}")

    @property
    def road(self) -> list[str]:
        return [module for module, _ in groupby(self.modules)]


async def walk_prologue(message: bytes, settings: Settings) -> Walk:
    reader, writer = os.pipe()
    prologue = Prologue(build_server(settings), writer, reader)
    os.write(writer, message + b"\n")
    prologue.take()
    os.read(reader, 1 << 16)
    os.write(writer, message + b"\n")
    with Walk() as walk:
        prologue.take()
    os.close(reader)
    os.close(writer)
    return walk


async def walk_stdio(message: bytes, settings: Settings) -> Walk:
    reader, writer = os.pipe()
    conversation = Conversation(build_server(settings), writer, reader)
    conversation.open()
    conversation.take(message + b"\n")
    with Walk() as walk:
        conversation.take(message + b"\n")
    os.close(reader)
    os.close(writer)
    return walk


class Wire(asyncio.Transport):
    """Takes what is written; its client reads at once."""

    def write(self, data: Any) -> None:
        assert data.startswith(b"HTTP/1.1 200 OK\r\n")

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


async def walk_http(path: str, message: bytes, settings: Settings) -> Walk:
    connection = Connection(build_app(settings), Slots(ConnectionLimits()))
    connection.connection_made(Wire())
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    request = f"{head}{len(message)}\r\n\r\n".encode() + message
    connection.data_received(request)
    # A first call may take longer than a turn, because it compiles the contracts.
    await asyncio.sleep(0)
    with Walk() as walk:
        connection.data_received(request)
        await asyncio.sleep(0)
    return walk


MESSAGES = {
    "stdio": CALL,
    "stdio, with an event loop": CALL,
    "/mcp": CALL,
    "/api/tools/encodePlantUML": b'{"plantumlCode":"A"}',
    "/mcp/tool/plantuml.encode": INVOKE,
}


def walked(door: str, folder: Path) -> Walk:
    settings = Settings(log_dir=str(folder), toolsets="plantuml")
    message = MESSAGES[door]
    walks = {"stdio": walk_prologue, "stdio, with an event loop": walk_stdio}
    return asyncio.run(walks.get(door, partial(walk_http, door))(message, settings))


@pytest.mark.parametrize("door", DOORS)
def test_a_call_walks_these_modules_in_this_order(door: str, tmp_path: Path) -> None:
    before, after = DOORS[door]

    road = walked(door, tmp_path).road

    assert road == [*before, *ROAD, *after]


@pytest.mark.parametrize("door", DOORS)
def test_a_call_takes_few_functions_and_few_modules(door: str, tmp_path: Path) -> None:
    walk = walked(door, tmp_path)

    assert len(walk.functions) <= MAX_FUNCTIONS[door], walk.functions
    assert len(set(walk.modules)) <= MAX_MODULES


OWN = """
import signet

@signet.tool(name="encodePlantUML", inline=True)
def encode(plantumlCode: str) -> dict[str, str]:
    \"\"\"Return the text.\"\"\"
    return {"text": plantumlCode}
"""


def test_a_users_quick_function_adds_one_function_to_the_road_of_a_built_in_tool(tmp_path: Path) -> None:
    target = tmp_path / "own_road.py"
    target.write_text(OWN)
    settings = Settings(log_dir=str(tmp_path / "log"), toolsets=str(target))

    walk = asyncio.run(walk_stdio(CALL, settings))

    assert len([function for function in walk.functions if function.startswith("authoring.")]) == 1, walk.functions
