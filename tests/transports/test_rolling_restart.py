"""Workers that are replaced while clients call, a server that says that it stops, and systemd's socket."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from processes import PATIENCE_S, SIGNET, Server, clean_env, serving

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


@contextlib.contextmanager
def activated(listener: socket.socket, *args: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server as systemd does: the socket is descriptor 3, and the variables name the process."""
    script = 'exec 3<&"$0"; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
    number = listener.fileno()
    command = ["bash", "-c", script, str(number), SIGNET, "serve", *args]
    process = subprocess.Popen(command, pass_fds=[number], env=clean_env(env), stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_socket_of_systemd_is_served_and_it_is_told_when_the_server_is_ready(count: str, tmp_path: Path) -> None:
    states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    states.bind(str(tmp_path / "notify"))
    states.settimeout(PATIENCE_S)
    listener = socket.create_server(("127.0.0.1", 0))
    flags = ("--toolsets", "plantuml", "--workers", count, "--no-journal")
    with states, listener, activated(listener, *flags, NOTIFY_SOCKET=str(tmp_path / "notify")) as process:
        assert states.recv(100) == b"READY=1"
        client = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=PATIENCE_S)
        client.request("POST", PATH, BODY, HEADERS)
        assert client.getresponse().status == 200
        client.close()
        process.terminate()
        if count == "2":
            assert states.recv(100) == b"STOPPING=1"
        assert process.wait(PATIENCE_S) == 0


def test_more_than_one_socket_of_systemd_is_refused_with_what_to_do() -> None:
    script = 'export LISTEN_PID=$$ LISTEN_FDS=2; exec "$@"'
    ended = subprocess.run(["bash", "-c", script, "-", SIGNET, "serve"], capture_output=True, check=False, timeout=60)

    assert ended.returncode == 2
    assert (
        ended.stderr.decode()
        == "signet: LISTEN_FDS: 2 sockets were passed, and one is needed; pass one listening socket\n"
    )
