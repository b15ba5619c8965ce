"""HTTPS: a certificate from two files, read again when they change."""

from __future__ import annotations

import os
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from certificates import write_certificate
from processes import PATIENCE_S, SIGNET, Server, clean_env, serving
from signet.transports.tls import Certificate, load_context

BODY = b'{"plantumlCode":"A"}'


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write_certificate(tmp_path, "first")


def flags(files: tuple[str, str]) -> list[str]:
    return ["--toolsets", "plantuml", "--tls-cert", files[0], "--tls-key", files[1]]


def exchange(server: Server, sent: bytes) -> tuple[str, bytes]:
    """Send bytes over TLS; return the name in the server's certificate and all that it answers."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with server.connect() as plain, context.wrap_socket(plain, server_hostname="localhost") as client:
        certificate = x509.load_der_x509_certificate(client.getpeercert(binary_form=True) or b"")
        client.sendall(sent)
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    return str(certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value), received


def request(*headers: bytes) -> bytes:
    lines = [
        b"POST /api/tools/encodePlantUML HTTP/1.1",
        b"Host: localhost",
        b"Content-Length: %d" % len(BODY),
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + BODY


def test_a_call_over_tls_is_answered(files: tuple[str, str]) -> None:
    with serving(*flags(files)) as server:
        assert f"https://127.0.0.1:{server.port}" in server.stderr()
        name, received = exchange(server, request() + request(b"Connection: close"))

    assert name == "first"
    assert received.count(b"HTTP/1.1 200 OK\r\n") == received.count(b'"encoded":"SmG0"') == 2


def test_a_client_that_speaks_no_tls_is_cut_off_and_the_next_one_served(files: tuple[str, str]) -> None:
    with serving(*flags(files)) as server:
        with server.connect() as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not client.recv(65_536).startswith(b"HTTP")
        with server.connect() as client:
            client.sendall(os.urandom(400))

        _, received = exchange(server, request(b"Connection: close"))

        assert received.startswith(b"HTTP/1.1 200 OK\r\n")
        assert "Traceback" not in server.stderr()


def test_a_new_certificate_is_served_without_a_restart(files: tuple[str, str], tmp_path: Path) -> None:
    with serving(*flags(files)) as server:
        before, _ = exchange(server, request(b"Connection: close"))
        write_certificate(tmp_path, "second")
        after = before
        for _ in range(200):
            after, _ = exchange(server, request(b"Connection: close"))
            if after == "second":
                break

    assert (before, after) == ("first", "second")


# --- the files


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    clock = [0.0]
    monkeypatch.setattr("signet.transports.tls.monotonic", lambda: clock[0])
    return clock  # type: ignore[return-value] # nothing to undo


def test_the_files_are_looked_at_once_a_second_and_a_broken_one_leaves_the_last(
    files: tuple[str, str], tmp_path: Path, now: list[float]
) -> None:
    told: list[str] = []
    certificate = Certificate(*files, told.append)
    first = certificate.context()

    write_certificate(tmp_path, "second")
    assert certificate.context() is first
    now[0] = 1.0
    second = certificate.context()
    assert second is not first

    (tmp_path / "key.pem").write_text("nonsense")
    now[0] = 2.0
    assert certificate.context() is second
    assert len(told) == 1
    assert "stays in use" in told[0]
    now[0] = 3.0
    assert certificate.context() is second
    assert len(told) == 1

    (tmp_path / "key.pem").unlink()
    now[0] = 4.0
    assert certificate.context() is second
    assert len(told) == 2


def test_old_versions_of_tls_are_not_spoken(files: tuple[str, str]) -> None:
    assert load_context(*files).minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("problem", ["no key", "no file", "another key", "a passphrase", "not PEM"])
def test_a_certificate_that_cannot_be_used_is_told_at_the_start(problem: str, tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "first", b"secret" if problem == "a passphrase" else None)
    if problem == "another key":
        (tmp_path / "other").mkdir()
        key = write_certificate(tmp_path / "other", "other")[1]
    if problem == "not PEM":
        Path(cert).write_text("nonsense")
    given = ["--tls-cert", cert, *(["--tls-key", key] if problem != "no key" else [])]
    if problem == "no file":
        given[1] += ".missing"

    done = subprocess.run(
        [SIGNET, "serve", "--port", "0", *given],
        capture_output=True, text=True, env=clean_env(), timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert done.returncode == 2
    assert "--tls-key" in done.stderr
    assert "Traceback" not in done.stderr
