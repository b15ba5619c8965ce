"""More connections than slots: one that waits for its client makes room, whatever it waits for."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from attack.clients import (
    ATTACKER,
    SECOND_ATTACKER,
    connect,
    connections,
    exchange,
    head,
    is_open,
    post,
    read_answers,
)
from attack.observation import CALLS, costing_nothing, until
from processes import Server, serving, serving_limited

UNFINISHED = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HANGING = post("/api/tools/waiting_forever", {})


def sends_nothing(_: socket.socket) -> None:
    """Leave a new connection alone."""


def sends_half_a_head(client: socket.socket) -> None:
    client.sendall(UNFINISHED)


def sends_no_body(client: socket.socket) -> None:
    client.sendall(UNFINISHED + b"Content-Length: 9\r\n\r\n")


def sends_half_a_body(client: socket.socket) -> None:
    client.sendall(UNFINISHED + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")


def asks_once(client: socket.socket) -> None:
    client.sendall(head("GET", "/healthz"))
    read_answers(client, 1)


WAITING: dict[str, Callable[[socket.socket], None]] = {
    "idle from the start": sends_nothing,
    "idle after an answer": asks_once,
    "slow head": sends_half_a_head,
    "idle body": sends_no_body,
    "slow body": sends_half_a_body,
}
"""What a client may keep the server waiting with."""


@pytest.fixture(scope="module")
def narrow() -> Iterator[Server]:
    """A server with eight places for each address."""
    with serving_limited("--toolsets", "plantuml", per_address=8) as running:
        yield running


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """A server with sixteen places, eight for each address."""
    toolsets = ("--toolsets", "plantuml,waiting")
    with serving_limited(*toolsets, connections=16, per_address=8) as running:
        yield running


def kept(clients: list[socket.socket]) -> list[bool]:
    """Return of each connection whether the server keeps it."""
    return list(map(is_open, clients))


def settle(server: Server) -> None:
    """Let the server accept and read what has come, by a request that comes after it; then time goes on a little."""
    assert server.ask("GET", "/healthz").status == 200
    time.sleep(0.005)


# --- the places of one address


@pytest.mark.parametrize("kind", WAITING)
def test_of_one_address_the_connections_that_waited_longest_make_room_for_its_new_ones(
    narrow: Server, kind: str
) -> None:
    with costing_nothing(narrow) as bystander, contextlib.ExitStack() as stack:
        clients = []
        for _ in range(20):
            clients.append(stack.enter_context(contextlib.closing(connect(narrow.port))))
            WAITING[kind](clients[-1])
            bystander.ask()
            settle(narrow)

        expected = [False] * 12 + [True] * 8
        until(lambda: kept(clients) == expected, "those that waited longest are hung up on")

    assert bystander.answered == 4 + 20 + 1


def test_the_places_of_an_address_can_be_set_in_the_environment() -> None:
    with (
        serving("--toolsets", "plantuml", env={"SIGNET_CONNECTIONS_PER_ADDRESS": "2"}) as server,
        contextlib.ExitStack() as stack,
    ):
        clients = []
        for _ in range(3):
            clients.append(stack.enter_context(contextlib.closing(connect(server.port))))
            settle(server)

        expected = [False, True, True]
        until(lambda: kept(clients) == expected, "those that waited longest are hung up on")


def test_the_one_that_waited_longest_is_not_the_one_that_came_first(narrow: Server) -> None:
    with costing_nothing(narrow), connections(narrow.port, 8) as clients:
        for client in [*clients, clients[0]]:
            asks_once(client)
            settle(narrow)
        with connections(narrow.port, 1) as [newcomer]:
            asks_once(newcomer)

            expected = [True, False, *[True] * 6]
            until(lambda: kept(clients) == expected, "those that waited longest are hung up on")


def test_a_newcomer_is_answered_though_its_address_is_full_of_others(narrow: Server) -> None:
    """As behind a proxy or a gateway, where an attacker has the address of everybody else."""
    with costing_nothing(narrow), connections(narrow.port, 8) as clients:
        for client in clients:
            sends_no_body(client)
        statuses = []
        for call in list(CALLS.values()) * 5:
            with connections(narrow.port, 1) as [newcomer]:
                newcomer.sendall(call)
                statuses.append(read_answers(newcomer, 1)[0].status)

    assert statuses == [200] * 20


# --- all places


@pytest.mark.parametrize("kind", WAITING)
def test_a_bystander_is_answered_though_all_places_are_taken(small: Server, kind: str) -> None:
    with costing_nothing(small) as bystander, contextlib.ExitStack() as stack:
        clients = []
        for place in range(48):
            source = f"127.0.0.{2 + place // 8}"
            clients.append(stack.enter_context(contextlib.closing(connect(small.port, source))))
            # The server may have hung up already, to make room.
            with contextlib.suppress(OSError, AssertionError):
                WAITING[kind](clients[-1])
            bystander.ask()

        assert sum(kept(clients)) <= 16

    assert bystander.answered == 4 + 48 + 1


def test_a_connection_whose_call_is_being_answered_makes_no_room(small: Server) -> None:
    with costing_nothing(small) as bystander, connections(small.port, 8) as clients:
        started = small.stderr().count("waiting_forever: started")
        for client in clients[:7]:
            client.sendall(HANGING)
        until(lambda: small.stderr().count("waiting_forever: started") == started + 7, "seven calls run")
        for _ in range(3):
            with connections(small.port, 1) as [newcomer]:
                asks_once(newcomer)
            bystander.ask()

        expected = [True] * 7 + [False]
        until(lambda: kept(clients) == expected, "those that waited longest are hung up on")


def test_where_nobody_waits_a_newcomer_is_told_when_to_come_again(small: Server) -> None:
    with (
        costing_nothing(small) as bystander,
        connections(small.port, 8) as of_one,
        connections(small.port, 7, SECOND_ATTACKER) as of_another,
    ):
        started = small.stderr().count("waiting_forever: started")
        for client in of_one + of_another:
            client.sendall(HANGING)
        until(lambda: small.stderr().count("waiting_forever: started") == started + 15, "fifteen calls run")
        bystander.ask()

        with contextlib.closing(connect(small.port, ATTACKER)) as ninth:
            [of_a_full_address] = exchange(ninth, head("GET", "/healthz"))
        with contextlib.closing(connect(small.port, SECOND_ATTACKER)) as eighth:
            eighth.sendall(HANGING)
            until(lambda: small.stderr().count("waiting_forever: started") == started + 16, "sixteen calls run")
            with contextlib.closing(connect(small.port, "127.0.0.4")) as seventeenth:
                [of_a_full_server] = exchange(seventeenth, head("GET", "/healthz"))

        assert kept(of_one + of_another) == [True] * 15

    for refused in (of_a_full_address, of_a_full_server):
        assert refused.status == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.headers["connection"] == "close"


def test_places_are_free_again_when_their_clients_have_left(small: Server) -> None:
    for source in (ATTACKER, SECOND_ATTACKER):
        with costing_nothing(small), connections(small.port, 8, source) as clients:
            for client in clients:
                client.sendall(HANGING)
                assert is_open(client)
