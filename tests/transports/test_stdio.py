"""The stdio door: what goes over two pipes, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
import tty
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

import misbehaving_server
from door_calls import rpc
from drop_in_servers import SERVERS
from journals import records_in
from processes import PATIENCE_S, ROOT, SIGNET, Pipe, clean_env, piping
from signet.transports.conversation import Conversation
from upstream_harness import DIRECT

ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "stdio")
PING = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
PONG = {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.fixture(params=["auto", "thread"])
def reader(request: pytest.FixtureRequest) -> dict[str, str]:
    """Both ways of reading: awaited, and in a thread where that cannot be."""
    return {"SIGNET_STDIO_READER": request.param}


@pytest.fixture
def patient(reader: dict[str, str]) -> Iterator[Pipe]:
    """The odd tools, with all the time in the world."""
    with piping(*ODD, "60", env=reader) as pipe:
        yield pipe


def call(name: str, request_id: object, **arguments: object) -> dict[str, object]:
    return rpc("tools/call", {"name": name, "arguments": arguments}, request_id=request_id)


def ids_in(lines: bytes) -> list[object]:
    return [json.loads(line)["id"] for line in lines.splitlines()]


def test_calls_run_side_by_side_and_answers_come_as_they_are_ready(patient: Pipe) -> None:
    patient.send(call("waits", "slow", n=300), call("waits", "quick", n=1), PING)

    answers = [patient.receive()["id"] for _ in range(3)]

    assert answers == ["p", "quick", "slow"]


CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}


def test_a_cancelled_call_is_never_answered(patient: Pipe) -> None:
    patient.send(call("hangs", "gone"), PING)
    assert patient.receive() == PONG
    patient.send(CANCEL)

    status, out, err = patient.finish()

    assert (status, out) == (0, b"")
    assert b"hangs: cancelled" in err


def test_a_call_that_is_cancelled_in_the_same_breath_is_not_answered_either(patient: Pipe) -> None:
    patient.send(call("hangs", "gone"), CANCEL, PING)

    status, out, err = patient.finish()

    assert (status, ids_in(out)) == (0, ["p"])
    assert b"Warning" not in err


@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": "nobody"}, []])
def test_a_cancellation_of_nothing_changes_nothing(patient: Pipe, params: object) -> None:
    patient.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    assert patient.ask(PING) == PONG


def test_progress_comes_before_the_answer_and_carries_its_token(patient: Pipe) -> None:
    patient.send(rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": "t"}}))

    told = [patient.receive() for _ in range(3)]

    assert [one.get("method") for one in told] == ["notifications/progress"] * 2 + [None]
    assert told[0]["params"] == {"progressToken": "t", "progress": 0, "message": "step 0"}
    assert told[2]["result"]["structuredContent"] == {"n": 2}


@pytest.mark.parametrize("is_file", [False, True])
def test_a_client_that_has_hung_up_is_sent_replies_alone_and_a_file_all(tmp_path: Path, is_file: bool) -> None:
    source, _ = os.pipe()
    if is_file:
        source = os.open(tmp_path / "source", os.O_CREAT | os.O_RDONLY)
    read, wire = os.pipe()
    asked = rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": "t"}})

    async def converse() -> None:
        conversation = Conversation(misbehaving_server.build(str(tmp_path)), wire, source)
        conversation.open()
        conversation.take(json.dumps(asked).encode() + b"\n")
        conversation.take(b"")
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    asyncio.run(converse())
    os.close(wire)
    with open(read, "rb") as pipe:
        told = [json.loads(line) for line in pipe]

    assert [one.get("method") for one in told] == [*["notifications/progress"] * (2 * is_file), None]


def written(folder: Path, answer: Callable[[Conversation], Awaitable[None]]) -> list[list[object]]:
    """Let a conversation write datagrams, and return the ids in each of them."""
    source, _ = os.pipe()
    read, wire = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    async def converse() -> None:
        conversation = Conversation(misbehaving_server.build(str(folder)), wire.fileno(), source)
        conversation.open()
        await answer(conversation)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    asyncio.run(converse())
    wire.close()
    found = []
    with read:
        read.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while lines := read.recv(1 << 16):
                found.append(ids_in(lines))
    return found


def test_the_answers_of_calls_that_end_together_are_one_write(tmp_path: Path) -> None:
    async def answer(conversation: Conversation) -> None:
        lines = [json.dumps(call("ticks", number, n=0)).encode() + b"\n" for number in range(10)]
        conversation.take(b"".join(lines))

    assert written(tmp_path, answer) == [[*range(10)]]


def test_an_answer_that_is_ready_at_once_overtakes_none_that_was_ready_before(tmp_path: Path) -> None:
    async def answer(conversation: Conversation) -> None:
        conversation.take(json.dumps(call("ticks", 1, n=0)).encode() + b"\n")
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        task.add_done_callback(lambda _: conversation.take(json.dumps(PING).encode() + b"\n"))

    assert written(tmp_path, answer) == [[1, "p"]]


def test_progress_is_told_to_nobody_who_did_not_ask(patient: Pipe) -> None:
    answer = patient.ask(call("ticks", 1, n=3))

    assert answer["result"]["structuredContent"] == {"n": 3}


def test_the_end_of_input_is_answered_to_the_last_call(patient: Pipe) -> None:
    patient.send(*(call("waits", number, n=50) for number in range(20)))

    status, out, _ = patient.finish()

    assert status == 0
    assert sorted(ids_in(out)) == list(range(20))  # type: ignore[type-var]


def test_a_last_line_without_an_end_is_answered_too(patient: Pipe) -> None:
    patient.stdin.write(json.dumps(PING).encode())

    status, out, _ = patient.finish()

    assert (status, ids_in(out)) == (0, ["p"])


def test_a_tool_that_will_not_end_does_not_keep_the_process(reader: dict[str, str]) -> None:
    with piping(*ODD, "0.1", env=reader) as pipe:
        pipe.send(call("clings", 1))

        status, out, _ = pipe.finish()

        assert (status, ids_in(out)) == (0, [1])


def test_a_client_that_does_not_read_stops_the_reading_and_loses_nothing(patient: Pipe) -> None:
    """20 MB of answers against a pipe of 64 KiB: what is not read is not asked for either."""
    line = json.dumps(rpc("tools/list", {})).encode() + b"\n"
    size = len(patient.ask(json.loads(line)))
    count = 20_000_000 // max(size, 3000)
    writer = os.fork()
    if writer == 0:
        patient.stdin.write(line * count)
        patient.stdin.flush()
        os._exit(0)

    answers = [patient.line() for _ in range(count)]
    os.waitpid(writer, 0)

    assert len(set(answers)) == 1
    assert _peak_mb(patient.process.pid) < 60


def _peak_mb(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_at_once_and_well(patient: Pipe, number: signal.Signals) -> None:
    patient.send(call("hangs", 1), PING)
    assert patient.receive() == PONG

    patient.process.send_signal(number)

    assert patient.process.wait(PATIENCE_S) == 0


TURNS = """
import os, signal, sys
from signet.transports.stdio import Prologue

source, end = os.pipe()
seen = []


class Counted(Prologue):
    def _wait(self, bell):
        if not seen:
            os.kill(os.getpid(), signal.SIGUSR1)
        elif len(seen) == 1:
            os.close(end)
        found = super()._wait(bell)
        seen.append(["source" if one == source else "bell" for one in found])
        return found


signal.signal(signal.SIGUSR1, lambda *_: None)
Counted(None, 1, source).hold()
print(seen)
"""


def test_a_signal_of_somebody_else_wakes_an_idle_process_once() -> None:
    done = subprocess.run([sys.executable, "-c", TURNS], capture_output=True, timeout=PATIENCE_S, check=True)

    assert done.stdout == b"[['bell'], ['source']]\n"


def test_a_process_is_idle_again_after_a_signal_that_a_tool_handles(tmp_path: Path) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text(
        "import signal\n\nimport signet\n\n"
        "signal.signal(signal.SIGUSR1, lambda *_: None)\n\n\n"
        '@signet.tool\ndef twice(n: int) -> int:\n    """Double a number."""\n    return 2 * n\n'
    )
    with piping(SIGNET, "stdio", "--no-journal", "--toolsets", str(tools)) as pipe:
        assert pipe.ask(PING) == PONG
        pipe.process.send_signal(signal.SIGUSR1)
        deadline, asleep = time.monotonic() + PATIENCE_S, 0
        # One that spins is running or waits to run whenever it is looked at.
        while asleep < 1000 and time.monotonic() < deadline:
            asleep = asleep + 1 if _state_of(pipe.process.pid) == "S" else 0
        assert pipe.ask(PING) == PONG

    assert asleep == 1000


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_client_that_is_gone_ends_the_process() -> None:
    with piping() as pipe:
        pipe.stdout.close()
        pipe.send(*[PING] * 3)
        pipe.stdin.close()

        assert pipe.process.wait(PATIENCE_S) == 0


# --- a client that leaves while a call hangs

Ends = tuple[int, int, list[int]]
"""What a client writes to and reads from, and the server's own ends: stdin, stdout."""


def pipes() -> Ends:
    (server_in, client_out), (client_in, server_out) = os.pipe(), os.pipe()
    return client_out, client_in, [server_in, server_out]


def sockets() -> Ends:
    ours, theirs = (each.detach() for each in socket.socketpair())
    return ours, os.dup(ours), [theirs, os.dup(theirs)]


def terminal() -> Ends:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    return ours, os.dup(ours), [theirs, os.dup(theirs)]


class Client:
    """A client at the other end of any two descriptors."""

    def __init__(self, ends: Ends, log: IO[bytes], env: dict[str, str]) -> None:
        self.out, self.into, theirs = ends
        command = [*ODD, "600"]
        self.process = subprocess.Popen(command, stdin=theirs[0], stdout=theirs[1], stderr=log, env=clean_env(env))
        for end in theirs:
            os.close(end)

    def send(self, *messages: object) -> None:
        os.write(self.out, b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def receive(self) -> object:
        with os.fdopen(os.dup(self.into), "rb") as lines:
            return json.loads(lines.readline())

    def close(self) -> None:
        for end in (self.out, self.into):
            with contextlib.suppress(OSError):
                os.close(end)


@pytest.fixture(params=[pipes, sockets, terminal])
def client(request: pytest.FixtureRequest, tmp_path: Path, reader: dict[str, str]) -> Iterator[Client]:
    """A client of the odd tools, which have ten minutes."""
    open_ends: Callable[[], Ends] = request.param
    with (tmp_path / "stderr").open("wb") as log:
        client = Client(open_ends(), log, reader)
    try:
        yield client
    finally:
        client.close()
        if client.process.poll() is None:
            client.process.kill()
        print("the server ended with", client.process.wait(), (tmp_path / "stderr").read_text())


def test_a_client_that_is_gone_takes_its_hanging_call_along(client: Client, tmp_path: Path) -> None:
    client.send(call("hangs", 1), PING)
    assert client.receive() == PONG
    deadline = time.monotonic() + PATIENCE_S
    while not (tmp_path / "stderr").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)  # the call starts behind the answer to the ping

    client.close()

    assert client.process.wait(PATIENCE_S) == 0
    assert (tmp_path / "stderr").read_text().splitlines() == ["hangs: started", "hangs: cancelled"]


def test_a_client_that_leaves_later_takes_its_hanging_call_along(reader: dict[str, str]) -> None:
    """Its stdin ends first: as long as the client reads, the call goes on."""
    with piping(*ODD, "600", env=reader) as pipe:
        pipe.send(call("hangs", 1), call("waits", 2, n=50))
        pipe.stdin.close()
        assert pipe.receive()["id"] == 2

        pipe.stdout.close()

        assert pipe.process.wait(PATIENCE_S) == 0
        assert pipe.process.stderr is not None
        assert pipe.process.stderr.read() == b"hangs: started\nhangs: cancelled\n"


def test_a_client_that_only_ends_its_own_side_of_a_socket_is_answered(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, (tmp_path / "stderr").open("wb") as log:
        process = subprocess.Popen([*ODD, "600"], stdin=theirs, stdout=theirs, stderr=log, env=clean_env())
        theirs.close()
        ours.sendall(json.dumps(call("waits", 7, n=300)).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)

        received = b"".join(iter(lambda: ours.recv(65_536), b""))

        assert ids_in(received) == [7]
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("name", SERVERS)
def test_a_drop_in_server_ends_with_its_client_while_the_upstream_is_silent(name: str, tmp_path: Path) -> None:
    server, tool = SERVERS[name], SERVERS[name].tools[1]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        env = {**DIRECT, "SIGNET_LOG_DIR": str(tmp_path)}
        with piping(server.command, "--base-url", url, *server.upstream_flags, env=env) as pipe:
            pipe.send(call(tool, 1, **server.calls[tool]))
            peer, _ = silent.accept()
            with peer:
                assert peer.recv(4)

                pipe.stdin.close()
                pipe.stdout.close()

                assert pipe.process.wait(PATIENCE_S) == 0

    [record] = records_in(tmp_path)
    assert record["error"] == {"code": "INTERNAL_ERROR", "message": "the caller left before the answer"}
