"""HTTP bytes: a connection for each input, in pieces, and a good request on another connection behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator

from fuzz.serving import LoopWatch, a_server, check_message, loop_watched
from fuzz.target import Run, Target, expect
from signet.app import build_app
from signet.transports.http_server import HttpServer
from signet.transports.listening import bind
from signet.transports.slots import ConnectionLimits

from .http_grammar import TOKENS, good_requests, pipeline
from .wire import pieces

__all__ = ["TARGET"]

PATIENCE_S = 60.0
"""A server that has not answered by then does not answer."""
CALL = {
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {"name": "encodePlantUML", "arguments": {"plantumlCode": "@startuml\nA --> B\n@enduml"}},
}
ENCODED = "SoWkIImgAStDuN9KqDMrKt3YSaZDIm7o0G"
STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) [ -~]*\r\n")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([^\r\n\x00]*)\r\n")
STATUSES = frozenset(
    {
        100,
        200,
        202,
        204,
        400,
        401,
        403,
        404,
        405,
        406,
        408,
        409,
        411,
        413,
        415,
        421,
        422,
        426,
        429,
        431,
        500,
        501,
        502,
        503,
        505,
    }
)


class _Web:
    """An HTTP server on loopback, and its clients in the same event loop."""

    def __init__(self, watch: LoopWatch) -> None:
        self._watch = watch
        self._asked = 0
        self._port = 0

    async def start(self, app: object) -> None:
        """Listen."""
        listener = bind("127.0.0.1", 0)
        self._port = listener.getsockname()[1]
        limits = ConnectionLimits(linger_s=0.05, half_closed_s=5.0)
        self._server = HttpServer(app, listener, limits)  # type: ignore[arg-type] # an App
        self._server.open()
        self._serving = asyncio.get_running_loop().create_task(self._server.serve())
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def stop(self) -> None:
        """End."""
        self._writer.close()
        self._server.stop()
        await self._serving

    def run(self, data: bytes) -> None:
        """Send an input and a good request; check all that is answered."""
        self._watch.run(self._exchange(data))

    async def _exchange(self, data: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        with contextlib.suppress(ConnectionError):
            for piece in pieces(data):
                writer.write(piece)
                await asyncio.sleep(0)
            writer.write_eof()
        received = b""
        with contextlib.suppress(ConnectionError):
            received = await asyncio.wait_for(reader.read(-1), PATIENCE_S)
        writer.close()
        _check_answers(data, received)
        await self._ask()

    async def _ask(self) -> None:
        """Make a call on the connection that stays open, like a client with good manners."""
        self._asked += 1
        body = json.dumps({**CALL, "id": self._asked}).encode()
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self._writer.write(head % len(body) + body)
        answer = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        length = re.search(rb"content-length: (\d+)", answer)
        expect(answer.startswith(b"HTTP/1.1 200 ") and length, "the next good request is answered", answer)
        message = check_message(await self._reader.readexactly(int(length[1]) if length else 0))
        is_right = message["id"] == self._asked and message["result"]["structuredContent"]["encoded"] == ENCODED
        expect(is_right, "the next good request has its answer", message)


def _check_answers(data: bytes, received: bytes) -> None:
    """Check that what came is a sequence of HTTP answers, not more than there were requests."""
    count, place = 0, 0
    while place < len(received):
        start = STATUS_LINE.match(received, place)
        expect(start, "an answer begins with a status line", received[place : place + 200])
        status = int(start[1]) if start else 0
        expect(status in STATUSES, "a status is one of those that are served", status)
        place = start.end() if start else 0
        fields: dict[bytes, bytes] = {}
        while field := FIELD.match(received, place):
            place = field.end()
            fields[field[1].lower()] = field[2]
        expect(received[place : place + 2] == b"\r\n", "a head is well formed", received[place : place + 200])
        place += 2
        count += status >= 200
        if b"HEAD" in data:
            # Which of the answers have no body depends on where the requests end.
            return
        body, place = _body(received, place, fields)
        if fields.get(b"content-type", b"").startswith(b"application/json") and body:
            json.loads(body)
    expect(count <= data.count(b"HTTP/") + 1, "no more answers than requests", count)


def _body(received: bytes, place: int, fields: dict[bytes, bytes]) -> tuple[bytes, int]:
    if fields.get(b"transfer-encoding") == b"chunked":
        end = received.find(b"0\r\n\r\n", place)
        expect(end >= 0, "a chunked answer ends", received[-200:])
        return b"", end + 5
    length = int(fields.get(b"content-length", b"0"))
    expect(place + length <= len(received), "a body is whole", received[-200:])
    return received[place : place + length], place + length


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with a_server() as (server, settings), loop_watched() as watch:
        web = _Web(watch)
        watch.loop.run_until_complete(web.start(build_app(settings, server)))
        yield web.run
        watch.loop.run_until_complete(web.stop())


TARGET = Target(
    name="http",
    about="HTTP/1.1 bytes on a socket, in pieces: heads, bodies, chunks, pipelines",
    open=_open,
    seeds=good_requests,
    generate=pipeline,
    tokens=TOKENS,
    rooms=("transports/", "kernel/"),
)
