"""The HTTP server of one process: the sockets it binds, a socket in the file system, and clients that come at once."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import PATIENCE_S, SIGNET, clean_env, serving
from signet import __version__
from signet.transports.listening import bind, is_local, remove_own_paths

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


# --- addresses


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
        listener.settimeout(PATIENCE_S)
        accepted, _ = listener.accept()
        accepted.close()
        client.close()

    bind("127.0.0.1", port).close()


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True), ("::1", True), ("unix:/tmp/s", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_an_address_for_this_machine_is_told_from_one_for_others(host: str, local: bool) -> None:
    assert is_local(host) is local


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


# --- a socket in the file system


@contextlib.contextmanager
def serving_at(path: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server on a path until the block ends."""
    command = [SIGNET, "serve", "--host", f"unix:{path}", "--toolsets", "plantuml", "--no-journal", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_env()) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().decode() == f"Signet {__version__} is listening on unix:{path}\n"
            assert process.stdout.readline().decode().startswith(f"Try it: curl --unix-socket {path} http://localhost/")
            yield process
        finally:
            process.terminate()


def ask(path: Path, sent: bytes = GET) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_S)
        client.connect(str(path))
        client.sendall(sent)
        return client.recv(65_536)


def test_a_server_on_a_path_answers_there(tmp_path: Path) -> None:
    path = tmp_path / "signet.sock"
    with serving_at(path, "--connections-per-address", "1"):
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(path))
            # All clients of a path come through one proxy, so the limit of an address does not hold here.
            assert [ask(path)[:15] for _ in range(3)] == [b"HTTP/1.1 200 OK"] * 3
            first.sendall(GET)
            assert first.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        assert ask(path, GET.replace(b"localhost", b"evil.example")).startswith(b"HTTP/1.1 421 ")
        assert stat.S_ISSOCK(path.stat().st_mode)


def test_a_path_that_a_dead_server_left_is_used_again_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "signet.sock"
    with serving_at(path) as process:
        process.kill()
        process.wait(PATIENCE_S)
    assert path.exists()

    with serving_at(path):
        with pytest.raises(OSError, match="in use"):
            bind(f"unix:{path}", 0)
        assert ask(path).startswith(b"HTTP/1.1 200 OK")
    (tmp_path / "file").write_text("kept")
    with pytest.raises(OSError, match="in use"):
        bind(f"unix:{tmp_path / 'file'}", 0)

    assert (tmp_path / "file").read_text() == "kept"


def test_a_path_that_cannot_be_used_is_told_at_the_start(tmp_path: Path) -> None:
    command = [SIGNET, "serve", "--host", f"unix:{tmp_path}/none/s", "--toolsets", "plantuml"]

    done = subprocess.run(command, capture_output=True, text=True, env=clean_env(), timeout=PATIENCE_S, check=False)

    assert done.returncode == 2
    assert "write another path" in done.stderr


@pytest.mark.parametrize(
    ("umask", "how", "workers"),
    [
        ("000", ["TERM"], "1"),
        ("777", ["INT"], "1"),
        ("022", ["TERM", "INT"], "1"),
        ("000", ["INT"], "2"),
        ("022", ["HUP", "TERM"], "2"),
    ],
)
def test_a_path_is_for_its_user_alone_and_is_gone_at_the_end(
    tmp_path: Path, umask: str, how: list[str], workers: str
) -> None:
    path, beside = tmp_path / "signet.sock", tmp_path / "metrics.sock"
    command = [SIGNET, "serve", "--host", f"unix:{path}", "--toolsets", "plantuml", "--no-journal", "--drain-s", "0.5"]
    command += ["--workers", workers, "--metrics-port", "9464", "--metrics-host", f"unix:{beside}"]
    shell = ["sh", "-c", f'umask {umask}; exec "$@"', "sh", *command]
    with subprocess.Popen(shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_env()) as process:
        try:
            assert process.stdout is not None
            assert any(b"is listening on" in line for line in process.stdout)
            assert ask(path).startswith(b"HTTP/1.1 200 OK")
            assert [stat.S_IMODE(one.stat().st_mode) for one in (path, beside)] == [0o600] * 2
            for name in how:
                process.send_signal(getattr(signal, f"SIG{name}"))
            process.wait(PATIENCE_S)
        finally:
            process.kill()

    assert list(tmp_path.iterdir()) == []


def test_a_path_is_made_with_its_rights_and_the_umask_stays(tmp_path: Path) -> None:
    path = tmp_path / "s"
    before = os.umask(0)
    try:
        with contextlib.closing(bind(f"unix:{path}", 0)):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert os.umask(0) == 0
    finally:
        os.umask(before)


def test_only_the_path_that_this_process_has_made_is_removed(tmp_path: Path) -> None:
    mine, taken = tmp_path / "mine", tmp_path / "taken"
    with contextlib.closing(bind(f"unix:{mine}", 0)), contextlib.closing(bind(f"unix:{taken}", 0)):
        taken.unlink()
        with contextlib.closing(bind(f"unix:{tmp_path}/other", 0)):
            (tmp_path / "other").rename(taken)
            if not os.fork():
                remove_own_paths()
                os._exit(0)
            os.wait()
            assert mine.exists()
            remove_own_paths()

    assert [one.name for one in tmp_path.iterdir()] == ["taken"]


# --- answers


def test_the_server_says_the_time_and_not_which_software_it_runs_on() -> None:
    with serving("--toolsets", "plantuml") as server:
        headers = server.ask("GET", "/healthz").headers

    assert "server" not in headers
    assert re.fullmatch(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT", headers["date"])


def test_keep_alive_and_its_end_in_both_versions_of_http() -> None:
    def answers(*requests: bytes) -> list[tuple[bytes, bytes | None]]:
        with contextlib.closing(server.connect()) as client:
            client.sendall(b"".join(requests))
            received = b"".join(iter(lambda: client.recv(65_536), b""))
        heads = [part.split(b"\r\n\r\n")[0] + b"\r" for part in received.split(b"HTTP/1.1 ")[1:]]
        return [(head[:3], (re.findall(rb"connection: (.*)\r", head) or [None])[0]) for head in heads]

    old = b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n"
    with serving("--toolsets", "plantuml") as server:
        assert answers(old + b"\r\n") == [(b"200", b"close")]
        kept = old + b"Connection: keep-alive\r\n\r\n"
        assert answers(kept, kept, old + b"\r\n") == [(b"200", b"keep-alive")] * 2 + [(b"200", b"close")]
        closing = GET[:-2] + b"Connection: close\r\n\r\n"
        assert answers(GET, GET, closing, GET) == [(b"200", None)] * 2 + [(b"200", b"close")]


@pytest.mark.parametrize("wish", [b"keep-alive", b"Keep-Alive", b"Keep-Alive, TE"])
def test_a_client_of_http_1_0_makes_call_after_call_on_one_connection(wish: bytes) -> None:
    """As benchmarks and old proxies do: one request, its whole answer, the next request. The large one waits."""
    small, large = b'{"plantumlCode":"A"}', b'{"plantumlCode":"' + b"A" * 40_000 + b'"}'
    head = b"POST /api/tools/encodePlantUML HTTP/1.0\r\nHost: localhost\r\nConnection: %b\r\nContent-Length: %d\r\n\r\n"
    answers = []
    with serving("--toolsets", "plantuml") as server, contextlib.closing(server.connect()) as client:
        for body in (small, large, small):
            client.sendall(head % (wish, len(body)) + body)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            answers.append((answer.status, answer.headers["connection"], json.loads(answer.read())["success"]))

    assert answers == [(200, "keep-alive", True)] * 3


def test_a_body_that_is_announced_is_asked_for_or_refused_at_once() -> None:
    body = b'{"plantumlCode":"A"}'
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    with serving("--toolsets", "plantuml") as server:
        with contextlib.closing(server.connect()) as client:
            client.sendall(head % (b"/api/tools/encodePlantUML", len(body)))
            asked = client.recv(65_536)
            client.sendall(body)
            answer = client.recv(65_536)
        with contextlib.closing(server.connect()) as client:
            client.sendall(head % (b"/api/tools/encodePlantUML", 2_000_000))
            too_large = b"".join(iter(lambda: client.recv(65_536), b""))
        with contextlib.closing(server.connect()) as client:
            client.sendall(head.replace(b"localhost", b"evil.example") % (b"/mcp", len(body)))
            refused = b"".join(iter(lambda: client.recv(65_536), b""))

    assert asked == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert too_large.startswith(b"HTTP/1.1 413 ")
    assert refused.startswith(b"HTTP/1.1 421 ")


def test_a_client_that_sends_a_body_that_is_too_large_gets_its_answer() -> None:
    with serving("--toolsets", "plantuml") as server:
        reply = server.ask("POST", "/api/tools/encodePlantUML", b" " * 8_000_000)

        assert (reply.status, reply.json()["error"]["code"]) == (413, "CODE_TOO_LARGE")
        assert server.ask("GET", "/healthz").status == 200


def test_a_request_for_another_protocol_is_answered_in_this_one_and_is_the_last() -> None:
    asked = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with serving("--toolsets", "plantuml") as server, contextlib.closing(server.connect()) as client:
        client.sendall(asked + b"\x81\x05hello" + GET)
        received = b"".join(iter(lambda: client.recv(65_536), b""))

    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 200 OK\r\n") == 1
    assert b"connection: close\r\n" in received
