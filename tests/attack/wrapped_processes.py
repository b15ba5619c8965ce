"""Clients that take all processes of a wrapped server, and one that has a process of its own there."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from attack.clients import ATTACKER, Answer, connect, post, read_answers
from processes import ROOT, SIGNET, Server, serving_command

ODD = (sys.executable, "-I", "-S", str(ROOT / "tests/wrap/odd_server.py"))
ACCEPT = ("accept", "application/json")
ALICE = "127.0.0.9"
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "starvation", "version": "1"},
}


class Attacked(Protocol):
    """What the part of an attack needs of it."""

    requests: Any
    errors: list[str]
    over: Any

    def watch(self) -> None: ...

    def running(self, *work: Any) -> contextlib.AbstractContextManager[None]: ...


def wrapping(folder: Path, pool: str) -> contextlib.AbstractContextManager[Server]:
    """Serve an odd server over HTTP until the block ends."""
    flags = ("wrap", "--serve", "--port", "0", "--no-journal", "--no-console", "--pool", pool)
    return serving_command(SIGNET, *flags, "--", *ODD, str(folder))


@dataclass
class Session:
    """One session over HTTP, from an address of its own."""

    port: int
    source: str = ATTACKER
    id: str = ""

    def open(self) -> Answer:
        """Begin the session."""
        answer = self.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
        self.id = answer.headers.get("mcp-session-id", "")
        return answer

    def call(self, name: str) -> Any:
        """Return the answer to a call of a tool."""
        params = {"name": name, "arguments": {}}
        return self.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).json()

    def count(self) -> tuple[int, int]:
        """Return the id of the process, and how many calls it had."""
        said = json.loads(self.call("count")["result"]["content"][0]["text"])
        return said["pid"], said["calls"]

    def send(self, message: Any) -> Answer:
        """Return the answer to a message."""
        with self.sending(message) as client:
            return read_answers(client, 1)[0]

    @contextlib.contextmanager
    def sending(self, message: Any) -> Iterator[Any]:
        """Send a message; its answer can be read until the block ends."""
        named = [("mcp-session-id", self.id)] if self.id else []
        with contextlib.closing(connect(self.port, self.source)) as client:
            client.sendall(post("/mcp", message, [ACCEPT, *named]))
            yield client


def starve(attack: Attacked) -> None:
    """Open sessions with a process each from one address; another address keeps its process, and gets new ones."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, wrapping(Path(folder), "session") as server:
        alice = Session(server.port, ALICE)
        alice.open()
        pid, _ = alice.count()

        def open_sessions() -> None:
            while not attack.over.is_set():
                with contextlib.suppress(OSError):
                    attack.requests[f"sessions, status {Session(server.port).open().status}"] += 1

        def stay() -> None:
            while not attack.over.wait(0.05):
                try:
                    other = Session(server.port, ALICE)
                    first = other.open().status
                    if first != 200 or alice.count()[0] != pid:
                        attack.errors.append("alice has lost her process, or gets no second one")
                    other.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
                    end(other)
                    attack.requests["alice"] += 1
                except (AssertionError, OSError, KeyError) as error:
                    attack.errors.append(f"alice: {error!r}"[:300])

        with attack.running(open_sessions, stay):
            attack.watch()


def end(session: Session) -> None:
    """End a session, and with it its process."""
    with contextlib.closing(connect(session.port, session.source)) as client:
        fields = f"Host: localhost\r\nmcp-session-id: {session.id}\r\n"
        client.sendall(f"DELETE /mcp HTTP/1.1\r\n{fields}\r\n".encode())
        read_answers(client, 1)
