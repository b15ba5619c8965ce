"""Several clients and several instances of one server: each hears what is its own, and nothing is asked for twice."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from signet.kernel.channel import Session
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.relay import pool as pools
from signet.relay.catalogue import Catalogue
from signet.relay.notices import Notices
from signet.relay.relay import ServerRelay
from signet.relay.wrapped_server import WrappedServer

from .scripted_link import AnsweringLink, nothing, requesting, until, wrapped

LISTS = {"capabilities": {"tools": {"listChanged": True}}, "supportedVersions": ["2026-07-28"]}


class Scene:
    """A relay in front of one server, and what its clients are told."""

    def __init__(self, links: list[AnsweringLink], pool: str) -> None:
        self.relay = ServerRelay(nothing)
        self.notices: Notices = self.relay.notices
        self.server: WrappedServer = wrapped(links, self.notices, pool=pool)
        self.relay.catalogue = self.notices.catalogue = Catalogue(
            [self.server],
            Toolbox(),
            SchemaRegistry(schema_root="schemas"),
            Identity("test", "1"),
            prefixed=False,
            log=nothing,
        )
        self.told: dict[str, list[dict[str, Any]]] = {}

    def session(self, name: str) -> Session:
        told = self.told.setdefault(name, [])
        session = Session(id=name, version="2025-11-25", notify=lambda message: told.append(json.loads(message)))
        self.notices.open_session(session, name)
        return session


def test_a_stream_of_changes_is_opened_once_for_each_instance() -> None:
    async def run() -> None:
        links = [AnsweringLink({"server/discover": LISTS}, modern=True) for _ in range(2)]
        scene = Scene(links, "session")
        for name in ("a", "b"):
            await scene.server.dialogue(requesting("ping", scene.session(name)))
        for number in range(5):
            scene.session(f"more {number}")

        assert [len(link.requests("subscriptions/listen")) for link in links] == [1, 1]
        await scene.relay.close()

    asyncio.run(run())


def test_a_client_that_leaves_a_resource_takes_it_from_nobody_else() -> None:
    async def run() -> None:
        link = AnsweringLink({"resources/unsubscribe": {}})
        scene = Scene([link], "shared")
        sessions = [scene.session(name) for name in ("a", "b")]
        for session in sessions:
            await scene.relay._subscribed(requesting("resources/subscribe", session, uri="x:1"))

        await scene.relay._subscribed(requesting("resources/unsubscribe", sessions[0], uri="x:1"))
        assert link.requests("resources/unsubscribe") == []

        await scene.relay._subscribed(requesting("resources/unsubscribe", sessions[1], uri="x:1"))
        assert len(link.requests("resources/unsubscribe")) == 1
        await scene.relay.close()

    asyncio.run(run())


def test_what_the_instance_of_one_session_says_is_not_for_others() -> None:
    async def run() -> None:
        links = [AnsweringLink({}) for _ in range(2)]
        scene = Scene(links, "session")
        for name in ("a", "b"):
            await scene.server.dialogue(requesting("ping", scene.session(name)))

        links[0].say(method="notifications/message", params={"level": "info", "data": "of a"})
        links[0].say(id=1, method="roots/list")

        assert [one["params"]["data"] for one in scene.told["a"]] == ["of a"]
        assert scene.told["b"] == []
        await scene.relay.close()

    asyncio.run(run())


def test_a_session_gets_messages_of_its_own_level() -> None:
    async def run() -> None:
        link = AnsweringLink({"logging/setLevel": {}})
        scene = Scene([link], "shared")
        for name, level in (("a", "error"), ("b", "debug")):
            request = requesting("logging/setLevel", scene.session(name), level=level)
            await scene.relay._set_levels(request, level)

        link.say(method="notifications/message", params={"level": "info", "data": "?"})

        assert (len(scene.told["a"]), len(scene.told["b"])) == (0, 1)
        await scene.relay.close()

    asyncio.run(run())


def test_the_instance_that_was_idle_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_SESSIONS", 2)

    async def run() -> None:
        links = [AnsweringLink({}) for _ in range(3)]
        scene = Scene(links, "session")
        requests = [requesting("vendor/wait", scene.session(name)) for name in ("a", "b", "c")]
        for request in (requests[0], requests[1], requests[0], requests[2]):
            await scene.server.dialogue(request)
        await until(lambda: any(link.is_closed for link in links))

        assert [link.is_closed for link in links] == [False, True, False]
        await scene.relay.close()

    asyncio.run(run())


def test_an_instance_with_a_call_under_way_does_not_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_SESSIONS", 2)

    async def run() -> None:
        links = [AnsweringLink({}) for _ in range(3)]
        scene = Scene(links, "session")
        requests = [requesting("vendor/wait", scene.session(name)) for name in ("a", "b", "c")]
        call = asyncio.ensure_future(scene.server.exchange("vendor/wait", requests[0].raw, requests[0]))
        await until(lambda: links[0].requests("vendor/wait"))
        for request in requests[1:]:
            await scene.server.dialogue(request)
        await until(lambda: any(link.is_closed for link in links))

        assert [link.is_closed for link in links] == [False, True, False]
        call.cancel()
        await scene.relay.close()

    asyncio.run(run())


def test_the_level_of_a_server_is_that_of_its_most_curious_session_also_after_a_loss() -> None:
    async def run() -> None:
        links = [AnsweringLink({"logging/setLevel": {}}) for _ in range(2)]
        scene = Scene(links, "shared")
        for name, level in (("a", "debug"), ("b", "error")):
            request = requesting("logging/setLevel", scene.session(name), level=level)
            await scene.relay._set_levels(request, level)
        assert [one["params"]["level"] for one in links[0].requests("logging/setLevel")] == ["debug", "debug"]

        links[0].lose("it ended")
        await scene.server.dialogue(None)

        assert [one["params"]["level"] for one in links[1].requests("logging/setLevel")] == ["debug"]
        await scene.relay.close()

    asyncio.run(run())


def test_the_level_of_a_caller_without_a_session_is_not_kept() -> None:
    async def run() -> None:
        scene = Scene([AnsweringLink({"logging/setLevel": {}})], "shared")
        await scene.relay._set_levels(requesting("logging/setLevel", Session(), level="error"), "error")

        assert scene.server.conversations.levels == {}
        await scene.relay.close()

    asyncio.run(run())
