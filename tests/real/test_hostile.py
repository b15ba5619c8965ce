"""Bad input gets a clear answer at each door and costs nothing else: the same process serves the next request."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processes import PATIENCE_S, SIGNET, Pipe, Reply, Server, piping, serving, serving_extended
from real.witness import META, SOURCE, TOOL, VERSION_KEY, source_of

MIB: Final = 1 << 20
MCP_CODES: Final = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}
"""All that may be emitted on the MCP wires."""
ENVELOPE_CODES: Final = {-32700, -32601, -32602, -32603, -32001, -32002, -32004}
REST_CODES: Final = {"EMPTY_CODE", "CODE_TOO_LARGE", "ENCODING_FAILED", "INTERNAL_ERROR", "REQUEST_TOO_LARGE"}

DEEP: Final = b"[" * 10_000 + b"]" * 10_000
CALL: Final = {"name": TOOL, "arguments": {"plantumlCode": SOURCE}}


def frame(**parts: Any) -> bytes:
    """A JSON-RPC message with some parts as a test wants them."""
    return json.dumps({"jsonrpc": "2.0", **parts}).encode()


def envelope(**parts: Any) -> bytes:
    """A tool invocation on the envelope surface with some parts as a test wants them."""
    params = {"tool": "mcp.tool:plantuml.encode", "input": {"plantumlCode": SOURCE}}
    return frame(**{"id": 1, "method": "mcp.tool.invoke", "params": params, **parts})


# --- the doors --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pipe() -> Iterator[Pipe]:
    """One stdio server that has to outlive this file."""
    with piping(SIGNET, "stdio", "--toolsets", "plantuml") as running:
        yield running
        status, _, errors = running.finish()
        assert status == 0
        assert b"Traceback" not in errors


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One HTTP server that has to outlive this file."""
    with serving("--toolsets", "plantuml") as running:
        yield running
        assert running.process.poll() is None
        assert "Traceback" not in running.stderr()


def mcp(server: Server, body: bytes, **headers: str) -> Reply:
    """POST to the MCP door; underscores in header names stand for hyphens."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    common = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    return server.ask("POST", "/mcp", body, {**common, **told})


def modern(server: Server, method: str, params: dict[str, Any], **headers: str) -> Reply:
    """POST a whole 2026-07-28 request, some of its headers as a test wants them."""
    told = {"mcp_protocol_version": "2026-07-28", "mcp_method": method, **headers}
    return mcp(server, frame(id=1, method=method, params={"_meta": META, **params}), **told)


def rest(server: Server, body: bytes) -> Reply:
    """POST to the REST door."""
    return server.ask("POST", f"/api/tools/{TOOL}", body, {"content-type": "application/json"})


def invoke(server: Server, body: bytes, slug: str = "plantuml.encode") -> Reply:
    """POST to the envelope door."""
    return server.ask("POST", f"/mcp/tool/{slug}", body, {"content-type": "application/json"})


def answers_before_the_next_good_one(pipe: Pipe, *noise: bytes) -> list[Any]:
    """Send noise and one good call; return what came before the good call's answer, which must be right."""
    good = json.loads(frame(id="good", method="tools/call", params={**CALL, "_meta": META}))
    pipe.send(*noise, good)
    before = []
    while (answer := pipe.receive()).get("id") != "good":
        before.append(answer)
    assert source_of(answer["result"]["structuredContent"]["url"]) == SOURCE
    return before


def serves_the_next_one(server: Server) -> None:
    """Prove that each HTTP door still serves, and that it is the same process."""
    body = json.dumps(CALL["arguments"]).encode()

    results = [
        modern(server, "tools/call", CALL, mcp_name=TOOL).json()["result"]["structuredContent"],
        rest(server, body).json()["result"],
        invoke(server, envelope()).json()["result"],
    ]

    assert all(source_of(result["url"]) == SOURCE for result in results)
    assert server.process.poll() is None


# --- any bytes --------------------------------------------------------------------------------

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_methods = st.sampled_from(
    ["initialize", "ping", "server/discover", "tools/list", "tools/call", "mcp.tool.invoke", "notifications/cancelled"]
)
_metas = st.dictionaries(st.sampled_from([*META, "progressToken"]), st.sampled_from([*META.values()]) | _values)
_params = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just(TOOL) | _values,
        "arguments": st.fixed_dictionaries({}, optional={"plantumlCode": _values}) | _values,
        "tool": st.just("mcp.tool:plantuml.encode") | _values,
        "input": _values,
        "protocolVersion": _values,
        "_meta": _metas | _values,
    },
)
_near_misses = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | _values,
        "id": _values,
        "method": _methods | _values,
        "params": _params | _values,
    },
)
noise = st.binary(max_size=300) | (_near_misses | _values).map(lambda value: json.dumps(value).encode())
"""Bytes of any kind, JSON of any kind, and messages that are nearly right."""


def is_an_answer(answer: Any, codes: set[int]) -> bool:
    """Whether a JSON-RPC answer holds a result, or an error with a code of its surface."""
    if set(answer) == {"jsonrpc", "id", "result"}:
        return bool(answer["jsonrpc"] == "2.0")
    assert set(answer) == {"jsonrpc", "id", "error"}
    assert {"code", "message"} <= set(answer["error"]) <= {"code", "message", "data"}
    return answer["jsonrpc"] == "2.0" and answer["error"]["code"] in codes


@given(noise)
@example(b"")
@example(b"\x00")
@example(b"\xef\xbb\xbf{}")
def test_stdio_answers_any_line_and_goes_on(pipe: Pipe, line: bytes) -> None:
    """At most one answer to one line, none to a blank one or a notification."""
    answers = answers_before_the_next_good_one(pipe, line.replace(b"\n", b" "))

    assert len(answers) <= 1
    assert all(is_an_answer(answer, MCP_CODES | ENVELOPE_CODES) for answer in answers)


@given(noise)
@example(b"")
def test_the_mcp_door_answers_any_body_and_goes_on(server: Server, body: bytes) -> None:
    """JSON whenever there is a body; 202 without one is for notifications and responses."""
    reply = mcp(server, body)

    assert reply.status == 202 if reply.body == b"" else is_an_answer(reply.json(), MCP_CODES)
    assert reply.status in {200, 202, 400, 404}
    serves_the_next_one(server)


@given(noise)
@example(b"")
@example(b"null")
def test_the_rest_door_answers_any_body_and_goes_on(server: Server, body: bytes) -> None:
    """A result or an error of spec 4, never both."""
    answer = rest(server, body).json()

    assert answer["success"] is ("result" in answer)
    assert answer["success"] is not ("error" in answer)
    assert answer["success"] or answer["error"]["code"] in REST_CODES
    serves_the_next_one(server)


@given(noise)
@example(b"")
def test_the_envelope_door_answers_any_body_and_goes_on(server: Server, body: bytes) -> None:
    """An error of spec 5, whose data is the canonical code and nothing more."""
    reply = invoke(server, body)
    answer = reply.json()

    assert is_an_answer(answer, ENVELOPE_CODES)
    assert reply.status == 200 or set(answer["error"].get("data", {})) <= {"canonical_code"}
    serves_the_next_one(server)


@given(st.binary(min_size=1, max_size=300))
def test_bytes_that_are_not_even_http_leave_the_server_alone(server: Server, sent: bytes) -> None:
    """Whatever the parser says to them, the next one is served."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as client:
        client.sendall(sent)

    serves_the_next_one(server)


# --- the MCP doors, case by case ---------------------------------------------------------------

NOT_JSON: Final = {
    "cut off": b'{"jsonrpc":"2.0","id":1,',
    "no json at all": b"hello",
    "a NUL": b"\x00",
    "a byte order mark": b"\xef\xbb\xbf" + frame(id=1, method="ping"),
    "UTF-16": frame(id=1, method="ping").decode().encode("utf-16"),
    "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":NaN}',
    "Infinity as id": b'{"jsonrpc":"2.0","id":Infinity,"method":"ping"}',
    "a single quote": b"{'jsonrpc':'2.0'}",
    "two messages in one": frame(id=1, method="ping") * 2,
}
NOT_A_REQUEST: Final = {
    "a string": b'"ping"',
    "a number": b"1",
    "null": b"null",
    "an empty object": b"{}",
    "neither method nor result": frame(id=1, params={}),
    "a batch": b"[" + frame(id=1, method="ping") + b"]",
    "an empty batch": b"[]",
    "the wrong version": frame(id=1, method="ping", jsonrpc="1.0"),
    "no version": b'{"id":1,"method":"ping"}',
    "a version that is a number": frame(id=1, method="ping", jsonrpc=2.0),
    "a method that is a number": frame(id=1, method=5),
    "a null method": frame(id=1, method=None),
    "a float id": frame(id=1.5, method="ping"),
    "a null id": frame(id=None, method="ping"),
    "a boolean id": frame(id=True, method="ping"),
    "a list as id": frame(id=[1], method="ping"),
    "an object as id": frame(id={"a": 1}, method="ping"),
}
REFUSED: Final = {
    "an unknown method": (frame(id=7, method="no/such"), -32601),
    "a method of another capability": (frame(id=7, method="prompts/list"), -32601),
    "an unknown tool": (frame(id=7, method="tools/call", params={"name": "nope"}), -32602),
    "params that are a string": (frame(id=7, method="tools/call", params="x"), -32602),
    "params that are a list": (frame(id=7, method="tools/call", params=[TOOL]), -32602),
    "no tool name": (frame(id=7, method="tools/call", params={}), -32602),
    "a tool name that is a number": (frame(id=7, method="tools/call", params={"name": 5}), -32602),
    "arguments that are a list": (frame(id=7, method="tools/call", params={**CALL, "arguments": []}), -32602),
    "arguments that are a string": (frame(id=7, method="tools/call", params={**CALL, "arguments": "x"}), -32602),
    "a _meta that is a list": (frame(id=7, method="tools/call", params={**CALL, "_meta": []}), -32602),
    "an initialize with nothing in it": (frame(id=7, method="initialize", params={}), -32602),
    "a version that is a number": (
        frame(id=7, method="tools/list", params={"_meta": {**META, VERSION_KEY: 5}}),
        -32602,
    ),
    "no capabilities": (frame(id=7, method="tools/list", params={"_meta": {VERSION_KEY: "2026-07-28"}}), -32602),
    "an unknown version": (
        frame(id=7, method="tools/list", params={"_meta": {**META, VERSION_KEY: "2030-01-01"}}),
        -32022,
    ),
}


@pytest.mark.parametrize("line", NOT_JSON.values(), ids=NOT_JSON)
def test_stdio_answers_a_line_that_is_not_json_with_a_parse_error(pipe: Pipe, line: bytes) -> None:
    """-32700 and a null id."""
    (answer,) = answers_before_the_next_good_one(pipe, line.replace(b"\n", b" "))

    assert (answer["error"]["code"], answer["id"]) == (-32700, None)


@pytest.mark.parametrize("line", NOT_A_REQUEST.values(), ids=NOT_A_REQUEST)
def test_stdio_answers_json_that_is_no_request_with_invalid_request(pipe: Pipe, line: bytes) -> None:
    """-32600, and never an id that JSON-RPC does not know."""
    (answer,) = answers_before_the_next_good_one(pipe, line)

    assert answer["error"]["code"] == -32600
    assert answer["id"] in {None, 1}
    assert not isinstance(answer["id"], bool | float)


@pytest.mark.parametrize(("line", "code"), REFUSED.values(), ids=REFUSED)
def test_stdio_refuses_a_request_with_its_own_id(pipe: Pipe, line: bytes, code: int) -> None:
    """Whoever asked can tell which request it was."""
    (answer,) = answers_before_the_next_good_one(pipe, line)

    assert (answer["error"]["code"], answer["id"]) == (code, 7)


@pytest.mark.parametrize(
    "line",
    [DEEP, frame(id=1, method="tools/call", params={}).replace(b"{}", b'{"name":' + DEEP + b"}")],
    ids=["alone", "in params"],
)
def test_stdio_answers_ten_thousand_levels_of_nesting(pipe: Pipe, line: bytes) -> None:
    """No reader of ours follows it down; the answer is an error like any other."""
    (answer,) = answers_before_the_next_good_one(pipe, line)

    assert answer["error"]["code"] in {-32700, -32600, -32602}


def test_stdio_answers_a_line_over_its_limit_and_drops_it_whole(pipe: Pipe) -> None:
    """5 MiB against a limit of 4: -32600, null id, one answer, and the rest of the line is not read as messages."""
    line = frame(id=1, method="tools/call", params={"name": TOOL, "arguments": {"plantumlCode": "A" * 5 * MIB}})

    (answer,) = answers_before_the_next_good_one(pipe, line)

    assert (answer["error"]["code"], answer["id"]) == (-32600, None)


def test_stdio_takes_a_line_under_its_limit(pipe: Pipe) -> None:
    """3 MiB are too much for the tool, which says so, and not for the door."""
    line = frame(id=1, method="tools/call", params={"name": TOOL, "arguments": {"plantumlCode": "A" * 3 * MIB}})

    (answer,) = answers_before_the_next_good_one(pipe, line)

    assert answer["result"]["isError"] is True


def test_stdio_takes_the_last_of_duplicate_keys(pipe: Pipe) -> None:
    """As most readers of JSON do."""
    (answer,) = answers_before_the_next_good_one(pipe, b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')

    assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_stdio_answers_a_lone_surrogate(pipe: Pipe) -> None:
    """It is no Unicode text; an error, whichever stage of the road finds it."""
    line = frame(id=1, method="tools/call", params={"name": TOOL, "arguments": {"plantumlCode": "\ud800"}})

    (answer,) = answers_before_the_next_good_one(pipe, line)

    assert "error" in answer or answer["result"]["isError"] is True


def test_stdio_says_nothing_to_blank_lines_notifications_and_responses(pipe: Pipe) -> None:
    """There is nobody waiting for an answer."""
    silent = (
        b"",
        b"   ",
        frame(method="notifications/initialized"),
        frame(method="no/such"),
        frame(id=9, result={}),
        frame(method="notifications/cancelled", params={"requestId": "nobody"}),
        frame(method="notifications/cancelled", params=5),
    )

    assert answers_before_the_next_good_one(pipe, *silent) == []


def test_stdio_answers_a_crowd_of_bad_and_good_lines_each_in_its_kind(pipe: Pipe) -> None:
    """One bad line between good ones takes none of them along."""
    crowd = [part for i in range(50) for part in (b"{", frame(id=i, method="ping"))]

    answers = answers_before_the_next_good_one(pipe, *crowd)

    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [-32700] * 50
    assert sorted(answer["id"] for answer in answers if "result" in answer) == list(range(50))


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_the_mcp_door_answers_a_body_that_is_not_json_with_a_parse_error(server: Server, body: bytes) -> None:
    """400, -32700, null id."""
    reply = mcp(server, body)

    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32700, None)
    serves_the_next_one(server)


@pytest.mark.parametrize("body", NOT_A_REQUEST.values(), ids=NOT_A_REQUEST)
def test_the_mcp_door_answers_json_that_is_no_request_with_invalid_request(server: Server, body: bytes) -> None:
    """400, -32600."""
    reply = mcp(server, body)

    assert (reply.status, reply.json()["error"]["code"]) == (400, -32600)
    serves_the_next_one(server)


@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=REFUSED)
def test_the_mcp_door_refuses_a_request_with_its_own_id(server: Server, body: bytes, code: int) -> None:
    """Handshake-era errors travel under 200 or 400, as the version has it; the body is what counts."""
    reply = mcp(server, body)

    # A modern body without its headers is refused for them first; that is the ladder's own order.
    expected = {code, -32020} if VERSION_KEY.encode() in body else {code}
    assert reply.json()["error"]["code"] in expected
    assert reply.json()["id"] == 7
    serves_the_next_one(server)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 400, -32020),
        ({"mcp_name": "other"}, 400, -32020),
        ({"mcp_name": TOOL, "mcp_method": "tools/list"}, 400, -32020),
        ({"mcp_name": TOOL, "mcp_protocol_version": "2025-11-25"}, 400, -32020),
        ({"mcp_name": "=?base64?!!!?="}, 400, -32020),
    ],
    ids=["no name", "another name", "another method", "another version", "a broken base64 sentinel"],
)
def test_the_mcp_door_refuses_headers_that_contradict_the_body(
    server: Server, headers: dict[str, str], status: int, code: int
) -> None:
    """What a gateway routes by must be what is served."""
    reply = modern(server, "tools/call", CALL, **headers)

    assert (reply.status, reply.json()["error"]["code"]) == (status, code)
    serves_the_next_one(server)


def test_the_mcp_door_tells_which_versions_it_serves(server: Server) -> None:
    """400, -32022, and both what was asked and what there is."""
    meta = {**META, VERSION_KEY: "2030-01-01"}

    reply = modern(server, "tools/list", {"_meta": meta}, mcp_protocol_version="2030-01-01")

    assert (reply.status, reply.json()["error"]["code"]) == (400, -32022)
    assert reply.json()["error"]["data"]["requested"] == "2030-01-01"
    assert "2026-07-28" in reply.json()["error"]["data"]["supported"]


def test_the_mcp_door_answers_an_unknown_modern_method_with_404(server: Server) -> None:
    """The revision binds -32601 to that status; `ping` is unknown to it too."""
    replies = [modern(server, method, {}) for method in ("no/such", "ping")]

    assert [(reply.status, reply.json()["error"]["code"]) for reply in replies] == [(404, -32601)] * 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)],
    ids=["host", "origin"],
)
def test_the_mcp_door_refuses_strangers(server: Server, headers: dict[str, str], status: int) -> None:
    """A page elsewhere cannot talk to a server on loopback by giving it another name."""
    reply = modern(server, "tools/list", {}, **headers)

    assert reply.status == status
    assert reply.json()["error"]
    serves_the_next_one(server)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/healthz"),
        ("GET", "/openapi.json"),
        ("GET", "/api/tools"),
        ("POST", f"/api/tools/{TOOL}"),
        ("POST", "/mcp/v1/encode-plantuml"),
        ("POST", "/mcp/tool/plantuml.encode"),
        ("GET", "/no/such"),
    ],
)
def test_no_route_answers_to_another_hosts_name(server: Server, method: str, path: str) -> None:
    """Host is checked on every route, against DNS rebinding."""
    reply = server.ask(method, path, b"{}" if method == "POST" else None, {"host": "evil.example:80"})

    assert reply.status == 421
    assert reply.json()


def test_the_mcp_door_refuses_a_routing_header_sent_twice(server: Server) -> None:
    """Even when both say the same: a gateway may have read the other one."""
    reply = _raw_call(server, "Mcp-Name: encodePlantUML", "Mcp-Name: encodePlantUML")

    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"-32020" in reply
    serves_the_next_one(server)


@pytest.mark.parametrize("name", ["Mcp-Name:  encodePlantUML \t", "mcp-name: =?base64?ZW5jb2RlUGxhbnRVTUw=?="])
def test_the_mcp_door_reads_a_header_as_it_is_meant(server: Server, name: str) -> None:
    """Blanks round a value do not count, and a value may be written in base64."""
    assert _raw_call(server, name).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_the_mcp_door_takes_json_alone(server: Server, kind: str) -> None:
    """A form that a foreign page can send without asking is refused for what it is."""
    reply = modern(server, "tools/call", CALL, mcp_name=TOOL, content_type=kind)

    assert (reply.status, reply.json()["error"]["code"]) == (415, -32600)
    serves_the_next_one(server)


def _raw_call(server: Server, *headers: str) -> bytes:
    """Send a whole modern call with headers written exactly so; return the answer as it came."""
    body = frame(id=1, method="tools/call", params={**CALL, "_meta": META})
    more = ("Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", *headers, "Connection: close")
    head = _head("/mcp", len(body)).removesuffix(b"\r\n") + "".join(f"{line}\r\n" for line in more).encode() + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as client:
        client.sendall(head + body)
        return b"".join(iter(lambda: client.recv(65_536), b""))


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_the_mcp_door_takes_post_alone(server: Server, method: str) -> None:
    """No stream to open, no session to end."""
    reply = server.ask(method, "/mcp", headers={"accept": "text/event-stream"})

    assert reply.status == 405
    assert "POST" in reply.headers["allow"]


# --- the REST door, case by case ----------------------------------------------------------------


@pytest.mark.spec("4.bodies.malformed", "4.bodies.strict-json", "4.bodies.deep", "4.validation.type")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"plantumlCode":', 500, "INTERNAL_ERROR"),
        (b"\xef\xbb\xbf{}", 500, "INTERNAL_ERROR"),
        (b'{"plantumlCode":NaN}', 500, "INTERNAL_ERROR"),
        (b'{"plantumlCode":' + DEEP + b"}", 500, "INTERNAL_ERROR"),
        (b'{"plantumlCode":"\xff"}', 500, "ENCODING_FAILED"),
        (b'{"plantumlCode":"\\ud800"}', 500, "ENCODING_FAILED"),
        (b"", 400, "EMPTY_CODE"),
        (b"[]", 400, "EMPTY_CODE"),
        (b'[{"plantumlCode":"A"}]', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":5}', 400, "EMPTY_CODE"),
        (b'{"plantumlCode":["A"]}', 400, "EMPTY_CODE"),
        (json.dumps({"plantumlCode": "A" * 51_201}).encode(), 413, "CODE_TOO_LARGE"),
    ],
    ids=[
        "cut off", "byte order mark", "NaN", "deep", "invalid UTF-8", "lone surrogate",
        "nothing", "a list", "a batch", "a number", "a list as code", "a byte too much",
    ],
)  # fmt: skip
def test_the_rest_door_states_each_error_of_its_spec(server: Server, body: bytes, status: int, code: str) -> None:
    """Status and code of spec 4, as its facts read them."""
    reply = rest(server, body)

    assert (reply.status, reply.json()["success"], reply.json()["error"]["code"]) == (status, False, code)
    serves_the_next_one(server)


def test_the_rest_door_takes_the_last_of_duplicate_keys(server: Server) -> None:
    """As the service it replaces does."""
    reply = rest(server, b'{"plantumlCode":"","plantumlCode":"A"}')

    assert (reply.status, reply.json()["result"]["encoded"]) == (200, "SmG0")


# --- the envelope door, case by case ------------------------------------------------------------

_unknown_tool = {"tool": "mcp.tool:no.such", "input": {}}


@pytest.mark.spec("5.wire.bad-arguments", "5.wire.batch", "5.wire.unknown-tool", "5.errors.not-found")
@pytest.mark.parametrize(
    ("body", "slug", "status", "code"),
    [
        (b'{"id":', "plantuml.encode", 400, -32700),
        (b"\xff", "plantuml.encode", 400, -32700),
        (envelope(params=float("nan")), "plantuml.encode", 400, -32700),
        (DEEP, "plantuml.encode", 400, -32700),
        (b"[" + envelope() + b"]", "plantuml.encode", 400, -32602),
        (b"null", "plantuml.encode", 400, -32602),
        (envelope(jsonrpc="1.0"), "plantuml.encode", 400, -32602),
        (envelope(id=None), "plantuml.encode", 400, -32602),
        (envelope(id=1.5), "plantuml.encode", 400, -32602),
        (envelope(id=True), "plantuml.encode", 400, -32602),
        (envelope(extra=1), "plantuml.encode", 400, -32602),
        (envelope(params="x"), "plantuml.encode", 400, -32602),
        (envelope(params={"tool": "plantuml.encode", "input": {}}), "plantuml.encode", 400, -32602),
        (envelope(params={"tool": "mcp.tool:plantuml.encode", "input": []}), "plantuml.encode", 400, -32602),
        (envelope(params={"tool": "mcp.tool:plantuml.encode", "input": {}}), "plantuml.encode", 400, -32602),
        (envelope(params=_unknown_tool), "plantuml.encode", 400, -32602),
        (envelope(params=_unknown_tool), "no.such", 404, -32004),
    ],
    ids=[
        "cut off", "invalid UTF-8", "NaN", "deep", "a batch", "null", "another version", "a null id", "a float id",
        "a boolean id", "one key more", "params a string", "a tool without prefix", "input a list", "input refused",
        "another tool than the path", "an unknown tool",
    ],
)  # fmt: skip
def test_the_envelope_door_states_each_error_of_its_spec(
    server: Server, body: bytes, slug: str, status: int, code: int
) -> None:
    """Status and code of spec 5, as its facts read them."""
    reply = invoke(server, body, slug)

    assert (reply.status, reply.json()["error"]["code"]) == (status, code)
    serves_the_next_one(server)


# --- too much, and gone too soon ----------------------------------------------------------------


@pytest.mark.parametrize("path", ["/mcp", f"/api/tools/{TOOL}", "/mcp/tool/plantuml.encode"])
def test_a_body_over_a_mebibyte_is_refused_at_every_door(server: Server, path: str) -> None:
    """413 and JSON, whether the length is told beforehand or not."""
    whole = json.dumps({"plantumlCode": "A" * 5 * MIB}).encode()
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

    replies = [_upload(server, path, whole, headers, chunked=chunked) for chunked in (False, True)]

    assert [reply.status for reply in replies] == [413, 413]
    assert all("error" in reply.json() for reply in replies)
    serves_the_next_one(server)


def _upload(server: Server, path: str, body: bytes, headers: dict[str, str], *, chunked: bool) -> Reply:
    """Send a large body in pieces, with its length told or not."""
    if not chunked:
        return server.ask("POST", path, body, headers)
    pieces = (body[at : at + MIB] for at in range(0, len(body), MIB))
    return server.ask("POST", path, pieces, headers)  # type: ignore[arg-type]  # http.client takes an iterable


@pytest.mark.parametrize("path", ["/mcp", f"/api/tools/{TOOL}", "/mcp/tool/plantuml.encode"])
@pytest.mark.parametrize("sent", [b"", b'{"jsonrpc":"2.0",'], ids=["before the body", "mid-body"])
def test_a_client_that_hangs_up_before_its_body_is_whole_costs_nothing(server: Server, path: str, sent: bytes) -> None:
    """Once politely and once by a reset."""
    for abruptly in (False, True):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as client:
            client.sendall(_head(path, 5000) + sent)
            _hang_up(client, abruptly=abruptly)

        serves_the_next_one(server)


def test_a_client_that_hangs_up_mid_answer_costs_nothing() -> None:
    """It leaves after the first progress of a stream, which ends the call behind it."""
    params = {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}}
    body = frame(id=1, method="tools/call", params=params)
    with serving_extended("--toolsets", "conformance") as server:
        for abruptly in (False, True):
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as client:
                client.sendall(_head("/mcp", len(body)) + body)
                seen = b""
                while b"notifications/progress" not in seen:
                    seen += client.recv(4096)
                _hang_up(client, abruptly=abruptly)

        again = mcp(server, frame(id=2, method="tools/call", params={"name": "test_simple_text", "arguments": {}}))

        assert again.json()["result"]["content"][0]["type"] == "text"
        assert server.process.poll() is None
        assert "Traceback" not in server.stderr()


def test_a_client_that_leaves_without_reading_ends_stdio_quietly() -> None:
    """Nobody is left to tell: no traceback, and the process is gone once its input is."""
    with piping(SIGNET, "stdio", "--toolsets", "plantuml") as pipe:
        assert pipe.ask(json.loads(frame(id=1, method="ping")))["id"] == 1
        pipe.stdout.close()

        pipe.send(*[frame(id=i, method="tools/list", params={"_meta": META}) for i in range(50)])
        pipe.stdin.close()
        pipe.process.wait(PATIENCE_S)

        assert pipe.process.stderr is not None
        assert b"Traceback" not in pipe.process.stderr.read()


def _head(path: str, length: int) -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {length}",
    )
    return "\r\n".join([*lines, "", ""]).encode()


def _hang_up(client: socket.socket, *, abruptly: bool) -> None:
    """Close with a reset when abrupt: lingering is on, for no time at all."""
    if abruptly:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
