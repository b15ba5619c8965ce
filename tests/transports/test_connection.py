"""One HTTP connection: heads with bounds in size and time, and clients that leave or only stop sending."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sys
from collections.abc import Iterator

import pytest

from door_calls import rpc
from processes import ROOT, SIGNET, Server, serving, serving_command

ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "serve", "60")
LIST = rpc("tools/list", {})
IMPATIENT = """
import runpy, sys
from signet.commands import serve
from signet.transports import slots
shipped = slots.ConnectionLimits()
assert (shipped.head_s, shipped.body_s, shipped.write_s) == (30, 30, 30)
serve.LIMITS = slots.ConnectionLimits(head_s=0.7, body_s=0.7)
slots.ConnectionLimits = lambda: serve.LIMITS
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n"
"""Without it the server would wait five seconds for another request after a body that did not come."""
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(json.dumps(LIST)), json.dumps(LIST).encode())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def odd() -> Iterator[Server]:
    with serving_command(*ODD) as running:
        yield running


@pytest.fixture(scope="module")
def impatient() -> Iterator[Server]:
    serve = (SIGNET, "serve", "--toolsets", "plantuml", "--port", "0")
    with serving_command(sys.executable, "-c", IMPATIENT, *serve) as running:
        yield running


def answers_to(server: Server, *sent: bytes) -> list[bytes]:
    """Send bytes, one lot after the answer to the other, and give the status lines until the server hangs up."""
    with contextlib.closing(server.connect()) as client:
        received = b""
        for data in sent:
            client.sendall(data)
            received += client.recv(65536)
        while data := client.recv(65536):
            received += data
    return re.findall(rb"HTTP/1.1 (\d+)", received)


# --- heads


def test_a_slow_client_of_a_huge_head_is_cut_off(server: Server) -> None:
    with contextlib.closing(server.connect()) as client:
        client.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(OSError):
            for _ in range(200):
                client.sendall(b"X-Long: " + b"x" * 8000 + b"\r\n")
        with contextlib.suppress(OSError):
            assert client.recv(65536).startswith(b"HTTP/1.1 431 ")

    assert server.post("/mcp", LIST).status == 200


def test_a_head_without_end_is_refused_and_the_next_request_served(server: Server) -> None:
    with contextlib.closing(server.connect()) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 100_000)
        status = client.recv(4096)

    assert status.startswith(b"HTTP/1.1 431 ")
    assert server.post("/mcp", LIST).status == 200


def test_a_large_body_before_the_beginning_of_the_next_head_is_no_large_head(server: Server) -> None:
    large = json.dumps({"plantumlCode": "A", "x": "y" * 100_000}).encode()
    head = b"POST /api/tools/encodePlantUML HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with contextlib.closing(server.connect()) as client:
        client.sendall(head % len(large) + large + WHOLE[:20])
        received = client.recv(65536)
        client.sendall(WHOLE[20:])
        while received.count(b"HTTP/1.1 200") < 2 and (data := client.recv(65536)):
            received += data

    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"200"]


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        ([b""], [b"408"]),
        ([b"POST /mcp HT"], [b"408"]),
        ([HEAD], [b"408"]),
        ([b"\r\n\r\n"], [b"408"]),
        ([WHOLE, HEAD], [b"200", b"408"]),
        ([WHOLE, b"\r\n"], [b"200", b"408"]),
        ([WHOLE, WHOLE, HEAD[:40]], [b"200", b"200", b"408"]),
        ([WHOLE + HEAD[:40]], [b"200", b"408"]),
        ([WHOLE + WHOLE + HEAD], [b"200", b"200", b"408"]),
        ([HEAD + CLOSE + b"Content-Length: 9\r\n\r\n{"], [b"408"]),
        ([HEAD + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"], [b"408"]),
    ],
)
def test_a_client_that_takes_its_time_over_a_request_is_given_up(
    impatient: Server, sent: list[bytes], statuses: list[bytes]
) -> None:
    assert answers_to(impatient, *sent) == statuses

    assert impatient.post("/mcp", LIST).status == 200


def test_a_client_that_waits_for_its_answer_is_not_given_up() -> None:
    with serving_command(sys.executable, "-c", IMPATIENT, *ODD[1:]) as server:
        reply = server.post("/mcp", rpc("tools/call", {"name": "waits", "arguments": {"n": 1500}}))

    assert reply.status == 200


# --- clients that leave


def test_a_client_that_leaves_with_two_requests_under_way_leaves_neither_running(odd: Server) -> None:
    body = json.dumps(rpc("tools/call", {"name": "hangs", "arguments": {}})).encode()
    hanging = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    with contextlib.closing(odd.connect()) as client:
        client.sendall(hanging + WHOLE)
        odd.wait_for("hangs: started")

    odd.wait_for("hangs: cancelled")
    assert odd.post("/mcp", rpc("tools/call", {"name": "fine", "arguments": {}})).status == 200
    assert "Traceback" not in odd.stderr()


@pytest.mark.parametrize("code", ["A", "A" * 40_000], ids=["at once", "beside the event loop"])
def test_a_client_that_has_said_all_it_has_to_say_is_answered(server: Server, code: str) -> None:
    sent = json.dumps({"plantumlCode": code}).encode()
    head = f"POST /api/tools/encodePlantUML HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n\r\n"

    with contextlib.closing(server.connect()) as client:
        client.sendall(head.encode() + sent)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"success":true' in answer


def test_of_requests_in_one_breath_each_is_answered_to_a_client_that_has_said_all(
    server: Server,
) -> None:
    sent = json.dumps({"plantumlCode": "A" * 40_000}).encode()
    head = f"POST /api/tools/encodePlantUML HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n\r\n"

    with contextlib.closing(server.connect()) as client:
        client.sendall((head.encode() + sent) * 3)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))

    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 3


@pytest.mark.parametrize("framing", [b"Content-Length: 1048577\r\n", b"Transfer-Encoding: chunked\r\n"])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        (b"GET", b"/api/tools", b"200"),
        (b"OPTIONS", b"/api/tools/encodePlantUML", b"200"),
        (b"PUT", b"/api/tools/encodePlantUML", b"405"),
        (b"POST", b"/api/tools/encodePlantUML", b"413"),
    ],
)
def test_only_a_post_is_refused_for_the_size_of_its_body(
    server: Server, framing: bytes, method: bytes, path: bytes, status: bytes
) -> None:
    body = b"A" * 1_048_577
    sent = body if b"Length" in framing else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    head = b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n" % (method, path, framing)

    assert answers_to(server, head + sent) == [status]


@pytest.mark.parametrize(
    ("path", "status"), [(b"/healthz", b"200"), (b"/readyz", b"200"), (b"/api/tools", b"421"), (b"/mcp", b"421")]
)
def test_a_probe_of_a_load_balancer_needs_no_host(server: Server, path: bytes, status: bytes) -> None:
    """HTTP/1.0 has requests without Host; no browser sends them."""
    assert answers_to(server, b"GET %s HTTP/1.0\r\n\r\n" % path) == [status]


def test_a_probe_that_names_a_foreign_host_is_refused(server: Server) -> None:
    assert answers_to(server, b"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n") == [b"421"]
