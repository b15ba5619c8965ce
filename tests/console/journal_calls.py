"""What tests of the journal share: tools of a user, one call through each door, and a stream that is followed."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from door_calls import invocation, rpc
from processes import PATIENCE_S, Server

TOOLS = '''
import signet

made = []


@signet.tool(annotations={"readOnlyHint": True})
def same(text: str) -> str:
    """Return a text."""
    return text


@signet.tool(annotations={"readOnlyHint": True})
def later(text: str) -> list[int]:
    """Return how often it was called, and a number that stays."""
    made.append(text)
    return [len(made), 7]


@signet.tool
def change(text: str) -> str:
    """Change something."""
    return text


@signet.tool
def refuse(text: str) -> str:
    """Refuse a text."""
    raise signet.Fault(signet.Code.NOT_FOUND, f"No such text: {text}")
'''
DIAGRAM = "@startuml\nA -> B\n@enduml"


def write_tools(folder: Path) -> str:
    """Write a toolset of a user, and return its path."""
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    return str(folder / "tools.py")


def encode(server: Server, code: object = DIAGRAM) -> None:
    """Make a call through the REST door."""
    server.post("/api/tools/encodePlantUML", {"plantumlCode": code})


def encode_at_every_door(server: Server) -> None:
    """Make one call through each HTTP door."""
    arguments = {"plantumlCode": DIAGRAM}
    encode(server)
    accept = {"accept": "application/json, text/event-stream"}
    server.post("/mcp", rpc("tools/call", {"name": "encodePlantUML", "arguments": arguments}), accept)
    server.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", arguments))


def listed(server: Server, count: int, **wanted: object) -> dict[str, Any]:
    """Return the journal's page as soon as a number of records match."""
    page: dict[str, Any] = {}

    def is_there() -> bool:
        page.update(server.post("/-/journal", wanted).json())
        return page["matches"] >= count

    wait_until(is_there)
    return page


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


class Stream:
    """A stream of events that somebody reads."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._response = connection.getresponse()
        self._connection = connection
        self.status = self._response.status

    def close(self) -> None:
        """Leave."""
        self._response.close()
        self._connection.close()

    def lines(self) -> Iterator[bytes]:
        """Return the lines until the stream ends."""
        with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
            while line := self._response.readline():
                yield line

    def batch(self) -> dict[str, Any]:
        """Return the next event."""
        line = next(line for line in self.lines() if line.startswith(b"data: "))
        found: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
        return found


@contextlib.contextmanager
def following(server: Server, headers: Mapping[str, str] | None = None, **wanted: object) -> Iterator[Stream]:
    """Follow the journal until the block ends."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    try:
        body = json.dumps(wanted).encode()
        connection.request("POST", "/-/journal/stream", body, {"content-type": "application/json", **(headers or {})})
        yield Stream(connection)
    finally:
        connection.close()
