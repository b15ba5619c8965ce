"""Messages before a reply, to a client that does not read them: what is kept has a bound, and the reply comes."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from processes import PATIENCE_S
from signet.kernel.channel import ClientChannel
from signet.kernel.events import Events
from signet.kernel.outcome import Call, Pending
from signet.kernel.server import HTTP_MCP
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.wire import Reply, success
from signet.transports.conversation import Conversation
from signet.transports.http import McpDoor
from signet.transports.messages import Request, Response

REPORT = b'"' + b"x" * (1 << 20) + b'"'
COUNT = 40
BOUND_BYTES = 12 << 20


class Reporting:
    """Answers each request after many reports of 1 MiB."""

    upstreams = ()

    def __init__(self) -> None:
        self.events = Events()
        self.goes_on = asyncio.Event()

    def receive(self, _: bytes, channel: ClientChannel) -> Pending:
        for _number in range(COUNT):
            channel.notify(REPORT)

        async def reply() -> Reply:
            await self.goes_on.wait()
            return success(1, b'{"last":true}')

        return Pending(1, reply(), Call("t", {}, NULL_CONTEXT, HTTP_MCP))


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "application/json"])
def test_over_http_reports_that_nobody_reads_are_bounded_and_the_reply_comes(accept: str) -> None:
    async def work() -> None:
        server: Any = Reporting()
        answer: Any = McpDoor(server).answer(Request("POST", "/mcp", {"accept": accept}, body=b"{}"))
        server.goes_on.set()
        response: Response = await answer
        events = [event async for event in response.events] if response.events is not None else [response.body]
        assert b'"last":true' in events[-1]
        assert (len(events) > 1) == ("event-stream" in accept)
        assert sum(map(len, events)) < BOUND_BYTES

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_on_stdio_reports_that_nobody_reads_are_bounded() -> None:
    source, wire = os.pipe()
    os.set_blocking(wire, False)

    async def work() -> None:
        server: Any = Reporting()
        conversation = Conversation(server, wire, source)
        conversation.open()
        conversation.take(b"{}\n")
        assert 1 << 20 < conversation._out.backlog_bytes < BOUND_BYTES
        asyncio.get_running_loop().remove_writer(wire)

    try:
        asyncio.run(asyncio.wait_for(work(), PATIENCE_S))
    finally:
        os.close(source)
        os.close(wire)
