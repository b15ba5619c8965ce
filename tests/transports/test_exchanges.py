"""Exchanges: one for each request or message, also where its client has left, and none sent that was refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any

import pytest

import misbehaving_server
from door_calls import invocation, rpc
from signet.kernel.caller import Principal
from signet.kernel.channel import ClientChannel
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.server import Server
from signet.kernel.tools import NULL_CONTEXT, Toolbox
from signet.kernel.wire import Headers, Reply
from signet.transports.exchanges import MessageExchanges, RequestExchanges, settle
from signet.transports.guard import Guard
from signet.transports.messages import Request, Response
from signet.transports.web_app import App

DOOR = Door("http", "/api/tools/fine", "rest", by_name=True)
REFUSAL = Response(503)


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts"))).pipeline.toolbox


def refuse(_: Request | None, fault: Fault) -> Response:
    assert fault.name == "AUDIT_UNAVAILABLE"
    return REFUSAL


def fail(_: Exchange) -> None:
    raise Fault(Code.INTERNAL_ERROR, "no", name="AUDIT_UNAVAILABLE", status=503)


def asked(tool: str = "fine") -> Request:
    return Request("POST", "/x", Headers((), ()), call=Call(tool, {}, NULL_CONTEXT, DOOR))


def test_a_response_is_told_and_sent_or_refused(toolbox: Toolbox) -> None:
    seen: list[Exchange] = []
    response = Response(200, b"body")

    assert RequestExchanges(seen.append, refuse, toolbox).answered(asked(), response, "a") is response
    assert RequestExchanges(fail, refuse, toolbox).answered(asked(), response, "a") is REFUSAL
    assert [(one.status, one.sent_bytes, one.is_left) for one in seen] == [(200, 4, False)]


@pytest.mark.parametrize(("tool", "slug"), [("fine", True), ("nobody", False)])
def test_a_client_that_leaves_is_told_once_with_the_tool_that_it_called(
    toolbox: Toolbox, tool: str, *, slug: bool
) -> None:
    seen: list[Exchange] = []
    exchanges = RequestExchanges(seen.append, refuse, toolbox)

    async def leave() -> None:
        waiting = asyncio.ensure_future(exchanges.unless_left(asked(tool), asyncio.Event().wait()))
        await asyncio.sleep(0)
        waiting.cancel()
        await settle()
        assert waiting.cancelled()

    asyncio.run(leave())

    (exchange,) = seen
    assert (exchange.status, exchange.is_left) == (499, True)
    assert exchange.outcome is not None
    assert (exchange.outcome.tool is not None) is slug
    RequestExchanges(fail, refuse, toolbox).left(asked(), Response(200))


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_stream_is_told_before_its_last_event_or_when_it_is_left(toolbox: Toolbox, *, is_finished: bool) -> None:
    seen: list[Exchange] = []
    request = asked()
    taken: list[bytes] = []

    async def events() -> AsyncGenerator[bytes, None]:
        yield b"progress"
        request.outcome = Outcome(asked().call or Call("x", {}, NULL_CONTEXT), None)
        yield b"answer"

    async def take() -> None:
        stream = RequestExchanges(seen.append, refuse, toolbox).during(request, Response(200), events())
        async for event in stream:
            taken.append(event)
            assert bool(seen) is (event == b"answer")
            if not is_finished:
                break
        await stream.aclose()

    asyncio.run(take())

    assert taken == [b"progress", b"answer"][: 1 + is_finished]
    assert [one.is_left for one in seen] == [not is_finished]


def test_a_request_without_a_head_is_told_by_its_address(toolbox: Toolbox) -> None:
    seen: list[Exchange] = []

    RequestExchanges(seen.append, refuse, toolbox).answered(None, Response(400, refusal="BAD_REQUEST"), "192.0.2.1")

    assert [(one.caller.address, one.refusal) for one in seen] == [("192.0.2.1", "BAD_REQUEST")]


class SlowDoor:
    """Knows who calls after a while, or breaks."""

    def __init__(self, *, is_broken: bool) -> None:
        self._is_broken = is_broken

    def identify(self, _: str) -> Awaitable[Principal | Fault]:
        return self._identify()

    def challenge(self, _: Fault) -> str:
        return "Bearer"

    def reload(self) -> None:
        pass

    async def _identify(self) -> Principal | Fault:
        await asyncio.sleep(0)
        if self._is_broken:
            raise LookupError("secret")
        return Principal("ann")


def answer_of(app: App, request: Request, told: list[dict[str, Any]]) -> Response:
    async def answer() -> Response:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        assert app.admit(request) is None
        answer = app.answer(request)
        response = answer if isinstance(answer, Response) else await answer
        return app.record(request, response, "a")

    return asyncio.run(answer())


@pytest.mark.parametrize("is_audited", [True, False])
@pytest.mark.parametrize("breaks", ["the identification", "the answer"])
def test_an_unexpected_error_is_answered_and_told_and_nobody_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaks: str, *, is_audited: bool
) -> None:
    seen: list[Exchange] = []
    told: list[dict[str, Any]] = []
    server = misbehaving_server.build(str(tmp_path))
    guard = Guard(authenticator=SlowDoor(is_broken=breaks == "the identification"))
    app = App(server, guard, {"version": "1"}, events=Events(exchange=seen.append if is_audited else None))

    async def broken(_: Request) -> Response:
        raise LookupError("secret")

    monkeypatch.setattr(app, "_answer_in_thread", broken)
    head = Headers(("host", "content-type"), ("localhost", "application/json"))

    response = answer_of(app, Request("POST", "/api/tools/fine", head, body=b" " * 70_000), told)

    assert (response.status, json.loads(response.body)["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert b"secret" not in response.body
    assert [type(context["exception"]) for context in told] == [LookupError], "it is logged"
    noted = [(one.status, one.refusal, one.is_left) for one in seen]
    assert noted == ([(500, "INTERNAL_ERROR", False)] if is_audited else [])


def test_a_body_of_another_type_is_refused_with_the_name_of_a_caller_who_is_known_later(tmp_path: Path) -> None:
    seen: list[Exchange] = []
    server = misbehaving_server.build(str(tmp_path))
    app = App(
        server, Guard(authenticator=SlowDoor(is_broken=False)), {"version": "1"}, events=Events(exchange=seen.append)
    )
    request = Request("POST", "/api/tools/fine", Headers(("host", "content-type"), ("localhost", "text/plain")))

    assert answer_of(app, request, []).status == 415
    assert [(one.refusal, one.caller.name) for one in seen] == [("UNSUPPORTED_MEDIA_TYPE", "ann")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))


def told_of(server: Server, line: bytes) -> Exchange:
    """Answer a line, and return what is told of it."""
    seen: list[Exchange] = []
    exchanges = MessageExchanges(seen.append, server.pipeline.toolbox)
    message = exchanges.begin(line)
    reply = server.receive(line, ClientChannel())
    assert isinstance(reply, Reply)
    assert exchanges.answered(message, reply) is reply
    (exchange,) = seen
    return exchange


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (rpc("ping", {}), ("stdio mcp", "ping", 200, "")),
        (rpc("tools/call", {"name": "fine", "arguments": {"n": 1}}), ("stdio mcp", "tools/call", 200, "")),
        (rpc("nothing", {}), ("stdio mcp", "nothing", 400, "METHOD_NOT_FOUND")),
        (rpc("tools/list", {"cursor": 1}), ("stdio mcp", "tools/list", 400, "INVALID_PARAMS")),
        (invocation("odd.fine", {"n": 1}), ("stdio envelope", "mcp.tool.invoke")),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, ("stdio mcp", "", 400, "INVALID_REQUEST")),
        ("[" * 5000, ("stdio mcp", "", 400)),
    ],
    ids=str,
)
def test_a_message_is_told_by_door_method_status_and_refusal(
    server: Server, message: object, told: tuple[object, ...]
) -> None:
    line = message.encode() if isinstance(message, str) else json.dumps(message).encode()

    exchange = told_of(server, line)

    assert (exchange.door, exchange.request, exchange.status, exchange.refusal)[: len(told)] == told
    assert exchange.took_s > 0


def test_a_reply_that_cannot_be_told_is_an_error_with_its_id(server: Server) -> None:
    def fail(_: Exchange) -> None:
        raise Fault(Code.INTERNAL_ERROR, "no log", name="AUDIT_UNAVAILABLE", status=503)

    exchanges = MessageExchanges(fail, server.pipeline.toolbox)
    line = json.dumps(rpc("ping", {}, request_id="p1")).encode()
    reply = server.receive(line, ClientChannel())
    assert isinstance(reply, Reply)

    error = json.loads(exchanges.answered(exchanges.begin(line), reply).body)

    assert (error["id"], error["error"]["code"], error["error"]["message"]) == ("p1", -32603, "no log")
