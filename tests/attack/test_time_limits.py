"""Clients that take their time: a head, a body and a silence each have a limit, and nothing puts it off."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from attack.clients import connect, connections, head, is_open, parse, post, read_answers, read_to_the_end
from attack.observation import CALLS, Bystander, Observed, costing_nothing, until
from processes import Server, serving_limited

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
WITH_LENGTH = HEAD + b"Content-Length: 100000\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SLOW = {
    "nothing": (b"", b""),
    "half a head": (HEAD, b""),
    "a head byte by byte": (HEAD + b"X-Long: ", b"x"),
    "a head line by line": (HEAD, b"X-More: x\r\n"),
    "empty lines before a head": (b"\r\n", b"\r\n"),
    "no body": (WITH_LENGTH, b""),
    "a body byte by byte": (WITH_LENGTH + b"{", b" "),
    "no chunk": (CHUNKED, b""),
    "a body chunk by chunk": (CHUNKED, b"1\r\n \r\n"),
    "a chunk byte by byte": (CHUNKED + b"fffff\r\n", b" "),
    "trailers line by line": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-More: x\r\n"),
}
"""What is sent at once, and then again and again."""
REFUSED_ANYWAY = {
    "unknown path": b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
    "wrong host": b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n",
    "page with a body": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
    "wrong method": b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
}
"""Requests whose answer needs no body; the body does not come."""


@pytest.fixture(scope="module")
def impatient() -> Iterator[Server]:
    limits = {"head_s": 2, "body_s": 2, "idle_s": 2}
    with serving_limited("--toolsets", "plantuml", "--log", "off", **limits) as running:
        yield running


def statuses_when_hung_up_on(
    clients: dict[str, socket.socket], more: dict[str, bytes], bystander: Bystander
) -> dict[str, list[int]]:
    """Send each client's bytes again and again until the server has hung up on all; return what each was answered."""

    def is_over() -> bool:
        for kind, client in clients.items():
            with contextlib.suppress(OSError):
                client.sendall(more.get(kind, b""))
        return not any(map(is_open, clients.values()))

    until(is_over, "the server hangs up on all", bystander)
    return {kind: [answer.status for answer in parse(read_to_the_end(client))] for kind, client in clients.items()}


MORE = {kind: more for kind, (_, more) in SLOW.items()}


def test_a_client_that_takes_too_long_over_a_request_gets_408_and_is_hung_up_on(impatient: Server) -> None:
    with costing_nothing(impatient) as bystander, connections(impatient.port, len(SLOW)) as opened:
        clients = dict(zip(SLOW, opened, strict=True))
        for kind, client in clients.items():
            client.sendall(SLOW[kind][0])
        statuses = statuses_when_hung_up_on(clients, MORE, bystander)

    assert statuses == {kind: [408] for kind in SLOW}


def test_the_next_request_on_a_connection_has_the_same_limits(impatient: Server) -> None:
    with costing_nothing(impatient) as bystander, connections(impatient.port, len(SLOW)) as opened:
        clients = dict(zip(SLOW, opened, strict=True))
        for kind, client in clients.items():
            client.sendall(CALLS["mcp, handshake"])
            read_answers(client, 1)
            client.sendall(SLOW[kind][0])
        statuses = statuses_when_hung_up_on(clients, MORE, bystander)

    # A connection that is idle between two requests is closed without a word.
    assert statuses == {kind: [408] if kind != "nothing" else [] for kind in SLOW}


def test_a_request_that_needs_no_body_holds_its_place_no_longer(impatient: Server) -> None:
    """Whether it is answered at once or when its body does not come."""
    with costing_nothing(impatient) as bystander, connections(impatient.port, len(REFUSED_ANYWAY)) as opened:
        clients = dict(zip(REFUSED_ANYWAY, opened, strict=True))
        for kind, client in clients.items():
            client.sendall(REFUSED_ANYWAY[kind])
        statuses = statuses_when_hung_up_on(clients, {}, bystander)

    assert all(set(answered) <= {200, 404, 405, 408, 421} for answered in statuses.values())
    assert all(1 <= len(answered) <= 2 for answered in statuses.values())


def test_many_idle_bodies_are_gone_after_their_time(impatient: Server) -> None:
    process = Observed(impatient.process.pid)

    with costing_nothing(impatient) as bystander, connections(impatient.port, 200) as clients:
        for client in clients:
            client.sendall(WITH_LENGTH)
        until(lambda: not any(map(is_open, clients)), "the server hangs up on all", bystander)
        # The clients keep their side open, and the server does not wait for them.
        until(lambda: process.sockets() < 200, "the server has closed its sides", bystander)


def test_a_half_closed_connection_without_a_request_is_closed(impatient: Server) -> None:
    with costing_nothing(impatient), connections(impatient.port, 3) as clients:
        for client, sent in zip(clients, (b"", HEAD, WITH_LENGTH), strict=True):
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
        answers = [[answer.status for answer in parse(read_to_the_end(client))] for client in clients]

    assert all(statuses in ([], [400], [408]) for statuses in answers)


def test_a_client_in_time_is_served_however_small_its_parts(impatient: Server) -> None:
    whole = post("/api/tools/encodePlantUML", {"plantumlCode": "A -> B"}) + head("GET", "/healthz")

    with costing_nothing(impatient), contextlib.closing(connect(impatient.port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in whole:
            client.sendall(bytes((byte,)))
        statuses = [answer.status for answer in read_answers(client, 2)]

    assert statuses == [200, 200]
