"""systemd's socket, and what it is told."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from processes import PATIENCE_S, SIGNET, clean_env
from signet.transports.systemd import notify

PATH = "/api/tools/encodePlantUML"
BODY = b'{"plantumlCode":"A"}'
HEADERS = {"Content-Type": "application/json"}


@contextlib.contextmanager
def activated(listener: socket.socket, *args: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server as systemd does: the socket is descriptor 3, and the variables name the process."""
    script = 'exec 3<&"$0"; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
    number = listener.fileno()
    command = ["bash", "-c", script, str(number), SIGNET, "serve", *args]
    process = subprocess.Popen(command, pass_fds=[number], env=clean_env(env), stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_socket_of_systemd_is_served_and_it_is_told_when_the_server_is_ready(count: str, tmp_path: Path) -> None:
    states = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    states.bind(str(tmp_path / "notify"))
    states.settimeout(PATIENCE_S)
    listener = socket.create_server(("127.0.0.1", 0))
    flags = ("--toolsets", "plantuml", "--workers", count, "--no-journal")
    with states, listener, activated(listener, *flags, NOTIFY_SOCKET=str(tmp_path / "notify")) as process:
        assert states.recv(100) == b"READY=1"
        client = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=PATIENCE_S)
        client.request("POST", PATH, BODY, HEADERS)
        assert client.getresponse().status == 200
        client.close()
        process.terminate()
        if count == "2":
            assert states.recv(100) == b"STOPPING=1"
        assert process.wait(PATIENCE_S) == 0


def test_more_than_one_socket_of_systemd_is_refused_with_what_to_do() -> None:
    script = 'export LISTEN_PID=$$ LISTEN_FDS=2; exec "$@"'
    ended = subprocess.run(["bash", "-c", script, "-", SIGNET, "serve"], capture_output=True, check=False, timeout=60)

    assert ended.returncode == 2
    assert (
        ended.stderr.decode()
        == "signet: LISTEN_FDS: 2 sockets were passed, and one is needed; pass one listening socket\n"
    )


def test_an_abstract_socket_of_systemd_is_served_and_its_name_is_told() -> None:
    name = f"signet-test-{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0{name}")
    listener.listen()
    with listener, activated(listener, "--toolsets", "plantuml", "--no-journal") as process:
        assert process.stderr is not None
        assert process.stderr.readline().decode().endswith(f" is listening on unix:@{name}\n")
        expected = f"Try it: curl --abstract-unix-socket {name} http://localhost/api/tools\n"
        assert process.stderr.readline().decode() == expected
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(f"\0{name}")
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(65_536).startswith(b"HTTP/1.1 200 OK")


def test_the_address_is_a_log_line_with_a_time_where_the_log_is_json() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    flags = ("--toolsets", "plantuml", "--no-journal", "--log", "off", "--log-format", "json")
    with listener, activated(listener, *flags) as process:
        assert process.stderr is not None
        line = json.loads(process.stderr.readline())

    assert datetime.fromisoformat(line.pop("ts")).tzinfo is not None
    assert "is listening on http://127.0.0.1:" in line.pop("facts")["text"]
    assert line == {"level": "info", "target": "signet", "event": "server.listening"}


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_state_is_told_at_a_path_and_at_an_abstract_name(is_abstract: bool, tmp_path: Path) -> None:
    name = f"signet-notify-{os.getpid()}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as states:
        states.bind(f"\0{name}" if is_abstract else name)
        states.setblocking(False)
        notify("READY=1", {"NOTIFY_SOCKET": f"@{name}" if is_abstract else name})

        assert states.recv(100) == b"READY=1"


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}])
def test_where_systemd_wants_to_hear_nothing_nothing_is_told(environ: dict[str, str]) -> None:
    notify("READY=1", environ)


def test_a_listener_that_is_gone_does_no_harm(tmp_path: Path) -> None:
    notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "nobody")})
