"""Who may ask: Host, Origin, token, at every door."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from door_calls import invocation, rpc
from processes import ROOT, SIGNET, Reply, Server, run, serving, serving_command
from signet.kernel.wire import Headers
from signet.transports.guard import Access, Guard
from signet.transports.messages import Request

TOKEN = "a-token-of-forty-two"
CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})
ENVELOPE = invocation("plantuml.encode", {"plantumlCode": "A"})
DOORS = {
    "/mcp": CALL,
    "/api/tools/encodePlantUML": {"plantumlCode": "A"},
    "/mcp/tool/plantuml.encode": ENVELOPE,
    "/mcp/v1/encode-plantuml": {"plantumlCode": "A"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def private() -> Iterator[Server]:
    """A server whose tools are not public."""
    with serving_command(sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "serve") as running:
        yield running


@pytest.fixture(scope="module")
def secured() -> Iterator[Server]:
    with serving("--toolsets", "plantuml", env={"SIGNET_TOKEN": TOKEN}) as running:
        yield running


@pytest.mark.parametrize("path", [*DOORS, "/api/tools", "/openapi.json", "/healthz", "/"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.", ""])
def test_another_hosts_name_is_refused_at_every_path(server: Server, path: str, host: str) -> None:
    reply = server.post(path, DOORS.get(path, {}), {"host": host})

    assert reply.status == 421
    assert "--allowed-hosts" in reply.body.decode() or path == "/mcp/tool/plantuml.encode"
    assert isinstance(reply.json(), dict)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"])
def test_the_loopback_names_are_answered_with_any_port(server: Server, host: str) -> None:
    assert server.post("/mcp", CALL, {"host": host}).status == 200


@pytest.mark.parametrize("path", ["/mcp", "/mcp/tool/plantuml.encode", "/openapi.json"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://"])
def test_a_foreign_page_is_refused(server: Server, path: str, origin: str) -> None:
    reply = server.post(path, DOORS.get(path, {}), {"origin": origin})

    assert reply.status == 403
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.spec("4.security.open-cors")
@pytest.mark.parametrize("path", ["/api/tools/encodePlantUML", "/mcp/v1/encode-plantuml"])
def test_any_page_may_use_a_public_tool(server: Server, path: str) -> None:
    reply = server.post(path, DOORS[path], {"origin": "https://anywhere.example"})

    assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "*")


def test_a_page_of_this_machine_may_use_the_mcp_door(server: Server) -> None:
    origin = {"origin": "http://localhost:6274"}

    asked = server.ask(
        "OPTIONS", "/mcp", headers={**origin, "access-control-request-headers": "content-type, mcp-method"}
    )
    reply = server.post("/mcp", CALL, origin)

    assert asked.status == 204
    assert asked.headers["access-control-allow-headers"] == "content-type, mcp-method"
    for one in (asked, reply):
        assert one.headers["access-control-allow-origin"] == "http://localhost:6274"
        assert one.headers["vary"] == "Origin"


def test_a_tool_that_is_not_public_takes_no_foreign_page_and_no_other_content_type(private: Server) -> None:
    body = json.dumps({}).encode()

    def ask(headers: dict[str, str]) -> Reply:
        return private.ask("POST", "/api/tools/fine", body, headers)

    foreign = ask({"origin": "https://evil.example", "content-type": "application/json"})
    simple = ask({"content-type": "text/plain"})
    asked = private.ask("OPTIONS", "/api/tools/fine", headers={"origin": "https://evil.example"})
    good = ask({"content-type": "application/json"})

    assert (foreign.status, simple.status, good.status) == (403, 415, 200)
    assert "access-control-allow-origin" not in {**foreign.headers, **asked.headers, **good.headers}


@pytest.mark.parametrize("path", [*DOORS, "/api/tools", "/openapi.json", "/"])
@pytest.mark.parametrize("given", [None, "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer ", "Bearer \xff"])
def test_where_a_token_is_set_nothing_is_told_without_it(secured: Server, path: str, given: str | None) -> None:
    headers = {"authorization": given} if given is not None else {}

    reply = secured.post(path, DOORS.get(path, {}), headers)

    is_sent = given is not None and given[:7] == "Bearer " and given != "Bearer "
    unknown = "This token is not known: ask the server's operator for one"
    challenge = f'Bearer error="invalid_token", error_description="{unknown}"' if is_sent else "Bearer"
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == challenge
    assert (unknown.encode() in reply.body) == (is_sent and path != "/mcp/tool/plantuml.encode")
    assert TOKEN.encode() not in reply.body


@pytest.mark.spec("5.errors.unauthorized", "5.wire.unauthorized")
def test_the_envelope_refuses_under_its_canonical_code(secured: Server) -> None:
    reply = secured.post("/mcp/tool/plantuml.encode", ENVELOPE)

    assert reply.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32001, "message": "Unauthorized", "data": {"canonical_code": "UNAUTHORIZED"}},
    }


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_with_the_token_every_door_opens(secured: Server, path: str, scheme: str) -> None:
    assert secured.post(path, DOORS[path], {"authorization": f"{scheme} {TOKEN}"}).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_load_balancer_needs_no_token(secured: Server, path: str) -> None:
    assert secured.ask("GET", path).status == 200


def test_the_token_is_never_said(secured: Server) -> None:
    secured.post("/mcp", CALL, {"authorization": f"Bearer {TOKEN}"})

    assert TOKEN not in secured.stderr()


def test_further_hosts_can_be_allowed() -> None:
    with serving("--toolsets", "plantuml", "--allowed-hosts", "tools.example, other.example") as server:
        assert server.post("/mcp", CALL, {"host": "tools.example:8080"}).status == 200
        assert server.post("/mcp", CALL, {"origin": "https://other.example"}).status == 200
        assert server.post("/mcp", CALL, {"host": "third.example"}).status == 421


@pytest.mark.parametrize(
    ("named", "host"),
    [
        ("tools.example:18182", "tools.example:18182"),
        ("tools.example:18182", "Tools.Example"),
        ("Tools.Example", "tools.example:80"),
        ("https://tools.example:18182", "tools.example:18182"),
        ("fd00::2", "[fd00::2]:8080"),
        ("[FD00::2]", "[fd00::2]"),
        ("[fd00::2]:8080", "[fd00::2]:9090"),
        ("::", "[::]:8080"),
        ("0.0.0.0", "0.0.0.0:8080"),
    ],
)
def test_a_host_is_known_however_it_is_spelt(named: str, host: str) -> None:
    guard = Guard(frozenset({named}))

    refused = guard.check(Request("GET", "/", Headers(["host", "origin"], [host, f"http://{host}"])), Access())

    assert refused is None


@pytest.mark.parametrize(
    "host", ["[::1]", "[fd00::3]", "[fd00::2", "fd00", "[fd00", "tools", "tools.example", ":80", ""]
)
def test_a_host_that_was_not_named_is_not_known(host: str) -> None:
    guard = Guard(frozenset({"fd00::2", "other.example:80"}))

    refused = guard.check(Request("GET", "/", Headers(["host"], [host])), Access())

    assert refused is not None
    assert refused.status == 421


OWN = Access(same_origin=True)
NEIGHBOURS = [
    ("localhost:8080", "http://localhost:8081"),
    ("localhost:8080", "http://127.0.0.1:8080"),
    ("localhost:8080", "http://localhost"),
    ("localhost", "http://localhost:443"),
    ("localhost:8080", "null"),
    ("localhost:8080", "ftp://localhost:8080"),
    ("localhost:8080", "localhost:8080"),
    ("localhost:8080", "http://localhost:8080@evil.example"),
]


def asked(access: Access, guard: Guard | None = None, **headers: str) -> Any:
    names = [name.replace("_", "-") for name in headers]
    return (guard or Guard()).check(Request("GET", "/-/about", Headers(names, list(headers.values()))), access)


@pytest.mark.parametrize(("host", "origin"), NEIGHBOURS)
def test_another_origin_of_an_allowed_host_is_no_page_of_the_console(host: str, origin: str) -> None:
    refused = asked(OWN, Guard(frozenset({"*"})), host=host, origin=origin)

    assert (refused.name, refused.status) == ("ORIGIN_NOT_ALLOWED", 403)
    assert asked(Access(), Guard(frozenset({"*"})), host=host, origin=origin) is None


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8080", "http://localhost:8080"),
        ("LOCALHOST:8080", "http://localhost:8080"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("localhost:443", "https://localhost"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("localhost:8443", "https://localhost:8443"),
    ],
)
def test_the_consoles_own_pages_are_let_in(host: str, origin: str) -> None:
    assert asked(OWN, host=host, origin=origin, sec_fetch_site="same-origin") is None


def test_behind_a_proxy_the_public_url_is_the_consoles_origin() -> None:
    guard = Guard(frozenset({"localhost", "tools.example"}), None, "https://tools.example:8443")

    assert asked(OWN, guard, host="localhost:8080", origin="https://tools.example:8443") is None
    assert asked(OWN, guard, host="localhost:8080", origin="https://tools.example").status == 403
    assert asked(OWN, guard, host="localhost:8080", origin="http://tools.example:8443").status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_what_a_browser_calls_another_site_is_refused(site: str) -> None:
    refused = asked(OWN, host="localhost:8080", sec_fetch_site=site, sec_fetch_dest="document")
    page = Access(same_origin=True, by_link=True)

    assert refused.name == "ORIGIN_NOT_ALLOWED"
    assert asked(page, host="localhost:8080", sec_fetch_site=site, sec_fetch_dest="script").status == 403
    assert asked(page, host="localhost:8080", sec_fetch_site=site, sec_fetch_dest="document") is None
    assert asked(Access(), host="localhost:8080", sec_fetch_site=site) is None
    assert asked(OWN, host="localhost:8080", sec_fetch_site="none") is None


CONSOLE = ["/-/about", "/-/tools/encodePlantUML", "/-/files/app.js", "/-/engine/shim.js", "/-/nothing", "/"]


@pytest.mark.parametrize("path", CONSOLE)
def test_the_console_is_for_its_own_pages_alone(server: Server, path: str) -> None:
    html, own = {"accept": "text/html"}, f"http://127.0.0.1:{server.port}"
    other = server.ask("GET", path, headers={**html, "origin": "http://127.0.0.1:1"})
    foreign = server.ask("GET", path, headers={**html, "sec-fetch-site": "same-site"})
    asked = server.ask("OPTIONS", path, headers={**html, "origin": "http://127.0.0.1:1"}) if path != "/" else other
    good = server.ask("GET", path, headers={**html, "origin": own, "sec-fetch-site": "same-origin"})
    preflight = server.ask("OPTIONS", path, headers={**html, "origin": own}) if path != "/" else good

    for refused in (other, foreign, asked):
        assert (refused.status, refused.json()["error"]["code"]) == (403, "ORIGIN_NOT_ALLOWED")
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert refused.headers["cross-origin-resource-policy"] == "same-origin"
    assert good.status == (404 if path == "/-/nothing" else 200)
    for one in (other, foreign, asked, good, preflight):
        assert not [name for name in one.headers if name.startswith("access-control-")]


def test_any_host_can_be_allowed() -> None:
    with serving("--toolsets", "plantuml", "--allowed-hosts", "*") as server:
        assert server.post("/mcp", CALL, {"host": "whatever.example"}).status == 200


def test_a_wide_bind_of_tools_that_are_not_public_needs_a_token() -> None:
    refused = run("serve", "--host", "0.0.0.0", "--port", "0", "--toolsets", "boj")

    assert refused.returncode == 2
    assert b"SIGNET_TOKEN" in refused.stderr


def test_a_wide_bind_of_public_tools_needs_none() -> None:
    with serving_command(SIGNET, "serve", "--host", "0.0.0.0", "--port", "0", "--toolsets", "plantuml") as server:
        assert server.post("/mcp", CALL).status == 200


# --- what is no page of the web, and names


NO_PAGES = [
    "null",
    "file://localhost",
    "file://",
    "chrome-extension://localhost",
    "moz-extension://127.0.0.1",
    "localhost",
]


@pytest.mark.parametrize("origin", NO_PAGES)
def test_files_and_extensions_are_no_loopback_pages(private: Server, origin: str) -> None:
    for path, body in (("/api/tools/fine", {"n": 3}), ("/mcp", CALL)):
        refused = private.post(path, body, {"origin": origin})
        assert refused.status == 403
        assert "access-control-allow-origin" not in refused.headers
    assert private.post("/api/tools/fine", {"n": 3}, {"origin": "http://localhost:6274"}).status == 200


def test_an_origin_that_is_no_page_is_let_in_where_it_is_allowed_as_it_is_written() -> None:
    guard = Guard(frozenset({"localhost", "tauri://localhost", "https://tools.example"}))

    let_in = [guard.lets_in(origin) for origin in ("tauri://localhost", "TAURI://localhost", "https://tools.example")]
    assert let_in == [True] * 3
    assert not any(map(guard.lets_in, ("tauri://tools.example", "app://localhost", "null", "ftp://localhost")))


OF_THE_REQUEST = {"date", "x-request-id"}


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:6274", "null", None])
@pytest.mark.parametrize("path", ["/api/tools/{}", "/mcp/tool/{}", "/api/tools/{}/"])
@pytest.mark.parametrize("method", ["OPTIONS", "GET", "HEAD"])
def test_a_preflight_of_an_unknown_tool_is_that_of_a_private_one(
    private: Server, origin: str | None, path: str, method: str
) -> None:
    headers = {"access-control-request-method": "POST"} | ({} if origin is None else {"origin": origin})
    known, unknown = ("odd.fine", "odd.none") if "mcp" in path else ("fine", "none")
    answers = [private.ask(method, path.format(name), headers=headers) for name in (known, unknown)]
    shown = [
        (one.status, {k: v for k, v in one.headers.items() if k not in OF_THE_REQUEST}, one.body) for one in answers
    ]

    assert shown[0] == shown[1]


def test_where_tools_are_known_to_those_with_a_token_readyz_names_none(secured: Server, server: Server) -> None:
    assert secured.ask("GET", "/readyz").json() == {"status": "ready"}
    assert server.ask("GET", "/readyz").json()["tools"] == ["encodePlantUML"]
