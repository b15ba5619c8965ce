"""The stdio load generator: one call at a time, or many in flight, over raw non-blocking pipes."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.contenders import Contender
from bench.frames import FIRST, INITIALIZE, INITIALIZED, LIST_TOOLS, TOOL, Call, WrongAnswerError
from bench.process import Child, server_core, spawned
from signet.mcp.messages import read_result

__all__ = ["Flood", "Pipe", "opened"]

ANSWER_S = 30.0
"""How long to wait for one reply; it bounds a hang and does not affect results."""
CHUNK = 1 << 20


@dataclass(frozen=True)
class Flood:
    """The result of a burst of calls."""

    calls: int
    elapsed_s: float

    @property
    def per_s(self) -> float:
        """The calls per second."""
        return self.calls / self.elapsed_s


class Pipe:
    """The pipes of one server process, and the number of the next call."""

    def __init__(self, child: Child, *, echoes: bool = False) -> None:
        """Take over the process's pipes."""
        process = child.process
        if process.stdin is None or process.stdout is None:
            raise TypeError("the process has no pipes")
        self.child = child
        self._echoes = echoes
        self._in, self._out = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._readable = select.poll()
        self._readable.register(self._out, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(self._in, select.POLLOUT)
        self._both = select.poll()
        self._both.register(self._in, select.POLLOUT)
        self._both.register(self._out, select.POLLIN)
        self._next = FIRST

    def open_session(self, tool: str = TOOL) -> None:
        """Perform the handshake and list the tools.

        Raises:
            WrongAnswerError: a reply is wrong, or the list lacks a tool of this name.
        """
        try:
            self._send(INITIALIZE)
            read_result((self._line(),), 0)
            self._send(INITIALIZED + LIST_TOOLS)
            tools = read_result((self._line(),), 1)["tools"]
        except ValueError as error:
            complaint = f"no reply to the handshake or to tools/list: {error}"
            raise WrongAnswerError(complaint) from None
        if tool not in {listed["name"] for listed in tools}:
            complaint = f"tools/list has no {tool}"
            raise WrongAnswerError(complaint)

    def sequence(self, call: Call, seconds: float, limit: int) -> list[int]:
        """Make calls one after the other for so long and return the nanoseconds that each took."""
        first, answers = self._next, []
        taken: list[int] = []
        end = time.perf_counter() + seconds
        while len(taken) < limit and time.perf_counter() < end:
            frame = call.frame(self._next)
            self._next += 1
            begun = time.perf_counter_ns()
            self._send(frame)
            answer = self._line()
            taken.append(time.perf_counter_ns() - begun)
            answers.append(answer)
        call.check(answers, range(first, self._next), echoes=self._echoes)
        return taken

    def flood(self, call: Call, in_flight: int, seconds: float, limit: int) -> Flood:
        """Keep so many calls in flight for so long, then wait for the last reply."""
        first, chunks, due = self._next, [], 0
        unsent = bytearray()
        begun = time.perf_counter()
        end = begun + seconds
        while True:
            if time.perf_counter() < end and self._next - first < limit:
                more = range(self._next, self._next + in_flight - due)
                self._next, due = more.stop, in_flight
                unsent += b"".join(map(call.frame, more))
            if not due:
                break
            self._push(unsent)
            chunk = self._read(self._both if unsent else self._readable)
            if chunk:
                chunks.append(chunk)
                due -= chunk.count(b"\n")
        elapsed = time.perf_counter() - begun
        lines = b"".join(chunks).splitlines()
        call.check(lines, range(first, self._next), echoes=self._echoes)
        return Flood(len(lines), elapsed)

    def _push(self, data: bytearray) -> None:
        """Write as much as the pipe takes and remove it from the data."""
        with contextlib.suppress(BlockingIOError):
            while data:
                del data[: os.write(self._in, data)]

    def _send(self, frame: bytes) -> None:
        """Write a whole frame; the server reads, because nothing else is in flight."""
        data = bytearray(frame)
        self._push(data)
        while data:
            self._writable.poll(ANSWER_S * 1000)
            self._push(data)

    def _read(self, poll: select.poll) -> bytes:
        """Wait until the pipe is ready and read what it holds."""
        if not poll.poll(ANSWER_S * 1000):
            complaint = f"no answer within {ANSWER_S:.0f} s"
            raise WrongAnswerError(complaint)
        try:
            chunk = os.read(self._out, CHUNK)
        except BlockingIOError:
            return b""
        if not chunk:
            complaint = f"the server closed its output: {self.child.stderr()[-2000:]}"
            raise WrongAnswerError(complaint)
        return chunk

    def _line(self) -> bytes:
        """Read the one line that is due."""
        line = self._read(self._readable)
        while not line.endswith(b"\n"):
            line += self._read(self._readable)
        return line


@contextlib.contextmanager
def opened(contender: Contender) -> Iterator[Pipe]:
    """Start a stdio server and open a session, unless it is the echo."""
    with spawned(contender.stdio, server_core()) as child:
        pipe = Pipe(child, echoes=contender.echoes)
        if not contender.echoes:
            pipe.open_session()
        yield pipe
