"""Wire frames: lines on a pipe to the stdio server, in pieces, with a good request behind each input."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import random
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fuzz.serving import LoopWatch, a_server, check_message, loop_watched
from fuzz.target import Run, Target, expect
from signet.kernel.server import Server
from signet.transports.conversation import Conversation

from .frames import TOKENS, frame_text, good_frames

__all__ = ["TARGET", "pieces"]

PIPE_BYTES = 1 << 20
"""An input and the replies to it fit into their pipes."""
MAX_TURNS = 20_000
SHORT_TURNS = 200


def pieces(data: bytes) -> Iterator[bytes]:
    """Yield an input in pieces: the same for the same input."""
    chance = random.Random(zlib.crc32(data))
    count = chance.choice((1, 1, 2, 3, 8))
    places = sorted(chance.randrange(len(data) + 1) for _ in range(count - 1))
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        yield data[start:end]


class _Pipes:
    """A client at the ends of two pipes, and the conversation at the others."""

    def __init__(self, server: Server, watch: LoopWatch) -> None:
        self._source, self._to_server = os.pipe()
        self._from_server, self._wire = os.pipe()
        for end in (self._to_server, self._wire):
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        for end in (self._source, self._to_server, self._from_server):
            os.set_blocking(end, False)
        self._watch = watch
        self._asked = 0
        self._rest = b""
        self._conversation: Conversation
        self._talk = watch.loop.create_task(self._hold(server))

    async def _hold(self, server: Server) -> None:
        self._conversation = Conversation(server, self._wire, self._source)
        await self._conversation.hold(in_thread=False)

    @property
    def _is_busy(self) -> bool:
        """Whether calls are open that will be answered; some end with the conversation alone."""
        talk = self._conversation
        open_calls = sum(len(tasks) for tasks in talk._calls.values())  # noqa: SLF001 - nobody else counts them
        return open_calls > len(talk._endless) or bool(talk._unwritten)  # noqa: SLF001 - as above

    def run(self, data: bytes) -> None:
        """Send an input and a good request; check all that is answered."""
        self._watch.run(self._exchange(data))

    async def _exchange(self, data: bytes) -> None:
        self._asked += 1
        name = f"good-{self._asked}"
        good = json.dumps({"jsonrpc": "2.0", "id": name, "method": "ping"}).encode()
        waiting = [piece for piece in pieces(data + b"\n" + good + b"\n") if piece]
        answers = Counter[Any]()
        for turn in range(MAX_TURNS):
            self._send(waiting)
            for message in self._received():
                answers[json.dumps(message.get("id", "no id"))] += "method" not in message
            if answers[json.dumps(name)] and not self._is_busy:
                break
            await asyncio.sleep(0 if turn < SHORT_TURNS else 0.001)
        lines = [line for line in data.split(b"\n") if line.strip()]
        expect(answers[json.dumps(name)] == 1, "a good request has one answer", dict(answers))
        expect(sum(answers.values()) <= len(lines) + 1, "no more answers than messages", dict(answers))

    def _send(self, waiting: list[bytes]) -> None:
        """Write the next piece, as far as the pipe takes it."""
        with contextlib.suppress(BlockingIOError):
            if waiting:
                written = os.write(self._to_server, waiting[0])
                waiting[:1] = [waiting[0][written:]] if written < len(waiting[0]) else []

    def _received(self) -> list[dict[str, Any]]:
        try:
            self._rest += os.read(self._from_server, PIPE_BYTES)
        except BlockingIOError:
            return []
        *lines, self._rest = self._rest.split(b"\n")
        return [check_message(line) for line in lines]

    async def close(self) -> None:
        """End the conversation."""
        os.close(self._to_server)
        await self._talk
        for end in (self._source, self._from_server, self._wire):
            os.close(end)


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with a_server() as (server, _), loop_watched() as watch:
        pipes = _Pipes(server, watch)
        yield pipes.run
        watch.loop.run_until_complete(pipes.close())


def _generate(chance: random.Random) -> bytes:
    ends = (b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"")
    return b"".join(frame_text(chance) + chance.choice(ends) for _ in range(chance.choice((1, 1, 2, 5))))


TARGET = Target(
    name="wire",
    about="JSON-RPC lines on a pipe to the stdio server, in pieces",
    open=_open,
    seeds=good_frames,
    generate=_generate,
    tokens=TOKENS,
    rooms=("kernel/", "transports/stdio", "transports/pipes", "journal/record"),
)
