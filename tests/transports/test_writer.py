"""The writer of responses: one write for a whole one, pieces as they come, and a client that does not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from signet.kernel.wire import Headers
from signet.transports.messages import Request, Response
from signet.transports.slots import ConnectionLimits, Slots
from signet.transports.writer import HttpWriter


class Wire(asyncio.Transport):
    """Keeps each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.writes.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (high, low) == (1, 0)


def request(method: str = "POST", version: str = "1.1") -> Request:
    return Request(method, "/", Headers((), ()), version)


@pytest.mark.parametrize("size", [0, 2, 100_000])
@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_a_response_is_one_write_and_for_head_only_its_head(method: str, size: int) -> None:
    async def scenario() -> list[bytes]:
        wire = Wire()
        writer = HttpWriter(wire, Slots(ConnectionLimits()))
        writer.write(request(method), Response(200, b"x" * size), keep_alive=True)
        await asyncio.sleep(0)
        return wire.writes

    [written] = asyncio.run(scenario())
    head, _, body = written.partition(b"\r\n\r\n")

    assert b"content-length: %d\r\n" % size in head
    assert len(body) == (size if method == "POST" else 0)


def bodies(written: bytes) -> list[bytes]:
    """Return the bodies of responses whose bodies have no line ends."""
    return [part.rpartition(b"\r\n\r\n")[2] for part in written.split(b"HTTP/1.1 200 OK")[1:]]


def test_the_short_responses_of_a_turn_are_one_write_at_its_end_and_a_long_one_comes_behind_them() -> None:
    async def scenario() -> list[list[bytes]]:
        wires = [Wire(), Wire()]
        slots = Slots(ConnectionLimits())
        first, second = (HttpWriter(wire, slots) for wire in wires)
        for writer, body in ((first, b"a"), (second, b"b"), (first, b"c" * 16_384)):
            writer.write(request(), Response(200, body), keep_alive=True)
        assert [wire.writes for wire in wires] == [[], []]
        await asyncio.sleep(0)
        first.write(request(), Response(200, b"d"), keep_alive=True)
        first.write(request(), Response(200, b"e" * 16_385), keep_alive=True)
        assert [bodies(written) for written in wires[0].writes[1:]] == [[b"d"], [b"e" * 16_385]]
        await asyncio.sleep(0)
        return [wire.writes for wire in wires]

    first, second = asyncio.run(scenario())

    assert [bodies(written) for written in first[:1]] == [[b"a", b"c" * 16_384]]
    assert len(first) == 3
    assert [bodies(written) for written in second] == [[b"b"]]


def test_no_more_than_a_bound_waits_for_the_end_of_the_turn() -> None:
    async def scenario() -> list[int]:
        wire = Wire()
        writer = HttpWriter(wire, Slots(ConnectionLimits()))
        for _ in range(64):
            writer.write(request(), Response(200, b"x" * 16_000), keep_alive=True)
        return [len(bodies(written)) for written in wire.writes]

    # Five such responses are the first with more than 65,536 bytes.
    assert asyncio.run(scenario()) == [5] * 12


def test_what_was_written_in_a_turn_goes_before_all_else_and_nowhere_once_the_connection_is_closed() -> None:
    async def scenario() -> list[list[bytes]]:
        wires = [Wire(), Wire(), Wire()]
        slots = Slots(ConnectionLimits())
        told, ended, gone = (HttpWriter(wire, slots) for wire in wires)
        for writer in (told, ended, gone):
            writer.write(request(), Response(200, b"a"), keep_alive=True)
        told.write_now(b"b")
        ended.close()
        wires[2].close()
        await asyncio.sleep(0)
        return [wire.writes for wire in wires]

    told, ended, gone = asyncio.run(scenario())

    assert (bodies(told[0]), told[1:]) == ([b"a"], [b"b"])
    assert [bodies(written) for written in ended] == [[b"a"]]
    assert gone == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.1", [b"5\r\nfirst\r\n6\r\nsecond\r\n", b"5\r\nthird\r\n0\r\n\r\n"]),
        ("1.0", [b"firstsecond", b"third"]),
    ],
)
def test_the_short_pieces_of_a_stream_that_come_in_one_turn_are_one_write(version: str, expected: list[bytes]) -> None:
    async def events() -> AsyncGenerator[bytes, None]:
        yield b"first"
        yield b"second"
        await asyncio.sleep(0)
        yield b"third"

    async def scenario() -> list[bytes]:
        wire = Wire()
        writer = HttpWriter(wire, Slots(ConnectionLimits()))
        pieces = events()
        await writer.stream(request(version=version), Response(200, events=pieces), pieces, keep_alive=False)
        await asyncio.sleep(0)
        return wire.writes

    first, *others = asyncio.run(scenario())
    head, _, body = first.partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 OK")
    assert [body, *others] == expected


def test_a_large_piece_of_a_stream_comes_behind_what_was_written_before() -> None:
    async def events() -> AsyncGenerator[bytes, None]:
        yield b"small"
        yield b"x" * 16_385
        yield b"last"

    async def scenario() -> bytes:
        wire = Wire()
        writer = HttpWriter(wire, Slots(ConnectionLimits()))
        pieces = events()
        await writer.stream(request(), Response(200, events=pieces), pieces, keep_alive=False)
        await asyncio.sleep(0)
        return b"".join(wire.writes).partition(b"\r\n\r\n")[2]

    large = b"4001\r\n" + b"x" * 16_385
    assert asyncio.run(scenario()) == b"5\r\nsmall\r\n" + large + b"\r\n4\r\nlast\r\n0\r\n\r\n"


def test_a_stream_waits_for_a_client_that_does_not_read_and_is_closed_with_it() -> None:
    closed: list[str] = []

    async def events() -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(3):
                yield b"x"
        finally:
            closed.append("closed")

    async def scenario() -> list[int]:
        wire = Wire()
        writer = HttpWriter(wire, Slots(ConnectionLimits()))
        writer.pause()
        assert writer.is_full
        pieces = events()
        response = Response(200, events=pieces)
        task = asyncio.ensure_future(writer.stream(request(), response, pieces, keep_alive=True))
        counts = []
        for _ in range(2):
            await asyncio.sleep(0)
            counts.append(len(wire.writes))
        writer.resume()
        writer.pause()
        for _ in range(2):
            await asyncio.sleep(0)
            counts.append(len(wire.writes))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return counts

    assert asyncio.run(scenario()) == [0, 1, 1, 2]
    assert closed == ["closed"]


def test_nothing_of_a_stream_is_written_while_its_client_does_not_read() -> None:
    async def events() -> AsyncGenerator[bytes, None]:
        for number in range(3):
            yield b"event %d" % number
            await asyncio.sleep(0)

    async def scenario() -> list[int]:
        wire = Wire()
        writer = HttpWriter(wire, Slots(ConnectionLimits()))
        pieces = events()
        task = asyncio.ensure_future(writer.stream(request(), Response(200, events=pieces), pieces, keep_alive=True))
        counts = []
        await asyncio.sleep(0)
        writer.pause()
        for _ in range(3):
            for _ in range(5):
                await asyncio.sleep(0)
            counts.append(b"".join(wire.writes).count(b"event"))
            writer.resume()
            await asyncio.sleep(0)
            writer.pause()
        writer.resume()
        await task
        await asyncio.sleep(0)
        return [*counts, b"".join(wire.writes).count(b"event")]

    assert asyncio.run(scenario()) == [1, 2, 3, 3]
