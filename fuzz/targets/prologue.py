"""The beginning of a conversation on stdio: with a prologue and without one, the same lines get the same answers."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import random
import re
from collections.abc import Callable, Iterator

from fuzz.serving import LoopWatch, a_server, check_message, loop_watched
from fuzz.target import Run, Target, expect
from signet.kernel.server import Server
from signet.transports.conversation import Conversation
from signet.transports.stdio import Prologue

from .frames import TOKENS, frame_text, good_frames
from .wire import pieces

__all__ = ["TARGET"]

PIPE_BYTES = 1 << 20
PARSE_ERROR = re.compile(rb"(Parse error)[^\"]*")
"""Whether a text is nested too deeply before it is found to be cut off depends on the depth of the callers."""
LAST = b'{"jsonrpc":"2.0","id":"last","method":"ping"}\n'


class _Talks:
    """Both ways to hold a conversation, over one server."""

    def __init__(self, server: Server, watch: LoopWatch) -> None:
        self._server = server
        self._watch = watch
        self._received = bytearray()

    def _answers(self, data: bytes, talk: Callable[[bytes, int, int], None]) -> list[bytes]:
        """Return the lines that a talk writes for an input, sorted: calls end in any order."""
        reader, wire = os.pipe()
        fcntl.fcntl(wire, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._received.clear()
        try:
            os.set_blocking(reader, False)
            os.set_blocking(wire, False)
            talk(data, wire, reader)
            self._receive(reader)
            return sorted(PARSE_ERROR.sub(rb"\1", self._received).splitlines())
        finally:
            os.close(reader)
            os.close(wire)

    def _receive(self, reader: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._received += os.read(reader, PIPE_BYTES)

    def run(self, data: bytes) -> None:
        """Send an input in both ways and compare what is answered."""
        lines = data + b"\n" + LAST
        short = self._answers(lines, self._with_prologue)
        whole = self._answers(lines, self._without)
        for line in short:
            check_message(line)
        expect(short == whole, "the prologue answers as the conversation does", short, whole)
        expect(sum(b'"id":"last"' in line for line in short) >= 1, "a good request is answered", short)

    def _with_prologue(self, data: bytes, wire: int, reader: int) -> None:
        source, to_server = os.pipe()
        fcntl.fcntl(to_server, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        prologue = Prologue(self._server, wire, source)
        try:
            for piece in pieces(data):
                if prologue.pending is None and not prologue.unanswered and piece:
                    os.write(to_server, piece)
                    prologue.take()
                elif piece:
                    prologue.unanswered += prologue.lines.feed(piece)
            self._watch.run(self._go_on(prologue, wire, source, reader))
        finally:
            os.close(source)
            os.close(to_server)

    def _without(self, data: bytes, wire: int, reader: int) -> None:
        source, to_server = os.pipe()
        try:
            prologue = Prologue(self._server, wire, source)
            prologue.unanswered = prologue.lines.feed(data)
            self._watch.run(self._go_on(prologue, wire, source, reader))
        finally:
            os.close(source)
            os.close(to_server)

    async def _go_on(self, prologue: Prologue, wire: int, source: int, reader: int) -> None:
        """Let a conversation take over from a prologue, and read until all is answered."""
        talk = Conversation(self._server, wire, source, prologue)
        talk.open()
        talk._take_over(prologue)  # noqa: SLF001 - `hold` would close the server, which stays open for the next input
        ending = asyncio.ensure_future(self._end(talk))
        while not ending.done():
            self._receive(reader)
            await asyncio.sleep(0)
        await ending

    async def _end(self, talk: Conversation) -> None:
        while talk._unanswered:  # noqa: ASYNC110, SLF001 - nobody else says whether all lines are answered
            await asyncio.sleep(0)
        await talk._drain()  # noqa: SLF001 - as above


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with a_server() as (server, _), loop_watched() as watch:
        yield _Talks(server, watch).run


def _generate(chance: random.Random) -> bytes:
    return b"\n".join(frame_text(chance) for _ in range(chance.choice((1, 2, 3, 5))))


TARGET = Target(
    name="prologue",
    about="JSON-RPC lines before and behind the first call that is awaited, with and without a prologue",
    open=_open,
    seeds=good_frames,
    generate=_generate,
    tokens=TOKENS,
    rooms=("kernel/", "transports/stdio", "transports/conversation", "transports/pipes"),
)
