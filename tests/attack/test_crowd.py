"""Many clients at once: each gets its first answer, also while others are busy."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Iterator

import pytest

from attack.clients import allow_descriptors, connect, head
from attack.observation import CALLS, costing_nothing
from processes import PATIENCE_S, Server, serving

CROWD = 512
BUSY = 64


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    allow_descriptors(4096)
    with serving("--toolsets", "plantuml") as running:
        yield running


def start_connecting(port: int, count: int) -> list[socket.socket]:
    """Begin connections, from several addresses, and wait for none of them."""
    clients = []
    for place in range(count):
        client = socket.socket()
        client.setblocking(False)
        client.bind((f"127.0.0.{2 + place % 8}", 0))
        client.connect_ex(("127.0.0.1", port))
        clients.append(client)
    return clients


def first_answers(clients: list[socket.socket], busy: list[socket.socket]) -> tuple[dict[int, bytes], int]:
    """Let each client ask once; return their answers, and how many the busy ones got meanwhile."""
    answers: dict[int, bytes] = {}
    busy_answers = 0
    with selectors.DefaultSelector() as selector:
        for place, client in enumerate(clients):
            selector.register(client, selectors.EVENT_WRITE, place)
        for client in busy:
            client.sendall(CALLS["mcp, handshake"])
            selector.register(client, selectors.EVENT_READ, None)
        while len(answers) < len(clients):
            events = selector.select(PATIENCE_S)
            assert events, f"{len(answers)} of {len(clients)} have an answer"
            for key, _ in events:
                client = key.fileobj
                assert isinstance(client, socket.socket)
                if key.data is None:
                    busy_answers += client.recv(1 << 16).count(b"HTTP/1.1 200")
                    client.sendall(CALLS["mcp, handshake"])
                elif key.events == selectors.EVENT_WRITE:
                    client.sendall(head("GET", "/healthz"))
                    selector.modify(client, selectors.EVENT_READ, key.data)
                else:
                    answers[key.data] = client.recv(1 << 16)
                    selector.unregister(client)
    return answers, busy_answers


def test_512_clients_that_connect_at_once_each_get_their_first_answer(server: Server) -> None:
    with costing_nothing(server) as bystander, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(each)) for each in start_connecting(server.port, CROWD)]
        answers, _ = first_answers(clients, [])
        bystander.ask()

    assert len(answers) == CROWD
    assert {answer[:15] for answer in answers.values()} == {b"HTTP/1.1 200 OK"}


def test_a_crowd_waits_for_few_answers_of_the_busy_ones(server: Server) -> None:
    """A server that accepts one connection between two rounds of answers gives thirty times as many meanwhile."""
    with costing_nothing(server), contextlib.ExitStack() as stack:
        busy = [stack.enter_context(contextlib.closing(connect(server.port, "127.0.1.1"))) for _ in range(BUSY)]
        clients = [stack.enter_context(contextlib.closing(each)) for each in start_connecting(server.port, CROWD)]
        answers, busy_answers = first_answers(clients, busy)

    assert {answer[:15] for answer in answers.values()} == {b"HTTP/1.1 200 OK"}
    assert busy_answers < 8 * CROWD
