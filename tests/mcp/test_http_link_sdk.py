"""A link over HTTP to the official SDK's servers: with sessions and without, answers as JSON and as events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from pydantic import BaseModel

from remote_servers import Peer, linked, run, serving_asgi
from signet.mcp.link import Outgoing

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SHAPES = [(False, False), (False, True), (True, False), (True, True)]


class Answer(BaseModel):
    """What the tool wants to be told."""

    colour: str


class Store(EventStore):
    """Keeps the events of all streams, so that they can be resumed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        stream_id = self.events[int(last_event_id) - 1][0]
        for number, (stream, message) in enumerate(self.events[int(last_event_id) :], int(last_event_id) + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def new_server() -> MCPServer:
    server = MCPServer("remote")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Ask the user for a colour."""
        answer = await ctx.elicit("Which colour?", Answer)
        return f"{answer.action}: {answer.data.colour}"

    @server.tool()
    async def poll(ctx: Context) -> str:
        """End the stream in the middle of the call."""
        await ctx.close_sse_stream()
        await asyncio.sleep(0.05)
        return "after the cut"

    @server.tool()
    async def work(ctx: Context) -> str:
        """Report progress."""
        await ctx.report_progress(1, 2, "half")
        return "done"

    return server


def call(peer: Peer, number: int, name: str, arguments: Any, version: str, meta: Any = None) -> None:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    params |= {"_meta": meta} if meta else {}
    peer.send("tools/call", params, id=number, version=version, name=name)


@pytest.mark.parametrize(("stateless", "as_json"), SHAPES)
def test_the_handshake_era_lists_and_calls(stateless: bool, as_json: bool) -> None:
    async def talk() -> tuple[Any, Any, Any]:
        app = new_server().streamable_http_app(stateless_http=stateless, json_response=as_json)
        async with serving_asgi(app) as origin, linked(f"{origin}/mcp") as peer:
            opened = await peer.shake_hands()
            peer.send("tools/list", id=1, version=HANDSHAKE)
            listed = await peer.reply(1)
            call(peer, 2, "add", {"a": 2, "b": 3}, HANDSHAKE)
            return opened, listed, await peer.reply(2)

    opened, listed, called = run(talk())

    assert opened["result"]["serverInfo"]["name"] == "remote"
    assert {tool["name"] for tool in listed["result"]["tools"]} == {"add", "ask", "poll", "work"}
    assert called["result"]["structuredContent"] == {"result": 5}


@pytest.mark.parametrize(("stateless", "as_json"), SHAPES)
def test_the_modern_era_discovers_calls_and_is_told_of_errors(stateless: bool, as_json: bool) -> None:
    async def talk() -> tuple[Any, Any, Any]:
        app = new_server().streamable_http_app(stateless_http=stateless, json_response=as_json)
        async with serving_asgi(app) as origin, linked(f"{origin}/mcp") as peer:
            peer.send("server/discover", {"_meta": META}, id=1, version=MODERN)
            found = await peer.reply(1)
            call(peer, 2, "add", {"a": 2, "b": 3}, MODERN, META)
            called = await peer.reply(2)
            peer.send("no/such", {"_meta": META}, id=3, version=MODERN)
            return found, called, await peer.reply(3)

    found, called, unknown = run(talk())

    assert MODERN in found["result"]["supportedVersions"]
    assert called["result"]["structuredContent"] == {"result": 5}
    assert unknown["error"]["code"] == -32601


def test_a_server_asks_during_a_call_and_gets_its_answer() -> None:
    async def talk() -> tuple[Any, Any]:
        app = new_server().streamable_http_app()
        async with serving_asgi(app) as origin, linked(f"{origin}/mcp") as peer:
            await peer.shake_hands(capabilities={"elicitation": {}})
            call(peer, 1, "ask", {}, HANDSHAKE)
            await peer.until(lambda: any(one.get("method") == "elicitation/create" for one in peer.messages))
            question = next(one for one in peer.messages if one.get("method") == "elicitation/create")
            reply = {"action": "accept", "content": {"colour": "blue"}}
            body = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": reply}).encode()
            peer.link.send(Outgoing(body, version=HANDSHAKE))
            return question["params"]["message"], (await peer.reply(1))["result"]["content"][0]["text"]

    assert run(talk()) == ("Which colour?", "accept: blue")


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN])
def test_progress_comes_before_the_reply(version: str) -> None:
    meta = {"progressToken": 7} | (META if version == MODERN else {})

    async def talk() -> list[Any]:
        app = new_server().streamable_http_app()
        async with serving_asgi(app) as origin, linked(f"{origin}/mcp") as peer:
            if version == HANDSHAKE:
                await peer.shake_hands()
            call(peer, 1, "work", {}, version, meta)
            await peer.reply(1)
            return peer.messages[-2:]

    progress, reply = run(talk())

    assert (progress["method"], progress["params"]["progressToken"]) == ("notifications/progress", 7)
    assert reply["result"]["content"][0]["text"] == "done"


def test_a_call_whose_stream_the_server_ends_is_polled_for() -> None:
    async def talk() -> Any:
        app = new_server().streamable_http_app(event_store=Store(), retry_interval=20)
        async with serving_asgi(app) as origin, linked(f"{origin}/mcp") as peer:
            await peer.shake_hands()
            call(peer, 1, "poll", {}, HANDSHAKE)
            return await peer.reply(1)

    assert run(talk())["result"]["content"][0]["text"] == "after the cut"


def test_a_session_that_ended_is_a_loss() -> None:
    async def talk() -> list[str]:
        app = new_server().streamable_http_app(json_response=True)
        async with serving_asgi(app) as origin, linked(f"{origin}/mcp") as peer:
            await peer.shake_hands()
            assert peer.link._streams is not None
            peer.link._streams.session_id = "another"
            peer.send("tools/list", id=1, version=HANDSHAKE)
            await peer.until(lambda: bool(peer.losses))
            return peer.losses

    assert run(talk()) == ["its session ended"]
