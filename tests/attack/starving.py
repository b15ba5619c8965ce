"""Clients that hold the threads of plain functions: many slow calls from one address, and calls that are left."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from processes import Server, serving

from .clients import ATTACKER, BYSTANDER, SECOND_ATTACKER, Answer, connect, post, read_answers

TOOLS = str(Path(__file__).with_name("slow_tools.py"))
STARTED = "block: started"
SLOW_CALLS = 130
"""The calls of one address: more than twice as many as there are threads."""


class Running(Protocol):
    """An attack that runs, as `scripts/attack.py` has it."""

    server: Server
    requests: Any
    errors: list[str]
    over: threading.Event

    def watch(self) -> None:
        """Wait until the time is over."""

    def running(self, *work: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """Run work beside the bystander."""


def serving_slow(*flags: str) -> contextlib.AbstractContextManager[Server]:
    """Serve the slow tools, and one of Signet's own, until the block ends."""
    return serving("--toolsets", f"plantuml,{TOOLS}", *flags)


def leave(client: socket.socket) -> None:
    """Close a connection by RST, as a client does that is gone."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def ask(port: int, tool: str, value: object, source: str = BYSTANDER) -> Answer:
    """Return the answer to one call."""
    with contextlib.closing(connect(port, source)) as client:
        client.sendall(post(f"/api/tools/{tool}", value))
        return read_answers(client, 1)[0]


@contextlib.contextmanager
def holding(port: int, count: int, file: Path, source: str = ATTACKER, tool: str = "block") -> Iterator[None]:
    """Have slow calls run on connections of their own until the block ends; then their file is made."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(contextlib.closing(connect(port, source)))
            client.sendall(post(f"/api/tools/{tool}", {"file": str(file)}))
        try:
            yield
        finally:
            file.touch()


def threads(attack: Running) -> None:
    """Hold the threads by 130 slow calls of one address, and leave slow calls from another."""
    with attack.running(partial(_hold, attack), partial(_desert, attack), partial(_stand_by, attack)):
        attack.watch()


def _hold(attack: Running) -> None:
    while not attack.over.is_set():
        with contextlib.ExitStack() as stack:
            for _ in range(SLOW_CALLS):
                client = stack.enter_context(contextlib.closing(connect(attack.server.port, ATTACKER)))
                client.sendall(post("/api/tools/block", {"file": "/nowhere", "seconds": 2.0}))
                attack.requests["slow"] += 1
            attack.over.wait(3)


def _desert(attack: Running) -> None:
    chance = random.Random(7)
    while not attack.over.is_set():
        clients = [connect(attack.server.port, SECOND_ATTACKER) for _ in range(16)]
        for client in clients:
            client.sendall(post("/api/tools/block", {"file": "/nowhere", "seconds": chance.uniform(1, 20)}))
        attack.over.wait(0.2)
        for client in clients:
            leave(client)
        attack.requests["left"] += len(clients)


def _stand_by(attack: Running) -> None:
    """Make quick calls of plain functions; each must be answered."""
    while not attack.over.wait(0.02):
        for tool in ("echo", "echo_offloaded"):
            try:
                answer = ask(attack.server.port, tool, {"text": "still here"})
                assert answer.status == 200, answer.body
                attack.requests["bystander's threads"] += 1
            except (AssertionError, OSError) as error:
                attack.errors.append(f"{tool}: {error!r}"[:300])
