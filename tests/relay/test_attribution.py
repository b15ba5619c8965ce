"""Whom a question of a shared server is for: where that cannot be told, nobody is asked."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Raw

from signet.kernel.relay import RpcRequest
from signet.relay.conversation import Conversations
from signet.relay.dialogue import Dialogue

from .scripted_link import ScriptedLink, calling, nothing, opened

ASK = {"method": "elicitation/create", "params": {"message": "Who?"}}
DONE: dict[str, Any] = {"content": []}


def conversations() -> Conversations:
    return Conversations(list, nothing, is_shared=True, on_dropped=nothing)


async def begin(talk: Conversations, dialogue: Dialogue, caller: RpcRequest | None, name: str) -> asyncio.Task[Any]:
    raw = caller.raw if caller is not None else Raw(b'{"name":"%s","arguments":{}}' % name.encode())
    task = asyncio.ensure_future(talk.converse(dialogue, "tools/call", raw, caller, None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


def test_a_tool_that_may_ask_for_the_first_time_makes_a_question_of_another_client_ambiguous() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        told_a: list[Any] = []
        told_b: list[Any] = []
        dialogue.askers.add(("tools/call", "a"))
        await begin(talk, dialogue, calling("a", told_a), "a")
        await begin(talk, dialogue, calling("b", told_b), "b")

        link.say(id=1, **ASK)

        assert (told_a, told_b) == ([], [])
        assert "which caller" in link.response(1)["error"]["message"]
        await dialogue.close()

    asyncio.run(run())


def test_a_second_question_of_a_held_call_is_not_for_another_client() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        told_b: list[Any] = []
        held = await begin(talk, dialogue, calling("a", [], modern=True), "a")
        link.say(id=1, **ASK)
        await held
        await begin(talk, dialogue, calling("b", told_b), "b")

        link.say(id=2, **ASK)

        assert told_b == []
        assert "error" in link.response(2)
        await dialogue.close()

    asyncio.run(run())


def test_a_question_beside_tools_that_ask_nothing_reaches_its_client() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        told_a: list[Any] = []
        told_b: list[Any] = []
        first = await begin(talk, dialogue, calling("b", told_b), "b")
        link.say(id=1, result=DONE)
        await first
        await begin(talk, dialogue, calling("a", told_a), "a")
        await begin(talk, dialogue, calling("b", told_b), "b")

        link.say(id=1, **ASK)

        assert ([one["method"] for one in told_a], told_b) == (["elicitation/create"], [])
        await dialogue.close()

    asyncio.run(run())


def test_two_calls_through_other_doors_are_of_two_clients() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        await begin(talk, dialogue, None, "a")
        second = await begin(talk, dialogue, None, "b")

        link.say(id=1, **ASK)
        await asyncio.sleep(0)

        assert not second.done()
        assert link.requests("notifications/cancelled") == []
        assert "which caller" in link.response(1)["error"]["message"]
        await dialogue.close()

    asyncio.run(run())
