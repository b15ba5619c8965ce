"""What nobody waits for any more is not kept."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from msgspec import Raw

from signet.kernel.channel import Session
from signet.kernel.wire import Frame
from signet.relay.conversation import Conversations

from .scripted_link import ScriptedLink, calling, nothing, opened, until

ASK: dict[str, Any] = {"method": "elicitation/create", "params": {"message": "Who?"}}
ABLE: dict[str, Any] = {"elicitation": {}}


def asking(*sessions: Session) -> Conversations:
    return Conversations(lambda: [*sessions], nothing, is_shared=True, on_dropped=nothing)


def test_a_call_that_is_given_up_takes_its_question_along() -> None:
    async def run() -> None:
        link, talk, told = ScriptedLink(), asking(), list[dict[str, Any]]()
        dialogue = await opened(link, talk.asked)
        caller = calling("ask", told)
        call = asyncio.ensure_future(talk.converse(dialogue, "tools/call", caller.raw, caller, None))
        await until(lambda: link.requests("tools/call"))
        link.say(id=5, **ASK)

        call.cancel()
        await until(lambda: len(told) == 2)

        assert (told[1]["method"], told[1]["params"]) == ("notifications/cancelled", {"requestId": told[0]["id"]})
        await until(lambda: any(one.get("id") == 5 for one in link.sent))
        assert "error" in link.response(5)
        await until(lambda: (talk.asker._asked, dialogue.questions) == ({}, {}))

    asyncio.run(run())


def test_a_server_that_is_lost_takes_its_questions_along() -> None:
    async def run() -> None:
        link, talk, told = ScriptedLink(), asking(), list[dict[str, Any]]()
        dialogue = await opened(link, talk.asked)
        caller = calling("ask", told)
        call = asyncio.ensure_future(talk.converse(dialogue, "tools/call", caller.raw, caller, None))
        await until(lambda: link.requests("tools/call"))
        link.say(id=5, **ASK)

        link.lose("it ended")
        await asyncio.wait([call])

        assert [one["method"] for one in told] == ["elicitation/create", "notifications/cancelled"]
        assert talk.asker._asked == {}

    asyncio.run(run())


def test_a_session_that_ends_takes_its_questions_along() -> None:
    async def run() -> None:
        session = Session(id="one", version="2025-11-25", capabilities=ABLE, notify=nothing)
        link, talk = ScriptedLink(), asking(session)
        await opened(link, talk.asked)
        link.say(id=5, **ASK)

        talk.asker.end("one")
        await until(lambda: link.sent)

        assert "error" in link.response(5)
        assert talk.asker._asked == {}

    asyncio.run(run())


def test_a_session_is_not_asked_what_it_does_not_declare() -> None:
    async def run() -> None:
        told: list[bytes] = []
        session = Session(id="one", version="2025-11-25", capabilities={"roots": {}}, notify=told.append)
        link, talk = ScriptedLink(), asking(session)
        await opened(link, talk.asked)

        link.say(id=5, **ASK)

        assert told == []
        assert "error" in link.response(5)

    asyncio.run(run())


def test_an_answer_that_is_handled_in_a_thread_arrives() -> None:
    async def run() -> None:
        link, talk, told = ScriptedLink(), asking(), list[dict[str, Any]]()
        dialogue = await opened(link, talk.asked)
        caller = calling("ask", told)
        call = asyncio.ensure_future(talk.converse(dialogue, "tools/call", caller.raw, caller, None))
        await until(lambda: link.requests("tools/call"))
        link.say(id=5, **ASK)
        frame = Frame("2.0", id=told[0]["id"], result=Raw(b'{"action":"cancel"}'))
        asyncio.get_running_loop().set_debug(True)  # which refuses what is not safe in a thread

        await asyncio.to_thread(talk.asker.receive, frame, caller.channel)
        await until(lambda: any(one.get("id") == 5 for one in link.sent))

        assert link.response(5)["result"] == {"action": "cancel"}
        call.cancel()

    asyncio.run(run())


def test_a_request_to_a_lost_server_that_nobody_waits_for_is_no_failure() -> None:
    async def run() -> list[Any]:
        failures: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        link = ScriptedLink()
        dialogue = await opened(link)
        link.lose("it ended")
        dialogue.start("resources/subscribe", b"{}")
        gc.collect()
        return failures

    assert asyncio.run(run()) == []
