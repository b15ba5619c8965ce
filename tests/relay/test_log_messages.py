"""Log messages of a server that several people share: what may be of somebody's call is told to nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S
from signet.kernel.caller import Caller, Principal
from signet.kernel.channel import Session

from .listing_link import ScriptedLink, caller, relay_of

TOOL = {"name": "t", "inputSchema": {"type": "object"}}
ANN, BOB = Caller(principal=Principal("ann")), Caller(principal=Principal("bob"))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE_S))


@pytest.mark.parametrize(
    ("calling", "expected"),
    [
        ([ANN], {"ann's call"}),
        ([ANN, ANN], {"ann"}),
        ([ANN, BOB], set()),
        ([ANN, None], set()),
        ([None], set()),
        ([], set()),
    ],
)
def test_a_log_message_reaches_those_alone_whose_call_it_may_be_of(
    tmp_path: Path, calling: list[Caller | None], expected: set[str]
) -> None:
    link, heard = ScriptedLink(tools=[TOOL]), set[str]()

    async def work() -> None:
        relay = relay_of(tmp_path, {"s": [link]}, None)
        server = relay.catalogue.servers[0]
        for name in ("ann", "bob"):
            session = Session(id=name, principal=name, notify=lambda _, name=name: heard.add(name))  # type: ignore[misc]
            relay.notices.open_session(session, name)
        dialogue = await server.dialogue(None)
        link.is_silent = True
        for who in calling:
            request = caller("tools/call", {"name": "t"}, notify=lambda _: heard.add("ann's call"), caller=who or ANN)
            dialogue.start("tools/call", request.raw, request if who is not None else None)
        link.say(method="notifications/message", params={"level": "info", "data": "secret of the call"})

    run(work())
    assert heard == expected


def test_where_nobody_says_who_they_are_all_sessions_hear_it(tmp_path: Path) -> None:
    link, heard = ScriptedLink(tools=[TOOL]), set[str]()

    async def work() -> None:
        relay = relay_of(tmp_path, {"s": [link]}, None)
        for name in ("one", "two"):
            session = Session(id=name, notify=lambda _, name=name: heard.add(name))  # type: ignore[misc]
            relay.notices.open_session(session, name)
        await relay.catalogue.servers[0].dialogue(None)
        link.say(method="notifications/message", params={"level": "info", "data": "all"})
        link.say(method="notifications/resources/updated", params={"uri": ["no text"]})

    run(work())
    assert heard == {"one", "two"}


@pytest.mark.parametrize(
    ("calling", "expected"),
    [(["one"], {"one's call"}), (["one", "one"], {"one"}), (["one", "two"], set()), (["one", ""], set())],
)
def test_without_tokens_a_message_of_a_call_is_for_the_session_of_the_call(
    tmp_path: Path, calling: list[str], expected: set[str]
) -> None:
    link, heard = ScriptedLink(tools=[TOOL]), set[str]()

    async def work() -> None:
        relay = relay_of(tmp_path, {"s": [link]}, None)
        for name in ("one", "two"):
            session = Session(id=name, holder="here", notify=lambda _, name=name: heard.add(name))  # type: ignore[misc]
            relay.notices.open_session(session, name)
        dialogue = await relay.catalogue.servers[0].dialogue(None)
        link.is_silent = True
        for who in calling:
            request = caller("tools/call", {"name": "t"}, who, notify=lambda _: heard.add("one's call"))
            dialogue.start("tools/call", request.raw, request)
        link.say(method="notifications/message", params={"level": "info", "data": "secret of the call"})

    run(work())
    assert heard == expected


@pytest.mark.parametrize(("holders", "expected"), [(("a", "a"), {"one", "two"}), (("a", "b"), set())])
def test_a_message_outside_of_calls_is_for_sessions_of_one_address(
    tmp_path: Path, holders: tuple[str, str], expected: set[str]
) -> None:
    link, heard = ScriptedLink(tools=[TOOL]), set[str]()

    async def work() -> None:
        relay = relay_of(tmp_path, {"s": [link]}, None)
        for name, holder in zip(("one", "two"), holders, strict=True):
            session = Session(id=name, holder=holder, notify=lambda _, name=name: heard.add(name))  # type: ignore[misc]
            relay.notices.open_session(session, name)
        await relay.catalogue.servers[0].dialogue(None)
        link.say(method="notifications/message", params={"level": "info", "data": "all"})

    run(work())
    assert heard == expected
