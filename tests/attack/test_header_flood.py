"""Heads of many headers: their number and size are bounded before anything is made of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from attack.clients import Answer, connect, exchange, head
from attack.observation import Observed, costing_nothing
from processes import Server, serving

KB = 1000
FLOODS = {
    "one name": [("a", "")] * 32_000,
    "many names": [(f"{place:x}", "") for place in range(32_000)],
    "many names, one of them twice": [("a", ""), *((f"{place:x}", "") for place in range(32_000))],
    "hosts": [("host", "")] * 32_000,
}
CLOSE = ("Connection", "close")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


def flood_of(kind: str, size: int) -> bytes:
    """Return a well-formed head of about this size."""
    whole = head("GET", "/healthz", [CLOSE, *FLOODS[kind]])
    return whole[: whole.rindex(b"\r\n", 0, size)] + b"\r\n\r\n"


def answer_to(server: Server, *sent: bytes) -> Answer:
    with contextlib.closing(connect(server.port)) as client:
        [answer] = exchange(client, *sent)
    return answer


@pytest.mark.parametrize("size", [64 * KB, 128 * KB], ids=["64 KB", "128 KB"])
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_short_headers_is_refused_and_nobody_waits(server: Server, flood: str, size: int) -> None:
    whole = flood_of(flood, size)

    with costing_nothing(server) as bystander:
        statuses = []
        for _ in range(10):
            statuses.append(answer_to(server, whole).status)
            bystander.ask()

    assert statuses == [431] * 10
    assert bystander.answered == 4 + 10 + 1


def test_a_flood_costs_the_server_about_as_much_as_one_long_header(server: Server) -> None:
    """In processor time of the server, with a wide margin: where names are compared with each other, it is hundreds."""
    process = Observed(server.process.pid)
    one_header = head("GET", "/healthz", [CLOSE, ("a", "x" * 60 * KB)])
    flood = flood_of("many names, one of them twice", 60 * KB)

    def cost(sent: bytes) -> float:
        before = process.processor_s()
        for _ in range(10):
            answer_to(server, sent)
        return process.processor_s() - before

    assert cost(flood) < 20 * cost(one_header) + 0.5


@pytest.mark.parametrize("names", ["one", "many"])
def test_of_headers_128_are_read_and_129_are_too_many(server: Server, names: str) -> None:
    def fields(count: int) -> list[tuple[str, str]]:
        # Two of the headers are Host and Connection.
        return [CLOSE, *((f"x-{place if names == 'many' else 0}", "1") for place in range(count - 2))]

    read = answer_to(server, head("GET", "/healthz", fields(128)))
    too_many = answer_to(server, head("GET", "/healthz", fields(129)))

    assert (read.status, too_many.status) == (200, 431)


@pytest.mark.parametrize("reads", [1, 2, 100], ids=["at once", "in two parts", "in a hundred parts"])
def test_a_head_has_at_most_64_kib_however_it_comes(server: Server, reads: int) -> None:
    def answer(size: int) -> Answer:
        whole = head("GET", "/healthz", [CLOSE, ("x-long", "x" * size)])
        step = -(-len(whole) // reads)
        *first, last = [whole[place : place + step] for place in range(0, len(whole), step)]
        with contextlib.closing(connect(server.port)) as client:
            for part in first:
                client.sendall(part)
                # The part has been read once another request has been answered.
                assert server.ask("GET", "/healthz").status == 200
            [answer] = exchange(client, last)
        return answer

    assert answer(65_000).status == 200
    assert answer(66_000).status == 431


def test_a_head_without_an_end_is_refused_as_soon_as_it_is_too_long(server: Server) -> None:
    with costing_nothing(server), contextlib.closing(connect(server.port)) as client:
        answers = exchange(client, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-Long: " + b"x" * 2_000 * KB)

    assert [answer.status for answer in answers] == [431]


def test_a_good_request_before_a_flood_in_the_same_breath_is_answered_first(server: Server) -> None:
    flood = flood_of("one name", 64 * KB)

    with contextlib.closing(connect(server.port)) as client:
        answers = exchange(client, head("GET", "/healthz") * 2 + flood)

    assert [answer.status for answer in answers] == [200, 200, 431]
