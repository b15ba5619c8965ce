"""The private members of uvicorn that a connection relies on: each is there, and works as it is used."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from importlib.metadata import version
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from processes import ROOT
from signet.transports.connection import Connection

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY_TO_COME = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
SIGNATURES = {
    "_start_asgi_task": ["self", "cycle", "app"],
    "_unset_keepalive_if_required": ["self"],
    "connection_lost": ["self", "exc"],
    "connection_made": ["self", "transport"],
    "data_received": ["self", "data"],
    "eof_received": ["self"],
    "on_headers_complete": ["self"],
    "on_message_begin": ["self"],
    "on_response_complete": ["self"],
    "send_400_response": ["self", "msg"],
}


class Wire(asyncio.Transport):
    """Keeps what is written; the other side never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def answer(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def connected(protocol: type[HttpToolsProtocol]) -> HttpToolsProtocol:
    config = uvicorn.Config(answer, log_config=None, ws="none", lifespan="off")
    connection = protocol(config, ServerState(), {}, asyncio.get_running_loop())
    connection.connection_made(Wire())
    return connection


async def ended(connection: HttpToolsProtocol) -> None:
    """Wait for the calls that run now, then hang up."""
    while connection.tasks:
        await asyncio.wait(connection.tasks)
    connection.connection_lost(None)


def test_only_versions_of_uvicorn_that_have_been_looked_at_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    wanted = [line for line in project["dependencies"] if line.startswith("uvicorn")]

    assert wanted == ["uvicorn>=0.54,<0.55"]
    assert version("uvicorn").startswith("0.54.")


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_method_that_is_called_or_overridden_has_the_signature_that_is_meant(name: str) -> None:
    theirs = list(inspect.signature(getattr(HttpToolsProtocol, name)).parameters)

    assert theirs == SIGNATURES[name]
    assert name not in vars(Connection) or list(inspect.signature(getattr(Connection, name)).parameters) == theirs


def test_every_private_method_of_uvicorn_that_is_used_is_in_the_table() -> None:
    theirs = {name for name in vars(HttpToolsProtocol) if name.startswith("_") and not name.startswith("__")}
    source = inspect.getsource(Connection)

    used = {name for name in theirs if f".{name}(" in source}

    assert used == {name for name in SIGNATURES if name.startswith("_")}


def test_the_request_that_came_last_is_the_cycle_and_those_behind_the_first_wait_in_the_pipeline() -> None:
    async def state() -> tuple[object, ...]:
        connection = connected(HttpToolsProtocol)
        before = connection.cycle
        connection.data_received(REQUEST + REQUEST)
        cycle, (waiting, app) = connection.cycle, connection.pipeline[0]
        seen = (before, type(cycle), waiting is cycle, app is connection.app, len(connection.pipeline))
        await ended(connection)
        return seen

    assert asyncio.run(state()) == (None, RequestResponseCycle, True, True, 1)


def test_a_cycle_has_the_state_that_is_read_and_written() -> None:
    names = ("response_complete", "more_body", "keep_alive", "disconnected")

    async def states() -> list[object]:
        connection = connected(HttpToolsProtocol)
        connection.data_received(BODY_TO_COME)
        cycle = connection.cycle
        seen: list[object] = [isinstance(cycle.message_event, asyncio.Event)]
        seen.append([getattr(cycle, name) for name in names])
        await asyncio.wait(connection.tasks)
        seen.append([getattr(cycle, name) for name in names])
        await ended(connection)
        return seen

    assert asyncio.run(states()) == [True, [False, True, True, False], [True, True, True, False]]


def test_each_request_is_started_by_the_method_that_is_overridden() -> None:
    async def running() -> list[bool]:
        connection = connected(Connection)
        assert isinstance(connection, Connection)
        connection.data_received(REQUEST + REQUEST)
        first, second = connection._running, connection.cycle
        seen = [first is not None, first is second]
        await ended(connection)
        return [*seen, connection._running is second]

    assert asyncio.run(running()) == [True, False, True]


def test_the_wait_for_the_next_request_can_be_ended() -> None:
    async def timers() -> list[bool]:
        connection = connected(HttpToolsProtocol)
        connection.data_received(REQUEST)
        await asyncio.wait(connection.tasks)
        seen = [connection.timeout_keep_alive_task is not None]
        connection._unset_keepalive_if_required()
        seen.append(connection.timeout_keep_alive_task is not None)
        await ended(connection)
        return seen

    assert asyncio.run(timers()) == [True, False]
