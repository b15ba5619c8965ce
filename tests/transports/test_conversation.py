"""What a conversation on stdio takes over from its prologue: nothing is lost where the event loop begins."""

from __future__ import annotations

import array
import asyncio
import fcntl
import json
import os
import signal
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import misbehaving_server
from door_calls import rpc
from processes import PATIENCE_S, SIGNET, Pipe, clean_env, piping
from signet.kernel.exchange import Exchange
from signet.kernel.server import Server
from signet.transports.conversation import Conversation
from signet.transports.pipes import unblocked
from signet.transports.stdio import Prologue, serve

COMMAND = (SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal")
FRESH = {"FRESH_PROCESSES": "1"}
"""A copy of a process that has an event loop has one too."""
LIST = rpc("tools/list", {}, request_id="list")
PING = rpc("ping", {}, request_id="ping")


def draw(size: int, request_id: str) -> dict[str, Any]:
    """Return a call: a large text is encoded in a thread, so that its call has to be awaited."""
    params = {"name": "encodePlantUML", "arguments": {"plantumlCode": "x" * size}}
    return rpc("tools/call", params, request_id=request_id)


QUICK, AWAITED = draw(10, "quick"), draw(40_000, "awaited")


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    with piping(*COMMAND, env=FRESH) as running:
        yield running


def has_loop(pipe: Pipe) -> bool:
    """Return whether the server has loaded the C part of asyncio."""
    with open(f"/proc/{pipe.process.pid}/maps", encoding="utf-8") as maps:
        return "_asyncio" in maps.read()


def test_the_event_loop_is_loaded_for_the_first_call_that_is_awaited(pipe: Pipe) -> None:
    before = [(pipe.ask(message)["id"], has_loop(pipe)) for message in (LIST, QUICK, PING)]
    awaited = pipe.ask(AWAITED)["id"], has_loop(pipe)

    assert before == [("list", False), ("quick", False), ("ping", False)]
    assert awaited == ("awaited", True)


def test_the_lines_behind_the_first_call_that_is_awaited_are_answered_too(pipe: Pipe) -> None:
    cut = json.dumps(rpc("ping", {}, request_id="cut")).encode()
    pipe.send(LIST, AWAITED, QUICK, PING)
    pipe.stdin.write(cut[:20])
    pipe.stdin.flush()
    answers = [pipe.receive()["id"] for _ in range(4)]
    pipe.send(cut[20:])

    assert sorted(answers) == ["awaited", "list", "ping", "quick"]
    assert answers[0] == "list"
    assert pipe.receive() == {"jsonrpc": "2.0", "id": "cut", "result": {}}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_awaited_call_ends_the_server_with_status_0(
    pipe: Pipe, number: signal.Signals
) -> None:
    pipe.ask(LIST)
    assert not has_loop(pipe)

    pipe.process.send_signal(number)

    assert pipe.process.wait(PATIENCE_S) == 0


def test_an_input_that_ends_is_answered_to_its_end() -> None:
    lines = b"\n".join(json.dumps(one).encode() for one in (LIST, AWAITED, PING))

    done = subprocess.run(COMMAND, input=lines, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert done.returncode == 0
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == ["awaited", "list", "ping"]


def test_a_client_that_reads_late_gets_every_answer_in_order(pipe: Pipe) -> None:
    count = 2_000
    asked = b"".join(json.dumps(rpc("tools/list", {}, request_id=number)).encode() + b"\n" for number in range(count))
    writer = os.fork()
    if writer == 0:
        pipe.stdin.write(asked)
        pipe.stdin.flush()
        os._exit(0)

    answers = [pipe.receive()["id"] for _ in range(count)]
    os.waitpid(writer, 0)

    assert answers == list(range(count))
    assert pipe.ask(PING)["id"] == "ping"
    assert not has_loop(pipe)


UNREAD = 3_000
"""So many pings are answered by more than a pipe holds."""


def test_a_client_that_writes_much_before_it_reads_is_answered(pipe: Pipe) -> None:
    pipe.send(*(rpc("ping", {}, request_id=number) for number in range(UNREAD)))

    assert [pipe.receive()["id"] for _ in range(UNREAD)] == list(range(UNREAD))
    assert not has_loop(pipe)


def test_a_call_that_is_awaited_behind_unread_answers_is_answered_after_them(pipe: Pipe) -> None:
    pipe.send(*(rpc("ping", {}, request_id=number) for number in range(UNREAD)), AWAITED, PING)

    assert [pipe.receive()["id"] for _ in range(UNREAD)] == list(range(UNREAD))
    assert sorted(pipe.receive()["id"] for _ in range(2)) == ["awaited", "ping"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_answers_are_unread(pipe: Pipe, number: signal.Signals) -> None:
    pipe.send(*(rpc("ping", {}, request_id=place) for place in range(UNREAD)))
    pipe.receive()

    pipe.process.send_signal(number)

    assert pipe.process.wait(PATIENCE_S) == 0


def test_a_client_that_is_gone_ends_a_server_whose_answers_are_unread(pipe: Pipe) -> None:
    pipe.send(*(rpc("ping", {}, request_id=place) for place in range(UNREAD)))
    pipe.receive()

    pipe.stdout.close()

    assert pipe.process.wait(PATIENCE_S) == 0


# --- in this process


class Wires:
    """The two pipes of a conversation, and the side of its client."""

    def __init__(self) -> None:
        self.source, self.sender = os.pipe()
        self.receiver, self.wire = os.pipe()
        self._received = b""

    def send(self, *messages: dict[str, Any]) -> None:
        os.write(self.sender, b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def receive(self) -> Any:
        while b"\n" not in self._received:
            self._received += os.read(self.receiver, 65_536)
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    def unread_bytes(self) -> int:
        """Return how much the server has not read."""
        found = array.array("i", [0])
        fcntl.ioctl(self.source, termios.FIONREAD, found)
        return found[0]

    def end(self) -> None:
        os.close(self.sender)
        self.sender = -1

    def close(self) -> None:
        for end in (self.source, self.sender, self.receiver, self.wire):
            if end >= 0:
                os.close(end)


@pytest.fixture
def wires() -> Iterator[Wires]:
    ends = Wires()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield ends
    ends.close()
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")), timeout_s=PATIENCE_S)


HANGS = rpc("tools/call", {"name": "hangs", "arguments": {}}, request_id="hangs")
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "hangs"}}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - nobody tells of what is waited for here
            await asyncio.sleep(0.001)


def test_nothing_is_left_behind_where_every_call_has_ended(odd: Server, wires: Wires) -> None:
    wires.send(rpc("ping", {}))
    wires.end()

    assert serve(odd, wires.wire, source=wires.source) is False
    assert wires.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_thread_reads_a_source_only_where_the_event_loop_cannot(odd: Server, wires: Wires, in_thread: bool) -> None:
    before = set(threading.enumerate())

    async def scenario() -> int:
        held = asyncio.ensure_future(Conversation(odd, wires.wire, wires.source).hold(in_thread=in_thread))
        wires.send(rpc("ping", {}))
        await until(lambda: not wires.unread_bytes())
        readers = len(set(threading.enumerate()) - before)
        wires.end()
        await held
        return readers

    assert asyncio.run(scenario()) == in_thread
    assert wires.receive()["id"] == 1


def test_a_cancelled_call_is_told_as_left_and_is_no_error(
    odd: Server, wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Exchange] = []
    monkeypatch.setattr(odd.events, "exchange", seen.append)
    errors: list[Any] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        held = asyncio.ensure_future(Conversation(odd, wires.wire, wires.source).hold(in_thread=False))
        wires.send(HANGS, PING, CANCEL)
        await until(lambda: len(seen) == 2)
        wires.end()
        await held

    asyncio.run(scenario())

    assert errors == []
    assert [(one.request, one.status, one.is_left) for one in seen] == [
        ("ping", 200, False),
        ("tools/call", 499, True),
    ]
    assert wires.receive()["id"] == "ping"


def test_calls_that_end_with_the_conversation_are_told_before_its_end(
    odd: Server, wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is gone takes its call along; the listener is not closed before it has heard of that."""
    told: list[object] = []
    monkeypatch.setattr(odd.events, "exchange", lambda one: told.append(one.status))
    monkeypatch.setattr(odd.events, "end", lambda: told.append("closed"))

    async def scenario() -> None:
        held = asyncio.ensure_future(Conversation(odd, wires.wire, wires.source).hold(in_thread=False))
        wires.send(HANGS)
        await until(lambda: not wires.unread_bytes())
        os.kill(os.getpid(), signal.SIGTERM)
        await held

    asyncio.run(scenario())

    assert told == [499, "closed"]


def test_a_source_that_has_ended_is_not_watched_while_calls_go_on(odd: Server, wires: Wires) -> None:
    """It stays readable, and would be read in each turn of the event loop."""

    async def scenario() -> list[bool]:
        loop = asyncio.get_running_loop()
        conversation = Conversation(odd, wires.wire, wires.source)
        chunks: list[bytes] = []
        take = conversation.take
        conversation.take = lambda chunk: (chunks.append(chunk), take(chunk))[1]  # type: ignore[method-assign]
        held = asyncio.ensure_future(conversation.hold(in_thread=False))
        wires.send(HANGS)
        await until(lambda: bool(chunks))
        wires.end()
        await until(lambda: b"" in chunks)
        await asyncio.sleep(0)
        watched = loop.remove_reader(wires.source)
        os.kill(os.getpid(), signal.SIGTERM)
        return [watched, await held]

    assert asyncio.run(scenario()) == [False, True]


def test_the_lines_behind_a_megabyte_of_unread_answers_wait(odd: Server, wires: Wires) -> None:
    count = 800
    asked = [rpc("tools/list", {}, request_id=number) for number in range(count)]
    prologue = Prologue(odd, wires.wire, wires.source)
    with unblocked(wires.wire):
        wires.send(*asked)
        prologue.take()
    held, waiting = len(prologue.unwritten), len(prologue.unanswered)

    answers: list[int] = []

    def read() -> None:
        answers.extend(wires.receive()["id"] for _ in range(count))
        wires.end()

    reader = threading.Thread(target=read)
    reader.start()
    prologue.hold()
    reader.join(PATIENCE_S)

    assert 1_048_576 < held < 1_300_000
    assert 0 < waiting < count
    assert answers == list(range(count))
    assert (prologue.unanswered, prologue.is_ended) == ([], True)


def test_while_the_prologues_answers_are_unread_nothing_further_is_read(odd: Server, wires: Wires) -> None:
    unwritten = b"x" * 2_000_000 + b"\n"
    prologue = Prologue(odd, wires.wire, wires.source)
    prologue.unwritten += unwritten

    async def scenario() -> tuple[int, int]:
        conversation = Conversation(odd, wires.wire, wires.source, prologue=prologue)
        wires.send(PING)
        asked = wires.unread_bytes()
        held = asyncio.ensure_future(conversation.hold(in_thread=False))
        for _ in range(20):
            await asyncio.sleep(0)
        left = wires.unread_bytes()
        received = 0
        while received < len(unwritten):
            left_bytes = len(unwritten) - received  # the answer behind them may be in the pipe already
            received += len(await asyncio.to_thread(os.read, wires.receiver, left_bytes))
        await until(lambda: not wires.unread_bytes())
        wires.end()
        await held
        return asked, left

    asked, left = asyncio.run(scenario())

    assert left == asked > 0
    assert wires.receive()["id"] == "ping"


def test_a_conversation_that_a_signal_ends_may_leave_work_behind(
    odd: Server, wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_soon() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(odd.events, "start", stop_soon)

    assert asyncio.run(Conversation(odd, wires.wire, wires.source).hold(in_thread=False)) is True
