"""gzip: who gets it, from which size on, at every door; and what it costs the others."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from door_calls import META, invocation, modern_headers, rpc
from processes import ROOT, Reply, Server, serving, serving_command
from signet.kernel.wire import Headers
from signet.transports.compression import accepts_gzip
from signet.transports.guard import Guard
from signet.transports.messages import Request, Response
from signet.transports.web_app import App

JSON = {"content-type": "application/json"}
GZIP = {"accept-encoding": "gzip"}
TOOL = "encodePlantUML"
NOISE = "".join(random.Random(7).choices(string.printable[:94], k=50_000))
"""A diagram of nonsense, which cannot be compressed: its address is longer than itself."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--sandbox", "--no-journal") as running:
        yield running


# --- who accepts it


@pytest.mark.parametrize(
    ("accepted", "gzips"),
    [
        ("gzip", True),
        ("GZip", True),
        ("x-gzip", True),
        ("gzip, deflate, br, zstd", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("deflate,gzip;q=0.001", True),
        ("gzip ; q=0.5", True),
        ("gzip;Q=1.000", True),
        ("*", True),
        ("*;q=0.5", True),
        ("identity, gzip", True),
        ("identity;q=0, gzip;q=0.5", True),
        ("", False),
        ("identity", False),
        ("br, deflate", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("*, gzip;q=0", False),
        ("gzip;q=0, *;q=1", False),
        ("*;q=0", False),
        ("identity, gzip;q=0.5", False),
        ("gzip;q=2", False),
        ("gzip;q=-1", False),
        ("gzip;q=nan", False),
        ("gzip;q=", False),
        ("gzip;level=9", False),
        ("notgzip", False),
        (",,;,", False),
    ],
)
def test_a_client_accepts_gzip_or_does_not(accepted: str, gzips: bool) -> None:
    assert accepts_gzip(Headers(["accept-encoding"], [accepted])) is gzips


def test_a_client_that_says_nothing_or_says_it_twice_gets_no_gzip() -> None:
    assert not accepts_gzip(Headers([], []))
    assert not accepts_gzip(Headers(["accept-encoding"] * 2, ["gzip;q=0", "gzip"]))


# --- at every door


def _ask(server: Server, door: str, code: str, headers: dict[str, str]) -> Reply:
    arguments = {"plantumlCode": code}
    call = {"name": TOOL, "arguments": arguments}
    if door == "rest":
        return server.post(f"/api/tools/{TOOL}", arguments, headers)
    if door == "legacy":
        return server.post("/mcp/v1/encode-plantuml", arguments, headers)
    if door == "envelope":
        return server.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", arguments), headers)
    if door == "modern":
        era = modern_headers("tools/call", TOOL)
        return server.post("/mcp", rpc("tools/call", {**call, "_meta": META}), {**era, **headers})
    if door == "list":
        return server.post("/mcp", rpc("tools/list", {}), headers)
    return server.post("/mcp", rpc("tools/call", call), headers)


@pytest.mark.parametrize("size", [5_000, 50_000])
@pytest.mark.parametrize("door", ["rest", "legacy", "envelope", "handshake", "modern", "list"])
def test_a_large_answer_is_the_same_compressed_or_not(server: Server, door: str, size: int) -> None:
    plain = _ask(server, door, NOISE[:size], {})
    packed = _ask(server, door, NOISE[:size], GZIP)

    assert (plain.status, packed.status) == (200, 200)
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body)
    assert packed.headers["content-length"] == str(len(packed.body))
    assert (plain.headers["vary"], packed.headers["vary"]) == ("Accept-Encoding", "Accept-Encoding")
    assert "content-encoding" not in plain.headers
    volatile = {"date", "content-length", "content-encoding", "x-request-id"}
    same = [{k: v for k, v in reply.headers.items() if k not in volatile} for reply in (plain, packed)]
    assert same[0] == same[1]


@pytest.mark.parametrize("path", ["/openapi.json", "/api/tools"])
def test_a_page_is_the_same_compressed_or_not(server: Server, path: str) -> None:
    plain = server.ask("GET", path, headers={"accept-encoding": "gzip;q=0"})
    packed = server.ask("GET", path, headers=GZIP)

    assert (plain.headers.get("content-encoding"), packed.headers.get("content-encoding")) == (None, "gzip")
    assert gzip.decompress(packed.body) == plain.body
    assert (plain.headers["vary"], packed.headers["vary"]) == ("Accept-Encoding", "Accept-Encoding")


@pytest.mark.parametrize("accepted", ["identity", "gzip"])
def test_head_tells_what_get_would(server: Server, accepted: str) -> None:
    asked = {"accept-encoding": accepted, "x-request-id": "the-same"}

    got, told = (server.ask(method, "/openapi.json", headers=asked) for method in ("GET", "HEAD"))

    assert told.body == b""
    assert {**told.headers, "date": ""} == {**got.headers, "date": ""}
    assert got.headers["content-length"] == str(len(got.body))


def test_a_small_answer_stays_as_it_is(server: Server) -> None:
    replies = [server.ask("GET", "/healthz", headers=GZIP), _ask(server, "rest", "A -> B", GZIP)]

    for reply in replies:
        assert reply.status == 200
        assert not {"content-encoding", "vary"} & set(reply.headers)
        assert reply.json()


def test_an_answer_for_an_allowed_page_depends_on_its_origin_too(server: Server) -> None:
    with server.connect() as client:
        client.sendall(
            b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\n"
            b"Accept-Encoding: gzip\r\nConnection: close\r\n\r\n"
        )
        received = b"".join(iter(lambda: client.recv(65_536), b""))

    head, _, body = received.partition(b"\r\n\r\n")
    fields = head.split(b"\r\n")
    assert b"vary: Origin" in fields
    assert b"vary: Accept-Encoding" in fields
    assert b"access-control-allow-origin: http://localhost:3000" in fields
    assert json.loads(gzip.decompress(body))["openapi"]


def test_a_stream_is_never_compressed() -> None:
    """A proxy or a client that waits for a whole block would hold the progress back."""
    ticks = {"name": "ticks", "arguments": {"n": 200}, "_meta": {"progressToken": 1}}
    headers = {"accept": "application/json, text/event-stream", **GZIP}
    with serving_command(sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "serve", "60") as odd:
        reply = odd.post("/mcp", rpc("tools/call", ticks), headers)

    assert reply.headers["content-type"] == "text/event-stream"
    assert "content-encoding" not in reply.headers
    assert len(reply.body) > 10_000
    assert reply.body.count(b"event: message") == 201


# --- what it costs


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(misbehaving_server.build(str(tmp_path)), Guard(), {"version": "1"})


def admitted(app: App, method: str, path: str, body: bytes = b"", **headers: str) -> Request:
    fields = {"host": "localhost", **JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = Request(method, path, Headers(list(fields), fields.values()), body=body)
    assert app.admit(request) is None
    return request


def test_a_page_is_compressed_once(app: App) -> None:
    first, second = (app.answer(admitted(app, "GET", "/openapi.json", accept_encoding="gzip")) for _ in range(2))

    assert isinstance(first, Response)
    assert isinstance(second, Response)
    assert first.body is second.body
    assert json.loads(gzip.decompress(first.body))["openapi"]


@pytest.mark.parametrize(
    ("method", "path", "is_page"),
    [("GET", "/", True), ("GET", "/api/tools", True), ("POST", "/api/tools/fine", False)],
)
def test_what_is_the_same_for_all_is_a_page(app: App, method: str, path: str, is_page: bool) -> None:
    response = app.answer(admitted(app, method, path, b"{}"))

    assert isinstance(response, Response)
    assert (response.status, response.is_page) == (200, is_page)


def answer_with(app: App, size: int, **headers: str) -> Any:
    """Return what the application gives a server that sent a call of an unknown tool, which repeats its name."""
    return app.answer(admitted(app, "POST", "/api/tools/" + "x" * size, b"{}", **headers))


def test_a_very_large_answer_is_compressed_in_a_thread_and_only_for_those_who_ask(app: App) -> None:
    async def whole() -> Response:
        response: Response = await answer_with(app, 70_000, accept_encoding="gzip")
        return response

    plain = answer_with(app, 70_000)
    response = asyncio.run(whole())

    assert isinstance(plain, Response)
    assert isinstance(answer_with(app, 60_000, accept_encoding="gzip"), Response)
    assert gzip.decompress(response.body) == plain.body
