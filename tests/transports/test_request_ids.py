"""The id of a request: taken over or made, echoed on every response, the same in the logs."""

from __future__ import annotations

import asyncio
import json

import pytest

from door_calls import rpc
from processes import PATIENCE_S, Server, serving, serving_command
from signet.app import build_app
from signet.settings.model import Settings
from signet.transports.asgi import AsgiApp
from signet.transports.request_ids import new_request_ids
from transports.test_workers import ODD

CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})
HEADER = "x-request-id"


@pytest.fixture(scope="module")
def server() -> object:
    with serving("--toolsets", "plantuml", "--access-log", env={"SIGNET_TOKEN": "secret-of-the-test"}) as server:
        yield server


AUTHORIZED = {"authorization": "Bearer secret-of-the-test"}


@pytest.mark.parametrize("given", ["a", "7b1c-42.A_z", "x" * 128])
def test_an_id_that_is_well_formed_is_taken_over(server: Server, given: str) -> None:
    assert server.post("/mcp", CALL, {HEADER: given, **AUTHORIZED}).headers[HEADER] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "a\tb", 'a"', "é", "../a", "{}"])
def test_another_one_is_made_in_place_of_any_other(server: Server, given: str) -> None:
    made = server.post("/mcp", CALL, {HEADER: given.encode("latin-1").decode("latin-1"), **AUTHORIZED}).headers[HEADER]

    assert made != given
    assert len(made) >= 16


@pytest.mark.parametrize(
    "sent",
    [
        {HEADER: "secret-of-the-test", **AUTHORIZED},
        {HEADER: "another-secret", "authorization": "bearer   another-secret"},
        {HEADER: "signet_canary-0123456789"},
        {HEADER: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."},
    ],
)
def test_a_token_is_no_id(server: Server, sent: dict[str, str]) -> None:
    """Somebody has taken one header for the other; neither the log nor the answer repeats the token."""
    made = server.post("/mcp", CALL, sent).headers[HEADER]

    server.wait_for(f"id={made}")
    assert made != sent[HEADER]
    assert sent[HEADER] not in server.stderr()


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/healthz", {}, 200),
        ("HEAD", "/healthz", {}, 200),
        ("GET", "/nothing", AUTHORIZED, 404),
        ("POST", "/mcp", {}, 401),
        ("GET", "/healthz", {"host": "evil.example"}, 421),
        ("OPTIONS", "/mcp", AUTHORIZED, 204),
        ("POST", "/mcp", {**AUTHORIZED, "content-type": "application/json", "content-length": "9999999"}, 413),
    ],
)
def test_every_response_has_the_id(
    server: Server, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    reply = server.ask(method, path, headers={**headers, HEADER: "the-id-1"})

    assert (reply.status, reply.headers[HEADER]) == (status, "the-id-1")
    server.wait_for("id=the-id-1")


def test_a_request_that_cannot_be_read_has_an_id_too_and_the_log_knows_it(server: Server) -> None:
    with server.connect() as client:
        client.sendall(b"GET /a b c d HTTP/9.9\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(65_536), b""))

    found = [line.partition(b": ")[2].decode() for line in answer.split(b"\r\n") if line.startswith(b"x-request-id: ")]
    assert len(found) == 1
    server.wait_for(f"id={found[0]}")


def test_a_stream_begins_with_the_id() -> None:
    message = rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": 1}})
    body = json.dumps(message).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
        f"X-Request-Id: of-the-stream\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with serving_command(*ODD, "60") as odd, odd.connect() as client:
        client.settimeout(PATIENCE_S)
        client.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))

    assert b"content-type: text/event-stream\r\n" in answer
    assert answer.count(b"x-request-id: of-the-stream\r\n") == 1


def test_no_two_processes_make_the_same_id_and_none_makes_one_twice() -> None:
    made = [next(ids) for ids in [new_request_ids(), new_request_ids()] for _ in range(1000)]

    assert len(set(made)) == len(made)


def test_under_another_server_a_response_has_the_id_once() -> None:
    sent: list[dict[str, object]] = []

    async def ask() -> None:
        app = AsgiApp(build_app(Settings(toolsets="plantuml", journal=False)))
        headers = [(b"host", b"localhost"), (b"x-request-id", b"mine")]
        scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": headers, "client": ("127.0.0.1", 1)}

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b""}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(ask())

    fields = sent[0]["headers"]
    assert isinstance(fields, list)
    assert [value for name, value in fields if name == b"x-request-id"] == [b"mine"]
