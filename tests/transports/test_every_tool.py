"""What the REST door itself says is the same of every enabled tool, whatever face the tool gives its own faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from processes import Reply, Server, serving

JSON = {"content-type": "application/json"}
HERE = "http://localhost:3000"
PUBLIC = {"encodePlantUML"}
TOO_LARGE = b"x" * ((1 << 20) + 1)

METHODS = ["GET", "PUT", "PATCH", "DELETE"]
REFUSALS: dict[str, tuple[bytes, dict[str, str], tuple[int, str]]] = {
    "foreign page": (b"{}", {**JSON, "origin": "https://evil.example"}, (403, "ORIGIN_NOT_ALLOWED")),
    "too large": (TOO_LARGE, JSON, (413, "REQUEST_TOO_LARGE")),
    "content type": (b"{}", {"content-type": "text/plain"}, (415, "UNSUPPORTED_MEDIA_TYPE")),
    "wrong host": (b"{}", {**JSON, "host": "evil.example"}, (421, "HOST_NOT_ALLOWED")),
    "not JSON": (b"{not json", JSON, (400, "NOT_JSON")),
}
OPEN_TO_ALL = {"foreign page": (400, "EMPTY_CODE"), "content type": (400, "EMPTY_CODE")}
SPEC_4_FACES = {
    "too large": (413, "CODE_TOO_LARGE"),
    "not JSON": (500, "INTERNAL_ERROR"),
}
"""What a public tool takes from everybody, and what spec 4 calls the door's refusals of its own tool."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--sandbox", "--no-journal") as running:
        yield running


def names_of(server: Server) -> list[str]:
    names = [tool["name"] for tool in server.ask("GET", "/api/tools").json()["tools"]]
    assert {name.partition("_")[0] for name in names} >= {"boj", "encodePlantUML", "get"}
    return names


def told(reply: Reply) -> tuple[int, Any]:
    return reply.status, reply.json()["error"]["code"]


def asked(server: Server, name: str, method: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
    return server.ask(method, f"/api/tools/{name}", body, headers)


@pytest.mark.spec("4.errors.method-not-allowed", "4.invocation.method-not-allowed")
@pytest.mark.parametrize("method", METHODS)
def test_every_tool_takes_post_only(server: Server, method: str) -> None:
    said = {name: told(asked(server, name, method, None, {})) for name in names_of(server)}

    assert said == dict.fromkeys(said, (405, "METHOD_NOT_ALLOWED"))


@pytest.mark.spec("4.invocation.head")
def test_head_on_every_tool_is_refused_and_says_what_is_taken(server: Server) -> None:
    replies = {name: asked(server, name, "HEAD", None, {}) for name in names_of(server)}

    said = {name: (reply.status, reply.body, reply.headers["allow"]) for name, reply in replies.items()}

    assert said == dict.fromkeys(said, (405, b"", "POST, OPTIONS"))


@pytest.mark.spec("4.bodies.malformed", "4.bodies.content-type", "4.security.open-cors")
@pytest.mark.parametrize("case", REFUSALS)
def test_the_door_refuses_for_every_tool_alike(server: Server, case: str) -> None:
    body, headers, expected = REFUSALS[case]
    public = OPEN_TO_ALL.get(case) or SPEC_4_FACES.get(case) or expected

    said = {name: told(asked(server, name, "POST", body, headers)) for name in names_of(server)}

    assert said == {name: public if name in PUBLIC else expected for name in said}


@pytest.mark.spec("4.bodies.malformed")
def test_an_argument_that_is_not_utf_8_is_refused_by_every_tool_that_has_one(server: Server) -> None:
    tools = server.ask("GET", "/api/tools").json()["tools"]
    required = {tool["name"]: tool["inputSchema"].get("required") for tool in tools}
    bodies = {name: b'{"' + names[0].encode() + b'":"\xff"}' for name, names in required.items() if names}
    bodies["find_similar_problems"] = b'{"query":"two sums \xff"}'  # It asks for a query of three characters first.

    said = {name: told(asked(server, name, "POST", body, JSON)) for name, body in bodies.items()}

    own_rules = {"encodePlantUML": (500, "ENCODING_FAILED"), "boj_get_metadata": (400, "INVALID_INPUT")}
    assert said == dict.fromkeys(said, (400, "NOT_UNICODE")) | own_rules
    assert len(said) > len(tools) / 2


@pytest.mark.parametrize("body", [b"{not json", b'{"db":', b"NaN", b"\xef\xbb\xbf{}", b"[" * 10_000, b"{}{}", b" "])
def test_a_body_that_is_not_json_is_told_why(server: Server, body: bytes) -> None:
    reply = asked(server, "boj_get_metadata", "POST", body, JSON)

    message = reply.json()["error"]["message"]
    assert told(reply) == (400, "NOT_JSON")
    assert message.startswith("The body is not JSON: ")
    assert len(message) > len("The body is not JSON: ")
    assert "Parse error" not in message


def test_a_page_of_this_machine_may_ask_before_it_calls_a_tool_that_is_not_public(server: Server) -> None:
    asks = {"origin": HERE, "access-control-request-method": "POST"}
    private = [name for name in names_of(server) if name not in PUBLIC]

    replies = [asked(server, name, "OPTIONS", None, asks) for name in private]

    for reply in replies:
        assert (reply.status, reply.body) == (200, b"")
        assert reply.headers["access-control-allow-origin"] == HERE
        assert reply.headers["access-control-allow-methods"] == "POST, OPTIONS"
        assert reply.headers["access-control-allow-headers"] == "Content-Type, Authorization"
        assert reply.headers["vary"] == "Origin"
    assert replies


def test_a_page_may_send_the_headers_that_it_asked_about(server: Server) -> None:
    asks = {"origin": HERE, "access-control-request-headers": "content-type, x-trace"}

    reply = asked(server, "boj_get_metadata", "OPTIONS", None, asks)

    assert reply.headers["access-control-allow-headers"] == "content-type, x-trace"


@pytest.mark.spec("4.cors.preflight-invocation", "4.cors.headers", "4.cors.methods")
def test_a_public_tool_keeps_the_headers_of_its_spec(server: Server) -> None:
    asks = {"origin": HERE, "access-control-request-headers": "content-type, x-trace"}

    reply = asked(server, "encodePlantUML", "OPTIONS", None, asks)

    allowed = {name: value for name, value in reply.headers.items() if name.startswith("access-control-")}
    assert allowed == {
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "Content-Type",
        "access-control-allow-methods": "POST, OPTIONS",
    }
