"""Questions that nobody answers: they end with the request in which they came, and their number has a bound."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S
from signet.kernel.caller import Caller, Principal
from signet.kernel.channel import Session

from .listing_link import ScriptedLink, caller, relay_of

TOOL = {"name": "ask", "inputSchema": {"type": "object"}}
MAX_QUESTIONS = 256
ABLE = {"elicitation": {}}
ANN, BOB = Caller(principal=Principal("ann")), Caller(principal=Principal("bob"))
HERE, THERE = Caller(address="127.0.0.1"), Caller(address="127.0.0.2")


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE_S))


class Asking(ScriptedLink):
    """Asks many times in each call, and keeps what it is told."""

    def __init__(self, count: int) -> None:
        super().__init__(tools=[TOOL])
        self.count = count
        self.told: list[Any] = []
        self.has_asked = asyncio.Event()

    def send(self, message: Any) -> None:
        if not message.method:
            self.told.append(json.loads(message.body))
        if message.method == "tools/call":
            for number in range(self.count):
                self.say(id=f"q{number}", method="elicitation/create", params={"message": "?"})
            self.has_asked.set()
            if self.is_silent:
                return
        super().send(message)


def test_questions_of_a_call_end_with_the_call_and_take_no_place_from_others(tmp_path: Path) -> None:
    link, sent = Asking(3), list[bytes]()

    async def work() -> None:
        server = relay_of(tmp_path, {"s": [link]}, None).catalogue.servers[0]
        for _ in range(4):
            request = caller("tools/call", {"name": "ask"}, "one", notify=sent.append)
            request.channel.agreement.capabilities = ABLE
            await server.exchange("tools/call", request.raw, request)
            await asyncio.sleep(0)
        (dialogue,) = server.pool.dialogues
        assert not dialogue.questions
        assert not server.conversations.asker._asked

    run(work())
    asked = [json.loads(one) for one in sent]
    withdrawn = {one["params"]["requestId"] for one in asked if one["method"] == "notifications/cancelled"}
    assert withdrawn == {one["id"] for one in asked if one["method"] == "elicitation/create"}
    assert len(withdrawn) == len(link.told) == 12


def test_the_number_of_open_questions_of_a_server_has_a_bound(tmp_path: Path) -> None:
    link, sent = Asking(MAX_QUESTIONS + 5), list[bytes]()

    async def work() -> None:
        server = relay_of(tmp_path, {"s": [link]}, None).catalogue.servers[0]
        request = caller("tools/call", {"name": "ask"}, "one", notify=sent.append)
        request.channel.agreement.capabilities = ABLE
        await server.dialogue(request)
        link.is_silent = True
        under_way = asyncio.ensure_future(server.exchange("tools/call", request.raw, request))
        await link.has_asked.wait()
        assert len(link.told) == 5
        under_way.cancel()

    run(work())
    assert len(sent) >= MAX_QUESTIONS


def test_a_session_is_asked_only_what_it_declared(tmp_path: Path) -> None:
    link, sent = Asking(0), list[bytes]()

    async def work() -> None:
        relay = relay_of(tmp_path, {"s": [link]}, None)
        server = relay.catalogue.servers[0]
        session = Session(id="one", version="2025-11-25", notify=sent.append)
        relay.notices.open_session(session, "one")
        await server.dialogue(None)
        link.say(id="q", method="elicitation/create", params={"message": "?"})
        assert (sent, link.told[0]["error"]["message"]) == ([], "the caller declares no elicitation")
        session.capabilities = ABLE
        link.say(id="q", method="elicitation/create", params={"message": "?"})
        assert len(sent) == 1

    run(work())


@pytest.mark.parametrize(
    ("callers", "holder", "is_asked"),
    [
        ([ANN], "principal ann", True),
        ([ANN, BOB], "principal bob", False),
        ([BOB], "principal ann", False),
        ([HERE, HERE], "address 127.0.0.1", True),
        ([HERE, THERE], "address 127.0.0.1", False),
        ([], "principal ann", True),
    ],
)
def test_a_question_outside_of_calls_is_for_a_session_that_is_alone_with_the_server(
    tmp_path: Path, callers: list[Caller], holder: str, is_asked: bool
) -> None:
    """It may be of any call before: where others made one, nobody is asked."""
    link, sent = Asking(0), list[bytes]()

    async def work() -> None:
        relay = relay_of(tmp_path, {"s": [link]}, None)
        server = relay.catalogue.servers[0]
        name = holder.removeprefix("principal ") if holder.startswith("principal") else None
        session = Session(id="one", principal=name, holder=holder, capabilities=ABLE, notify=sent.append)
        relay.notices.open_session(session, "one")
        await server.dialogue(None)
        for who in callers:
            request = caller("tools/call", {"name": "ask"}, caller=who)
            await server.exchange("tools/call", request.raw, request)
        link.say(id="late", method="elicitation/create", params={"message": "?"})

    run(work())
    assert [json.loads(one)["method"] for one in sent] == ["elicitation/create"] * is_asked
    assert [one["id"] for one in link.told] == ["late"] * (not is_asked)
