"""Exchanges on stdio: what is told of a message that is answered, refused or cancelled."""

from __future__ import annotations

import json

import pytest

import misbehaving_server
from door_calls import invocation, rpc
from signet.kernel.channel import ClientChannel
from signet.kernel.errors import Code, Fault
from signet.kernel.exchange import Exchange
from signet.kernel.server import Server
from signet.kernel.wire import Reply
from signet.transports.message_exchanges import MessageNotes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))


def exchange_of(server: Server, line: bytes) -> Exchange:
    """Answer a line, and return what is told of it."""
    seen: list[Exchange] = []
    notes = MessageNotes(seen.append, server.pipeline.toolbox)
    message = notes.begin(line)
    reply = server.receive(line, ClientChannel())
    assert isinstance(reply, Reply)
    assert notes.note(message, reply) is reply
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

    exchange = exchange_of(server, line)

    assert (exchange.door, exchange.request, exchange.status, exchange.refusal)[: len(told)] == told
    assert exchange.took_s > 0


def test_a_reply_that_cannot_be_told_is_an_error_with_its_id(server: Server) -> None:
    def fail(_: Exchange) -> None:
        raise Fault(Code.INTERNAL_ERROR, "no log", name="AUDIT_UNAVAILABLE", status=503)

    notes = MessageNotes(fail, server.pipeline.toolbox)
    line = json.dumps(rpc("ping", {}, request_id="p1")).encode()
    reply = server.receive(line, ClientChannel())
    assert isinstance(reply, Reply)

    error = json.loads(notes.note(notes.begin(line), reply).body)

    assert (error["id"], error["error"]["code"], error["error"]["message"]) == ("p1", -32603, "no log")
