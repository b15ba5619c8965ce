"""Every request is answered, whatever the server does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from signet.kernel.errors import Fault
from signet.kernel.outcome import Call, PreparedCall, Relayed
from signet.kernel.pipeline import Pipeline
from signet.kernel.relay import RpcRequest
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import NULL_CONTEXT, Toolbox
from signet.kernel.wire import Reply
from signet.mcp.snapshot import Snapshot
from signet.relay import wrapped_server
from signet.relay.blocking import Blocked
from signet.relay.listing import Terms, list_tools
from signet.relay.pool import Pool
from signet.relay.requests import replied

from .scripted_link import AnsweringLink, ScriptedLink, calling, nothing, opened, until, wrapped

SCHEMAS = Path(__file__).parents[2] / "src/signet/schemas"


def test_a_list_that_does_not_come_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapped_server, "LIST_S", 0.01)

    async def run() -> None:
        server = wrapped([AnsweringLink({"tools/list": None})])
        with pytest.raises(Fault, match=r"cannot be listed: it does not answer within 0\.01 s"):
            await server.snapshot(None)
        await server.close()

    asyncio.run(run())


@pytest.mark.parametrize("spelt", ["1.0", "1e0", "1"])
def test_a_reply_whose_id_is_spelt_otherwise_ends_its_request(spelt: str) -> None:
    async def run() -> bytes:
        link = ScriptedLink()
        exchange = (await opened(link)).start("ping", b"{}")
        link.receive(b'{"jsonrpc":"2.0","id":%s,"result":{"n":1}}' % spelt.encode())
        assert exchange.reply.done()
        return bytes(exchange.reply.result().result or b"")

    assert asyncio.run(run()) == b'{"n":1}'


@pytest.mark.parametrize("spelt", ["1.5", '"1.0"', '"1"', "true", '"x"', "-1", "null", "1e300", '"' + "9" * 5000 + '"'])
def test_a_reply_to_nothing_ends_nothing(spelt: str) -> None:
    async def run() -> None:
        link = ScriptedLink()
        exchange = (await opened(link)).start("ping", b"{}")
        link.receive(b'{"jsonrpc":"2.0","id":%s,"result":{}}' % spelt.encode())
        assert not exchange.reply.done()

    asyncio.run(run())


def test_an_error_that_cannot_be_read_ends_its_request() -> None:
    async def run() -> bytes:
        link = ScriptedLink()
        exchange = (await opened(link)).start("ping", b"{}")
        link.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":1e999,"message":"?"}}')
        assert exchange.reply.done()
        return bytes(exchange.reply.result().error or b"")

    assert b"no JSON-RPC error" in asyncio.run(run())


def test_structured_content_that_is_no_value_breaks_its_promise() -> None:
    entry = Raw(b'{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}')
    [listed] = list_tools([entry], Terms("s", "", {}, lambda *_: nothing, nothing))
    pipeline = Pipeline(Toolbox((listed.tool,)), SchemaRegistry(schema_root=SCHEMAS))
    prepared = PreparedCall(Call("t", {}, NULL_CONTEXT), listed.tool, listed.compile(), {})

    outcome = pipeline.finish(prepared, Relayed(b"{}", modern=False, structured=Raw(b'{"a":1e999}')))

    assert outcome.fault is not None
    assert (outcome.fault.name, outcome.relayed) == ("INVALID_OUTPUT", None)


def test_whoever_waits_for_a_start_that_is_ended_is_told() -> None:
    async def run() -> None:
        pool = Pool("s", "session")
        waiting = asyncio.ensure_future(pool.dialogue("one", asyncio.get_running_loop().create_future))
        await asyncio.sleep(0)
        pool.end("one")
        with pytest.raises(Fault, match="ended before it had begun"):
            await waiting
        await pool.close()

    asyncio.run(run())


def test_a_server_that_could_not_be_listed_is_ended_without_a_failure() -> None:
    async def run() -> None:
        server = wrapped([AnsweringLink({"tools/list": {"tools": 1}})])

        async def judge(_: Snapshot) -> Blocked:
            raise AssertionError("there is nothing to judge")

        server.judge = judge
        with pytest.raises(Fault, match="cannot be listed"):
            await server.dialogue(None)
        await server.close()

    asyncio.run(run())


def test_an_instance_of_one_call_ends_with_the_server() -> None:
    async def run() -> None:
        link = AnsweringLink({})
        server = wrapped([link], pool="call")
        caller: RpcRequest = calling("ask", [], modern=True)
        calls = asyncio.ensure_future(server.exchange("tools/call", caller.raw, caller))
        await until(lambda: link.requests("tools/call"))
        asked: Any = {"method": "elicitation/create", "params": {}}
        link.say(id=9, **asked)
        await calls

        await server.close()

        assert link.is_closed

    asyncio.run(run())


def test_a_request_that_cannot_be_handled_is_answered() -> None:
    async def broken() -> Reply:
        raise KeyError("x")

    request = calling("t", [])
    reply = asyncio.run(replied(request, broken()))

    assert (reply.code, b"KeyError" in reply.body) == (-32603, True)
