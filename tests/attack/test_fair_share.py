"""Calls that hang: an address holds no more than its share of those in flight, and is told so in the door's shape."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Iterator

import pytest

from attack.clients import (
    ATTACKER,
    BYSTANDER,
    SECOND_ATTACKER,
    Answer,
    allow_descriptors,
    connect,
    connections,
    head,
    post,
    read_answers,
)
from attack.observation import Bystander, costing_nothing, until
from door_calls import invocation, modern_headers, rpc
from processes import PATIENCE_S, Server, serving_limited

STARTED = "waiting_forever: started"
DOORS = ("rest", "mcp, handshake", "mcp, modern", "envelope")


def call(door: str, tool: str) -> bytes:
    """Return a call of a tool that is awaited, through one of the doors."""
    if door == "rest":
        return post(f"/api/tools/waiting_{tool}", {})
    if door == "envelope":
        return post(f"/mcp/tool/waiting.{tool}", invocation(f"waiting.{tool}", {}))
    name, modern = f"waiting_{tool}", door.endswith("modern")
    fields = modern_headers("tools/call", name).items() if modern else ()
    return post("/mcp", rpc("tools/call", {"name": name, "arguments": {}}, modern=modern), fields)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    allow_descriptors(8192)
    with serving_limited("--toolsets", "plantuml,waiting") as running:
        yield running


def ask(server: Server, sent: bytes, source: str = BYSTANDER) -> Answer:
    with contextlib.closing(connect(server.port, source)) as client:
        client.sendall(sent)
        return read_answers(client, 1)[0]


def hang(server: Server, clients: list[socket.socket], bystander: Bystander) -> list[tuple[str, Answer]]:
    """Send a call that hangs on each connection; return the answers, and the door of each, once all have come in."""
    begun = server.stderr().count(STARTED)
    for place, client in enumerate(clients):
        client.sendall(call(DOORS[place % 4], "forever"))
        if place % 100 == 0:
            bystander.ask()
    refused = answers_until_all_are_known(server, clients, begun, bystander)
    return [(DOORS[place % 4], answer) for place, answer in sorted(refused.items())]


def answers_until_all_are_known(
    server: Server, clients: list[socket.socket], begun: int, bystander: Bystander
) -> dict[int, Answer]:
    """Wait until each call runs or is refused, where some had begun before; return the refusals by their places."""
    refused: dict[int, Answer] = {}
    with selectors.DefaultSelector() as selector:
        for place, client in enumerate(clients):
            selector.register(client, selectors.EVENT_READ, place)

        def all_are_known() -> bool:
            for key, _ in selector.select(0):
                refused[key.data] = read_answers(clients[key.data], 1)[0]
                selector.unregister(key.fileobj)
            return len(refused) + server.stderr().count(STARTED) - begun == len(clients)

        until(all_are_known, "each call hangs or is refused", bystander)
    return refused


def test_an_address_with_1024_hanging_calls_holds_half_and_everybody_else_is_served(server: Server) -> None:
    with costing_nothing(server) as bystander, connections(server.port, 1024) as clients:
        refused = hang(server, clients, bystander)

        statuses = [ask(server, call(door, "turn")).status for door in DOORS * 10]
        again = ask(server, call("rest", "turn"), ATTACKER)
        health = ask(server, head("GET", "/healthz"), ATTACKER)
        at_once = ask(server, head("GET", "/openapi.json"), ATTACKER)

    assert statuses == [200] * 40
    assert len(refused) == 512
    assert {answer.status for _, answer in refused} == {503}
    assert {answer.headers["retry-after"] for _, answer in refused} == {"1"}
    assert (again.status, health.status, at_once.status) == (503, 200, 200)
    assert ask(server, call("rest", "turn"), ATTACKER).status == 200


def test_a_refusal_has_the_shape_of_its_door(server: Server) -> None:
    with costing_nothing(server) as bystander, connections(server.port, 520) as clients:
        refused = dict(hang(server, clients, bystander))

    assert set(refused) == set(DOORS)
    assert all(answer.headers["content-type"] == "application/json" for answer in refused.values())
    rest = refused["rest"].json()
    assert (rest["success"], set(rest["error"])) == (False, {"code", "message"})
    for door in ("mcp, handshake", "mcp, modern", "envelope"):
        answer = refused[door].json()
        assert (set(answer), answer["jsonrpc"]) == ({"jsonrpc", "id", "error"}, "2.0")
        assert {"code", "message", "data"} == set(answer["error"])
        assert set(answer["error"]["data"]) == {"canonical_code"}


def test_each_further_address_has_its_share_of_what_is_left(server: Server) -> None:
    with (
        costing_nothing(server) as bystander,
        connections(server.port, 600) as of_one,
        connections(server.port, 400, SECOND_ATTACKER) as of_another,
    ):
        refused_first = hang(server, of_one, bystander)
        refused_second = hang(server, of_another, bystander)
        statuses = [ask(server, call(door, "turn")).status for door in DOORS]

    assert statuses == [200] * 4
    assert len(of_one) - len(refused_first) == 1024 // 2
    assert 0 < len(of_another) - len(refused_second) <= 1024 // 3


def test_a_handful_of_addresses_together_do_not_hold_all(server: Server) -> None:
    """Each of them came when fewer were calling, and holds more than its share of now."""
    with costing_nothing(server) as bystander, contextlib.ExitStack() as stack:
        for place in range(5):
            clients = stack.enter_context(connections(server.port, 520, f"127.0.0.{2 + place}"))
            hang(server, clients, bystander)
            statuses = [ask(server, call(door, "turn")).status for door in DOORS]

            assert statuses == [200] * 4


def test_calls_whose_bodies_come_after_all_heads_have_the_same_share(server: Server) -> None:
    """A head alone holds nothing, so it must not be the head alone that is counted."""
    whole = call("rest", "forever")
    begun = server.stderr().count(STARTED)

    with costing_nothing(server) as bystander, connections(server.port, 1024) as clients:
        for client in clients:
            client.sendall(whole[:-1])
        bystander.ask()
        for client in clients:
            client.sendall(whole[-1:])
        refused = answers_until_all_are_known(server, clients, begun, bystander)
        statuses = [ask(server, call(door, "turn")).status for door in DOORS * 10]

    assert statuses == [200] * 40
    assert len(refused) == 512


def test_a_refused_connection_stays_usable_and_calls_that_do_not_wait_are_answered(server: Server) -> None:
    with costing_nothing(server) as bystander, connections(server.port, 513) as clients:
        hang(server, clients[:512], bystander)
        last = clients[-1]
        last.settimeout(PATIENCE_S)
        last.sendall(call("rest", "turn") + head("GET", "/healthz") + head("GET", "/api/tools"))
        statuses = [answer.status for answer in read_answers(last, 3)]

    assert statuses == [503, 200, 200]


def test_a_share_is_free_again_when_its_clients_have_left(server: Server) -> None:
    with costing_nothing(server) as bystander:
        for _ in range(2):
            with connections(server.port, 512) as clients:
                assert hang(server, clients, bystander) == []
            until(lambda: ask(server, call("rest", "turn"), ATTACKER).status == 200, "the calls have ended", bystander)
