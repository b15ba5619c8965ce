"""Clients that no HTTP library would be: bytes as they are written, from any loopback address."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import socket
import ssl
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from processes import PATIENCE_S

ATTACKER = "127.0.0.2"
SECOND_ATTACKER = "127.0.0.3"
BYSTANDER = "127.0.0.1"
"""The server listens on the bystander's address; on Linux all of 127.0.0.0/8 can be a client's address."""

ESTABLISHED = 1
"""The state of a connection that neither side has closed (TCP_INFO)."""

Fields = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def connect(port: int, source: str = ATTACKER, receive_buffer: int = 0) -> socket.socket:
    """Open a connection from an address; with a small receive buffer, answers stay with the server."""
    client = socket.socket()
    client.settimeout(PATIENCE_S)
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.bind((source, 0))
    client.connect(("127.0.0.1", port))
    return client


def speak_tls(plain: socket.socket) -> ssl.SSLSocket:
    """Make the handshake of a client that trusts every server."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain)


@contextlib.contextmanager
def connections(port: int, count: int, source: str = ATTACKER) -> Iterator[list[socket.socket]]:
    """Open many connections, and close them when the block ends."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(connect(port, source))) for _ in range(count)]


def allow_descriptors(count: int) -> None:
    """Let this process, and the servers that it starts, have this many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def head(method: str, path: str, fields: Fields = (), host: str | None = "localhost") -> bytes:
    """Return a request without a body; None as the host writes no Host header."""
    lines = [f"{method} {path} HTTP/1.1"] + ([f"Host: {host}"] if host is not None else [])
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def post(path: str, value: object, fields: Fields = (), host: str | None = "localhost") -> bytes:
    """Return a request with a JSON body; bytes are sent as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    own = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    return head("POST", path, [*own, *fields], host) + body


def exchange(client: socket.socket, *sent: bytes) -> list[Answer]:
    """Send bytes and return the answers until the server hangs up; it may hang up before it has read all."""
    with contextlib.suppress(OSError):
        for data in sent:
            client.sendall(data)
    return parse(read_to_the_end(client))


def read_to_the_end(client: socket.socket) -> bytes:
    """Return all that comes until the server hangs up; fail when it does not."""
    received = bytearray()
    try:
        while data := client.recv(1 << 16):
            received += data
    except ConnectionError:
        # The end of a connection whose last bytes the server has not read.
        pass
    return bytes(received)


def read_answers(client: socket.socket, count: int) -> list[Answer]:
    """Return the next answers on a connection that stays open, as many as are told."""
    received = b""
    while len(answers := parse(received)) < count:
        data = client.recv(1 << 16)
        assert data, f"the server hung up after {len(answers)} answers: {received[-200:]!r}"
        received += data
    return answers


def is_open(client: socket.socket) -> bool:
    """Return whether the server has not hung up, by the state of the connection: what it has sent may be unread."""
    return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


def parse(data: bytes) -> list[Answer]:
    """Return the complete answers in a stream of bytes."""
    answers = []
    at = 0
    while (end := data.find(b"\r\n\r\n", at)) >= 0:
        status_line, *lines = data[at:end].decode("latin-1").split("\r\n")
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", status_line)
        assert found, f"no status line: {status_line[:200]!r}"
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        whole = _body(headers, data, end + 4)
        if whole is None:
            break
        body, at = whole
        answers.append(Answer(int(found[1]), headers, body))
    return answers


def _body(headers: dict[str, str], data: bytes, at: int) -> tuple[bytes, int] | None:
    """Return the body of an answer and the place behind it; None if it is not complete."""
    if headers.get("transfer-encoding") != "chunked":
        end = at + int(headers.get("content-length", "0"))
        return (data[at:end], end) if len(data) >= end else None
    body = b""
    while (line_end := data.find(b"\r\n", at)) >= 0:
        begin = line_end + 2
        end = begin + int(data[at:line_end], 16)
        if len(data) < end + 2:
            return None
        body += data[begin:end]
        at = end + 2
        if begin == end:
            return body, at
    return None
