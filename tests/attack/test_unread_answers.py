"""Large answers that are not read: the process holds a bounded number of bytes of them, and others are answered."""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.clients import ATTACKER, BYSTANDER, Answer, allow_descriptors, connect, parse, post, read_answers, speak_tls
from attack.observation import MIB, Observed, until
from certificates import write_certificate
from door_calls import rpc
from processes import ROOT, SIGNET, Server, piping, serving_command

LARGE = 15_500_000
COUNT = 32
BOUND = 256 * MIB
SLACK = 192 * MIB
"""The memory for calls that end at this moment: each result is held a few times until it is an answer."""
SERVER = [sys.executable, str(ROOT / "tests/attack/large_server.py")]
STREAM = ("Accept", "application/json, text/event-stream")


@pytest.fixture(params=["plain", "tls"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    allow_descriptors(4096)
    flags = []
    if request.param == "tls":
        certificate, key = write_certificate(tmp_path, "localhost")
        flags = ["--tls-cert", certificate, "--tls-key", key]
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", *flags, "--", *SERVER) as running:
        yield running


def open_client(server: Server, source: str, *, small: bool = True) -> socket.socket:
    """Connect, over TLS where the server speaks that; with a small buffer, answers stay with the server."""
    client = connect(server.port, source, 4096 if small else 0)
    return speak_tls(client) if "https://" in server.stderr() else client


def ask(server: Server, size: int, source: str = BYSTANDER) -> Answer:
    """Call the tool like a client with good manners."""
    with contextlib.closing(open_client(server, source, small=False)) as client:
        client.sendall(call(size))
        return read_answers(client, 1)[0]


def call(size: int) -> bytes:
    return post("/api/tools/large", {"size": size})


def test_answers_that_one_address_leaves_unread_are_bounded_and_others_are_answered(server: Server) -> None:
    process = Observed(server.process.pid)
    assert ask(server, 1).status == 200
    before = process.memory()
    process.forget_peak()
    with contextlib.ExitStack() as stack:
        clients = _unread(server, stack, [ATTACKER])
        assert ask(server, 1).status == 200
        assert len(ask(server, LARGE).body) > LARGE
        assert process.peak() - before < BOUND + SLACK

        statuses = [_first(client)[:12] for client in clients]
        assert set(statuses) == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
        # No more than half of all is for one caller.
        assert 6 <= statuses.count(b"HTTP/1.1 200") <= 12

    assert len(ask(server, LARGE, ATTACKER).body) > LARGE
    assert "Traceback" not in server.stderr()


def test_calls_that_follow_an_unread_answer_on_its_connection_wait_until_it_is_read(server: Server) -> None:
    process, size, count = Observed(server.process.pid), LARGE // 5, 60
    assert ask(server, 1).status == 200
    before = process.memory()
    process.forget_peak()
    with contextlib.closing(open_client(server, ATTACKER)) as client:
        client.sendall(call(size) * count)
        used = [-1.0, -2.0]
        until(lambda: used.append(process.processor_s()) or _rests(used), "it rests")
        assert process.peak() - before < 64 * MIB
        answers = read_answers_of(client, count)

    assert [(answer.status, len(answer.body) > size) for answer in answers] == [(200, True)] * count
    assert "Traceback" not in server.stderr()


@pytest.mark.parametrize("server", ["plain"], indirect=True)
def test_where_many_addresses_leave_answers_unread_the_oldest_of_the_greediest_gives_way(server: Server) -> None:
    process = Observed(server.process.pid)
    assert ask(server, 1).status == 200
    before = process.memory()
    process.forget_peak()
    with contextlib.ExitStack() as stack:
        _unread(server, stack, [f"127.0.0.{place}" for place in range(2, 22)])
        assert [len(ask(server, LARGE).body) > LARGE for _ in range(3)] == [True] * 3
        assert process.peak() - before < BOUND + SLACK


@pytest.mark.parametrize("server", ["plain"], indirect=True)
def test_a_refusal_says_what_to_do(server: Server) -> None:
    with contextlib.ExitStack() as stack:
        clients = _unread(server, stack, [ATTACKER])
        refused = next(client for client in clients if b" 503" in _first(client))
        [answer] = read_answers(refused, 1)

    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json()["error"]["code"] == "UNREAD_ANSWERS"
    assert "read them, then ask again" in answer.json()["error"]["message"]


@pytest.mark.parametrize("server", ["plain"], indirect=True)
def test_the_answers_of_sessions_and_what_is_kept_of_them_are_bounded_too(server: Server) -> None:
    process = Observed(server.process.pid)
    assert ask(server, 1).status == 200
    before = process.memory()
    process.forget_peak()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(connect(server.port, ATTACKER, 4096))) for _ in range(COUNT)]
        for client in clients:
            client.sendall(post("/mcp", _hello(), [STREAM]))
            [opened] = read_answers(client, 1)
            fields = [("Mcp-Session-Id", opened.headers["mcp-session-id"]), ("Mcp-Protocol-Version", "2025-11-25")]
            client.sendall(post("/mcp", rpc("tools/call", _arguments()), [STREAM, *fields]))
        until(lambda: all(map(_has_begun, clients)), "all have an answer")
        assert len(ask(server, LARGE).body) > LARGE

        assert process.peak() - before < BOUND + SLACK


def test_on_stdio_answers_beyond_the_bound_are_refused_and_the_next_are_not() -> None:
    with piping(SIGNET, "wrap", "--", *SERVER) as pipe:
        pipe.ask(_hello())
        pipe.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        pipe.ask({**rpc("tools/call", {"name": "large", "arguments": {"size": 1}}), "id": "first"})
        process = Observed(pipe.process.pid)
        before = process.memory()
        process.forget_peak()
        for number in range(COUNT):
            pipe.send({**rpc("tools/call", _arguments()), "id": number})
        # Without its answers being read, nobody can tell that all calls have ended: the child has sent nothing more.
        memory = [-1, -2]
        until(lambda: memory.append(process.processor_s()) or _rests(memory), "it rests")
        held = process.peak() - before
        answers = [pipe.receive() for _ in range(COUNT)]
        last = pipe.ask({**rpc("tools/call", {"name": "large", "arguments": {"size": 1}}), "id": "last"})

    assert held < BOUND + SLACK
    good = [one for one in answers if "result" in one]
    refused = [one["error"] for one in answers if "error" in one]
    assert 12 <= len(good) <= 20
    assert {one["code"] for one in refused} == {-32603}
    assert all("read them, then ask again" in one["message"] for one in refused)
    assert "result" in last


def read_answers_of(client: socket.socket, count: int) -> list[Answer]:
    """Return so many large answers, each of which is read before the next."""
    stream, answers = client.makefile("rb"), []
    with stream:
        for _ in range(count):
            head = b"".join(iter(stream.readline, b"\r\n"))
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            answers += parse(head + b"\r\n" + stream.read(int(length.partition(b":")[2])))
    return answers


def _rests(seen: list[float]) -> bool:
    """Return whether nothing has been done in the last looks."""
    time.sleep(0.05)
    return len(seen) > 30 and seen[-1] == seen[-30]


def _unread(server: Server, stack: contextlib.ExitStack, sources: list[str]) -> list[socket.socket]:
    """Make large calls and read no answer; return the connections once each has one."""
    clients = []
    for place in range(COUNT):
        client = stack.enter_context(contextlib.closing(open_client(server, sources[place % len(sources)])))
        client.sendall(call(LARGE))
        clients.append(client)
    until(lambda: all(map(_has_begun, clients)), "all have an answer")
    return clients


def _has_begun(client: socket.socket) -> bool:
    """Return whether some of an answer has come, or the connection has ended."""
    plain = socket.socket(fileno=client.fileno())
    try:
        plain.settimeout(0)
        return len(plain.recv(2_000, socket.MSG_PEEK)) != 1
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        plain.detach()
        client.settimeout(60)


def _first(client: socket.socket) -> bytes:
    """Return how the answer begins; of a plain connection it is left there."""
    if isinstance(client, ssl.SSLSocket):
        return client.recv(12)
    return client.recv(12, socket.MSG_PEEK)


def _hello() -> dict[str, object]:
    who = {"name": "test", "version": "1"}
    return rpc("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})


def _arguments() -> dict[str, object]:
    return {"name": "large", "arguments": {"size": LARGE}}
