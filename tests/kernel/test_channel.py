"""The channel of a message: its door, and what one connection settles without touching another."""

from __future__ import annotations

import json

import pytest

import misbehaving_server
from door_calls import rpc
from signet.kernel.channel import HTTP_MCP, STDIO_MCP, ClientChannel
from signet.kernel.server import Server
from signet.kernel.wire import Headers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return misbehaving_server.build(str(tmp_path_factory.mktemp("contracts")))


def test_told_nothing_a_channel_is_that_of_standard_input_and_nobody_listens() -> None:
    channel = ClientChannel()

    channel.notify(b"{}")
    channel.cancel(1)

    assert channel.door is STDIO_MCP
    assert channel.headers.get("mcp-protocol-version") is None


def test_both_doors_of_mcp_take_tools_by_name_and_are_told_apart_in_the_journal() -> None:
    assert (STDIO_MCP.transport, STDIO_MCP.route, STDIO_MCP.name) == ("stdio", "tools/call", "stdio mcp")
    assert (HTTP_MCP.transport, HTTP_MCP.route, HTTP_MCP.name) == ("http", "/mcp", "http mcp")
    assert STDIO_MCP.by_name is HTTP_MCP.by_name is True


def test_a_request_over_http_keeps_its_headers() -> None:
    channel = ClientChannel(door=HTTP_MCP, headers=Headers(["mcp-protocol-version"], ["2025-06-18"]))

    assert channel.headers.get("mcp-protocol-version") == "2025-06-18"


def test_what_initialize_settles_holds_for_its_connection_and_no_other(server: Server) -> None:
    one, other = ClientChannel(), ClientChannel()
    asked = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "one", "version": "1"}}

    server.receive(json.dumps(rpc("initialize", asked)).encode(), one)

    assert (one.agreement.version, other.agreement.version) == ("2024-11-05", "")


def test_a_cancellation_reaches_the_connection_that_it_came_from(server: Server) -> None:
    cancelled: list[object] = []
    channel = ClientChannel(cancel=cancelled.append)

    server.receive(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}', channel)

    assert cancelled == ["a"]
