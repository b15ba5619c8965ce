"""What an attack costs the server: memory, descriptors and processor time from /proc, and a bystander's answers."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attack.clients import BYSTANDER, connect, head, post, read_answers, speak_tls
from door_calls import invocation, modern_headers, rpc
from processes import PATIENCE_S, Server

MIB = 1 << 20
CODE = {"plantumlCode": "A -> B"}
ENCODED = "SrJGjLDm0W0"
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": CODE})
MODERN_CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": CODE}, modern=True)
MODERN_HEADERS = tuple(modern_headers("tools/call", "encodePlantUML").items())
CALLS: dict[str, bytes] = {
    "mcp, handshake": post("/mcp", CALL),
    "mcp, modern": post("/mcp", MODERN_CALL, MODERN_HEADERS),
    "rest": post("/api/tools/encodePlantUML", CODE),
    "envelope": post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", CODE)),
}
"""The same call through each door."""


@dataclass(frozen=True)
class Observed:
    """A process as the kernel sees it."""

    pid: int

    def memory(self) -> int:
        """Return the bytes of memory that the process holds."""
        return self._status("VmRSS")

    def peak(self) -> int:
        """Return the largest number of bytes of memory that the process has held."""
        return self._status("VmHWM")

    def forget_peak(self) -> None:
        """Let the peak begin with the memory of now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def sockets(self) -> int:
        """Return the number of descriptors that are sockets; files may be opened late, by the journal for one."""
        count = 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                count += os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:")
        return count

    def processor_s(self) -> float:
        """Return the seconds of processor time that the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def children(self) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def alive(self) -> bool:
        """Return whether the process runs; one that has ended and is waited for by nobody does not."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
        except (FileNotFoundError, ProcessLookupError):
            return False

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


@dataclass
class Bystander:
    """A client with good manners, at an address of its own; each of its answers must be right."""

    port: int
    answered: int = 0
    is_encrypted: bool = False

    def ask(self) -> None:
        """Make the next call of those through each door, on a connection of its own."""
        door = list(CALLS)[self.answered % len(CALLS)]
        with contextlib.closing(self._connect()) as client:
            client.sendall(CALLS[door] + head("GET", "/healthz"))
            call, health = read_answers(client, 2)
        assert (call.status, result_of(door, call.json())["encoded"]) == (200, ENCODED)
        assert (health.status, health.json()) == (200, {"status": "ok"})
        self.answered += 1

    def _connect(self) -> socket.socket:
        plain = connect(self.port, BYSTANDER)
        return speak_tls(plain) if self.is_encrypted else plain


def result_of(door: str, answer: Any) -> Any:
    """Return the result of a call that succeeded."""
    return answer["result"]["structuredContent"] if door.startswith("mcp") else answer["result"]


def until(holds: Callable[[], bool], what: str, bystander: Bystander | None = None) -> None:
    """Wait until something holds, and let the bystander ask meanwhile; fail when it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        if bystander is not None:
            bystander.ask()
        time.sleep(0.02)


@contextlib.contextmanager
def costing_nothing(server: Server, memory: int = 64 * MIB) -> Iterator[Bystander]:
    """Yield a bystander; afterwards the server must hold its old sockets and little more memory at any time."""
    process = Observed(server.process.pid)
    bystander = Bystander(server.port)
    for _ in CALLS:
        bystander.ask()
    sockets, before = _settled(process), process.memory()
    process.forget_peak()
    try:
        yield bystander
    finally:
        # Also where a test fails: the next one shall not find its clients.
        until(lambda: process.sockets() <= sockets, f"the server holds {sockets} sockets again")
    bystander.ask()
    more = process.peak() - before
    assert more < memory, f"{more / MIB:.0f} MiB more"
    assert server.process.poll() is None
    assert "Traceback" not in server.stderr()


def _settled(process: Observed) -> int:
    """Return the number of sockets once it does not change from one look to the next."""
    last = -1
    while (count := process.sockets()) != last:
        last = count
        time.sleep(0.02)
    return count
