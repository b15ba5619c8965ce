"""The ASGI shell: bodies with bounds, calls that end with their client, mounting, and other servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import string
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from door_calls import META, invocation, modern_headers, rpc
from journals import records_in
from processes import PATIENCE_S, Server, clean_env, serving
from signet.app import build_app
from signet.asgi import create_app
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.exchange import Exchange
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.transports.asgi import AsgiApp
from signet.transports.guard import Guard
from signet.transports.slots import ConnectionLimits
from signet.transports.web_app import App

MIB = 1_048_576
GONE = {"type": "http.disconnect"}
NOISE = "".join(random.Random(7).choices(string.printable[:94], k=50_000))
"""A diagram whose address is large."""
HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json")]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> App:
    return App(misbehaving_server.build(str(tmp_path_factory.mktemp("contracts"))), Guard(), {"version": "1"})


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def ask(
    app: Any,
    *messages: dict[str, Any],
    path: str = "/api/tools/fine",
    headers: Iterable[tuple[bytes, bytes]] = HEADERS,
    method: str = "POST",
    **scope: Any,
) -> list[Any]:
    """Give an application a request whose client sends these messages, and then nothing more; return what it sends."""
    left = iter(messages)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        for message in left:
            return message
        return await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(message)

    whole = {"type": "http", "method": method, "raw_path": path.encode(), "headers": list(headers), **scope}
    asyncio.run(app(whole, receive, send))
    return sent


def body_of(sent: list[Any]) -> Any:
    return json.loads(b"".join(message["body"] for message in sent[1:]))


# --- bodies


@pytest.mark.parametrize(
    "messages",
    [
        [part(b'{"n":3}')],
        [part(b'{"n', more=True), part(b"", more=True), part(b'":3}')],
        [part(b'{"n":3}', more=True), part(b"")],
    ],
    ids=["at once", "in parts", "with an empty end"],
)
def test_a_body_is_read_whole_however_it_comes(odd: App, messages: list[dict[str, Any]]) -> None:
    assert body_of(ask(AsgiApp(odd), *messages)) == {"success": True, "result": {"n": 3}}


@pytest.mark.parametrize(
    "messages",
    [[part(b" " * (MIB + 1))], [part(b" " * MIB, more=True), part(b" ", more=True)]],
    ids=["at once", "in parts without end"],
)
def test_a_body_over_one_mebibyte_is_refused_as_soon_as_it_is(odd: App, messages: list[dict[str, Any]]) -> None:
    sent = ask(AsgiApp(odd), *messages)

    assert (sent[0]["status"], body_of(sent)["error"]["code"]) == (413, "REQUEST_TOO_LARGE")


def test_a_body_of_one_mebibyte_is_read(odd: App) -> None:
    assert ask(AsgiApp(odd), part(b" " * (MIB - 2) + b"{}"))[0]["status"] == 200


@pytest.mark.parametrize("messages", [[GONE], [part(b"{", more=True), GONE]], ids=["before it", "within it"])
def test_a_client_that_leaves_before_its_body_is_whole_is_not_answered(
    odd: App, messages: list[dict[str, Any]]
) -> None:
    assert ask(AsgiApp(odd), *messages) == []


def test_a_body_that_does_not_come_in_time_is_refused(odd: App) -> None:
    sent = ask(AsgiApp(odd, ConnectionLimits(body_s=0.01)), part(b"{", more=True))

    assert (sent[0]["status"], body_of(sent)["error"]["code"]) == (408, "REQUEST_TIMEOUT")


# --- heads and responses


@pytest.mark.parametrize("name", [b"host", b"origin", b"authorization"])
def test_two_headers_that_say_who_calls_are_refused(odd: App, name: bytes) -> None:
    sent = ask(AsgiApp(odd), part(b"{}"), headers=[*HEADERS, (name, b"localhost"), (name, b"localhost")])

    assert sent[0]["status"] == 400


def test_a_response_is_json_and_says_its_length_also_to_head(odd: App) -> None:
    given = [*HEADERS, (b"x-request-id", b"mine")]
    page, head = (
        ask(AsgiApp(odd), part(b""), path="/healthz", method=method, headers=given) for method in ("GET", "HEAD")
    )

    expected = [(b"content-type", b"application/json"), (b"x-request-id", b"mine"), (b"content-length", b"15")]
    assert (page[0]["headers"], head[0]["headers"]) == (expected, expected)
    assert (page[1]["body"], head[1]["body"]) == (b'{"status":"ok"}', b"")


def test_progress_is_sent_as_it_is_told(odd: App) -> None:
    call = rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": 7}})
    accepts = [*HEADERS, (b"accept", b"application/json, text/event-stream")]

    sent = ask(AsgiApp(odd), part(json.dumps(call).encode()), path="/mcp", headers=accepts)

    assert (b"content-type", b"text/event-stream") in sent[0]["headers"]
    assert [message["body"].count(b"event: message") for message in sent[1:]] == [1, 1, 1, 0]
    assert [message.get("more_body", False) for message in sent[1:]] == [True, True, True, False]


def test_a_stream_without_an_end_ends_all_the_same_so_that_the_server_around_can_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signet.transports.asgi.ENDLESS_S", 0.05)
    app = AsgiApp(build_app(Settings(toolsets="plantuml", journal=False)))

    sent = ask(app, part(b"{}"), path="/-/journal/stream")

    assert sent[1]["body"].startswith(b"data: {")
    assert sent[-1] == {"type": "http.response.body", "body": b""}


def test_a_call_whose_client_leaves_is_cancelled(odd: App, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask(AsgiApp(odd), part(b"{}"), GONE, path="/api/tools/hangs") == []

    assert capfd.readouterr().err.split("\n")[:2] == ["hangs: started", "hangs: cancelled"]


TICKS = rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": 7}})
STREAM = [*HEADERS, (b"accept", b"application/json, text/event-stream")]


def noted(folder: Path, on_exchange: Callable[[Exchange], None]) -> AsgiApp:
    return AsgiApp(App(misbehaving_server.build(str(folder)), Guard(), {}, events=Events(exchange=on_exchange)))


def test_every_request_is_noted_once_whether_it_is_answered_streamed_or_left(tmp_path: Path) -> None:
    exchanges: list[Exchange] = []
    app = noted(tmp_path, exchanges.append)

    ask(app, part(b"{}"))
    ask(app, part(json.dumps(TICKS).encode()), path="/mcp", headers=STREAM)
    ask(app, part(b"{}"), GONE, path="/api/tools/hangs")
    ask(app, part(b"{"), path="/mcp")

    told = [(one.status, one.is_left, one.outcome and one.outcome.call.tool_key) for one in exchanges]
    assert told == [(200, False, "fine"), (200, False, "ticks"), (499, True, "hangs"), (400, False, None)]


def test_a_request_that_cannot_be_noted_is_refused_and_a_stream_ends_without_its_answer(tmp_path: Path) -> None:
    def refuse(_: Exchange) -> None:
        raise Fault(Code.INTERNAL_ERROR, "no", name="AUDIT_UNAVAILABLE", status=503)

    app = noted(tmp_path, refuse)
    sent = ask(app, part(b"{}"))
    stream = ask(app, part(json.dumps(TICKS).encode()), path="/mcp", headers=STREAM)

    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["error"]["code"] == "AUDIT_UNAVAILABLE"
    assert [b"progress" in message["body"] for message in stream[1:]] == [True, True, False]
    assert stream[-1]["body"] == b""


def test_a_socket_of_another_protocol_is_closed(odd: App) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(AsgiApp(odd)({"type": "websocket"}, None, send))  # type: ignore[arg-type] # nothing is received

    assert sent == [{"type": "websocket.close"}]


# --- mounted, and under other servers


@pytest.mark.parametrize(
    ("root", "path", "status"),
    [
        ("", "/healthz", 200),
        ("/tools", "/tools/healthz", 200),
        ("/tools/", "/tools/healthz", 200),
        ("/tools", "/healthz", 200),
        ("/tools", "/tools", 200),
        ("/tools", "/toolshealthz", 404),
    ],
)
def test_paths_are_those_below_the_place_where_it_is_mounted(odd: App, root: str, path: str, status: int) -> None:
    assert ask(AsgiApp(odd), part(b""), path=path, method="GET", root_path=root)[0]["status"] == status


def test_settings_are_those_of_the_server_by_name_or_by_variable(tmp_path: Path) -> None:
    app = create_app({"SIGNET_TOOLSETS": "plantuml", "SIGNET_TOKEN": "sesame"}, log_dir=str(tmp_path))

    assert ask(app, path="/api/tools", method="GET", headers=HEADERS)[0]["status"] == 401
    with pytest.raises(UsageError, match="toolsets"):
        create_app(toolsets="nonsense")
    with pytest.raises(UsageError, match="SIGNET_TOKEN"):
        create_app(toolsets="boj", allowed_hosts="*")


MOUNTED = """
import contextlib, sys
from starlette.applications import Starlette
from starlette.routing import Mount
import uvicorn
import signet.asgi
signet_app = signet.asgi.create_app(toolsets="plantuml", log_dir=sys.argv[2])
@contextlib.asynccontextmanager
async def lifespan(_):
    yield
    await signet_app.close()
app = Starlette(routes=[Mount("/below", app=signet_app)], lifespan=lifespan)
uvicorn.run(app, fd=int(sys.argv[1]), log_level="error")
"""
SERVED = """
import sys, uvicorn
uvicorn.run("signet.asgi:app", fd=int(sys.argv[1]), log_level="error")
"""


@contextlib.contextmanager
def under_uvicorn(program: str, folder: Path) -> Iterator[Server]:
    """Run a program that serves on a port, until the block ends."""
    env = clean_env({"SIGNET_TOOLSETS": "plantuml", "SIGNET_LOG_DIR": str(folder)})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.fileno()
        command = [sys.executable, "-c", program, str(number), str(folder)]
        process = subprocess.Popen(command, env=env, pass_fds=[number])
        port = listener.getsockname()[1]
    try:
        yield Server(process, port, folder / "log")
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def calls(folder: Path) -> list[Any]:
    """Return the journal's records without what differs from run to run."""
    varying = {"durationMs", "requestId", "spanId", "traceId", "ts"}
    return [{name: value for name, value in each.items() if name not in varying} for each in records_in(folder)]


@pytest.mark.parametrize(("program", "below"), [(SERVED, ""), (MOUNTED, "/below")], ids=["served", "mounted"])
def test_it_answers_under_another_server_as_under_our_own(program: str, below: str, tmp_path: Path) -> None:
    diagram = {"plantumlCode": "A -> B"}
    call = {"name": "encodePlantUML", "arguments": diagram}
    asked: list[tuple[str, str, Any, dict[str, str]]] = [
        ("GET", "/healthz", None, {}),
        ("GET", "/api/tools", None, {}),
        ("HEAD", "/", None, {}),
        ("OPTIONS", "/mcp", None, {"origin": "http://localhost:1"}),
        ("GET", "/nowhere", None, {}),
        ("GET", "/healthz", None, {"host": "evil.example"}),
        ("POST", "/mcp", rpc("tools/list", {}), {}),
        ("POST", "/mcp", rpc("tools/call", call), {}),
        ("POST", "/mcp", rpc("tools/call", {**call, "_meta": META}), modern_headers("tools/call", "encodePlantUML")),
        ("POST", "/mcp", b"{", {}),
        ("POST", "/api/tools/encodePlantUML", diagram, {}),
        ("POST", "/api/tools/encodePlantUML", {"plantumlCode": "A\n" * 20_000}, {}),
        ("POST", "/api/tools/encodePlantUML", {}, {}),
        ("POST", "/mcp/v1/encode-plantuml", diagram, {}),
        ("GET", "/api/tools/", None, {}),
        ("POST", "/mcp/", rpc("tools/call", call), {}),
        ("POST", "/api/tools/encodePlantUML/", diagram, {}),
        ("POST", "/mcp/tool/plantuml.encode/", invocation("plantuml.encode", diagram), {}),
        ("POST", "/mcp/v1/encode-plantuml/", diagram, {}),
        ("POST", "/api/tools/encodePlantUML", b" " * (MIB + 1), {}),
        ("POST", "/api/tools/encodePlantUML", {"plantumlCode": NOISE[:5_000]}, {"accept-encoding": "gzip"}),
        ("POST", "/mcp/tool/plantuml.encode", invocation("plantuml.encode", {"plantumlCode": NOISE}), {}),
        ("POST", "/api/tools/encodePlantUML", {"plantumlCode": NOISE}, {"accept-encoding": "gzip"}),
    ]

    def answers(server: Server, below: str) -> list[Any]:
        found = []
        for method, path, value, headers in asked:
            body = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
            given = {"content-type": "application/json", "x-request-id": "the-same", **headers}
            reply = server.ask(method, below + path, body, given)
            kept = {k: v for k, v in reply.headers.items() if k not in {"date", "server", "connection"}}
            found.append((method, path, reply.status, kept, reply.body))
        return found

    with serving("--toolsets", "plantuml", "--log-dir", str(tmp_path / "own")) as own:
        expected = answers(own, "")
    with under_uvicorn(program, tmp_path / "other") as other:
        seen = answers(other, below)

    if not below:
        assert [row[:3] for row in seen] == [row[:3] for row in expected]
    for mine, theirs in zip(expected, seen, strict=True):
        assert theirs == mine
    assert [status for _, path, status, *_ in expected if path.endswith("/") and path != "/"] == [200] * 5
    assert {record["route"] for record in records_in(tmp_path / "own")} == {
        "/mcp", "/api/tools/encodePlantUML", "/mcp/tool/plantuml.encode", "/mcp/v1/encode-plantuml",
    }  # fmt: skip
    assert [kept.get("content-encoding") for *_, kept, _ in expected[-3:]] == ["gzip", None, "gzip"]
    assert len(calls(tmp_path / "own")) == 13
    assert calls(tmp_path / "other") == calls(tmp_path / "own")


@pytest.mark.parametrize(("root", "url"), [("", "/"), ("/below", "/below"), ("/below/", "/below")])
def test_the_openapi_page_says_below_which_path_it_is_served(odd: App, root: str, url: str) -> None:
    sent = ask(AsgiApp(odd), part(b""), method="GET", path=root.rstrip("/") + "/openapi.json", root_path=root)

    assert [server["url"] for server in body_of(sent)["servers"]] == [url]
