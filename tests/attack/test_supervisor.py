"""The processes of one server: workers end with their supervisor, and one that dies is replaced."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Iterator

from attack.observation import Bystander, Observed, until
from processes import Server, serving


@contextlib.contextmanager
def with_workers() -> Iterator[tuple[Server, list[int]]]:
    """Run a server of two workers; at the end none of its processes is left."""
    started: set[int] = set()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving("--toolsets", "plantuml", "--workers", "2"))
        supervisor = Observed(server.process.pid)
        bystander = Bystander(server.port)
        until(lambda: len(listeners(server)) >= 2, "two workers listen", bystander)
        started |= set(supervisor.children())
        try:
            yield server, listeners(server)
        finally:
            for pid in started:
                if Observed(pid).alive() and server.process.poll() is not None:
                    os.kill(pid, signal.SIGKILL)


def listeners(server: Server) -> list[int]:
    """Return the children of a supervisor that hold sockets."""

    def holds_sockets(pid: int) -> bool:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
            return any(link.startswith("socket:") for link in links)
        return False

    return [pid for pid in Observed(server.process.pid).children() if holds_sockets(pid)]


def refuses_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_the_death_of_the_supervisor_ends_its_workers() -> None:
    with with_workers() as (server, workers):
        children = Observed(server.process.pid).children()
        bystander = Bystander(server.port)
        bystander.ask()

        server.process.kill()
        server.process.wait()

        until(lambda: not any(Observed(pid).alive() for pid in children), "its processes have ended")
        assert len(workers) >= 2
        assert refuses_connections(server.port)


def test_a_worker_that_dies_is_replaced_and_the_others_answer_meanwhile() -> None:
    with with_workers() as (server, workers):
        bystander = Bystander(server.port)

        os.kill(workers[0], signal.SIGKILL)
        until(lambda: workers[0] not in listeners(server), "the worker is gone")
        until(lambda: len(listeners(server)) >= len(workers), "another takes its place", bystander)

        for _ in range(20):
            bystander.ask()
        assert server.process.poll() is None
