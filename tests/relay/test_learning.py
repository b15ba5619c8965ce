"""What servers list is read once for all who wait, and one that is dead delays nobody else."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import decode

from processes import PATIENCE_S
from signet.kernel.channel import Session
from signet.kernel.errors import Fault
from signet.kernel.outcome import Pending
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity, InitializeParams, ListParams
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Toolbox
from signet.mcp.snapshot import Snapshot
from signet.relay import readings, wrapped_server
from signet.relay.catalogue import Catalogue
from signet.relay.notices import Notices
from signet.relay.relay import ServerRelay
from signet.relay.wrapped_server import Listeners, WrappedServer
from signet.settings.server_spec import ServerSpec

from .scripted_link import AnsweringLink, calling, nothing, requesting, until

SCHEMAS = Path(__file__).parents[2] / "src/signet/schemas"
TOOLS = {"tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}
CLIENT = {"name": "test", "version": "1"}
SESSION = Session(id="one", version="2025-11-25")


def relaying(**links: AnsweringLink) -> ServerRelay:
    """Return a relay in front of some servers, each with one instance."""
    relay, notices = ServerRelay(nothing), Notices(nothing)
    listeners = Listeners(notified=nothing, begun=nothing, lost=nothing, sessions=notices.sessions, log=nothing)
    servers = []
    for name, link in links.items():
        left = iter([link])
        servers.append(WrappedServer(ServerSpec(name=name), lambda left=left: next(left), listeners, is_private=False))  # type: ignore[misc]
    toolbox, registry = Toolbox(), SchemaRegistry(schema_root=SCHEMAS)
    identity = Identity("test", "1")
    relay.catalogue = relay.notices.catalogue = Catalogue(
        servers, toolbox, registry, identity, prefixed=len(links) > 1, log=nothing
    )
    relay.serve(Server(Pipeline(toolbox, registry), identity, "", relay=relay))
    return relay


def lists(link: AnsweringLink) -> int:
    return len(link.requests("tools/list"))


def test_many_who_wait_read_the_lists_once() -> None:
    async def run() -> None:
        link = AnsweringLink(TOOLS)
        relay = relaying(a=link)
        await asyncio.gather(*[relay.catalogue.learn(None) for _ in range(50)])

        assert lists(link) == 1
        await relay.close()

    asyncio.run(run())


def test_whoever_gives_up_does_not_end_the_reading_of_others() -> None:
    async def run() -> None:
        link = AnsweringLink({"tools/list": None})
        relay = relaying(a=link)
        first, second = [asyncio.ensure_future(relay.catalogue.learn(None)) for _ in range(2)]
        await until(lambda: lists(link))
        first.cancel()
        link.say(id=link.requests("tools/list")[0]["id"], result=TOOLS["tools/list"])
        await second

        assert (lists(link), relay.is_ready) == (1, True)
        await relay.close()

    asyncio.run(run())


def test_the_first_list_is_read_once() -> None:
    async def run() -> None:
        link = AnsweringLink(TOOLS)
        relay = relaying(a=link)
        request = requesting("tools/list", SESSION)
        listed: dict[str, Any] = decode(await relay.catalogue.list_tools(request))

        assert ([one["name"] for one in listed["tools"]], lists(link)) == (["echo"], 1)
        await relay.close()

    asyncio.run(run())


def test_a_server_that_hangs_delays_no_call_of_another() -> None:
    async def run() -> None:
        well, hung = AnsweringLink({**TOOLS, "tools/call": {"content": []}}), AnsweringLink({"initialize": None})
        hung.refused = ""
        relay = relaying(well=well, hung=hung)
        learning = asyncio.ensure_future(relay.catalogue.learn(None))
        await until(lambda: relay.servers == ["well"])
        handler = relay.handler("tools/call", modern=False)
        assert handler is not None
        pending = handler(calling("well_echo", []))
        assert isinstance(pending, Pending)

        reply = await asyncio.wait_for(pending.reply, PATIENCE_S)

        assert (reply.code, learning.done()) == (0, False)
        learning.cancel()
        await relay.close()

    asyncio.run(run())


def test_a_server_that_is_gone_does_not_take_the_lists_of_others_along() -> None:
    async def run() -> None:
        well, gone = AnsweringLink(TOOLS), AnsweringLink(TOOLS)
        relay = relaying(well=well, gone=gone)
        await relay.catalogue.learn(None)
        gone.answers["tools/list"] = {"tools": 1}
        handler = relay.handler("tools/list", modern=False)
        assert handler is not None
        request = requesting("tools/list", SESSION)
        pending = handler(type(request)(1, ListParams(), request.meta, request.channel, request.era, "tools/list"))
        assert isinstance(pending, Pending)

        reply: dict[str, Any] = decode((await pending.reply).body)

        assert {one["name"] for one in reply["result"]["tools"]} >= {"well_echo"}
        await relay.close()

    asyncio.run(run())


def test_a_change_that_one_client_has_seen_is_told_to_the_others() -> None:
    async def run() -> None:
        link = AnsweringLink(TOOLS)
        relay = relaying(a=link)
        await relay.catalogue.learn(None)
        link.answers["tools/list"] = {"tools": []}
        await relay.catalogue.list_tools(requesting("tools/list", SESSION))

        server = relay.catalogue.servers[0]
        assert await relay.catalogue.learn_again(server, server.pool.dialogues[0])
        await relay.close()

    asyncio.run(run())


def test_a_caller_is_told_only_revisions_that_are_served() -> None:
    async def run() -> None:
        said = {"supportedVersions": ["2026-07-28", "2099-01-01"], "capabilities": {}, "x": 1}
        relay = relaying(a=AnsweringLink({"server/discover": said}, modern=True))
        hello: dict[str, Any] = decode(await relay.catalogue.hello(requesting("server/discover", SESSION, modern=True)))

        assert hello == {**said, "supportedVersions": ["2026-07-28"]}
        await relay.close()

    asyncio.run(run())


def test_a_level_is_set_where_servers_run() -> None:
    async def run() -> None:
        well, dead = AnsweringLink({"logging/setLevel": {}}), AnsweringLink({"initialize": {"protocolVersion": "?"}})
        dead.answers["server/discover"], dead.refused = {}, ""
        relay = relaying(dead=dead, well=well)
        reply = await relay._set_levels(requesting("logging/setLevel", SESSION, level="error"), "error")

        assert (reply.code, len(well.requests("logging/setLevel"))) == (0, 1)
        await relay.close()

    asyncio.run(run())


def test_a_pinned_server_that_does_not_start_leaves_no_listener() -> None:
    async def run() -> None:
        dead = AnsweringLink({"initialize": {"protocolVersion": "?"}, "server/discover": {}})
        dead.refused = ""
        relay = relaying(a=dead)
        able = Raw(b'{"tools":{"listChanged":true}}')
        relay.catalogue.servers[0].pinned = Snapshot(
            era="modern", version="2026-07-28", server_info=Raw(b"{}"), capabilities=able
        )
        wanted = requesting("subscriptions/listen", SESSION, modern=True, notifications={"toolsListChanged": True})

        with pytest.raises(Fault):
            await relay._listening(wanted)

        assert relay.notices.subscriptions_of("a")._listeners == {}
        await relay.close()

    asyncio.run(run())


def names(result: bytes) -> list[str]:
    return [one["name"] for one in decode(result)["tools"]]


def mute() -> AnsweringLink:
    link = AnsweringLink({"initialize": None})
    link.refused = ""
    return link


def awaken(link: AnsweringLink) -> None:
    """Let a mute server answer what it was asked, and all that follows."""
    fresh = AnsweringLink(TOOLS)
    link.answers, link.refused = fresh.answers, fresh.refused
    [first] = link.sent
    refusal = {"error": {"code": -32601, "message": "Method not found"}}
    is_known = first["method"] == "initialize"
    link.say(id=first["id"], **({"result": fresh.answers["initialize"]} if is_known else refusal))


def told_methods(told: list[bytes]) -> list[str]:
    return [decode(one)["method"] for one in told]


def test_a_mute_server_is_waited_for_once_and_its_tools_join_when_it_lists_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readings, "WAIT_S", 0.01)

    async def run() -> None:
        late = mute()
        relay = relaying(well=AnsweringLink(TOOLS), late=late)
        told: list[bytes] = []
        session = Session(id="one", version="2025-11-25", notify=told.append)
        relay.notices.open_session(session, "one")
        request = requesting("initialize", SESSION)
        params = InitializeParams(version="2025-11-25", capabilities={}, client=CLIENT)
        typed = type(request)(1, params, request.meta, request.channel, request.era, "initialize")

        hello = decode(await relay.catalogue.hello(typed))
        listed = names(await relay.catalogue.list_tools(requesting("tools/list", SESSION)))

        assert ("tools" in hello["capabilities"], listed, told) == (True, ["well_echo"], [])
        monkeypatch.setattr(readings, "WAIT_S", 600.0)
        assert names(await relay.catalogue.list_tools(requesting("tools/list", SESSION))) == ["well_echo"]
        awaken(late)
        await until(lambda: told)
        listed = names(await relay.catalogue.list_tools(requesting("tools/list", SESSION)))

        assert (told_methods(told), listed) == (["notifications/tools/list_changed"], ["well_echo", "late_echo"])
        await relay.close()

    asyncio.run(run())


def test_a_server_that_falls_silent_keeps_the_tools_that_it_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "KNOWN_WAIT_S", 0.01)

    async def run() -> None:
        silent = AnsweringLink(TOOLS)
        relay = relaying(well=AnsweringLink(TOOLS), silent=silent)
        await relay.catalogue.learn(None, to_the_end=True)
        silent.answers["tools/list"] = None
        before = lists(silent)

        found = [names(await relay.catalogue.list_tools(requesting("tools/list", SESSION))) for _ in range(3)]

        assert (found, lists(silent) - before) == ([["well_echo", "silent_echo"]] * 3, 1)
        await relay.close()

    asyncio.run(run())


@pytest.mark.parametrize("name", ["late_echo", "late.echo", "mcp.tool:late.echo"])
def test_a_call_of_a_late_server_waits_for_that_server_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "WAIT_S", 600.0)

    async def run() -> None:
        late, hung = mute(), mute()
        relay = relaying(well=AnsweringLink(TOOLS), late=late, hung=hung)
        well = asyncio.ensure_future(relay.ready("well_echo"))
        waiting = asyncio.ensure_future(relay.ready(name))
        await well
        assert not waiting.done()
        awaken(late)

        await asyncio.wait_for(waiting, PATIENCE_S)

        assert relay.servers == ["well", "late"]
        await relay.close()

    asyncio.run(run())


def test_a_mute_server_delays_no_subscription_and_no_log_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "WAIT_S", 0.01)

    async def run() -> None:
        well, hung = AnsweringLink({**TOOLS, "logging/setLevel": {}}), mute()
        relay = relaying(hung=hung, well=well)
        told: list[dict[str, Any]] = []
        listening = calling("", told, modern=True, notifications={"toolsListChanged": True})
        task = asyncio.ensure_future(relay._listening(listening))
        reply = await relay._set_levels(requesting("logging/setLevel", SESSION, level="error"), "error")
        await until(lambda: told)

        assert (reply.code, len(well.requests("logging/setLevel"))) == (0, 1)
        assert told[0]["params"]["notifications"] == {"toolsListChanged": True}
        task.cancel()
        await relay.close()

    asyncio.run(run())


def test_a_list_has_one_deadline_for_all_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapped_server, "LIST_S", 0.05)

    class Endless(AnsweringLink):
        """Has a new page soon after each."""

        def send(self, message: Any) -> None:
            super().send(message)
            if message.method == "tools/list":
                page = {"tools": [], "nextCursor": f"{message.id}"}
                asyncio.get_running_loop().call_later(0.01, partial(self.say, id=message.id, result=page))

    async def run() -> None:
        relay = relaying(a=Endless({"tools/list": None}))
        with pytest.raises(Fault, match=r"cannot be listed: it does not answer within 0\.05 s"):
            await relay.catalogue.learn(None)
        await relay.close()

    asyncio.run(run())


def test_a_page_of_a_list_that_does_not_come_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapped_server, "LIST_S", 0.01)

    async def run() -> None:
        relay = relaying(a=AnsweringLink({"prompts/list": None}))
        with pytest.raises(Fault, match=r"cannot be listed: it does not answer within 0\.01 s"):
            await relay.catalogue.list_others(requesting("prompts/list", SESSION))
        await relay.close()

    asyncio.run(run())


def test_lists_of_all_kinds_have_one_deadline_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapped_server, "LIST_S", 0.2)
    monkeypatch.setattr(readings, "WAIT_S", 0.01)

    class Slow(AnsweringLink):
        """Answers each list in less than the time of one, and all of them in more."""

        def send(self, message: Any) -> None:
            super().send(message)
            if message.method.endswith("/list"):
                page: dict[str, Any] = {message.method.split("/")[-2]: []}
                asyncio.get_running_loop().call_later(0.15, partial(self.say, id=message.id, result=page))

    async def run() -> None:
        slow = Slow(dict.fromkeys(("tools/list", "prompts/list", "resources/list", "resources/templates/list")))
        relay = relaying(well=AnsweringLink(TOOLS), slow=slow)
        await relay.catalogue.learn(None, to_the_end=True)

        # Each list takes 0.15 s; the second is cut off after 0.2 s.
        asked = [len(slow.requests(method)) for method in ("tools/list", "resources/list", "resources/templates/list")]
        assert (relay.servers, asked) == (["well"], [1, 1, 0])
        await relay.close()

    asyncio.run(run())


def test_many_requests_for_a_list_that_is_known_make_one_reading_and_one_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readings, "KNOWN_WAIT_S", 600.0)

    async def run() -> None:
        link = AnsweringLink(TOOLS)
        relay = relaying(a=link, b=AnsweringLink(TOOLS))
        await relay.catalogue.learn(None, to_the_end=True)

        found = [relay.catalogue.list_tools(requesting("tools/list", SESSION)) for _ in range(100)]
        listed = [names(one) for one in await asyncio.gather(*found)]

        assert (listed, lists(link)) == ([["a_echo", "b_echo"]] * 100, 3)
        await relay.close()

    asyncio.run(run())
