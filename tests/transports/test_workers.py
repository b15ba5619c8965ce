"""The processes of a server: its workers, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from door_calls import rpc
from processes import PATIENCE_S, ROOT, clean_env, serving, serving_command
from signet.transports import supervisor, workers
from signet.transports.http_server import HttpServer
from signet.transports.listening import bind
from signet.transports.workers import WorkerService

ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "serve")
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})


# --- workers


def test_several_workers_answer_as_one() -> None:
    with serving("--toolsets", "plantuml", "--workers", "2") as several:
        answers = {several.post("/mcp", CALL).body for _ in range(20)}

    assert len(answers) == 1
    assert several.process.returncode == 0


@pytest.mark.parametrize(("count", "done"), [(1, ["SIGINT, SIGTERM"]), (2, ["2 supervised"]), (3, ["3 supervised"])])
def test_one_process_serves_by_itself_and_several_have_a_supervisor(
    monkeypatch: pytest.MonkeyPatch, count: int, done: list[str]
) -> None:
    told: list[str] = []

    class Supervising:
        def __init__(self, _service: WorkerService, count: int, run: object) -> None:
            assert run is workers.run_worker
            self.run = lambda: told.append(f"{count} supervised")

    monkeypatch.setattr(supervisor, "Supervisor", Supervising)
    monkeypatch.setattr(workers, "_run", lambda _, *numbers: told.append(", ".join(one.name for one in numbers)))
    with bind("127.0.0.1", 0) as listener:
        workers.serve(WorkerService(lambda: None, listener), count)  # type: ignore[arg-type,return-value]

    assert told == done


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_second_application_is_served_as_long_as_the_first(is_alone: bool) -> None:
    told: list[str] = []
    servers: list[HttpServer] = []

    class Ready:
        def send(self, word: object) -> None:
            told.append(f"ready: {word}")

        def close(self) -> None:
            told.append("told")

    class Noted:
        records_all = False
        is_ready = True

        def __init__(self, name: str, *, is_last: bool) -> None:
            self._name, self._is_last = name, is_last

        def start(self) -> None:
            told.append(f"{self._name} starts")
            if self._is_last:
                asyncio.get_running_loop().call_soon(servers[0].stop)

        async def close(self) -> None:
            told.append(f"{self._name} ends")

    first, second = bind("127.0.0.1", 0), bind("127.0.0.1", 0)
    beside: Any = None if is_alone else (lambda: Noted("second", is_last=True), second)
    factory: Any = lambda: Noted("first", is_last=is_alone)  # noqa: E731
    ready: Any = Ready()
    asyncio.run(workers._serve(WorkerService(factory, first, on_start=servers.append, beside=beside), (), ready))
    second.close()

    between = [] if is_alone else ["second starts"]
    after = [] if is_alone else ["second ends"]
    assert told == ["first starts", "ready: None", "told", *between, "first ends", *after]
    assert first.fileno() == -1


# --- the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_call_in_flight_is_answered_before_a_signal_ends_the_server(number: signal.Signals) -> None:
    body = json.dumps(rpc("tools/call", {"name": "waits", "arguments": {"n": 500}})).encode()
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with serving_command(*ODD, "60") as server, contextlib.closing(server.connect()) as client:
        client.sendall(head % len(body) + body)
        # A second request on another connection is answered once the first has been read.
        assert server.ask("GET", "/healthz").status == 200
        server.process.send_signal(number)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))

        assert server.process.wait(PATIENCE_S) == 0
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"structuredContent":{"n":500}' in answer


def test_a_tool_that_will_not_end_does_not_keep_the_server() -> None:
    with serving_command(*ODD, "0.1") as server:
        assert server.post("/api/tools/clings", {}).status == 500

        server.process.terminate()

        assert server.process.wait(PATIENCE_S) == 0


# --- what goes wrong


ERROR = """
import asyncio, socket
from signet.transports.workers import WorkerService, serve

class App:
    records_all = False
    def start(self):
        loop = asyncio.get_running_loop()
        loop.call_exception_handler({"message": "an answer failed", "exception": ValueError("why")})
    def reload(self):
        pass
    async def close(self):
        print("closed")

def on_start(server):
    asyncio.get_running_loop().call_soon(server.stop)

def warn(text, error):
    print(f"{text}: {error!r}")

serve(WorkerService(App, socket.create_server(("127.0.0.1", 0)), warn=warn, on_start=on_start))
"""


def test_what_nobody_expected_on_the_event_loop_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ERROR], capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"an answer failed: ValueError('why')\nclosed\n", b"")
