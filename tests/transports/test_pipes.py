"""Pipes: stdout kept for the wire, lines cut to measure, writes that never wait."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from door_calls import rpc
from processes import PATIENCE_S, ROOT, SIGNET, clean_env, piping
from signet.transports.pipes import NonBlockingWriter, has_reader, unblocked

MIB = 1024 * 1024
ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "stdio")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The two ends of a pipe: one to read from, one to write to."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


# --- stdout


CLAIM = """
import os, sys
from signet.transports.pipes import claim_stdout
wire = claim_stdout()
print("a stray print")
os.write(1, b"a stray write\\n")
sys.stdout.write("another\\n")
os.write(wire, b"an answer\\n")
assert not os.get_inheritable(wire)
"""


def test_once_claimed_only_the_wire_leads_to_stdout() -> None:
    done = subprocess.run([sys.executable, "-c", CLAIM], capture_output=True, env=clean_env(), check=True)

    assert done.stdout == b"an answer\n"
    assert sorted(done.stderr.splitlines()) == [b"a stray print", b"a stray write", b"another"]


def test_what_a_tool_prints_goes_to_stderr() -> None:
    with piping(*ODD) as server:
        server.send(rpc("tools/call", {"name": "prints", "arguments": {}}))
        status, out, err = server.finish()

    assert (status, [json.loads(line)["id"] for line in out.splitlines()]) == (0, [1])
    assert b"stray print" in err
    assert b"stray write" in err


def test_a_closed_stdout_is_told_in_a_sentence() -> None:
    command = f"exec {SIGNET} stdio >&-"

    done = subprocess.run(["sh", "-c", command], capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert done.returncode == 2
    assert b"standard output is closed" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_closed_stdin_is_an_empty_one_and_its_number_is_not_reused() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" stdio --no-journal <&-', SIGNET], capture_output=True, env=clean_env(), check=False
    )

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


# --- writes


def test_what_a_full_pipe_does_not_take_is_written_once_it_is_read(pipe: tuple[int, int]) -> None:
    source, wire = pipe
    sent = bytes(range(256)) * 2048
    halts: list[bool] = []

    async def scenario() -> bytes:
        loop = asyncio.get_running_loop()
        with unblocked(wire):
            writer = NonBlockingWriter(wire, loop, halts.append)
            writer.write(sent)
            assert not writer.drained.is_set()
            received = await loop.run_in_executor(None, _read, source, len(sent))
            await writer.drained.wait()
            return received

    assert asyncio.run(scenario()) == sent
    assert halts == []


def _read(source: int, size: int) -> bytes:
    received = b""
    while len(received) < size:
        received += os.read(source, 65_536)
    return received


def test_a_backlog_beyond_a_mebibyte_halts_the_reading_until_it_is_gone(pipe: tuple[int, int]) -> None:
    source, wire = pipe
    halts: list[bool] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        with unblocked(wire):
            writer = NonBlockingWriter(wire, loop, halts.append)
            writer.write(b"x" * MIB)
            assert halts == []
            writer.write(b"y" * MIB)
            assert (halts, writer.halted) == ([True], True)
            writer.write(b"z")
            await loop.run_in_executor(None, _read, source, 2 * MIB + 1)
            await writer.drained.wait()
            assert (halts, writer.halted) == ([True, False], False)

    asyncio.run(scenario())


def test_a_large_reply_is_made_piece_by_piece_and_what_follows_waits_for_it(pipe: tuple[int, int]) -> None:
    source, wire = pipe
    made: list[int] = []
    halts: list[bool] = []

    def pieces(letter: bytes) -> Iterator[bytes]:
        for number in range(40):
            made.append(number)
            yield letter * 65_536

    sent = b"first" + b"a" * 40 * 65_536 + b"between" + b"b" * 40 * 65_536 + b"last"

    async def scenario() -> bytes:
        loop = asyncio.get_running_loop()
        with unblocked(wire):
            writer = NonBlockingWriter(wire, loop, halts.append)
            writer.write(b"first")
            writer.write_pieces(pieces(b"a"), 0)
            writer.write(b"between")
            writer.write_pieces(pieces(b"b"), 0)
            writer.write(b"last")
            assert (halts, writer.halted, made) == ([True], True, [])
            for _ in range(5):
                await asyncio.sleep(0)
            assert 0 < len(made) <= 3, "nobody reads, so that no more is made than the pipe takes"
            received = await loop.run_in_executor(None, _read, source, len(sent))
            await writer.drained.wait()
            assert (halts, writer.halted) == ([True, False], False)
            return received

    same = asyncio.run(scenario()) == sent
    assert same


def test_what_waits_behind_a_large_reply_counts_as_backlog(pipe: tuple[int, int]) -> None:
    """A conversation drops notifications by this size, so that a client that does not read cannot fill the memory."""
    source, wire = pipe
    large = [b"a" * 65_536] * 40
    sent = b"".join(large) + b"note" * 1_000

    async def scenario() -> tuple[bytes, list[int]]:
        loop = asyncio.get_running_loop()
        with unblocked(wire):
            writer = NonBlockingWriter(wire, loop, lambda _: None)
            writer.write_pieces(iter(large), 0)
            for _ in range(1_000):
                writer.write(b"note")
            sizes = [writer.backlog_bytes]
            received = await loop.run_in_executor(None, _read, source, len(sent))
            await writer.drained.wait()
            return received, [*sizes, writer.backlog_bytes]

    received, sizes = asyncio.run(scenario())

    same = received == sent
    assert same
    assert sizes == [4_000, 0]


def test_a_large_reply_to_a_file_leaves_other_tasks_their_turn(tmp_path: Path) -> None:
    turns = 0

    async def scenario() -> None:
        nonlocal turns
        with (tmp_path / "out").open("wb") as file:
            writer = NonBlockingWriter(file.fileno(), asyncio.get_running_loop(), lambda _: None)
            writer.write_pieces(iter([b"x" * 65_536] * 160), 0)
            while not writer.drained.is_set():
                turns += 1
                await asyncio.sleep(0)

    asyncio.run(scenario())

    assert (tmp_path / "out").stat().st_size == 160 * 65_536
    assert turns >= 10


def test_a_large_reply_that_nobody_reads_any_more_is_not_made(pipe: tuple[int, int]) -> None:
    source, wire = pipe
    os.close(source)
    made: list[int] = []

    async def scenario() -> None:
        writer = NonBlockingWriter(wire, asyncio.get_running_loop(), lambda _: None)
        writer.write_pieces((made.append(number) or b"x" for number in range(1_000)), 0)
        await writer.drained.wait()
        assert writer.broken

    asyncio.run(scenario())

    assert made == [0]


def test_a_pipe_whose_reader_is_gone_is_broken_and_takes_everything_in_silence(pipe: tuple[int, int]) -> None:
    source, wire = pipe
    os.close(source)

    async def scenario() -> NonBlockingWriter:
        writer = NonBlockingWriter(wire, asyncio.get_running_loop(), lambda _: None)
        writer.write(b"x")
        writer.write(b"y")
        return writer

    writer = asyncio.run(scenario())

    assert writer.broken
    assert writer.drained.is_set()


def test_a_pipe_is_put_back_as_it_was_found_and_a_file_is_left_alone(pipe: tuple[int, int], tmp_path: Path) -> None:
    _, wire = pipe
    with unblocked(wire):
        assert os.get_blocking(wire) is False
    assert os.get_blocking(wire) is True

    with (tmp_path / "file").open("wb") as file, unblocked(file.fileno()):
        assert os.get_blocking(file.fileno()) is True


# --- readers


def test_a_pipe_has_a_reader_until_the_last_one_closes_it_full_or_not(pipe: tuple[int, int]) -> None:
    read_end, write_end = pipe
    another = os.dup(read_end)
    os.set_blocking(write_end, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write_end, bytes(4096))

    os.close(read_end)
    assert has_reader(write_end)

    os.close(another)
    assert not has_reader(write_end)


def test_a_file_has_a_reader(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        assert has_reader(file.fileno())


def test_a_socket_whose_other_end_sends_no_more_has_a_reader_until_it_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.shutdown(socket.SHUT_WR)
        assert has_reader(theirs.fileno())

        ours.close()
        assert not has_reader(theirs.fileno())


# --- stdin


CLAIM_STDIN = """
import os, sys
from signet.transports.pipes import claim_stdin
def opened():
    return {number for number in range(64) if os.path.exists(f"/proc/self/fd/{number}")}
before = opened()
source = claim_stdin()
assert not os.get_inheritable(source)
assert os.read(0, 9) == b"" and sys.stdin.read() == ""
assert os.read(source, 99) == b"a message\\n"
assert opened() - before == {source}
"""


def test_once_claimed_only_the_source_leads_to_stdin_and_no_other_descriptor_is_left_open() -> None:
    command = [sys.executable, "-c", CLAIM_STDIN]

    done = subprocess.run(command, input=b"a message\n", capture_output=True, env=clean_env(), check=False)

    assert (done.returncode, done.stderr) == (0, b"")
