"""MCP over HTTP: eras, headers, streams, and who may ask."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from door_calls import META, modern_headers, rpc
from processes import ROOT, Server, serving, serving_command, serving_extended

ODD = (sys.executable, str(ROOT / "tests/support/misbehaving_server.py"), "serve", "60")
NAME = "encodePlantUML"
CALL = {"name": NAME, "arguments": {"plantumlCode": "A"}}
ANSWER = {"url": "https://www.plantuml.com/plantuml/svg/SmG0", "encoded": "SmG0", "format": "svg"}
LIST = rpc("tools/list", {})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def conformance() -> Iterator[Server]:
    with serving_extended("--toolsets", "conformance") as running:
        yield running


@pytest.fixture(scope="module")
def odd() -> Iterator[Server]:
    with serving_command(*ODD) as running:
        yield running


def modern(server: Server, method: str, params: dict[str, Any], **changed: str | None) -> tuple[int, Any]:
    """Send one modern request, with some headers changed or (None) left out."""
    headers = modern_headers(method, params.get("name"))
    headers |= {name.replace("_", "-"): value for name, value in changed.items() if value is not None}
    kept = {name: value for name, value in headers.items() if changed.get(name.replace("-", "_"), "") is not None}
    reply = server.post("/mcp", rpc(method, params, modern=True), kept)
    return reply.status, reply.json()


def code_of(answer: tuple[int, Any]) -> tuple[int, int]:
    return answer[0], answer[1]["error"]["code"]


def test_a_handshake_opens_no_session(server: Server) -> None:
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    reply = server.post("/mcp", rpc("initialize", opening))

    assert reply.status == 200
    assert reply.json()["result"]["protocolVersion"] == "2025-11-25"
    assert reply.json()["result"]["capabilities"] == {"tools": {"listChanged": False}}
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ],
)
def test_a_handshake_settles_on_a_version_that_is_served(server: Server, asked: str, given: str) -> None:
    opening = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    answer = server.post("/mcp", rpc("initialize", opening)).json()

    assert answer["result"]["protocolVersion"] == given


def test_a_modern_result_says_that_it_is_complete_and_who_made_it(server: Server) -> None:
    status, answer = modern(server, "tools/call", CALL)

    assert status == 200
    assert answer["result"]["structuredContent"] == ANSWER
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "signet"


def test_discovery_and_lists_say_how_long_they_may_be_kept(server: Server) -> None:
    _, discovered = modern(server, "server/discover", {})
    _, listed = modern(server, "tools/list", {})

    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    for answer in (discovered, listed):
        assert answer["result"]["ttlMs"] == 3_600_000
        assert answer["result"]["cacheScope"] == "public"


def test_the_list_is_the_same_bytes_from_run_to_run(server: Server) -> None:
    with serving("--toolsets", "plantuml") as another:
        assert server.post("/mcp", LIST).body == another.post("/mcp", LIST).body


@pytest.mark.parametrize(
    "changed",
    [
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_method": "tools/list"},
        {"mcp_method": None},
        {"mcp_name": "other"},
        {"mcp_name": None},
        {"mcp_name": "=?base64?broken?="},
    ],
)
def test_a_header_that_disagrees_with_the_body_is_refused(server: Server, changed: dict[str, str | None]) -> None:
    assert code_of(modern(server, "tools/call", CALL, **changed)) == (400, -32020)


def test_a_modern_body_without_its_version_header_is_refused(server: Server) -> None:
    assert code_of(modern(server, "tools/list", {}, mcp_protocol_version=None)) == (400, -32020)


@pytest.mark.parametrize("name", [f" {NAME} ", f"=?base64?{base64.b64encode(NAME.encode()).decode()}?="])
def test_a_header_may_have_white_space_around_it_or_be_wrapped(server: Server, name: str) -> None:
    status, answer = modern(server, "tools/call", CALL, mcp_name=name)

    assert (status, answer["result"]["structuredContent"]) == (200, ANSWER)


def test_a_routing_header_that_is_sent_twice_is_refused(server: Server) -> None:
    body = json.dumps(rpc("tools/list", {}, modern=True)).encode()
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    twice = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nMcp-Method: tools/list\r\n"
    with contextlib.closing(server.connect()) as client:
        client.sendall(head + twice + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer = b"".join(iter(lambda: client.recv(65536), b""))

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"-32020" in answer


def test_an_unknown_version_is_told_which_are_served(server: Server) -> None:
    headers = modern_headers("tools/list") | {"mcp-protocol-version": "2030-01-01"}
    meta = META | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}

    reply = server.post("/mcp", message, headers)

    assert reply.status == 400
    assert reply.json()["error"] == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2030-01-01"},
    }


@pytest.mark.parametrize("missing", list(META))
def test_a_modern_request_without_its_keys_is_refused(server: Server, missing: str) -> None:
    meta = {key: value for key, value in META.items() if key != missing}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}

    reply = server.post("/mcp", message, modern_headers("tools/list"))

    assert (reply.status, reply.json()["error"]["code"]) == (400, -32602)
    assert missing in reply.json()["error"]["message"]


@pytest.mark.parametrize("method", ["ping", "initialize", "resources/list", "notifications/initialized"])
def test_what_the_modern_era_has_not_is_not_found(server: Server, method: str) -> None:
    assert code_of(modern(server, method, {})) == (404, -32601)


def test_in_the_handshake_eras_an_unknown_method_is_an_answer_like_any_other(server: Server) -> None:
    reply = server.post("/mcp", rpc("resources/list", {}))

    assert (reply.status, reply.json()["error"]["code"]) == (200, -32601)


def test_an_envelope_is_not_served_at_the_mcp_path(server: Server) -> None:
    reply = server.post("/mcp", rpc("mcp.tool.invoke", {"tool": "mcp.tool:plantuml.encode", "input": {}}))

    assert reply.json()["error"]["code"] == -32601


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": CALL},
    ],
)
def test_what_owes_no_answer_is_heard_with_202(server: Server, message: object) -> None:
    reply = server.post("/mcp", message)

    assert (reply.status, reply.body) == (202, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_only_post_is_served(server: Server, method: str) -> None:
    reply = server.ask(method, "/mcp")

    assert reply.status == 405
    assert "POST" in reply.headers["allow"]


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_is_not_called_json_is_refused(server: Server, content_type: str | None) -> None:
    headers = {"content-type": content_type} if content_type else {}

    assert server.ask("POST", "/mcp", json.dumps(LIST).encode(), headers).status == 415


def test_a_cursor_is_refused_because_there_is_one_page(server: Server) -> None:
    reply = server.post("/mcp", rpc("tools/list", {"cursor": "2"}))

    assert reply.json()["error"]["code"] == -32602


def test_progress_turns_the_answer_into_a_stream(odd: Server) -> None:
    params = {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": 7}}

    reply = odd.post("/mcp", rpc("tools/call", params), {"accept": "application/json, text/event-stream"})
    told = [json.loads(line[6:]) for line in reply.body.decode().split("\r\n") if line.startswith("data: ")]

    assert reply.headers["content-type"] == "text/event-stream"
    assert [one.get("method") for one in told] == ["notifications/progress"] * 2 + [None]
    assert told[0]["params"]["progressToken"] == 7
    assert told[-1]["result"]["structuredContent"] == {"n": 2}


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
def test_a_client_that_takes_no_stream_gets_plain_json(odd: Server, accept: str) -> None:
    params = {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": 7}}

    reply = odd.post("/mcp", rpc("tools/call", params), {"accept": accept})

    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["result"]["structuredContent"] == {"n": 2}


def test_without_progress_there_is_no_stream(odd: Server) -> None:
    accept = {"accept": "application/json, text/event-stream"}

    reply = odd.post("/mcp", rpc("tools/call", {"name": "waits", "arguments": {"n": 5}}), accept)

    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("arguments", "header", "status"),
    [
        ({"region": "eu"}, "eu", 200),
        ({"region": "eu"}, "us", 400),
        ({"region": "eu"}, None, 400),
        ({"region": "日本"}, "=?base64?" + base64.b64encode("日本".encode()).decode() + "?=", 200),
        ({"query": "x"}, "eu", 400),
    ],
)
def test_a_mirrored_argument_must_match_its_header(
    conformance: Server, arguments: dict[str, str], header: str | None, status: int
) -> None:
    params = {"name": "test_x_mcp_header", "arguments": arguments}

    answer = modern(conformance, "tools/call", params, **({"mcp_param_region": header} if header else {}))

    assert answer[0] == status
    assert ("error" in answer[1]) == (status == 400)
