"""Questions of a wrapped server while several calls are under way: of one client, and of several that share it."""

from __future__ import annotations

import contextlib
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from .wrappers import WRAP, on_http, on_stdio, serving_wrapped

COMMAND = (sys.executable, "-I", "-S", str(Path(__file__).with_name("asking_server.py")))
ACCEPTED = {"action": "accept", "content": {}}
CLIENTS = 3
REFUSED = "it cannot be told which caller the question is for"


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def params(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "arguments": {}, **more}


@pytest.mark.parametrize("order", [("ask", "other"), ("other", "ask")])
def test_a_question_outlives_another_call_of_its_client(order: tuple[str, str]) -> None:
    ended = threading.Event()

    def answer(_: object) -> dict[str, Any]:
        assert ended.wait(caller.patience_s)
        return ACCEPTED

    with on_stdio(WRAP, COMMAND, "handshake") as caller:
        caller.open().answers["elicitation/create"] = answer
        under_way = {name: caller.start("tools/call", params(name)) for name in order}
        other = text_of(under_way["other"].wait().result)
        ended.set()

        assert (other, text_of(under_way["ask"].wait().result)) == ("done", "accept")
        assert caller.notifications("notifications/cancelled") == []


@pytest.mark.parametrize("order", [("ask", "other"), ("other", "ask")])
def test_a_modern_client_is_asked_by_the_call_that_asks(order: tuple[str, str]) -> None:
    with on_stdio(WRAP, COMMAND, "modern") as caller:
        caller.open()
        under_way = {name: caller.start("tools/call", params(name)) for name in order}
        results = {name: one.wait().result for name, one in under_way.items()}
        assert {name: one["resultType"] for name, one in results.items()} == {
            "ask": "input_required",
            "other": "complete",
        }

        state = {"requestState": results["ask"]["requestState"], "inputResponses": {"question-1": ACCEPTED}}

        assert text_of(caller.request("tools/call", params("ask", **state)).result) == "accept"


def test_clients_who_call_an_asking_tool_at_once_are_refused_in_the_first_round_at_most() -> None:
    with serving_wrapped(WRAP, (*COMMAND, str(CLIENTS))) as server, contextlib.ExitStack() as stack:
        callers = [stack.enter_context(on_http(server, "handshake")) for _ in range(CLIENTS)]
        for caller in callers:
            caller.open().answers["elicitation/create"] = lambda _: ACCEPTED
        texts = []
        for _ in range(3):
            under_way = [caller.start("tools/call", params("ask")) for caller in callers]
            texts.append([text_of(one.wait().result) for one in under_way])

    assert texts == [[REFUSED] * CLIENTS, *[["accept"] * CLIENTS] * 2]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_tool_that_runs_beside_an_asking_one_of_another_client_is_told_apart(is_known: bool) -> None:
    with serving_wrapped(WRAP, COMMAND) as server, contextlib.ExitStack() as stack:
        asked, beside = (stack.enter_context(on_http(server, "handshake")) for _ in range(2))
        for caller in (asked, beside):
            caller.open().answers["elicitation/create"] = lambda _: ACCEPTED
        if is_known:
            assert text_of(asked.request("tools/call", params("late")).result) == "accept"
        texts = []
        for _ in range(3):
            other = beside.start("tools/call", params("beside"))
            texts.append(text_of(asked.request("tools/call", params("late")).result))
            assert text_of(other.wait().result) == "done"

    assert texts == [REFUSED, "accept", "accept"]
