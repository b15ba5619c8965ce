"""The HTTP server: the socket it binds, its workers, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys

import pytest

from channels import rpc
from processes import PATIENCE_S, ROOT, SIGNET, clean_env, serving, serving_command
from signet.transports.http_server import bind

ODD = (sys.executable, str(ROOT / "tests/misbehaving_server.py"), "serve")
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})


# --- the socket


def test_port_0_is_any_free_port_and_the_socket_listens_and_is_inherited_by_workers() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()

        with socket.create_connection((host, port), timeout=PATIENCE_S):
            assert port > 0
            assert listener.get_inheritable()


def test_an_address_that_is_taken_is_an_error_and_no_socket_is_left_open() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener, pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", listener.getsockname()[1])


def test_a_port_is_taken_again_at_once_after_a_server_has_left_it() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        accepted, _ = listener.accept()
        accepted.close()
        client.close()

    bind("127.0.0.1", port).close()


@pytest.mark.parametrize("bound", ["::", "::1"])
def test_a_server_bound_to_ipv6_answers_at_the_address_that_it_prints(bound: str) -> None:
    command = [SIGNET, "serve", "--host", bound, "--port", "0", "--toolsets", "plantuml", "--no-journal"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_env()) as process:
        try:
            assert process.stdout is not None
            printed = next(line for line in process.stdout if b"listening on" in line).decode()
            host, port = re.search(r"http://(\[.*\]):(\d+)", printed).groups()  # type: ignore[union-attr]
            connection = http.client.HTTPConnection("::1", int(port), timeout=PATIENCE_S)
            connection.request("GET", "/healthz", headers={"host": f"{host}:{port}"})
            status = connection.getresponse().status
            connection.close()
        finally:
            process.terminate()

    assert status == 200


# --- its answers and its workers


def test_the_server_does_not_say_which_software_it_runs_on() -> None:
    with serving("--toolsets", "plantuml") as server:
        assert "server" not in server.ask("GET", "/healthz").headers


def test_several_workers_answer_as_one() -> None:
    with serving("--toolsets", "plantuml", "--workers", "2") as several:
        answers = {several.post("/mcp", CALL).body for _ in range(20)}

    assert len(answers) == 1
    assert several.process.returncode == 0


# --- the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_call_in_flight_is_answered_before_a_signal_ends_the_server(number: signal.Signals) -> None:
    body = json.dumps(rpc("tools/call", {"name": "waits", "arguments": {"n": 500}})).encode()
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with serving_command(*ODD, "60") as server, contextlib.closing(server.connect()) as client:
        client.sendall(head % len(body) + body)
        # A second request on another connection is answered once the first has been read.
        assert server.ask("GET", "/healthz").status == 200
        server.process.send_signal(number)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))

        assert server.process.wait(PATIENCE_S) == 0
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"structuredContent":{"n":500}' in answer


def test_a_tool_that_will_not_end_does_not_keep_the_server() -> None:
    with serving_command(*ODD, "0.1") as server:
        assert server.post("/api/tools/clings", {}).status == 500

        server.process.terminate()

        assert server.process.wait(PATIENCE_S) == 0
