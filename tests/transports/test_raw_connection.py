"""A raw connection: the application writes the bytes of its responses itself, and can end them in ways of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from processes import PATIENCE_S
from signet.transports.http_server import HttpServer
from signet.transports.messages import Request, Response
from signet.transports.raw_connection import WRITTEN, WRITTEN_LAST, RawConnection
from signet.transports.slots import ConnectionLimits

ODD = b"HTTP/1.1 299 Odd\r\ncontent-length: 9\r\n\r\nhalf"
RESET = b"the connection was reset"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Writing:
    """An application that answers with what a function does to the connection."""

    records_all = False
    is_ready = True

    def __init__(self, write: Callable[[RawConnection], Awaitable[Response]]) -> None:
        self.targets: list[str] = []
        self._write = write

    def admit(self, _: Request) -> Response | None:
        return None

    async def answer(self, request: Request) -> Response:
        self.targets.append(request.path)
        return await self._write(request.route)

    def refuse(self, _: Request | None, fault: Any) -> Response:
        return Response(fault.status, b"refused")

    def record(self, _: Request | None, response: Response, _address: str) -> Response:
        return response

    def record_left(self, _: Request, _response: Response) -> None: ...

    def start(self) -> None: ...

    def reload(self) -> None: ...

    async def close(self) -> None: ...


def asked(write: Callable[[RawConnection], Awaitable[Response]], *requests: bytes) -> tuple[list[bytes], list[str]]:
    """Return what a client reads after each request on one connection, and the targets that the application saw."""
    application: Any = Writing(write)

    async def work() -> list[bytes]:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        server = HttpServer(
            application,
            listener,
            LIMITS,
            connection=RawConnection,
        )
        server.open()
        serving = asyncio.get_running_loop().create_task(server.serve())
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        read = []
        for request in requests:
            writer.write(request)
            try:
                read.append(await reader.read(1 << 16))
            except ConnectionResetError:
                read.append(RESET)
        writer.close()
        server.stop()
        await serving
        return read

    return asyncio.run(asyncio.wait_for(work(), PATIENCE_S)), application.targets


LIMITS = ConnectionLimits(half_closed_s=1.0, linger_s=1.0, grace_s=0.0)
GET = b"GET /a%20b?c=%2F&d HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_the_bytes_of_the_application_are_sent_as_they_are_and_the_target_is_as_it_was_sent() -> None:
    async def write(connection: RawConnection) -> Response:
        await connection.send(ODD)
        return WRITTEN_LAST

    assert asked(write, GET) == ([ODD], ["/a%20b?c=%2F&d"])


def test_a_connection_goes_on_behind_a_written_response() -> None:
    async def write(connection: RawConnection) -> Response:
        await connection.send(WHOLE)
        return WRITTEN

    assert asked(write, GET, GET) == ([WHOLE, WHOLE], ["/a%20b?c=%2F&d"] * 2)


def test_a_connection_ends_behind_the_last_written_response() -> None:
    async def write(connection: RawConnection) -> Response:
        await connection.send(WHOLE)
        return WRITTEN_LAST

    read, targets = asked(write, GET, b"")

    assert (read, len(targets)) == ([WHOLE, b""], 1)


def test_a_reset_reaches_the_client_as_an_error() -> None:
    async def write(connection: RawConnection) -> Response:
        connection.reset()
        return WRITTEN_LAST

    read, _ = asked(write, GET)

    assert read == [RESET]


def test_a_request_that_cannot_be_read_is_refused_by_the_server_itself() -> None:
    async def write(_: RawConnection) -> Response:
        return WRITTEN

    read, targets = asked(write, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")

    assert (read[0].split(b"\r\n")[0].split()[1], targets) == (b"400", [])
