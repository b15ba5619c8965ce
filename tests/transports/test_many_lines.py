"""A chunk with thousands of short lines: the event loop turns between them, and none is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from door_calls import rpc
from processes import PATIENCE_S, SIGNET, clean_env
from signet.kernel.channel import ClientChannel
from signet.kernel.server import Server
from signet.kernel.wire import Reply
from signet.transports.conversation import Conversation
from signet.transports.pipes import unblocked
from signet.transports.stdio import Prologue

COUNT = 2_000
MAX_TURN = 500
"""What one turn may answer."""


def lines(method: str, count: int = COUNT) -> bytes:
    return b"".join(json.dumps(rpc(method, {}, request_id=number)).encode() + b"\n" for number in range(count))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")), timeout_s=PATIENCE_S)


@pytest.fixture
def ends() -> Iterator[list[int]]:
    """The source and its sender, the receiver and the wire."""
    found = [*os.pipe(), *os.pipe()]
    yield found
    for end in found:
        with contextlib.suppress(OSError):
            os.close(end)


class Reader:
    """The client's side of the wire."""

    def __init__(self, receiver: int) -> None:
        os.set_blocking(receiver, False)
        self._receiver = receiver
        self._rest = b""
        self._ids: list[int] = []

    def ids(self) -> list[int]:
        """Return the ids of all that was received so far."""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._receiver, 1 << 16):
                *whole, self._rest = (self._rest + part).split(b"\n")
                self._ids += [json.loads(line)["id"] for line in whole]
        return [*self._ids]


def test_the_event_loop_turns_between_the_lines_of_a_chunk(server: Server, ends: list[int]) -> None:
    source, _, receiver, wire = ends
    reader = Reader(receiver)

    async def scenario() -> list[list[int]]:
        conversation = Conversation(server, wire, source)
        conversation.open()
        conversation.take(lines("ping"))
        seen = [reader.ids()]
        while len(seen[-1]) < COUNT:
            await asyncio.sleep(0)
            seen.append(reader.ids())
        return seen

    with unblocked(wire):
        seen = asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))

    steps = [len(after) - len(before) for before, after in zip([[], *seen], seen, strict=False)]
    assert max(steps) <= MAX_TURN
    assert seen[-1] == list(range(COUNT))


def test_the_lines_behind_unread_answers_wait_until_the_client_reads(server: Server, ends: list[int]) -> None:
    source, sender, receiver, wire = ends

    async def scenario() -> tuple[int, list[int]]:
        conversation = Conversation(server, wire, source)
        held = asyncio.ensure_future(conversation.hold(in_thread=False))
        await asyncio.sleep(0)
        conversation.take(lines("tools/list"))
        for _ in range(20):
            await asyncio.sleep(0)
        size = conversation._out.backlog_bytes
        reader, found = Reader(receiver), list[int]()
        while len(found) < COUNT:
            await asyncio.sleep(0.001)
            found = reader.ids()
        os.close(sender)
        await held
        return size, found

    size, found = asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))

    reply = server.receive(lines("tools/list", 1), ClientChannel())
    assert isinstance(reply, Reply)
    bound = (1 << 20) + MAX_TURN * (len(reply.body) + 10)
    assert 1 << 20 < size < bound < COUNT * len(reply.body)
    assert found == list(range(COUNT))


def test_a_client_that_is_gone_ends_the_wait_of_its_lines(server: Server, ends: list[int]) -> None:
    source, _, receiver, wire = ends

    async def scenario() -> None:
        conversation = Conversation(server, wire, source)
        held = asyncio.ensure_future(conversation.hold(in_thread=False))
        await asyncio.sleep(0)
        conversation.take(lines("tools/list"))
        assert conversation._unanswered
        os.close(receiver)
        await held

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


def test_a_signal_takes_the_lines_along_that_wait(server: Server, ends: list[int]) -> None:
    source, _, receiver, wire = ends
    reader = Reader(receiver)

    async def scenario() -> list[int]:
        conversation = Conversation(server, wire, source)
        conversation.open()
        conversation.take(lines("ping"))
        conversation._stop()
        for _ in range(20):
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().remove_reader(source) is False
        return reader.ids()

    with unblocked(wire):
        assert asyncio.run(scenario()) == list(range(MAX_TURN))


@pytest.mark.parametrize("is_file", [False, True])
def test_every_line_is_answered_before_the_server_ends(tmp_path: Path, is_file: bool) -> None:
    """Behind a call that is awaited, which brings the event loop, from a pipe and from a file, which a thread reads."""
    awaited = {"name": "encodePlantUML", "arguments": {"plantumlCode": "x" * 40_000}}
    asked = json.dumps(rpc("tools/call", awaited, request_id=-1)).encode() + b"\n" + lines("ping", 6_000)
    command = (SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal")
    path = tmp_path / "asked.jsonl"
    path.write_bytes(asked)
    with path.open("rb") as file:
        given: dict[str, Any] = {"stdin": file} if is_file else {"input": asked}
        done = subprocess.run(command, **given, capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    ids = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, b"")
    assert [one for one in ids if one >= 0] == list(range(6_000))
    assert ids.count(-1) == 1


def test_the_lines_of_a_prologue_that_has_ended_are_all_answered(server: Server, ends: list[int]) -> None:
    source, _, receiver, wire = ends
    prologue = Prologue(server, wire, source)
    prologue.unanswered, prologue.is_ended = [*lines("ping").splitlines()], True
    reader, found = Reader(receiver), list[int]()

    async def scenario() -> None:
        held = asyncio.ensure_future(Conversation(server, wire, source, prologue=prologue).hold(in_thread=False))
        while not held.done():
            await asyncio.sleep(0.001)
            found[:] = reader.ids()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))

    assert found == list(range(COUNT))


def test_a_thread_waits_until_the_lines_that_it_read_are_answered(server: Server, ends: list[int]) -> None:
    source, _, receiver, wire = ends
    reader, taken = Reader(receiver), threading.Event()

    async def scenario() -> list[tuple[bool, bool]]:
        conversation = Conversation(server, wire, source)
        conversation.open()
        conversation._take_from_thread(lines("ping"), taken)
        seen: list[tuple[bool, bool]] = []
        while not (seen and seen[-1][1]):
            seen.append((len(reader.ids()) == COUNT, taken.is_set()))
            await asyncio.sleep(0)
        return seen

    with unblocked(wire):
        seen = asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))

    assert seen[0] == (False, False)
    assert all(is_whole for is_whole, is_taken in seen if is_taken)


def test_a_thread_reads_on_behind_lines_that_waited(server: Server, ends: list[int]) -> None:
    source, sender, receiver, wire = ends
    asked = lines("ping", 6_000)

    def write() -> None:
        with open(sender, "wb", closefd=False) as pipe:
            pipe.write(asked)
        os.close(sender)

    async def scenario() -> list[int]:
        held = asyncio.ensure_future(Conversation(server, wire, source).hold(in_thread=True))
        reader, found = Reader(receiver), list[int]()
        while len(found) < 6_000:
            await asyncio.sleep(0.001)
            found = reader.ids()
        await held
        return found

    writer = threading.Thread(target=write)
    writer.start()
    found = asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))
    writer.join(PATIENCE_S)

    assert found == list(range(6_000))
