"""The start and the stop of `signet serve` as a person sees them: the lines to paste, silence, the path of a socket."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from authorization_server import authorization_server
from processes import PATIENCE_S, SIGNET, clean_env, free_port, serving

TOKEN = {"SIGNET_TOKEN": "a-token-of-some-length"}


def started(*flags: str, env: dict[str, str] | None = None, unix: Path | None = None) -> tuple[str, bool]:
    """Start a server, stop it when it answers; return what it printed, and whether the path of its socket is left."""
    port = free_port()
    where = ("--host", f"unix:{unix}") if unix else ("--port", str(port))
    command = [SIGNET, "serve", *where, "--toolsets", "plantuml", "--no-journal", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_env(env))
    deadline = time.monotonic() + PATIENCE_S
    while not _accepts(unix or port):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[0]
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    return said.decode().replace(str(port), "PORT"), unix is not None and unix.exists()


def _accepts(where: Path | int) -> bool:
    """Return whether a server answers a request."""
    family = socket.AF_UNIX if isinstance(where, Path) else socket.AF_INET
    with socket.socket(family) as client:
        try:
            client.connect(str(where) if isinstance(where, Path) else ("127.0.0.1", where))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client.recv(12) == b"HTTP/1.1 200"


def test_quiet_prints_nothing_where_the_port_is_known() -> None:
    assert started("--quiet")[0] == ""
    assert started("--quiet", "--log-format", "json")[0] == ""


def test_quiet_prints_the_address_where_the_port_is_picked() -> None:
    with serving("--toolsets", "plantuml", "--quiet") as server:
        assert server.stderr().splitlines() == [server.stderr().strip()]
        assert server.stderr().strip().endswith(f"is listening on http://127.0.0.1:{server.port}")


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        (("--allowed-hosts", "tools.example"), "http://tools.example:PORT"),
        (("--allowed-hosts", "*,https://tools.example:443/"), "http://tools.example:PORT"),
        ((), "http://127.0.0.1:PORT"),
        (("--allowed-hosts", "*"), "http://127.0.0.1:PORT"),
        (("--public-url", "https://tools.example/signet"), "https://tools.example/signet"),
    ],
)
def test_a_server_on_all_addresses_shows_a_name_that_clients_can_write(flags: tuple[str, ...], url: str) -> None:
    said, _ = started("--host", "0.0.0.0", *flags, env=TOKEN)

    lines = said.splitlines()
    assert lines[0].endswith("is listening on http://0.0.0.0:PORT")
    assert f"curl -s {url}/api/tools/encodePlantUML" in said
    assert f'"url":"{url}/mcp"' in said
    assert said.count("0.0.0.0") == 1


def test_a_server_with_oauth_alone_shows_no_token_of_its_own() -> None:
    """Its clients find the issuer by themselves; a person has an access token of the issuer."""
    with authorization_server() as issuer:
        said, _ = started("--oauth-issuer", issuer.issuer, "--public-url", "http://localhost:1")
        both, _ = started("--oauth-issuer", issuer.issuer, "--public-url", "http://localhost:1", env=TOKEN)

    assert "SIGNET_TOKEN" not in said
    assert '-H "Authorization: Bearer $ACCESS_TOKEN"' in said
    assert '{"mcpServers":{"signet":{"type":"http","url":"http://localhost:1/mcp"}}}' in said
    assert "$SIGNET_TOKEN" in both


@pytest.mark.parametrize("flags", [(), ("--workers", "2"), ("--dev",)], ids=["one process", "workers", "dev"])
def test_the_path_of_a_unix_socket_is_removed_after_a_clean_stop(tmp_path: Path, flags: tuple[str, ...]) -> None:
    said, is_left = started(*flags, unix=tmp_path / "socket")

    assert "is listening on unix:" in said
    assert not is_left


def test_the_path_of_a_socket_that_another_server_has_taken_stays(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    command = [SIGNET, "serve", "--host", f"unix:{path}", "--toolsets", "plantuml", "--no-journal", "--quiet"]
    process = subprocess.Popen(command, env=clean_env())
    deadline = time.monotonic() + PATIENCE_S
    while not _accepts(path):
        assert time.monotonic() < deadline
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0

        assert path.exists()
