"""Requests without end on one connection: what is queued for a client that does not read is bounded."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from attack.clients import connect, head, is_open, parse, post, read_answers
from attack.observation import CALLS, MIB, Bystander, costing_nothing, until
from door_calls import rpc
from processes import PATIENCE_S, Server, serving, serving_limited

ENDLESS = {
    "GET /healthz": head("GET", "/healthz"),
    "GET /openapi.json": head("GET", "/openapi.json"),
    "GET /nowhere": head("GET", "/nowhere"),
    "POST /mcp": CALLS["mcp, handshake"],
}
MOST_TAKEN = 16 * MIB
"""The bytes of requests that may be taken from a client that reads nothing; buffers of the kernel have most of them."""
PATIENT_ROUNDS = 40
"""The bystander's calls after which a server that has taken nothing more will not take more."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def impatient() -> Iterator[Server]:
    with serving_limited("--toolsets", "plantuml", write_s=0.5) as running:
        yield running


def taken_until_it_stops(client: socket.socket, request: bytes, bystander: Bystander) -> int:
    """Send one request again and again without reading; return the bytes that were taken when no more are."""
    lot = memoryview(request * (1 + 65_536 // len(request)))
    client.setblocking(False)
    taken = since = 0
    while since < PATIENT_ROUNDS and taken < MOST_TAKEN:
        # A lot goes on where the last one was cut off.
        begun = taken % len(request)
        try:
            taken += client.send(lot[begun:])
            since = 0
        except BlockingIOError:
            bystander.ask()
            since += 1
    return taken


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_client_that_reads_nothing_is_soon_not_read_from(server: Server, kind: str) -> None:
    with costing_nothing(server) as bystander, contextlib.closing(connect(server.port, receive_buffer=4096)) as client:
        taken = taken_until_it_stops(client, ENDLESS[kind], bystander)

    assert taken < MOST_TAKEN
    assert bystander.answered >= PATIENT_ROUNDS


def test_many_clients_that_read_nothing_cost_little_each(server: Server) -> None:
    clients = [connect(server.port, f"127.0.0.{2 + place}", receive_buffer=4096) for place in range(20)]

    with costing_nothing(server) as bystander, contextlib.ExitStack() as stack:
        for client in clients:
            stack.enter_context(contextlib.closing(client))
            client.setblocking(False)
        for _ in range(40):
            for client in clients:
                with contextlib.suppress(BlockingIOError):
                    client.send(ENDLESS["GET /openapi.json"] * 1000)
            bystander.ask()

    assert bystander.answered == 4 + 40 + 1


def fill(client: socket.socket, request: bytes) -> None:
    """Have the connection accepted, then send requests until no more are taken at once."""
    client.sendall(head("GET", "/healthz"))
    read_answers(client, 1)
    assert is_open(client)
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError, ConnectionError):
        for _ in range(1000):
            client.send(request * 1000)


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_client_that_does_not_take_its_answers_in_time_is_hung_up_on(impatient: Server, kind: str) -> None:
    with (
        costing_nothing(impatient) as bystander,
        contextlib.closing(connect(impatient.port, receive_buffer=4096)) as client,
    ):
        fill(client, ENDLESS[kind])

        until(lambda: not is_open(client), "the server hangs up", bystander)


def test_a_client_that_takes_its_answers_byte_by_byte_is_hung_up_on(impatient: Server) -> None:
    with (
        costing_nothing(impatient) as bystander,
        contextlib.closing(connect(impatient.port, receive_buffer=4096)) as client,
    ):
        fill(client, ENDLESS["GET /openapi.json"])

        def takes_a_byte_in_vain() -> bool:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                client.recv(1)
            return not is_open(client)

        until(takes_a_byte_in_vain, "the server hangs up", bystander)


def test_a_client_that_reads_late_gets_every_answer_in_order(server: Server) -> None:
    messages = [post("/mcp", rpc("tools/list", {}, request_id=number)) for number in range(3000)]
    left, received = memoryview(b"".join(messages)), b""

    with costing_nothing(server) as bystander, contextlib.closing(connect(server.port)) as client:
        while left:
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while left:
                    left = left[client.send(left) :]
            client.settimeout(PATIENCE_S)
            bystander.ask()
            received += client.recv(1 << 20) if left else b""
        client.shutdown(socket.SHUT_WR)
        received += b"".join(iter(lambda: client.recv(1 << 20), b""))

    assert [answer.json()["id"] for answer in parse(received)] == list(range(3000))


def test_a_client_that_waits_without_an_answer_due_is_not_hung_up_on(impatient: Server) -> None:
    """The time to take an answer does not run between requests."""
    with costing_nothing(impatient) as bystander, contextlib.closing(connect(impatient.port)) as client:
        for _ in range(30):
            bystander.ask()

        assert is_open(client)
