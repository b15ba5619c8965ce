"""The client and the call that a question of a shared server is for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import decode

from signet.kernel.channel import Session
from signet.kernel.relay import RpcRequest
from signet.mcp.session import ClientSession
from signet.relay import asking as asking_module
from signet.relay.conversation import RequestRunner

from .scripted_link import ScriptedLink, calling, nothing, opened

ASK = {"method": "elicitation/create", "params": {"message": "Who?"}}
DONE: dict[str, Any] = {"content": []}


def conversations() -> RequestRunner:
    return RequestRunner(list, nothing, is_shared=True, on_dropped=nothing)


async def begin(
    talk: RequestRunner, dialogue: ClientSession, caller: RpcRequest | None, name: str
) -> asyncio.Task[Any]:
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


ABLE: dict[str, Any] = {"elicitation": {}}
ANSWER = {"action": "decline"}


def test_tools_that_several_clients_call_at_once_are_known_to_ask_after_one_question() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        told: list[list[Any]] = [[], [], []]
        sessions = [Session(id=f"{n}", version="2025-11-25", capabilities=ABLE) for n in range(3)]
        calls = [await begin(talk, dialogue, calling("a", told[n], sessions[n]), "a") for n in range(3)]
        for n in range(3):
            link.say(id=n, **ASK)
        assert [("error" in link.response(n)) for n in range(3)] == [True] * 3
        for number in [one["id"] for one in link.requests("tools/call")]:
            link.say(id=number, result=DONE)
        await asyncio.gather(*calls)

        calls = [await begin(talk, dialogue, calling("a", told[n], sessions[n]), "a") for n in range(3)]
        asked = []
        for number in range(3):
            under_way = link.requests("tools/call")[3:]
            assert len(under_way) == number + 1
            link.say(id=10 + number, **ASK)
            asked.append([one["method"] for one in told[number]])
            link.say(id=under_way[-1]["id"], result=DONE)
            await calls[number]
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        assert asked == [["elicitation/create"]] * 3
        await dialogue.close()

    asyncio.run(run())


def test_a_question_lives_while_any_call_of_its_client_does() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        session = Session(id="one", version="2025-11-25", capabilities=ABLE)
        told: list[Any] = []
        asking = await begin(talk, dialogue, calling("asking", told, session), "asking")
        other = await begin(talk, dialogue, calling("other", told, session), "other")
        link.say(id=1, **ASK)

        link.say(id=2, result=DONE)
        await other
        assert [one["method"] for one in told] == ["elicitation/create"]
        assert not [one for one in link.sent if one.get("id") == 1 and "method" not in one]
        assert (dialogue.askers, len(dialogue.quiet)) == ({("tools/call", "asking")}, 0)

        link.say(id=1, result=DONE)
        await asking
        await asyncio.sleep(0)
        assert link.response(1)["error"]["message"] == "the request in which it was asked has ended"
        assert [one["method"] for one in told] == ["elicitation/create", "notifications/cancelled"]
        await dialogue.close()

    asyncio.run(run())


def modern(name: str, session: Session, **params: Any) -> RpcRequest:
    return calling(name, [], session, modern=True, **params)


def test_a_question_to_a_modern_client_goes_to_the_call_that_is_left() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        session = Session(id="one")
        asking = await begin(talk, dialogue, modern("asking", session), "asking")
        other = await begin(talk, dialogue, modern("other", session), "other")
        link.say(id=1, **ASK)
        link.say(id=2, result=DONE)

        results = [decode((await one).result) for one in (other, asking)]

        assert [one.get("resultType") for one in results] == [None, "input_required"]
        state = {"requestState": results[1]["requestState"], "inputResponses": {"question-1": ANSWER}}
        held = await talk.resumed(modern("asking", session, **state))
        assert held is not None
        assert link.response(1)["result"] == ANSWER
        await dialogue.close()

    asyncio.run(run())


def test_a_modern_client_is_asked_by_the_likeliest_call_when_the_others_do_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wrong call asks, and the answer reaches the right one, also when the wrong one has ended meanwhile."""
    monkeypatch.setattr(asking_module, "UNSURE_S", 0.0)

    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        session = Session(id="one")
        asking = await begin(talk, dialogue, modern("asking", session), "asking")
        other = await begin(talk, dialogue, modern("other", session), "other")
        link.say(id=1, **ASK)
        result = decode((await other).result)
        assert (result["resultType"], asking.done()) == ("input_required", False)
        link.say(id=2, result=DONE)
        await asyncio.sleep(0)

        state = {"requestState": result["requestState"], "inputResponses": {"question-1": ANSWER}}
        again = modern("other", session, **state)
        held = await talk.resumed(again)
        assert held is not None

        assert decode((await talk.go_on(held, again)).result) == DONE
        assert link.response(1)["result"] == ANSWER
        assert dialogue.askers == {("tools/call", "asking")}
        await dialogue.close()

    asyncio.run(run())


def test_a_question_that_a_call_took_along_to_its_end_goes_to_another() -> None:
    async def run() -> None:
        link, talk = ScriptedLink(), conversations()
        dialogue = await opened(link, talk.asked)
        session = Session(id="one")
        dialogue.askers.add(("tools/call", "often"))
        asking = await begin(talk, dialogue, modern("asking", session), "asking")
        often = await begin(talk, dialogue, modern("often", session), "often")
        link.say(id=1, **ASK)
        link.say(id=2, result=DONE)

        results = [decode((await one).result) for one in (often, asking)]

        assert [one.get("resultType") for one in results] == [None, "input_required"]
        await dialogue.close()

    asyncio.run(run())
