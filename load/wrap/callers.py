"""The callers of a wrapped server: each keeps a connection, calls without a pause, and notes what became of a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from load.callers import ANSWER_S, Wire

TOOLS: Final = ("change", "look", "change", "put")
MAYBE: Final = "may have happened"
"""What the error of a call says that was sent and not answered."""
HEADERS: Final = ["Content-Type: application/json", "Accept: application/json, text/event-stream"]


@dataclass
class Sent:
    """One call, and its answer."""

    number: int
    tool: str
    kind: str = "lost"
    """`result`, `maybe` for an error that says so, `error` for another, `wrong` for the answer of another call."""
    text: str = ""

    @property
    def entry(self) -> str:
        """The id that the call carries."""
        return f"entry-{self.number}"


class Callers:
    """Calls through one port; `on_count` is told the number of each call before it is sent."""

    def __init__(self, port: int, calls: int, on_count: Callable[[int], None]) -> None:
        self._port = port
        self._numbers = iter(range(1, calls + 1))
        self._on_count = on_count
        self.sent: list[Sent] = []

    async def run(self, count: int) -> None:
        """Call with so many callers until all calls are made."""
        await asyncio.gather(*(self._call_on() for _ in range(count)))

    async def _call_on(self) -> None:
        wire = Wire(self._port)
        for number in self._numbers:
            call = Sent(number, TOOLS[number % len(TOOLS)])
            self.sent.append(call)
            self._on_count(number)
            await self._make(wire, call)
        wire.close()

    async def _make(self, wire: Wire, call: Sent) -> None:
        params = {"name": call.tool, "arguments": {"id": call.entry}}
        body = {"jsonrpc": "2.0", "id": call.number, "method": "tools/call", "params": params}
        try:
            _, answer = await asyncio.wait_for(wire.exchange("/mcp", HEADERS, json.dumps(body).encode()), ANSWER_S)
        except (OSError, EOFError, TimeoutError) as error:
            wire.close()
            call.text = repr(error)
            return
        call.kind, call.text = _read(call, answer)


def _read(call: Sent, answer: bytes) -> tuple[str, str]:
    """Return what kind of answer this is, and its text."""
    text = answer.decode()
    if text.startswith("event:"):
        text = text.rpartition("data: ")[2]
    message = json.loads(text)
    if message.get("id") != call.number:
        return "wrong", text
    result = message.get("result", {})
    said = message["error"]["message"] if "error" in message else result["content"][0]["text"]
    if "error" in message or result.get("isError"):
        return ("maybe" if MAYBE in said else "error"), said
    return ("result" if result.get("structuredContent") == {"id": call.entry} else "wrong"), said
