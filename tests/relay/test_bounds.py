"""What servers can make grow has a bound."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from msgspec import Raw

from signet.kernel.errors import Fault
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.relay import pool as pools
from signet.relay.dialogue import Dialogue
from signet.relay.link import LinkError
from signet.relay.listing import Listed, Terms, list_tools
from signet.relay.messages import notification, request
from signet.relay.pool import Pool
from signet.transports import http
from signet.transports.conversation import Conversation

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
    assert sorted(registry._tools) == sorted(["s.t4", one.tool.id])
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

        async def fail() -> Dialogue:
            raise LinkError("no")

        async def begin() -> Dialogue:
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
            talk = Conversation(None, wire, source)  # type: ignore[arg-type]
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
