"""How a connection goes on or ends: after a stream, after its client has stopped sending, and when the server stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import misbehaving_server
from door_calls import rpc
from processes import PATIENCE_S
from signet.transports.guard import Guard
from signet.transports.http_server import HttpServer
from signet.transports.listening import bind
from signet.transports.slots import ConnectionLimits
from signet.transports.web_app import App

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENT = ConnectionLimits(half_closed_s=3600, linger_s=3600, idle_s=3600, retire_s=0)
"""Limits by which nothing ends while a test lasts."""


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(misbehaving_server.build(str(tmp_path), PATIENCE_S), Guard(), {"version": "1"})


@asynccontextmanager
async def talking(app: App, drain_s: float = 0.0) -> AsyncIterator[tuple[HttpServer, Streams]]:
    """Serve an application, with one client."""
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = HttpServer(app, listener, PATIENT, drain_s=drain_s)
    server.open()
    serving = asyncio.ensure_future(server.serve())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield server, (reader, writer)
    finally:
        writer.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await server._slots.drain(0)
        for _ in range(3):
            # The sockets are closed in the next turns.
            await asyncio.sleep(0)
        if listener.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(listener)
        listener.close()


def call(name: str, *fields: bytes, version: bytes = b"1.1") -> bytes:
    """Return the request of a call that wants to hear of its progress."""
    params = {"name": name, "arguments": {"n": 1}, "_meta": {"progressToken": 1}}
    body = json.dumps(rpc("tools/call", params)).encode()
    lines = (
        b"POST /mcp HTTP/%b" % version, b"Host: localhost", b"Content-Type: application/json",
        b"Content-Length: %d" % len(body), *fields, b"", body,
    )  # fmt: skip
    return b"\r\n".join(lines)


async def head(reader: asyncio.StreamReader) -> bytes:
    return (await reader.readuntil(b"\r\n\r\n")).lower()


def in_loop(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type] # a coroutine


def test_a_connection_stays_open_after_a_stream_in_http_1_1(app: App) -> None:
    async def scenario() -> None:
        async with talking(app) as (_, (reader, writer)):
            writer.write(call("ticks", b"Accept: application/json, text/event-stream"))
            said = await head(reader)
            await reader.readuntil(b"\r\n0\r\n\r\n")
            writer.write(HEALTH)

            assert b"text/event-stream" in said
            assert b"connection: close" not in said
            assert (await head(reader)).startswith(b"http/1.1 200 ok")

    in_loop(scenario)


def test_the_end_of_a_stream_is_the_end_of_its_connection_in_http_1_0(app: App) -> None:
    async def scenario() -> None:
        fields = b"Accept: application/json, text/event-stream", b"Connection: keep-alive"
        async with talking(app) as (_, (reader, writer)):
            writer.write(call("ticks", *fields, version=b"1.0"))
            said = await head(reader)
            events = await reader.read()

            assert b"connection: close" in said
            assert events.endswith(b"\r\n\r\n")

    in_loop(scenario)


def test_a_client_that_has_stopped_sending_gets_its_answer_and_then_the_end(app: App) -> None:
    async def scenario() -> None:
        async with talking(app) as (_, (reader, writer)):
            writer.write(call("waits"))
            writer.write_eof()
            received = await reader.read()

            assert received.startswith(b"HTTP/1.1 200 OK")
            assert received.endswith(b"}")

    in_loop(scenario)


@pytest.mark.parametrize("drain_s", [0.0, 3600.0])
def test_a_server_that_stops_answers_each_connection_for_the_last_time(app: App, drain_s: float) -> None:
    async def scenario() -> None:
        async with talking(app, drain_s) as (server, (reader, writer)):
            writer.write(HEALTH)
            assert b"connection: close" not in await head(reader)
            await reader.readexactly(len(b'{"status":"ok"}'))
            server.stop()
            await asyncio.sleep(0)
            if drain_s:
                writer.write(HEALTH)
                assert b"connection: close" in await head(reader)
                await reader.readexactly(len(b'{"status":"ok"}'))
            assert await reader.read() == b""

    in_loop(scenario)


def test_a_server_that_is_replaced_ends_by_itself_and_stays_ready_until_then(app: App) -> None:
    async def scenario() -> None:
        async with talking(app, drain_s=3600) as (server, (reader, writer)):
            writer.write(HEALTH)
            await head(reader)
            await reader.readexactly(len(b'{"status":"ok"}'))
            server.retire()
            assert await reader.read() == b""
            writer.close()
            ended = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            await asyncio.gather(*ended)
            assert app.is_ready

    in_loop(scenario)


def test_a_second_word_changes_nothing(app: App) -> None:
    async def scenario() -> None:
        async with talking(app, drain_s=3600) as (server, (_, writer)):
            server.stop()
            server.retire()
            server.stop()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not app.is_ready
            writer.close()

    in_loop(scenario)
