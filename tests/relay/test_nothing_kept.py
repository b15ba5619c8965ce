"""What nobody waits for any more is not kept."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from signet.kernel.caller import Caller, Principal
from signet.kernel.channel import Session
from signet.kernel.errors import Fault
from signet.kernel.relay import RpcRequest
from signet.kernel.wire import Frame
from signet.mcp.quiet_names import MAX_NAMES, QuietNames, key_of
from signet.relay import asking as held_calls
from signet.relay.asking import MAX_ASKED, HeldCalls
from signet.relay.conversation import RequestRunner
from signet.relay.subscriptions import MAX_BYTES, Listener, SubscriptionShares

from .scripted_link import ScriptedLink, calling, nothing, opened, until

ASK: dict[str, Any] = {"method": "elicitation/create", "params": {"message": "Who?"}}
ABLE: dict[str, Any] = {"elicitation": {}}


def asking(*sessions: Session) -> RequestRunner:
    return RequestRunner(lambda: [*sessions], nothing, is_shared=True, on_dropped=nothing)


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


def test_names_that_callers_make_up_give_way_to_their_own_and_go_with_their_sessions() -> None:
    names = QuietNames()
    for number in range(2 * MAX_NAMES):
        names.add(("prompts/get", str(number)), "greedy")
    names.add(("prompts/get", "honest"), "other")
    names.add(("tools/call", "tool"), "greedy")

    assert len(names) == MAX_NAMES // 2 + 2
    assert [("prompts/get", name) in names for name in ("0", str(2 * MAX_NAMES - 1), "honest")] == [False, True, True]
    names.forget("greedy")
    names.forget("nobody")
    assert (len(names), ("tools/call", "tool") in names) == (2, True)


def test_a_long_name_is_kept_as_a_digest_that_is_the_name_of_nothing() -> None:
    long = "n" * 1_000_000

    assert (key_of("n" * 64), len(key_of(long)), key_of(key_of(long)) == key_of(long)) == ("n" * 64, 71, False)


def test_subscriptions_are_shared_by_size() -> None:
    shares = SubscriptionShares()
    greedy, other = Listener(nothing, holder="greedy"), Listener(nothing, holder="other")
    uris = [f"{number:04}{'u' * 4_092}" for number in range(2 * MAX_BYTES // 4_096)]
    taken = [uri for uri in uris if not shares.take([], greedy, uri)]

    other.uris = {"x:1"}
    assert 990 < len(taken) < 1_010
    assert shares.take_all(other) == ""
    shares.give_back(greedy, taken)
    assert shares.take([], greedy, uris[0]) == ""


def test_callers_have_shares_in_open_questions() -> None:
    async def run() -> None:
        asker = asking().asker
        greedy = Session(id="greedy", holder="greedy", notify=nothing)
        other = Session(id="other", holder="other", notify=nothing)
        asked = [asker.ask(nothing, greedy, "roots/list", Raw(b"{}"))[1] for _ in range(MAX_ASKED)]
        waiting = [one for one in asked if not one.done()]

        assert len(waiting) == MAX_ASKED // 2
        assert not asker.ask(nothing, other, "roots/list", Raw(b"{}"))[1].done()
        asker.end("greedy")
        await until(lambda: len(asker._asked) == 1)

    asyncio.run(run())


def test_a_caller_with_its_share_of_held_calls_loses_its_own_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_calls, "MAX_HELD", 3)

    async def run() -> None:
        link = ScriptedLink()
        dialogue = await opened(link, nothing)
        rounds = HeldCalls(nothing)

        def calling_as(name: str) -> RpcRequest:
            request = calling("ask", [], modern=True)
            channel = msgspec.structs.replace(request.channel, caller=Caller(Principal(name)))
            return msgspec.structs.replace(request, channel=channel)

        def hold(name: str) -> str:
            request = calling_as(name)
            told = json.loads(rounds.hold(dialogue.start("tools/call", request.raw), request))
            return str(told["requestState"])

        def is_held(name: str, state: str) -> bool:
            return rounds.find(state, calling_as(name)) is not None

        greedy = [hold("mallory") for _ in range(9)]
        alice = hold("alice")

        assert [is_held("mallory", state) for state in greedy] == [False] * 7 + [True] * 2
        assert is_held("alice", alice)
        with pytest.raises(Fault, match="too many calls wait for the answers of their callers: try again later"):
            hold("bob")
        assert is_held("alice", alice)

    asyncio.run(run())
