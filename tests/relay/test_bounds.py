"""What servers can make grow has a bound."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from msgspec import Raw

from signet.app import build_server
from signet.kernel.caller import Caller
from signet.kernel.errors import Fault
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.mcp.link import LinkError
from signet.mcp.messages import notification, request
from signet.mcp.session import ClientSession
from signet.relay import pool as pools
from signet.relay.listing import Listed, Terms, list_tools, over_budget
from signet.relay.pool import Pool
from signet.relay.wrapped_server import MAX_IN_FLIGHT, MAX_WAITING
from signet.settings.model import Settings
from signet.transports import http
from signet.transports.conversation import Conversation

from .listing_link import ScriptedLink as ListingLink
from .listing_link import caller, relay_of
from .scripted_link import ScriptedLink, nothing, opened

SCHEMAS = Path(__file__).parents[2] / "src/signet/schemas"


def listed(*names: str) -> list[Listed]:
    entries = [Raw(b'{"name":"%s","inputSchema":{"type":"object"}}' % name.encode()) for name in names]
    return list_tools(entries, Terms("s", "", {}, lambda *_: nothing, nothing))


def test_tools_that_are_listed_no_more_leave_nothing_behind() -> None:
    registry = SchemaRegistry(schema_root=SCHEMAS)
    for number in range(5):
        [one] = listed(f"t{number}")
        registry.put({one.tool.slug: one.bundle}, {one.tool.slug: one.compile})
        registry.load_tool_io(one.tool.slug)

    assert list(registry._bundles) == ["s.t4"]
    assert sorted(registry.compiled) == sorted(["s.t4", one.tool.id])
    with pytest.raises(KeyError):
        registry.load_tool_io("s.t0")


def test_the_name_of_one_tool_may_be_the_slug_of_another() -> None:
    tools = [one.tool for one in listed("x", "s.x")]

    assert [tool.name for tool in Toolbox(tuple(tools))] == ["x", "s.x"]


def test_a_client_that_does_not_read_misses_notifications_and_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_UNREAD_BYTES", 1000)
    unread = http._Progress()
    for number in range(1000):
        unread.push(notification("notifications/progress", b'{"progress":%d}' % number))
    unread.push(request("q", "roots/list", b"{}"))

    assert len(unread._messages) < 50
    assert b"roots/list" in unread._messages[-1]


def test_a_start_for_one_call_ends_the_pauses_and_none_is_made_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "FIRST_PAUSE_S", 0.001)

    async def run() -> None:
        pool = Pool("s", "call")

        async def fail() -> ClientSession:
            raise LinkError("no")

        async def begin() -> ClientSession:
            return await opened(ScriptedLink())

        with pytest.raises(Fault, match="does not start: no"):
            await pool.single(fail)
        assert pool.why_not_started == "no"
        await asyncio.sleep(0.01)
        await pool.single(begin)
        assert (pool._pauses, pool.why_not_started) == ({}, "")

        await pool.close()
        with pytest.raises(Fault, match="is being ended"):
            await pool.single(begin)

    asyncio.run(run())


def test_a_client_on_stdio_that_does_not_read_misses_reports_alone() -> None:
    async def run() -> bytes:
        source, wire = os.pipe()
        os.set_blocking(source, False)
        try:
            talk = Conversation(build_server(Settings()), wire, source)
            talk.open()
            talk._out.halted = True
            for method in ("notifications/progress", "notifications/message", "notifications/tools/list_changed"):
                talk._notify(notification(method))
            talk._notify(request("q", "roots/list", b"{}"))
            return os.read(source, 10_000)
        finally:
            os.close(source)
            os.close(wire)

    assert [json.loads(line)["method"] for line in asyncio.run(run()).splitlines()] == [
        "notifications/tools/list_changed",
        "roots/list",
    ]


def test_a_tool_whose_schema_finds_no_room_beside_the_others_is_over_its_budget() -> None:
    """Each of these schemas is within the budget of one."""
    schema = b'{"type":"object","properties":{"a":{"type":"string","pattern":"^(\\\\p{L}{90})$"}}}'
    entries = [Raw(b'{"name":"t%d","inputSchema":%b}' % (number, schema)) for number in range(40)]
    entries.append(Raw(b'{"name":"small","inputSchema":{"type":"object"}}'))

    flaws = over_budget(entries)

    dear = [number for number, found in enumerate(flaws) if found]
    assert 8 < dear[0] < 39
    assert dear == list(range(dear[0], 40))
    assert flaws[39] == {"input": "the schemas of its server take more than 256 MiB when they are compiled"}


def test_of_the_requests_to_a_server_each_caller_has_a_share_and_more_are_refused(tmp_path: Path) -> None:
    async def run() -> None:
        link = ListingLink()
        link.is_silent = True
        server = relay_of(tmp_path, {"s": [link]}, None).catalogue.servers[0]

        async def asked(address: str, count: int) -> list[asyncio.Future[object]]:
            """Ask, and return what does not wait or run."""
            request = caller("tools/call", {"name": "t", "arguments": {}}, caller=Caller(address=address))
            started = [asyncio.ensure_future(server.exchange("tools/call", request.raw, request)) for _ in range(count)]
            tasks.extend(started)
            for _ in range(20):
                await asyncio.sleep(0)
            return [one for one in started if one.done()]

        tasks: list[asyncio.Future[object]] = []
        refused = await asked("127.0.0.2", MAX_IN_FLIGHT + MAX_WAITING)
        others = await asked("127.0.0.3", 1)
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

        assert (len(refused), others) == ((MAX_IN_FLIGHT + MAX_WAITING) // 2, [])
        fault = refused[0].exception()
        assert isinstance(fault, Fault)
        assert (fault.name, fault.status) == ("TOO_MANY_CALLS", 503)
        assert fault.message == "384 requests wait for s already: ask again when one has ended"

    asyncio.run(run())
