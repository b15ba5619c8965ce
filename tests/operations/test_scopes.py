"""Scopes at every door, who a call's principal is, and several ways to be known at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from door_calls import invocation, modern_headers, rpc
from processes import ROOT, Reply, Server, run, serving
from signet.app import build_app, build_server
from signet.kernel.caller import Principal
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.outcome import Call
from signet.kernel.server import ClientChannel
from signet.kernel.server import Reply as RpcReply
from signet.kernel.tools import Tool
from signet.operations.access.chain import Chain, looks_signed, open_chain
from signet.operations.access.challenges import unauthorized
from signet.operations.access.named_tokens import NamedTokens
from signet.operations.access.shared_token import SharedToken
from signet.settings.model import Settings
from signet.transports.asgi import AsgiApp
from signet.transports.guard import Guard
from signet.transports.web_app import App

SHARED = "the-shared-token-of-everybody"
NAMES = {
    "all": "tools:call",
    "encoder": "tools:call:plantuml.encode",
    "drawer": "tools:call:plantuml.render tools:call:plantuml.decode",
    "reader": "tools:read",
}
ENCODE = {"plantumlCode": "A -> B"}
SCOPE = "tools:call:plantuml.encode"
CHALLENGE = f'Bearer error="insufficient_scope", scope="{SCOPE}"'
SENTENCE = f"The token does not allow encodePlantUML: ask for one with the scope {SCOPE}"
UNKNOWN_TOKEN = "This token is not known: ask the server's operator for one"
MCP = rpc("tools/call", {"name": "encodePlantUML", "arguments": ENCODE})
MODERN = rpc("tools/call", {"name": "encodePlantUML", "arguments": ENCODE}, modern=True)
PAGE = "/render/svg/SoWkIImgAStDuNBAJrBGjLDmpCbCJbMmKiX8pSd9vt98pKi1IW80"
DOORS: dict[str, tuple[str, Any, dict[str, str]]] = {
    "mcp, handshake": ("/mcp", MCP, {}),
    "mcp, modern": ("/mcp", MODERN, modern_headers("tools/call", "encodePlantUML")),
    "rest": ("/api/tools/encodePlantUML", ENCODE, {}),
    "rest, legacy": ("/mcp/v1/encode-plantuml", ENCODE, {}),
    "envelope": ("/mcp/tool/plantuml.encode", invocation("plantuml.encode", ENCODE), {}),
}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Make a token for each name; `file` is the file of them."""
    path = str(tmp_path_factory.mktemp("tokens") / "tokens")
    made = {"file": path}
    for name, scopes in NAMES.items():
        done = run_here("token", "new", name, "--scopes", scopes, "--tokens-file", path)
        made[name] = done.stdout.decode().split()[-1]
    return made


@pytest.fixture(scope="module")
def server(tokens: dict[str, str]) -> Iterator[Server]:
    flags = ("--toolsets", "plantuml,plantuml-tools", "--tokens-file", tokens["file"], "--no-journal")
    with serving(*flags, "--log", "debug", env={"SIGNET_TOKEN": SHARED}) as running:
        yield running


def post(server: Server, token: str, door: str) -> Reply:
    path, body, headers = DOORS[door]
    return server.post(path, body, {"authorization": f"Bearer {token}", **headers})


# --- what a token allows


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["all", "encoder"])
def test_a_token_with_the_scope_of_all_tools_or_of_this_one_calls_it(
    server: Server, tokens: dict[str, str], name: str, door: str
) -> None:
    reply = post(server, tokens[name], door)

    assert reply.status == 200
    assert "www-authenticate" not in reply.headers


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["drawer", "reader"])
def test_a_token_without_the_scope_is_refused_with_a_challenge_that_names_it(
    server: Server, tokens: dict[str, str], name: str, door: str
) -> None:
    reply = post(server, tokens[name], door)

    assert (reply.status, reply.headers["www-authenticate"]) == (403, CHALLENGE)
    bodies = {
        "rest": {"success": False, "error": {"code": "INSUFFICIENT_SCOPE", "message": SENTENCE}},
        "rest, legacy": {"status": "error", "code": "INSUFFICIENT_SCOPE", "message": SENTENCE},
        "envelope": {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32001, "message": "Unauthorized", "data": {"canonical_code": "UNAUTHORIZED"}},
        },
    }
    data = {"canonical_code": "UNAUTHORIZED", "code": "INSUFFICIENT_SCOPE", "scope": SCOPE}
    mcp = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": SENTENCE, "data": data}}
    assert reply.json() == bodies.get(door, mcp)


def test_a_page_asks_for_the_scope_of_its_tool(server: Server, tokens: dict[str, str]) -> None:
    replies = {
        name: server.ask("GET", PAGE, headers={"authorization": f"Bearer {tokens[name]}"})
        for name in ("all", "encoder", "drawer", "reader")
    }

    assert {name: reply.status == 403 for name, reply in replies.items()} == {
        "all": False, "encoder": True, "drawer": False, "reader": True,
    }  # fmt: skip
    assert replies["reader"].json()["error"]["code"] == "INSUFFICIENT_SCOPE"
    challenge = 'Bearer error="insufficient_scope", scope="tools:call:plantuml.render"'
    assert replies["reader"].headers["www-authenticate"] == challenge


@pytest.mark.parametrize("arguments", [{}, {"plantumlCode": 1}, None])
def test_what_is_refused_for_its_scope_is_told_nothing_about_its_arguments(
    server: Server, tokens: dict[str, str], arguments: object
) -> None:
    headers = {"authorization": f"Bearer {tokens['reader']}"}

    reply = server.post("/api/tools/encodePlantUML", arguments, headers)

    assert (reply.status, reply.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")


@pytest.mark.parametrize("path", ["/api/tools", "/openapi.json", "/"])
def test_the_lists_of_tools_are_the_same_for_all(server: Server, tokens: dict[str, str], path: str) -> None:
    bodies = {
        server.ask("GET", path, headers={"authorization": f"Bearer {token}"}).body
        for token in (*(tokens[name] for name in NAMES), SHARED)
    }

    assert len(bodies) == 1


def test_the_list_over_mcp_is_the_same_for_all(server: Server, tokens: dict[str, str]) -> None:
    message = rpc("tools/list", {})
    replies = [
        server.post("/mcp", message, {"authorization": f"Bearer {token}"})
        for token in (*(tokens[name] for name in NAMES), SHARED)
    ]

    assert {reply.status for reply in replies} == {200}
    assert len({reply.body for reply in replies}) == 1
    assert "encodePlantUML" in {tool["name"] for tool in replies[0].json()["result"]["tools"]}


@pytest.mark.parametrize("door", DOORS)
def test_the_shared_token_works_beside_named_ones_and_allows_all(server: Server, door: str) -> None:
    assert post(server, SHARED, door).status == 200


def test_what_is_open_without_a_token_is_what_the_security_page_names(server: Server) -> None:
    """Beside these pages, the console's page and its files are open: they are the same for every server."""
    promised = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    documented = server.ask("GET", "/openapi.json", headers={"authorization": f"Bearer {SHARED}"}).json()["paths"]
    page = {"/-/files/app.js": "text/javascript", "/": "text/html"}

    statuses = {path: server.ask("GET", path).status for path in (*documented, PAGE, "/metrics", "/-/about", "/mcp")}
    files = {path: server.ask("GET", path, headers={"accept": kind}).status for path, kind in page.items()}

    assert {path for path, status in statuses.items() if status != 401} == {"/healthz", "/readyz"}
    assert set(files.values()) == {200}
    exceptions = "a preflight, `/healthz`, `/readyz`, the OAuth metadata, and the files of the console's page"
    assert f"every request needs a valid token, with these exceptions: {exceptions}" in promised


@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_token_is_refused_at_every_door(server: Server, door: str) -> None:
    reply = post(server, "nobody", door)

    sentence = UNKNOWN_TOKEN
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == f'Bearer error="invalid_token", error_description="{sentence}"'


def test_a_log_line_of_a_call_tells_who_called(server: Server, tokens: dict[str, str]) -> None:
    post(server, tokens["encoder"], "rest")
    post(server, tokens["reader"], "rest")
    post(server, SHARED, "rest")

    for facts in ("code=OK", "code=UNAUTHORIZED"):
        name = "encoder" if facts == "code=OK" else "reader"
        lines = [line for line in server.stderr().splitlines() if f"principal={name}" in line]
        assert any("call.done tool=plantuml.encode" in line and facts in line for line in lines)
    assert "principal=token" in server.stderr()


# --- the principal of a call


class NotingGate:
    """Notes who calls through which door, and lets nobody in."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []

    def enter(self, call: Call, tool: Tool) -> Fault:
        self.calls.append((call.door.name, call.caller.name, call.caller.address))
        return Fault(Code.UNAUTHORIZED, f"{tool.name} is closed")


def ask(app: AsgiApp, method: str, path: str, body: object, headers: dict[str, str]) -> None:
    """Send one request to an application in this process."""
    given = {"host": "localhost", "content-type": "application/json", **headers}
    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "client": ("192.0.2.7", 1),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    taken: list[bool] = []

    async def receive() -> Any:
        if not taken:
            taken.append(True)
            return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}
        return await asyncio.Future()

    async def send(_: Any) -> None:
        pass

    asyncio.run(app(scope, receive, send))


def test_the_principal_and_the_address_go_with_the_call_through_every_door(tokens: dict[str, str]) -> None:
    settings = Settings(toolsets="plantuml,plantuml-tools", tokens_file=tokens["file"], journal=False)
    server = build_server(settings)
    server.pipeline._gate = gate = NotingGate()
    app = AsgiApp(build_app(settings, server))
    headers = {"authorization": f"Bearer {tokens['encoder']}"}

    for path, body, more in DOORS.values():
        ask(app, "POST", path, body, headers | more)
    ask(app, "GET", PAGE, None, headers)

    seen = ("encoder", "192.0.2.7")
    doors = ["http mcp", "http mcp", "rest", "rest, legacy", "http envelope", "page"]
    assert gate.calls == [(door, *seen) for door in doors]


def test_a_refused_token_is_noted_at_every_door_with_the_address(tokens: dict[str, str]) -> None:
    settings = Settings(toolsets="plantuml,plantuml-tools", tokens_file=tokens["file"], journal=False)
    noted: list[tuple[str, int, str]] = []
    guard = Guard(authenticator=NamedTokens(tokens["file"], print))
    pages = [page for toolset, _ in settings.enabled() for page in toolset.pages()]
    events = Events(refusal=lambda *facts: noted.append(facts))
    app = AsgiApp(App(build_server(settings), guard, {}, events=events, pages=pages))

    for path, body, more in DOORS.values():
        ask(app, "POST", path, body, {"authorization": "Bearer nobody", **more})
    ask(app, "GET", PAGE, None, {})

    assert noted == [("192.0.2.7", 401, "UNAUTHORIZED")] * 6


def test_on_stdio_a_call_has_no_principal_and_needs_no_scope(tokens: dict[str, str]) -> None:
    settings = Settings(toolsets="plantuml", tokens_file=tokens["file"], journal=False)
    server = build_server(settings)

    reply = server.receive(json.dumps(MCP).encode(), ClientChannel(lambda _: None))
    server.pipeline._gate = gate = NotingGate()
    refused = server.receive(json.dumps(MCP).encode(), ClientChannel(lambda _: None))

    assert isinstance(reply, RpcReply)
    assert reply.code == 0
    assert isinstance(refused, RpcReply)
    assert refused.outcome.fault.message == "encodePlantUML is closed"
    assert [call[1:] for call in gate.calls] == [("", "")]


# --- several ways to be known


class Signed:
    """Stands for whoever knows signed tokens: notes what it is asked, and knows one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reloads = 0

    def identify(self, token: str) -> Principal | Fault:
        self.asked.append(token)
        return Principal("subject") if token == "a.b.c" else unauthorized("not signed well")

    def challenge(self, fault: Fault) -> str:
        return f"Bearer of {fault.message}"

    def reload(self) -> None:
        self.reloads += 1


@pytest.mark.parametrize(
    ("token", "told", "asked"),
    [
        ("x.y.z", "token", []),
        ("a.b.c", "subject", ["a.b.c"]),
        ("a.b.", "not signed well", ["a.b."]),
        ("opaque", UNKNOWN_TOKEN, []),
        ("a.b.c.d.e", UNKNOWN_TOKEN, []),
        ("", "Send a token as 'Authorization: Bearer …'", []),
    ],
)
def test_a_signed_token_goes_to_those_who_know_its_issuer_and_an_opaque_one_does_not(
    token: str, told: str, asked: list[str]
) -> None:
    signed = Signed()
    chain = Chain([SharedToken("x.y.z")], signed)

    found = chain.identify(token)

    assert isinstance(found, Principal | Fault)
    assert (found.message if isinstance(found, Fault) else found.name) == told
    assert signed.asked == asked
    assert chain.challenge(unauthorized("it")) == "Bearer of it"


def test_a_sentence_that_no_header_can_carry_is_told_as_far_as_one_can() -> None:
    guard = Guard(authenticator=Chain([SharedToken("x")]))

    fields = guard.advice(unauthorized('say "x\\y" …'))

    challenge = b'Bearer error="invalid_token", error_description="say \'x/y\' ?"'
    assert fields == ((b"www-authenticate", challenge),)


def test_a_reload_reaches_all_of_a_chain() -> None:
    signed = Signed()

    Chain([SharedToken("x")], signed).reload()

    assert signed.reloads == 1


def test_a_chain_is_as_short_as_it_can_be_and_an_empty_one_knows_nobody() -> None:
    shared, signed = SharedToken("x"), Signed()

    assert open_chain([shared]) is shared
    assert open_chain([], signed) is signed
    nobody = open_chain([]).identify("x")
    assert isinstance(nobody, Fault)
    assert nobody.status == 401


def test_a_token_of_a_file_never_looks_signed(tokens: dict[str, str]) -> None:
    assert not any(looks_signed(tokens[name]) for name in NAMES)
    assert looks_signed("eyJhbGciOiJub25lIn0.e30.")


# --- others may reach the server


def test_a_file_of_tokens_lets_a_server_listen_where_others_can_reach_it(
    tokens: dict[str, str], tmp_path: Path
) -> None:
    refused = run("serve", "--host", "0.0.0.0", "--port", "0", "--toolsets", "plantuml,oj", "--sandbox")

    flags = ("--host", "0.0.0.0", "--toolsets", "plantuml,oj", "--sandbox", "--tokens-file", tokens["file"])
    with serving(*flags, "--log-dir", str(tmp_path)) as server:
        reply = server.post("/mcp", MCP)

    assert (refused.returncode, b"set SIGNET_TOKEN" in refused.stderr) == (2, True)
    assert reply.status == 401
