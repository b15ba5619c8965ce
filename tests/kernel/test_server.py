"""The server without a transport: one message in; a reply, a pending reply or nothing out."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from door_calls import META, invocation, modern_headers, rpc
from signet.app import SCHEMA_ROOT
from signet.kernel.headers import ParamHeader
from signet.kernel.outcome import Door
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import HTTP_MCP, ClientChannel, Pending, Server
from signet.kernel.tools import Context, Toolbox, tool
from signet.kernel.wire import Headers, Reply

TOOL_NAMES = [tool.name for tool in misbehaving_server.TOOLS]
QUIET = ClientChannel()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))


def over_http(**headers: str) -> ClientChannel:
    names = [name.replace("_", "-") for name in headers]
    return ClientChannel(door=HTTP_MCP, headers=Headers(names, list(headers.values())))


def modern_http(method: str, name: str | None = None) -> ClientChannel:
    headers = modern_headers(method, name)
    return ClientChannel(door=HTTP_MCP, headers=Headers(list(headers), list(headers.values())))


def answer(server: Server, message: object, channel: ClientChannel = QUIET) -> Any:
    """Return the decoded reply to one message, awaited if it is pending; None if none is owed."""
    raw = message if isinstance(message, bytes) else json.dumps(message).encode()
    reply = server.receive(raw, channel)
    if isinstance(reply, Pending):
        reply = asyncio.run(reply.reply)
    return json.loads(reply.body) if reply is not None else None


# --- what a message leads to


def test_a_tool_that_is_a_plain_function_is_answered_at_once(server: Server) -> None:
    message = json.dumps(rpc("tools/call", {"name": "fine", "arguments": {"n": 7}})).encode()

    reply = server.receive(message, QUIET)

    assert isinstance(reply, Reply)
    assert reply.code == 0
    assert json.loads(reply.body)["result"]["structuredContent"] == {"n": 7}


def test_a_tool_that_waits_is_pending_under_the_id_of_its_request(server: Server) -> None:
    message = json.dumps(rpc("tools/call", {"name": "waits"}, request_id="slow")).encode()

    pending = server.receive(message, QUIET)

    assert isinstance(pending, Pending)
    assert pending.id == "slow"
    assert json.loads(asyncio.run(pending.reply).body)["id"] == "slow"


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": {"x": 1}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
        {"id": 1, "result": {}},
    ],
    ids=["notification", "unknown notification", "result", "error", "a result that is no frame"],
)
def test_what_owes_no_answer_gets_none(server: Server, message: object) -> None:
    assert answer(server, message) is None


def test_a_cancellation_is_passed_to_the_channel_by_its_id(server: Server) -> None:
    cancelled: list[object] = []
    channel = ClientChannel(cancel=cancelled.append)

    answer(server, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}, channel)
    answer(server, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}, channel)
    answer(server, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"requestId": "kept"}}, channel)

    assert cancelled == ["gone"]


def test_a_refusal_has_the_id_of_its_request_and_its_code_on_the_reply(server: Server) -> None:
    reply = server.receive(b'{"jsonrpc":"2.0","id":9,"method":"nonsense"}', QUIET)

    assert isinstance(reply, Reply)
    assert reply.code == -32601
    assert json.loads(reply.body) == {
        "jsonrpc": "2.0",
        "id": 9,
        "error": {"code": -32601, "message": "Method not found"},
    }


# --- eras


@pytest.mark.parametrize(
    ("requested", "settled"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_a_handshake_settles_on_the_version_requested_or_the_newest_of_its_era(
    server: Server, requested: str, settled: str
) -> None:
    params = {"protocolVersion": requested, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}

    result = answer(server, rpc("initialize", params))["result"]

    assert result == {
        "protocolVersion": settled,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "odd", "version": "1"},
        "instructions": "Odd tools.",
    }


def test_discovery_names_the_modern_versions_and_how_long_they_may_be_kept(server: Server) -> None:
    result = answer(server, rpc("server/discover", {}, modern=True))["result"]

    assert result == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": "Odd tools.",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "odd", "version": "1"}},
    }


def test_the_era_is_decided_for_each_message_alone(server: Server) -> None:
    modern = rpc("tools/list", {}, modern=True)
    results = [answer(server, message)["result"] for message in (modern, rpc("tools/list", {}), modern)]

    assert ["resultType" in result for result in results] == [True, False, True]
    assert [[tool["name"] for tool in result["tools"]] for result in results] == [TOOL_NAMES] * 3


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (rpc("ping", {}, modern=True), -32601),
        (rpc("server/discover", {}), -32602),
        (rpc("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}), -32022),
        (rpc("tools/list", {"_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}), -32602),
        (rpc("tools/list", {"cursor": "x"}), -32602),
    ],
    ids=["modern ping", "discovery without its keys", "another version", "half a modern request", "a cursor"],
)
def test_what_an_era_has_not_is_refused(server: Server, message: object, code: int) -> None:
    assert answer(server, message)["error"]["code"] == code


def test_a_cursor_is_refused_with_what_to_do(server: Server) -> None:
    told = answer(server, rpc("tools/list", {"cursor": "x"}))["error"]["message"]

    assert told == "Invalid params: there is one page, ask for it without a cursor"


def test_over_http_the_headers_of_a_modern_request_must_repeat_its_body(server: Server) -> None:
    call = rpc("tools/call", {"name": "fine", "arguments": {}}, modern=True)

    good = answer(server, call, modern_http("tools/call", "fine"))
    bad = answer(server, call, modern_http("tools/call", "another"))
    bare = answer(server, call, over_http())

    assert good["result"]["structuredContent"] == {"n": 1}
    assert [reply["error"]["code"] for reply in (bad, bare)] == [-32020, -32020]


def test_a_version_header_of_the_modern_era_makes_any_body_modern(server: Server) -> None:
    reply = server.receive(json.dumps(rpc("tools/list", {})).encode(), over_http(mcp_protocol_version="2026-07-28"))

    assert isinstance(reply, Reply)
    assert (reply.code, reply.modern) == (-32602, True)


def test_over_http_a_posted_response_is_refused_in_the_modern_era_and_heard_before_it(server: Server) -> None:
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}

    assert answer(server, response, over_http(mcp_protocol_version="2026-07-28"))["error"]["code"] == -32600
    assert answer(server, response, over_http(mcp_protocol_version="2025-06-18")) is None
    assert answer(server, response, over_http(mcp_protocol_version="1999-01-01"))["error"]["code"] == -32022


# --- progress


def test_progress_goes_to_the_channel_under_its_token(server: Server) -> None:
    messages: list[bytes] = []
    params = {"name": "ticks", "arguments": {"n": 2}, "_meta": {"progressToken": "t"}}

    answer(server, rpc("tools/call", params), ClientChannel(notify=messages.append))

    assert [json.loads(message) for message in messages] == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "t", "progress": done, "message": f"step {done}"},
        }
        for done in (0, 1)
    ]


@pytest.mark.parametrize("modern", [False, True])
def test_progress_that_nobody_asked_for_goes_nowhere(server: Server, modern: bool) -> None:
    messages: list[bytes] = []
    call = rpc("tools/call", {"name": "ticks", "arguments": {"n": 2}}, modern=modern)

    answer(server, call, ClientChannel(notify=messages.append))

    assert messages == []


# --- the envelope


def test_on_stdio_an_envelope_is_opened_and_over_http_it_is_an_unknown_method(server: Server) -> None:
    envelope = invocation("odd.fine", {"n": 3})

    assert answer(server, envelope)["result"] == {"n": 3}
    assert answer(server, envelope, over_http())["error"]["code"] == -32601


def test_an_envelope_that_is_no_frame_is_known_by_its_params(server: Server) -> None:
    spoilt = {**invocation("odd.fine", {}), "jsonrpc": "1.0"}

    assert answer(server, spoilt)["error"] == {
        "code": -32602,
        "message": "Invalid params",
        "data": {"canonical_code": "INVALID_INPUT"},
    }


def test_a_path_that_names_another_tool_is_refused(server: Server) -> None:
    message = json.dumps(invocation("odd.fine", {})).encode()

    named, other = server.invoke(message, "odd.fine"), server.invoke(message, "odd.waits")

    assert isinstance(named, Reply)
    assert isinstance(other, Reply)
    assert (named.code, other.code) == (0, -32602)


@pytest.mark.parametrize("is_broken", [False, True], ids=["sound", "broken"])
def test_the_call_of_an_envelope_knows_the_door_that_it_came_through(server: Server, is_broken: bool) -> None:
    message = json.dumps(invocation("odd.fine", "none" if is_broken else {"n": 3})).encode()

    replies = [server.invoke(message, "odd.fine"), server.invoke(message), server.receive(message, QUIET)]

    over_stdio = Door("stdio", "mcp.tool.invoke", "stdio envelope")
    by_path = Door("http", "/mcp/tool/odd.fine", "http envelope")
    assert [reply.outcome.call.door for reply in replies if isinstance(reply, Reply)] == [
        by_path,
        over_stdio,
        over_stdio,
    ]


# --- faults, by how MCP shows each


@pytest.mark.spec("1.S4.1.bug")
@pytest.mark.parametrize(
    ("name", "code"),
    [("raises", -32603), ("lies", -32603), ("nobody", -32602)],
)
def test_a_fault_that_a_model_cannot_act_on_is_an_error(server: Server, name: str, code: int) -> None:
    reply = answer(server, rpc("tools/call", {"name": name}))

    assert reply["error"]["code"] == code
    assert "canonical_code" in reply["error"]["data"]


@pytest.mark.parametrize(("name", "arguments"), [("missing", {}), ("fine", {"n": -1})])
def test_a_fault_that_a_model_can_act_on_is_a_result(server: Server, name: str, arguments: dict[str, Any]) -> None:
    reply = answer(server, rpc("tools/call", {"name": name, "arguments": arguments}))

    assert reply["result"]["isError"] is True


# --- the beginning and the end


class Recorded:
    """An upstream that notes what becomes of it."""

    origin = "https://recorded.example"
    has_token = False

    def __init__(self, name: str, events: list[str]) -> None:
        self._name, self._events = name, events

    def warm(self) -> None:
        self._events.append(f"{self._name} warmed")

    async def close(self) -> None:
        self._events.append(f"{self._name} closed")


def test_upstreams_are_warmed_and_closed_and_the_last_word_is_the_callers(tmp_path: Path) -> None:
    events: list[str] = []
    pipeline = misbehaving_server.build(str(tmp_path)).pipeline
    upstreams: Any = (Recorded("one", events), Recorded("two", events))
    server = Server(pipeline, Identity("x", "1"), "", upstreams, lambda: events.append("over"))

    server.warm()
    asyncio.run(server.close())

    assert events == ["one warmed", "two warmed", "one closed", "two closed", "over"]


# --- threads


def test_a_message_may_be_received_by_any_thread(server: Server) -> None:
    """Doors hand large bodies to threads; what has to be awaited is awaited on the loop."""

    async def scene(name: str) -> Any:
        message = json.dumps(rpc("tools/call", {"name": name, "arguments": {"n": 7}})).encode()
        replies = await asyncio.gather(*[asyncio.to_thread(server.receive, message, QUIET) for _ in range(16)])
        bodies = [(await reply.reply if isinstance(reply, Pending) else reply).body for reply in replies if reply]
        return {body: bodies.count(body) for body in bodies}

    for name in ("fine", "waits"):
        (seen,) = asyncio.run(scene(name)).items()

        assert seen[1] == 16
        assert json.loads(seen[0])["result"]["isError"] is False


@pytest.mark.parametrize(("size", "in_thread"), [(1_000, False), (300_000, True)])
def test_a_large_result_is_written_into_its_reply_by_a_thread(tmp_path: Path, size: int, *, in_thread: bool) -> None:
    threads: list[int] = []

    def blocks(result: Any) -> list[Any]:
        threads.append(threading.get_ident())
        return [{"type": "text", "text": result["text"]}]

    @tool(name="long", slug="test.long", title="long", to_content=blocks)
    async def long(args: dict[str, Any], ctx: Context) -> Any:
        """Returns a long text."""
        return {"text": "x" * size}

    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/test.long.json").write_text('{"tool":"test.long","input":{"type":"object"}}')
    registry = SchemaRegistry(schema_root=SCHEMA_ROOT, tool_roots=(str(tmp_path),))
    server = Server(Pipeline(Toolbox((long,)), registry), Identity("test", "1"), "")

    found = answer(server, rpc("tools/call", {"name": "long", "arguments": {}}))

    assert found["result"]["content"] == [{"type": "text", "text": "x" * size}]
    assert [thread != threading.get_ident() for thread in threads] == [in_thread]


@pytest.mark.parametrize(
    ("modern", "is_http", "refused"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_headers_that_repeat_arguments_are_compared_over_http_in_the_modern_era_alone(
    tmp_path: Path, modern: bool, is_http: bool, refused: bool
) -> None:
    server = misbehaving_server.build(str(tmp_path))
    server._param_headers["fine"] = [ParamHeader("mcp-param-n", ("n",), "integer")]
    headers = {**(modern_headers("tools/call", "fine") if modern else {}), "mcp-param-n": "8"}
    channel = ClientChannel(
        door=HTTP_MCP if is_http else QUIET.door, headers=Headers(list(headers), [*headers.values()])
    )

    told = answer(server, rpc("tools/call", {"name": "fine", "arguments": {"n": 7}}, modern=modern), channel)

    assert ("error" in told) is refused
