"""What may change something is sent once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signet.kernel.channel import Session
from signet.kernel.errors import Fault
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.relay.catalogue import Catalogue
from signet.relay.relay import ServerRelay
from signet.relay.wrapped_server import WrappedServer

from .scripted_link import AnsweringLink, calling, nothing, requesting, until, wrapped

SESSION = Session(id="one", version="2025-11-25")


def relaying(server: WrappedServer) -> ServerRelay:
    relay = ServerRelay(nothing)
    registry = SchemaRegistry(schema_root="schemas")
    relay.catalogue = relay.notices.catalogue = Catalogue(
        [server], Toolbox(), registry, Identity("test", "1"), prefixed=False, log=nothing
    )
    return relay


def test_a_state_that_is_not_held_any_more_does_not_begin_the_call_anew() -> None:
    async def run() -> None:
        link = AnsweringLink({"tools/call": {"content": []}})
        server = wrapped([link])
        caller = calling("pay", [], modern=True, requestState="from yesterday", inputResponses={})

        with pytest.raises(Fault, match="requestState"):
            await server.exchange("tools/call", caller.raw, caller, may_repeat=False)

        assert link.requests("tools/call") == []
        await server.close()

    asyncio.run(run())


def test_a_method_that_nobody_knows_here_is_not_sent_again() -> None:
    async def run() -> None:
        links = [AnsweringLink({}), AnsweringLink({"vendor/pay": {}})]
        server = wrapped(links)
        task = asyncio.ensure_future(relaying(server)._relay(requesting("vendor/pay", SESSION)))
        await until(lambda: links[0].requests("vendor/pay"))

        links[0].lose("it ended")

        with pytest.raises(Fault, match="it may have happened"):
            await task
        assert links[1].sent == []
        await server.close()

    asyncio.run(run())


def test_a_method_of_the_other_era_is_refused_before_the_server_has_it() -> None:
    async def run() -> None:
        link = AnsweringLink({"vendor/pay": {}})
        server = wrapped([link])

        answer = await relaying(server)._relay(requesting("vendor/pay", SESSION, modern=True))

        assert b"Method not found" in bytes(answer.error or b"")
        assert link.requests("vendor/pay") == []
        await server.close()

    asyncio.run(run())


def test_a_server_that_is_lost_between_two_rounds_has_got_the_call() -> None:
    async def run() -> None:
        asks: dict[str, Any] = {"resultType": "input_required", "inputRequests": {}, "requestState": "1"}
        links = [AnsweringLink({}, modern=True), AnsweringLink({"tools/call": {"content": []}}, modern=True)]
        server = wrapped(links)
        caller = calling("pay", [])
        task = asyncio.ensure_future(server.exchange("tools/call", caller.raw, caller, may_repeat=False))
        await until(lambda: links[0].requests("tools/call"))
        number = links[0].requests("tools/call")[0]["id"]

        links[0].say(id=number, result=asks)
        links[0].lose("it ended")

        with pytest.raises(Fault, match="it may have happened"):
            await task
        assert links[1].sent == []
        await server.close()

    asyncio.run(run())
