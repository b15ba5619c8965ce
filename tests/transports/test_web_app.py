"""The web application: which door each path leads to, who is let in, and its lifespan; without a socket."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from door_calls import invocation, rpc
from processes import PATIENCE_S
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.pipeline import MAX_IN_FLIGHT
from signet.kernel.protocol import Identity
from signet.kernel.server import Server
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.toolset import PageContent, PageSpec
from signet.kernel.wire import Headers
from signet.operations.access.shared_token import SharedToken
from signet.transports.asgi import AsgiApp
from signet.transports.guard import Access, Guard
from signet.transports.messages import Request, Response
from signet.transports.rest import refuse
from signet.transports.web_app import WAITING_BYTES, App, Route

ABOUT = {"version": "1"}
HERE = "http://localhost:3000"
JSON = {"content-type": "application/json"}
Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))


@pytest.fixture(scope="module")
def app(server: Server) -> App:
    return App(server, Guard(), ABOUT)


def ask(app: App, method: str, path: str, body: object = None, /, **headers: str) -> Answer:
    """Send one request to an application; return the status, the headers and the body of its response."""
    given = {
        "host": "localhost",
        "x-request-id": "the-same",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent: list[Any] = []

    async def receive() -> Any:
        if raw is not None and not sent and not taken:
            taken.append(True)
            return {"type": "http.request", "body": raw}
        return await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(message)

    taken: list[bool] = []
    asyncio.run(AsgiApp(app)(scope, receive, send))
    start = sent[0]
    fields = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], fields, b"".join(message.get("body", b"") for message in sent[1:])


# --- the paths


@pytest.mark.parametrize(
    ("path", "page"),
    [("/", ABOUT), ("/healthz", {"status": "ok"})],
)
def test_a_page_is_for_reading(app: App, path: str, page: object) -> None:
    status, headers, body = ask(app, "GET", path)
    head = ask(app, "HEAD", path)

    assert (status, json.loads(body)) == (200, page)
    assert (head[0], head[1], head[2]) == (200, headers, b"")


def test_it_is_ready_once_every_contract_is_compiled(app: App) -> None:
    status, _, body = ask(app, "GET", "/readyz")

    names = [tool.name for tool in misbehaving_server.TOOLS]
    assert (status, json.loads(body)) == (200, {"status": "ready", "tools": names})


def test_a_contract_that_cannot_be_compiled_is_not_ready(tmp_path: Path) -> None:
    broken = misbehaving_server.build(str(tmp_path))
    (tmp_path / "tools/odd.fine.json").write_text(
        '{"tool":"odd.fine","input":{"type":"nonsense"},"output":{}}', encoding="utf-8"
    )

    assert ask(App(broken, Guard(), ABOUT), "GET", "/readyz")[0] == 500


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_page_takes_nothing_but_get_and_head(app: App, method: str) -> None:
    status, headers, body = ask(app, method, "/healthz", {}, **JSON)

    assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert json.loads(body)["error"]["code"] == "METHOD_NOT_ALLOWED"


def test_each_door_has_its_path(app: App) -> None:
    call = rpc("tools/call", {"name": "fine", "arguments": {"n": 3}})

    by_mcp = ask(app, "POST", "/mcp", call, **JSON)
    by_rest = ask(app, "POST", "/api/tools/fine", {"n": 3}, **JSON)
    by_envelope = ask(app, "POST", "/mcp/tool/odd.fine", invocation("odd.fine", {"n": 3}), **JSON)

    assert [status for status, _, _ in (by_mcp, by_rest, by_envelope)] == [200, 200, 200]
    assert json.loads(by_mcp[2])["result"]["structuredContent"] == {"n": 3}
    assert json.loads(by_rest[2])["result"] == {"n": 3}
    assert json.loads(by_envelope[2])["result"] == {"n": 3}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/mcp", "/mcp/tool/odd.fine", "/old/fine"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE"])
def test_one_slash_may_end_a_path(server: Server, method: str, path: str) -> None:
    app = App(server, Guard(), ABOUT, {"/old/fine": "fine"})

    answered = ask(app, method, path, {}, **JSON)

    assert answered[0] != 404
    assert ask(app, method, path + "/", {}, **JSON) == answered


def test_one_slash_may_end_the_path_of_the_tools_where_no_tool_is_to_be_named(app: App) -> None:
    """Spec 4 reads the path with a slash as a call that names no tool."""
    answered = {method: ask(app, method, "/api/tools/", {}) for method in ("GET", "OPTIONS", "POST")}

    assert answered["GET"] == ask(app, "GET", "/api/tools")
    assert answered["OPTIONS"] == ask(app, "OPTIONS", "/api/tools")
    assert json.loads(answered["POST"][2])["error"]["code"] == "TOOL_NAME_REQUIRED"


def test_a_call_by_a_path_with_a_slash_is_the_same_call(server: Server) -> None:
    app = App(server, Guard(), ABOUT, {"/old/fine": "fine"})
    call = rpc("tools/call", {"name": "fine", "arguments": {"n": 3}})
    calls = {
        "/mcp": call,
        "/api/tools/fine": {"n": 3},
        "/mcp/tool/odd.fine": invocation("odd.fine", {"n": 3}),
        "/old/fine": {"n": 3},
    }

    for path, body in calls.items():
        answered = ask(app, "POST", path, body, **JSON)

        assert answered[0] == 200
        assert ask(app, "POST", path + "/", body, **JSON) == answered


@pytest.mark.parametrize(
    "path",
    [
        "/mcp//",
        "//mcp",
        "/healthz//",
        "/openapi.json//",
        "/mcp/x",
        "/MCP",
        "/api",
        "/favicon.ico",
        "//",
        "/mcp/v1/encode-plantuml/x",
    ],
)
def test_a_path_that_leads_nowhere_is_named(app: App, path: str) -> None:
    status, _, body = ask(app, "GET", path)

    assert (status, json.loads(body)["error"]["code"]) == (404, "NOT_FOUND")
    assert path in json.loads(body)["error"]["message"]


def test_a_path_is_repeated_to_a_bound(app: App) -> None:
    _, _, body = ask(app, "GET", "/" + "x" * 5000)

    assert len(body) < 500


def test_a_path_may_name_a_tool_that_there_is_not_at_either_door(app: App) -> None:
    by_rest = ask(app, "POST", "/api/tools/nobody", {}, **JSON)
    by_envelope = ask(app, "POST", "/mcp/tool/no.body", invocation("no.body", {}), **JSON)

    assert (by_rest[0], by_envelope[0]) == (404, 404)


# --- who is let in


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/openapi.json", "/mcp", "/api/tools", "/nowhere"])
def test_the_guard_stands_before_every_path(app: App, path: str) -> None:
    status, _, body = ask(app, "GET", path, host="evil.example")

    assert status == 421
    assert "evil.example" in body.decode()


@pytest.mark.parametrize(
    ("path", "open_to_all"), [("/healthz", True), ("/readyz", True), ("/", False), ("/mcp", False)]
)
def test_only_load_balancers_need_no_token_and_others_are_told_how_to_send_it(
    server: Server, path: str, open_to_all: bool
) -> None:
    status, headers, _ = ask(App(server, Guard(authenticator=SharedToken("sesame")), ABOUT), "GET", path)

    assert (status, headers.get("www-authenticate")) == ((200, None) if open_to_all else (401, "Bearer"))


@pytest.mark.parametrize("path", ["/", "/mcp", "/mcp/tool/odd.fine"])
def test_a_page_of_this_machine_may_read_what_it_asked_for(app: App, path: str) -> None:
    _, headers, _ = ask(app, "GET", path, origin=HERE)

    assert (headers["access-control-allow-origin"], headers["vary"]) == (HERE, "Origin")


@pytest.mark.parametrize("path", ["/", "/mcp", "/mcp/tool/odd.fine"])
def test_a_preflight_is_answered_for_every_door_without_a_token(server: Server, path: str) -> None:
    guarded = App(server, Guard(authenticator=SharedToken("sesame")), ABOUT)

    status, headers, body = ask(guarded, "OPTIONS", path, origin=HERE, access_control_request_headers="x-trace")

    assert (status, body) == (204, b"")
    assert headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
    assert headers["access-control-allow-headers"] == "x-trace"


# --- its lifespan


class Recorded:
    """An upstream that notes what becomes of it."""

    origin = "https://recorded.example"
    has_token = False

    def __init__(self) -> None:
        self.events: list[str] = []
        self.warmed = threading.Event()

    def warm(self) -> None:
        self.events.append("warmed")
        self.warmed.set()

    async def close(self) -> None:
        self.events.append("closed")


def test_upstreams_are_warmed_at_the_start_and_closed_at_the_end(server: Server) -> None:
    upstream: Any = Recorded()
    app = App(Server(server.pipeline, Identity("x", "1"), "", (upstream,)), Guard(), ABOUT)
    sent: list[str] = []

    async def scenario() -> None:
        messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()

        async def send(message: Any) -> None:
            sent.append(message["type"])

        life = asyncio.ensure_future(AsgiApp(app)({"type": "lifespan"}, messages.get, send))
        await messages.put({"type": "lifespan.startup"})
        assert await asyncio.to_thread(upstream.warmed.wait, PATIENCE_S)
        await messages.put({"type": "lifespan.shutdown"})
        await life

    asyncio.run(scenario())

    assert upstream.events == ["warmed", "closed"]
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_large_bodies_are_handled_in_two_threads_at_most(app: App) -> None:
    """More would leave the event loop, and so everybody else, little of the interpreter's time."""
    lock, running, most, pair = threading.Lock(), 0, 0, threading.Barrier(2)

    def answer(_: Request) -> Response:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(PATIENCE_S)
        with lock:
            running -= 1
        assert threading.current_thread() is not threading.main_thread()
        return Response(200)

    async def scenario() -> list[Response]:
        requests = [Request("POST", "/", Headers((), ()), body=b" " * 65_537) for _ in range(6)]
        for request in requests:
            request.route = Route(Access(), answer, refuse)
        return await asyncio.gather(*map(app.answer, requests))  # type: ignore[arg-type] # none is ready

    assert [response.status for response in asyncio.run(scenario())] == [200] * 6
    assert most == 2


@pytest.mark.parametrize(("waiting", "compressed"), [(0, True), (1, True), (WAITING_BYTES, False)])
def test_answers_that_would_wait_long_to_be_compressed_are_sent_as_they_are(
    app: App, waiting: int, compressed: bool
) -> None:
    """As it is, its client can take it at once; until it is compressed, it takes memory."""
    body = b"a" * 100_000

    async def scenario() -> Response:
        request = Request("GET", "/", Headers(("accept-encoding",), ("gzip",)))

        async def answer() -> Response:
            return Response(200, body)

        request.route = Route(Access(), lambda _: answer(), refuse)
        app._waiting_bytes = waiting
        found: Response = await app.answer(request)  # type: ignore[misc] # none is ready
        return found

    response = asyncio.run(scenario())

    assert (len(response.body) < len(body)) is compressed
    assert (response.body == body) is not compressed
    assert app._waiting_bytes == waiting


# --- pages of toolsets


def paged(server: Server, tool: str, token: str | None = None) -> App:
    def content(result: Any) -> PageContent:
        return PageContent(json.dumps(result).encode(), "application/json", max_age_s=60)

    spec = PageSpec(prefix="/page/", tool=tool, arguments=lambda _: {}, content=content)
    return App(server, Guard(authenticator=SharedToken(token) if token else None), ABOUT, pages=[spec])


def test_a_page_that_calls_a_tool_counts_as_a_call_of_its_address(server: Server) -> None:
    async def read_often(app: App) -> list[int]:
        refused, awaited = [], []
        for _ in range(MAX_IN_FLIGHT):
            request = Request("GET", "/page/x", {"host": "localhost"}, address="192.0.2.1")
            assert app.admit(request) is None
            answer = app.answer(request)
            if isinstance(answer, Response):
                refused.append(answer.status)
            else:
                awaited.append(asyncio.ensure_future(answer))
        for _ in range(5):
            # Each call has to begin before it can be cancelled.
            await asyncio.sleep(0)
        for task in awaited:
            task.cancel()
        await asyncio.gather(*awaited, return_exceptions=True)
        return refused

    assert asyncio.run(read_often(paged(server, "hangs"))) == [503] * (MAX_IN_FLIGHT // 2)


@pytest.mark.parametrize(("token", "who"), [(None, "public"), ("a" * 32, "private")])
def test_a_page_behind_a_token_is_kept_by_nobody_but_its_reader(server: Server, token: str | None, who: str) -> None:
    status, headers, _ = ask(paged(server, "fine", token), "GET", "/page/x", authorization=f"Bearer {token}")

    assert (status, headers["cache-control"]) == (200, f"{who}, max-age=60")


# --- calls in flight, large bodies, clients that have left


def asking(app: App, method: str, path: str, body: bytes = b"") -> Any:
    """Return what an application gives for a request of one address: a response, or what has to be awaited."""
    headers = Headers(["host", "content-type"], ["localhost", "application/json"])
    request = Request(method, path, headers, body=body, address="192.0.2.1")
    assert app.admit(request) is None
    return app.answer(request)


def test_an_address_with_its_share_of_calls_may_still_read(server: Server) -> None:
    async def scenario() -> tuple[list[int], int]:
        app = App(server, Guard(), ABOUT)
        answers = [asking(app, "POST", "/api/tools/hangs", b"{}") for _ in range(MAX_IN_FLIGHT)]
        calls = [asyncio.ensure_future(one) for one in answers if not isinstance(one, Response)]
        health = asking(app, "GET", "/healthz")
        for _ in range(5):
            # Each call has to begin before it can be cancelled.
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return [one.status for one in answers if isinstance(one, Response)], health.status

    refused, health = asyncio.run(scenario())

    assert refused == [503] * (MAX_IN_FLIGHT // 2)
    assert health == 200


@pytest.mark.parametrize(("size", "at_once"), [(2, True), (65_536, True), (65_537, False)])
def test_only_a_body_of_more_than_64_kibibytes_is_handled_in_a_thread(app: App, size: int, at_once: bool) -> None:
    async def scenario() -> tuple[bool, int]:
        answer = asking(app, "POST", "/api/tools/fine", b"{}".ljust(size))
        response = answer if isinstance(answer, Response) else await answer
        return isinstance(answer, Response), response.status

    assert asyncio.run(scenario()) == (at_once, 200)


def test_a_response_whose_client_has_left_is_told_where_somebody_listens(server: Server) -> None:
    seen: list[Exchange] = []
    request = Request("GET", "/healthz", Headers(["host"], ["localhost"]))
    listening, deaf = App(server, Guard(), ABOUT, events=Events(exchange=seen.append)), App(server, Guard(), ABOUT)
    for app in (deaf, listening):
        assert app.admit(request) is None
        app.record_left(request, Response(200))

    assert [(one.status, one.is_left) for one in seen] == [(200, True)]


def test_a_server_that_is_not_limited_promises_no_limits(app: App) -> None:
    _, _, body = ask(app, "GET", "/openapi.json")

    for path in json.loads(body)["paths"].values():
        for operation in path.values():
            assert not {"409", "429"} & set(operation["responses"])


def test_a_key_that_is_too_long_is_refused_at_the_envelope_with_the_id_of_its_request(app: App) -> None:
    envelope = invocation("odd.fine", {"n": 3})

    fits = ask(app, "POST", "/mcp/tool/odd.fine", envelope, **JSON, idempotency_key="k" * 255)
    refused = ask(app, "POST", "/mcp/tool/odd.fine", envelope, **JSON, idempotency_key="k" * 256)
    unread = ask(app, "POST", "/mcp/tool/odd.fine", b"{", **JSON, idempotency_key="k" * 256)

    assert (fits[0], refused[0], unread[0]) == (200, 400, 400)
    assert json.loads(refused[2])["error"]["data"] == {"canonical_code": "INVALID_INPUT"}
    assert (json.loads(refused[2])["id"], json.loads(unread[2])["id"]) == (envelope["id"], None)


@pytest.mark.parametrize(
    ("name", "status", "sent", "advice"),
    [
        ("RATE_LIMITED", 429, 429, "7"),
        ("RATE_LIMITED", 429, 200, None),
        ("OTHER", 429, 429, None),
    ],
    ids=["refused", "told in a result", "another fault"],
)
def test_a_call_that_is_refused_by_a_limit_is_answered_with_advice(
    app: App, name: str, status: int, sent: int, advice: str | None
) -> None:
    fault = Fault(Code.UNAUTHORIZED, "no", name=name, status=status, data={"retry_after_seconds": 7})

    def answer(request: Request) -> Response:
        call = Call("fine", {}, NULL_CONTEXT, Door("http", "/", "rest", by_name=True))
        request.outcome = Outcome(call, None, fault=fault)
        return Response(sent)

    request = Request("POST", "/", Headers(["origin"], [HERE]))
    request.route = Route(Access(), answer, refuse)
    response = app.answer(request)

    assert isinstance(response, Response)
    assert dict(response.headers).get(b"retry-after", b"").decode() == (advice or "")
    assert dict(response.headers)[b"access-control-allow-origin"].decode() == HERE


@pytest.mark.parametrize(
    ("body", "status", "refusal"),
    [
        (b"{", 400, "NOT_JSON"),
        (b"[]", 400, "INVALID_REQUEST"),
        (json.dumps(rpc("nothing", {})).encode(), 200, "METHOD_NOT_FOUND"),
        (json.dumps(rpc("tools/list", {"cursor": 1})).encode(), 200, "INVALID_PARAMS"),
        (json.dumps(rpc("ping", {})).encode(), 200, ""),
        (json.dumps(rpc("tools/call", {"name": "fine", "arguments": {"n": -1}})).encode(), 200, ""),
    ],
    ids=["not JSON", "no request", "no method", "no params", "ping", "bad arguments"],
)
def test_an_error_that_refuses_a_request_before_it_is_a_call_has_a_name(
    app: App, body: bytes, status: int, refusal: str
) -> None:
    response = asking(app, "POST", "/mcp", body)

    assert (response.status, response.refusal) == (status, refusal)


def test_a_server_that_is_not_ready_says_so_to_balancers_alone(server: Server) -> None:
    app = App(server, Guard(), ABOUT)
    assert app.is_ready
    app.is_ready = False

    assert not app.is_ready
    assert [ask(app, "GET", path)[0] for path in ("/readyz", "/healthz")] == [503, 200]


@pytest.mark.parametrize(
    ("version", "modern", "status"),
    [("", False, 200), ("2025-06-18", False, 200), ("2026-07-28", True, 404), ("2026-07-28", False, 400)],
    ids=["no version", "handshake era", "modern era", "modern era, and no word of it in the body"],
)
def test_an_error_has_the_status_of_the_era_that_the_header_names(
    app: App, version: str, modern: bool, status: int
) -> None:
    fields = {"mcp_protocol_version": version, "mcp_method": "nothing"} if version else {}

    assert ask(app, "POST", "/mcp", rpc("nothing", {}, modern=modern), **JSON, **fields)[0] == status


class Later:
    """A relay that learns its tools when it is asked for the first time, or cannot."""

    is_ready = False
    servers: tuple[str, ...] = ()

    def __init__(self, fault: Fault | None = None) -> None:
        self._fault = fault

    async def ready(self, tool: str) -> None:
        assert tool == "fine"
        if self._fault is not None:
            raise self._fault
        self.is_ready = True


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_request_that_needs_the_tools_waits_for_them(server: Server, is_broken: bool) -> None:
    relay: Any = Later(Fault(Code.INTERNAL_ERROR, "The server does not start", status=503) if is_broken else None)
    relaying = Server(server.pipeline, Identity("x", "1"), "", relay=relay)

    async def scenario() -> tuple[int, int]:
        app = App(relaying, Guard(), ABOUT)
        health = asking(app, "GET", "/healthz")
        response = await asking(app, "POST", "/api/tools/fine", b'{"n":3}')
        return health.status, response.status

    assert asyncio.run(scenario()) == (200, 503 if is_broken else 200)
    assert relay.is_ready is not is_broken


@pytest.mark.parametrize("fields", [{}, {"mcp_protocol_version": "2025-06-18"}], ids=["no header", "another header"])
def test_an_error_has_the_status_of_the_era_that_the_body_names(app: App, fields: dict[str, str]) -> None:
    named = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}

    status, _, body = ask(app, "POST", "/mcp", rpc("tools/list", named), **JSON, **fields)

    assert (status, json.loads(body)["error"]["code"]) == (400, -32602)
