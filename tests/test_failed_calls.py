"""Calls that failed are not kept: a fault knows where it was raised, and its frames know all the rest."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import misbehaving_server
from door_calls import rpc
from processes import PATIENCE_S, SIGNET, Pipe, piping, serving
from signet.kernel.channel import ClientChannel
from signet.kernel.errors import Code, Fault, place_of
from signet.kernel.server import Pending, Server
from signet.kernel.wire import Reply

COUNT = 1_000
TEXT = "x" * 60_000
"""More than a diagram may have: the tool raises its fault."""
CALL = {"name": "encodePlantUML", "arguments": {"plantumlCode": TEXT}}
HEADERS = {"accept": "application/json", "mcp-protocol-version": "2025-11-25"}
MAX_MORE_MB = 25
"""Kept, the calls would take 60 MB and more."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")), timeout_s=PATIENCE_S)


@pytest.fixture
def _uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def faults() -> int:
    return sum(isinstance(one, Fault) for one in gc.get_objects())


async def answered(server: Server, tool: str) -> Reply:
    """Return the reply to a call, and hold it in a frame that the tool's frames lead to."""
    asked = json.dumps(rpc("tools/call", {"name": tool, "arguments": {}})).encode()
    reply = server.receive(asked, ClientChannel())
    if isinstance(reply, Pending):
        reply = await reply.reply
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("tool", ["raises", "raises_later", "missing", "lies", "not_json"])
def test_a_failed_call_is_freed_without_the_garbage_collector(server: Server, tool: str) -> None:
    asyncio.run(answered(server, tool))
    before = faults()

    for _ in range(10):
        assert asyncio.run(answered(server, tool)).outcome.fault is not None

    assert faults() == before


def test_a_reply_that_is_part_of_a_cycle_is_found_by_the_garbage_collector() -> None:
    class Holder:
        reply: Reply

    holder = Holder()
    holder.reply = Reply(b"", outcome=holder)
    gone = weakref.ref(holder)

    del holder
    gc.collect()

    assert gone() is None


def fail_with(error: Exception) -> None:
    raise error


def fail_behind_failures() -> None:
    """Raise a fault from an exception that was raised while another one was handled."""
    try:
        try:
            fail_with(KeyError("deepest"))
        except KeyError:
            fail_with(ValueError("between"))
    except ValueError as error:
        raise Fault(Code.INTERNAL_ERROR, "no") from error


def test_a_fault_forgets_the_frames_of_all_it_was_raised_from_and_keeps_the_place() -> None:
    with pytest.raises(Fault) as caught:
        fail_behind_failures()
    fault = caught.value
    between = fault.__cause__
    assert between is not None
    assert between.__context__ is not None
    place = place_of(between)
    between.__context__.__cause__ = between  # a chain that a user closed to a ring

    fault.forget_frames()

    assert place.startswith("ValueError at test_failed_calls.py:")
    assert fault.place == place
    assert [one.__traceback__ for one in (fault, between, between.__context__)] == [None, None, None]
    assert place_of(between) == "ValueError"


def test_a_fault_that_nothing_was_behind_has_no_place() -> None:
    fault = Fault(Code.NOT_FOUND, "no such thing")

    fault.forget_frames()

    assert fault.place == ""


def resident_mb(process_id: int) -> float:
    with open(f"/proc/{process_id}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def more_on_stdio() -> float:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", "--no-journal") as pipe:

        def call(pipe: Pipe, number: int) -> Any:
            return pipe.ask(rpc("tools/call", CALL, request_id=number))["result"]["isError"]

        assert all(call(pipe, number) for number in range(50))
        before = resident_mb(pipe.process.pid)
        assert all(call(pipe, number) for number in range(COUNT))
        return resident_mb(pipe.process.pid) - before


def more_over_http() -> float:
    with serving("--toolsets", "plantuml", "--no-journal", "--no-console") as running:

        def call() -> Any:
            return running.post("/mcp", rpc("tools/call", CALL), HEADERS).json()["result"]["isError"]

        assert all(call() for _ in range(50))
        before = resident_mb(running.process.pid)
        assert all(call() for _ in range(COUNT))
        return resident_mb(running.process.pid) - before


@pytest.mark.parametrize("more", [more_on_stdio, more_over_http])
def test_the_memory_of_a_server_does_not_grow_with_failed_calls(more: Any) -> None:
    assert more() < MAX_MORE_MB
