"""TLS handshakes that do not go on, and connections of many addresses: a newcomer has a place, whoever holds all."""

from __future__ import annotations

import contextlib
import resource
import socket
from pathlib import Path

import pytest

from attack.clients import (
    ATTACKER,
    BYSTANDER,
    allow_descriptors,
    connect,
    connections,
    head,
    is_open,
    parse,
    read_answers,
    speak_tls,
)
from attack.observation import Observed, until
from certificates import write_certificate
from processes import LIMITED, Server, serving, serving_command, serving_limited

ADDRESSES = [f"127.0.0.{place}" for place in range(2, 9)]
"""Seven addresses of attackers."""


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    certificate, key = write_certificate(tmp_path_factory.mktemp("tls"), "localhost")
    return ["--toolsets", "plantuml", "--tls-cert", certificate, "--tls-key", key]


def statuses(port: int, count: int, source: str = BYSTANDER) -> list[int]:
    """Ask over TLS, each time on a connection of its own; return the statuses, 0 where there was none."""
    return [_status(port, source) for _ in range(count)]


def _status(port: int, source: str) -> int:
    try:
        with contextlib.closing(connect(port, source)) as plain, speak_tls(plain) as client:
            client.sendall(head("GET", "/healthz", [("Connection", "close")]))
            [answer] = parse(b"".join(iter(lambda: client.recv(65_536), b"")))
    except OSError:
        return 0
    return answer.status


def test_handshakes_of_one_address_that_say_nothing_keep_no_other_address_out(tls: list[str]) -> None:
    allow_descriptors(4096)
    with serving(*tls) as server, connections(server.port, 1_100) as silent:
        assert statuses(server.port, 20) == [200] * 20
        assert statuses(server.port, 1, ATTACKER) == [200]

        # Those that have waited longest have made room for the others of their address.
        assert [is_open(client) for client in silent[:20]] == [False] * 20
        assert all(map(is_open, silent[-1_000:]))


def test_seven_addresses_that_hold_all_places_by_silent_handshakes_make_room(tls: list[str]) -> None:
    with serving_limited(*tls, connections=28, per_address=8) as server, contextlib.ExitStack() as stack:
        silent = _filled(server, stack, 4)

        assert statuses(server.port, 10) == [200] * 10
        # One has made room, or some more: a newcomer may come before the server has seen that the last one has left.
        until(lambda: 18 <= sum(map(is_open, silent)) < 28, "one has made room")


def test_a_handshake_that_makes_room_leaves_no_descriptor(tls: list[str]) -> None:
    with serving_limited(*tls, connections=64, per_address=8) as server:
        assert statuses(server.port, 1) == [200]
        process = Observed(server.process.pid)
        until(lambda: process.sockets() == process.sockets(), "it rests")
        before = process.sockets()
        with connections(server.port, 50):
            assert statuses(server.port, 1) == [200]
            until(lambda: process.sockets() <= before + 8, "eight are held")
        until(lambda: process.sockets() <= before, "none is held")
        assert "Traceback" not in server.stderr()


def test_a_handshake_has_a_time_of_its_own(tls: list[str]) -> None:
    with (
        serving_limited(*tls, handshake_s=0.3, head_s=600, body_s=1) as server,
        connections(server.port, 2) as clients,
    ):
        clients[1].sendall(b"\x16\x03\x01")
        until(lambda: not any(map(is_open, clients)), "both are closed")
        assert statuses(server.port, 1) == [200]


def test_of_all_connections_that_wait_one_of_the_address_with_most_makes_room_and_not_the_oldest() -> None:
    with (
        serving_limited("--toolsets", "plantuml", connections=29, per_address=8) as server,
        contextlib.closing(connect(server.port, BYSTANDER)) as bystander,
        contextlib.ExitStack() as stack,
    ):
        bystander.sendall(head("GET", "/healthz"))
        read_answers(bystander, 1)
        silent = _filled(server, stack, 4)
        for place in range(20):
            with contextlib.closing(connect(server.port, f"127.0.1.{place + 1}")) as newcomer:
                newcomer.sendall(head("GET", "/healthz", [("Connection", "close")]))
                assert [answer.status for answer in read_answers(newcomer, 1)] == [200]

        assert is_open(bystander)
        bystander.sendall(head("GET", "/healthz"))
        assert [answer.status for answer in read_answers(bystander, 1)] == [200]
        assert sum(map(is_open, silent)) < 28


def _filled(server: Server, stack: contextlib.ExitStack, each: int) -> list[socket.socket]:
    """Take places by connections of seven addresses that say nothing."""
    process = Observed(server.process.pid)
    before, silent = process.sockets(), []
    for address in ADDRESSES:
        silent += stack.enter_context(connections(server.port, each, address))
    until(lambda: process.sockets() >= before + len(silent), "all are accepted")
    return silent


# --- open files


def limited_to(soft: int, hard: int, *command: str) -> contextlib.AbstractContextManager[Server]:
    """Run a server that may open a number of files."""
    shell = f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"'
    return serving_command("bash", "-c", shell, "bash", *command)


SERVE = ("serve", "--port", "0", "--toolsets", "plantuml")


def test_the_server_raises_its_limit_of_open_files_to_what_its_connections_need() -> None:
    with limited_to(1024, 16_384, *LIMITED, *SERVE) as server:
        limits = Path(f"/proc/{server.process.pid}/limits").read_text()
        [line] = [line.split() for line in limits.splitlines() if line.startswith("Max open files")]
        printed = server.stderr()

    assert line[3:5] == ["5120", "16384"]
    assert "files may be open" not in printed


def test_where_few_files_may_be_open_there_are_fewer_connections_and_a_newcomer_has_a_place() -> None:
    with limited_to(100, 100, *LIMITED, *SERVE) as server, contextlib.ExitStack() as stack:
        server.wait_for("at most 100 files may be open: the server takes 75 connections, not 4,096")
        for address in ADDRESSES:
            stack.enter_context(connections(server.port, 40, address))
        for _ in range(20):
            with contextlib.closing(connect(server.port, BYSTANDER)) as client:
                client.sendall(head("GET", "/healthz", [("Connection", "close")]))
                assert [answer.status for answer in read_answers(client, 1)] == [200]

        assert server.process.poll() is None
        assert "Traceback" not in server.stderr()


def test_where_no_file_can_be_opened_connections_that_wait_are_closed_for_those_that_come() -> None:
    """The limit is lowered while the server runs, so that it does not know of it."""
    with serving_limited("--toolsets", "plantuml") as server, contextlib.ExitStack() as stack:
        process = Observed(server.process.pid)
        allowed = process.descriptors() + 40
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (allowed, allowed))
        for address in ADDRESSES:
            stack.enter_context(connections(server.port, 20, address))
        used = process.processor_s()
        for _ in range(20):
            with contextlib.closing(connect(server.port, BYSTANDER)) as client:
                client.sendall(head("GET", "/healthz", [("Connection", "close")]))
                assert [answer.status for answer in read_answers(client, 1)] == [200]

        assert process.processor_s() - used < 5
        assert server.stderr().count("a connection cannot be accepted") == 1
