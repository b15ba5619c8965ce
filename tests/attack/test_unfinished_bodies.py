"""Bodies that are held before they are whole: they cost about their own size, however they were cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attack.clients import connections, is_open
from attack.observation import MIB, costing_nothing
from processes import Server, serving

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
NEARLY = 1_000_000
"""The size of a body that is nearly as large as it may be."""
COUNT = 2
UNFINISHED = {
    "in one piece": HEAD + b"Content-Length: 1040000\r\n\r\n" + b" " * NEARLY,
    "in one chunk": CHUNKED + b"fde80\r\n" + b" " * NEARLY,
    "in chunks of two bytes": CHUNKED + b"2\r\n{ \r\n" * (NEARLY // 2),
    "in chunks with extensions": CHUNKED + b"1;extension=value\r\n \r\n" * 100_000,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.mark.parametrize("kind", UNFINISHED)
def test_a_body_that_does_not_end_costs_about_its_own_size(server: Server, kind: str) -> None:
    with (
        costing_nothing(server, memory=3 * COUNT * MIB + 24 * MIB) as bystander,
        connections(server.port, COUNT) as clients,
    ):
        for client in clients:
            client.sendall(UNFINISHED[kind])
            bystander.ask()

        assert all(map(is_open, clients))

    assert bystander.answered == 4 + COUNT + 1
