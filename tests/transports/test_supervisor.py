"""Workers that are replaced while clients call, and a server that says that it stops."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from processes import PATIENCE_S, Server, serving, serving_limited

PATH = "/api/tools/encodePlantUML"
BODY = b'{"plantumlCode":"A"}'
HEADERS = {"Content-Type": "application/json"}


def fact_of(path: str) -> str:
    """Return what /proc tells of a process or a thread; nothing of one that has ended meanwhile."""
    with contextlib.suppress(OSError):
        return Path(path).read_text()
    return ""


def children(pid: int) -> set[int]:
    """Return the processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(child) for task in tasks for child in fact_of(f"{task}/children").split()}


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended and that nobody has asked for does not."""
    return fact_of(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


def workers(server: Server) -> set[int]:
    """Return the processes that serve, without multiprocessing's own."""
    return {pid for pid in children(server.process.pid) if "spawn_main" in fact_of(f"/proc/{pid}/cmdline")}


def have_started(server: Server) -> bool:
    """Return whether two workers have loaded their tools: they handle the signal to retire."""
    bit = 1 << (signal.SIGUSR1 - 1)
    texts = [fact_of(f"/proc/{pid}/status") for pid in workers(server)]
    masks = [text.partition("SigCgt:")[2].partition("\n")[0] or "0" for text in texts]
    return [bool(int(mask, 16) & bit) for mask in masks] == [True, True]


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


# --- requests that are under way when workers are replaced


FOREVER = b"POST /api/tools/forever HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
WAITING = """
import asyncio, os, sys
from signet import tool

@tool
async def forever() -> str:
    \"\"\"Never answer.\"\"\"
    sys.stderr.write("forever: started\\n")
    sys.stderr.flush()
    await asyncio.Event().wait()
    return ""

@tool
async def until_there(path: str) -> str:
    \"\"\"Answer when a file is there.\"\"\"
    sys.stderr.write("until_there: started\\n")
    sys.stderr.flush()
    while not os.path.exists(path):
        await asyncio.sleep(0.02)
    return "there"
"""


@contextlib.contextmanager
def waiting(folder: Path, call_timeout_s: str, **limits: float) -> Iterator[Server]:
    """Run two workers with tools that wait."""
    path = folder / "endless.py"
    path.write_text(WAITING)
    flags = ("--toolsets", f"plantuml,{path}", "--workers", "2", "--log", "info", "--call-timeout-s", call_timeout_s)
    with serving_limited(*flags, "--no-journal", **limits) as server:
        until(lambda: have_started(server), "two workers")
        yield server


def begin_call(server: Server, more: bytes = b"") -> socket.socket:
    """Return a connection on which a call is in flight."""
    client = server.connect()
    client.sendall(FOREVER + b"Content-Length: 2\r\n\r\n{}" + more)
    server.wait_for("forever: started")
    return client


def read_all(client: socket.socket) -> bytes:
    with client:
        return b"".join(iter(lambda: client.recv(65_536), b""))


def replace_all(server: Server) -> None:
    """Ask for new workers, and wait until both old ones retire."""
    server.process.send_signal(signal.SIGHUP)
    until(lambda: server.stderr().count("takes the place of worker") == 2, "all workers are replaced")


def test_a_call_has_its_whole_time_in_a_worker_that_is_replaced_and_pipelined_requests_are_answered(
    tmp_path: Path,
) -> None:
    there = tmp_path / "there"
    body = json.dumps({"path": str(there)}).encode()
    head = b"POST /api/tools/until_there HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with waiting(tmp_path, "3600", retire_s=0.1, grace_s=0.1) as server:
        client = server.connect()
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body + HEALTH + HEALTH)
        server.wait_for("until_there: started")
        replace_all(server)
        # Longer than a worker waits for clients that have begun nothing.
        time.sleep(0.5)
        there.touch()

        answer = read_all(client)

    assert answer.count(b"HTTP/1.1 ") == 3, answer
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.lower().count(b"connection: close") == 1


def test_a_request_that_has_begun_to_come_is_not_cut_off_by_a_replacement(tmp_path: Path) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    with waiting(tmp_path, "3", retire_s=0.1, grace_s=0.1) as server:
        idle = [server.connect() for _ in range(12)]
        for one in idle:
            one.sendall(HEALTH)
            assert one.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        in_head, in_body = server.connect(), server.connect()
        in_head.sendall(head)
        in_body.sendall(head + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(BODY))
        assert in_body.recv(100).startswith(b"HTTP/1.1 100 ")
        replace_all(server)
        assert [read_all(one) for one in idle] == [b""] * len(idle)

        in_head.sendall(b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        in_body.sendall(BODY)

        assert read_all(in_head).startswith(b"HTTP/1.1 200 OK")
        assert read_all(in_body).startswith(b"HTTP/1.1 200 OK")


def test_a_stop_during_a_replacement_gives_calls_their_grace_and_a_second_one_does_not(tmp_path: Path) -> None:
    with waiting(tmp_path, "3") as server:
        client = begin_call(server)
        replace_all(server)
        server.process.send_signal(signal.SIGTERM)

        assert read_all(client).startswith(b"HTTP/1.1 500 ")
        assert server.process.wait(PATIENCE_S) == 0

    with waiting(tmp_path, "3600", grace_s=3600) as server:
        client = begin_call(server)
        replace_all(server)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: len(workers(server)) == 1, "the idle workers have ended")
        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(PATIENCE_S) == 0
        with contextlib.suppress(ConnectionResetError):
            assert read_all(client) == b""


def test_no_worker_outlives_its_supervisor_not_even_one_that_is_replaced(tmp_path: Path) -> None:
    with waiting(tmp_path, "3600", grace_s=0.2) as server:
        client = begin_call(server)
        replace_all(server)
        until(lambda: len(workers(server)) >= 3, "one worker retires")
        left = workers(server)

        server.process.kill()

        until(lambda: not [pid for pid in left if is_alive(pid)], "all workers have ended")
        client.close()


# --- workers that cannot start


TOOL = """
from signet import tool

@tool
def shout(text: str) -> str:
    \"\"\"Shout a text.\"\"\"
    return text.upper()
"""
IN_WORKER = "import multiprocessing, time\nif multiprocessing.parent_process() is not None:\n    "


@contextlib.contextmanager
def loading(path: Path, **limits: float) -> Iterator[Server]:
    """Run two workers with the tools of a file, which log JSON."""
    flags = ("--toolsets", str(path), "--workers", "2", "--log", "info", "--log-format", "json", "--no-journal")
    with serving_limited(*flags, **limits) as server:
        yield server


def facts(server: Server, event: str) -> list[dict[str, str]]:
    """Return the facts of all log lines of one event; each line is an object with a time."""
    lines = [json.loads(line) for line in server.stderr().splitlines()]
    assert all(line["ts"] for line in lines)
    return [line["facts"] for line in lines if line["event"] == event]


def test_a_new_worker_that_cannot_load_its_tools_is_one_log_line_and_the_old_workers_stay(tmp_path: Path) -> None:
    path = tmp_path / "shouting.py"
    path.write_text(TOOL)
    with loading(path) as server:
        until(lambda: have_started(server), "two workers")
        old = workers(server)
        assert server.post("/api/tools/shout", {"text": "a"}).status == 200
        path.write_text("raise RuntimeError('half an edit')\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("the old workers stay")

        warnings = facts(server, "server.warning")
        assert list(warnings[0]) == ["why", "cause", "error", "trace"]
        assert "half an edit" in warnings[0]["trace"]
        assert "ended with status 1: the old workers stay" in warnings[1]["why"]
        assert len(warnings) == 2
        assert workers(server) == old
        assert server.post("/api/tools/shout", {"text": "a"}).status == 200
    assert server.process.returncode == 0


def test_a_new_worker_that_takes_too_long_is_killed_and_the_old_workers_stay(tmp_path: Path) -> None:
    path = tmp_path / "shouting.py"
    path.write_text(TOOL)
    with loading(path, start_s=4) as server:
        until(lambda: have_started(server), "two workers")
        assert server.post("/api/tools/shout", {"text": "a"}).status == 200
        path.write_text(IN_WORKER + "time.sleep(3600)\n" + TOOL)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("did not serve within 4 s and was killed: the old workers stay")

        assert len(workers(server)) == 2
        assert server.post("/api/tools/shout", {"text": "a"}).status == 200


def test_workers_that_never_serve_are_told_and_tried_again_and_the_server_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "shouting.py"
    path.write_text(IN_WORKER + "time.sleep(3600)\n" + TOOL)
    with loading(path, start_s=0.3) as server:
        until(lambda: server.stderr().count("did not serve within 0.3 s") > 2, "it is tried again")
        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(PATIENCE_S) == 0
