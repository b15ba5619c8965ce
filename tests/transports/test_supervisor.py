"""Workers that are replaced while clients call, and a server that says that it stops."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
from pathlib import Path
from typing import Self

from processes import PATIENCE_S, Server, serving

PATH = "/api/tools/encodePlantUML"
BODY = b'{"plantumlCode":"A"}'
HEADERS = {"Content-Type": "application/json"}


def children(pid: int) -> set[int]:
    """Return the processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(child) for task in tasks for child in (task / "children").read_text().split()}


def workers(server: Server) -> set[int]:
    """Return the processes that serve, without multiprocessing's own."""
    return {pid for pid in children(server.process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()}


class Load:
    """Clients that call without a pause, each on a connection that it keeps."""

    def __init__(self, port: int, clients: int = 4) -> None:
        self._port = port
        self._ends = threading.Event()
        self.answers: list[int] = []
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._call) for _ in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        while not self._ends.is_set():
            try:
                client.request("POST", PATH, BODY, HEADERS)
                response = client.getresponse()
                response.read()
                self.answers.append(response.status)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                client.close()
        client.close()


def until(condition: object, what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_all_workers_are_replaced_on_sighup_and_no_request_fails() -> None:
    with serving("--toolsets", "plantuml", "--workers", "2", "--log", "info") as server:
        until(lambda: len(workers(server)) == 2, "two workers")
        old = workers(server)
        with Load(server.port) as load:
            until(lambda: len(load.answers) > 50, "the load has begun")
            server.process.send_signal(signal.SIGHUP)
            until(lambda: len(workers(server)) == 2 and not workers(server) & old, "two new workers")
            seen = len(load.answers)
            until(lambda: len(load.answers) > seen + 50, "the new ones answer")

        assert load.failures == []
        assert set(load.answers) == {200}
        assert "takes the place of worker" in server.stderr()
    assert server.process.returncode == 0


def test_a_worker_that_dies_is_replaced_and_told() -> None:
    with serving("--toolsets", "plantuml", "--workers", "2") as server:
        until(lambda: len(workers(server)) == 2, "two workers")
        old = workers(server)
        victim = min(old)
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(workers(server) - {victim}) == 2, "a new worker")

        server.wait_for(f"worker {victim} ended with status -9")
        assert server.ask("GET", "/healthz").status == 200


def test_readiness_turns_false_before_the_drain_and_requests_are_still_answered() -> None:
    with serving("--toolsets", "plantuml", "--drain-s", "3600") as server:
        assert server.ask("GET", "/readyz").status == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.ask("GET", "/readyz").status == 503, "not ready")

        assert server.ask("GET", "/healthz").status == 200
        answer = server.ask("POST", PATH, BODY, HEADERS)
        assert answer.status == 200
        # A second signal ends the wait.
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0
