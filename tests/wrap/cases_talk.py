"""Cases of the relay matrix: questions of the server, progress, logs, cancellation, subscriptions, changed lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from wrap.callers import PREFIX, Caller, Message, Pending, RefusalError
from wrap.relay_case import Link, Table
from wrap.scripted_server import QUESTIONS

table = Table()

FORM = {"action": "accept", "content": {"name": "Ada", "age": 36}}
MODEL = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m", "stopReason": "endTurn"}
ROOTS = {"roots": [{"uri": "file:///x", "name": "x"}]}


def _answering(caller: Caller, method: str, reply: Any) -> None:
    caller.asked.clear()
    caller.answers[method] = reply if callable(reply) else (lambda _: reply)


def _asked(link: Link, kind: str, reply: Any, **arguments: Any) -> list[Any]:
    """Call the tool that asks; return what the answers became behind the wrapper."""
    method, body = QUESTIONS[kind]
    _answering(link.caller, method, reply)
    answer = link.caller.tool("ask", {"label": link.label, "kind": kind, **arguments})
    assert [one for one, _ in link.caller.asked] == [method] * arguments.get("rounds", 1)
    for _, params in link.caller.asked:
        assert {key: value for key, value in params.items() if key != "_meta"} == body
    told: list[Any] = json.loads(answer.result["content"][0]["text"])
    return told


@table.case()
def a_form_is_filled_in(link: Link) -> None:
    assert _asked(link, "elicitation", FORM) == [{"k1": FORM}]


@table.case()
def a_form_is_declined(link: Link) -> None:
    assert _asked(link, "elicitation", {"action": "decline"}) == [{"k1": {"action": "decline"}}]


@table.case()
def a_form_is_cancelled(link: Link) -> None:
    assert _asked(link, "elicitation", {"action": "cancel"}) == [{"k1": {"action": "cancel"}}]


@table.case()
def a_user_is_sent_to_an_address(link: Link) -> None:
    assert _asked(link, "url", {"action": "accept"}) == [{"k1": {"action": "accept"}}]


@table.case()
def a_model_is_asked(link: Link) -> None:
    assert _asked(link, "sampling", MODEL) == [{"k1": MODEL}]


@table.case()
def roots_are_asked_for(link: Link) -> None:
    assert _asked(link, "roots", ROOTS) == [{"k1": ROOTS}]


@table.case()
def three_rounds_of_questions_keep_the_state_exactly(link: Link) -> None:
    told = _asked(link, "elicitation", FORM, rounds=3)
    assert told[-1] == {"k3": FORM}


@table.case()
def three_questions_at_once_get_their_own_answers(link: Link) -> None:
    _answering(link.caller, "elicitation/create", FORM)
    _answering(link.caller, "sampling/createMessage", MODEL)
    _answering(link.caller, "roots/list", ROOTS)
    answer = link.caller.tool("ask_many", {"label": link.label})
    told = json.loads(answer.result["content"][0]["text"])
    assert told == {"elicitation": FORM, "sampling": MODEL, "roots": ROOTS}


@table.case(eras=("handshake",), child_eras=("handshake",))
def a_refused_question_reaches_the_server_as_an_error(link: Link) -> None:
    def refuse(_: Message) -> Any:
        raise RefusalError(-1, "the user said no", {"why": "no"})

    (told,) = _asked(link, "sampling", refuse)
    assert told["k1"]["error"] == {"code": -1, "message": "the user said no", "data": {"why": "no"}}


@table.case(eras=("modern",))
def a_question_that_the_caller_cannot_answer_is_told_by_capability(link: Link) -> None:
    with link.another({"roots": {}}) as other:
        error = other.tool("ask", {"label": link.label, "kind": "elicitation"}).error
    assert error["code"] == -32021
    assert list(error["data"]["requiredCapabilities"]) == ["elicitation"]


@table.case(eras=("handshake",))
def a_caller_is_not_asked_what_it_cannot_answer(link: Link) -> None:
    with link.another({}) as other:
        answer = other.tool("ask", {"label": link.label, "kind": "sampling"})
    assert other.asked == []
    refused = "error" in answer.message or answer.result.get("isError") or "error" in json.dumps(answer.result)
    assert refused, answer.message


@table.case(eras=("modern",))
def a_question_that_is_never_answered_holds_nobody_up(link: Link) -> None:
    params = {"name": "ask", "arguments": {"label": link.label, "kind": "elicitation"}}
    for _ in range(2):
        assert link.caller.request("tools/call", params).result["resultType"] == "input_required"
    with link.another() as other:
        _answering(other, "elicitation/create", FORM)
        answer = other.tool("ask", {"label": link.label, "kind": "elicitation"})
    assert json.loads(answer.result["content"][0]["text"]) == [{"k1": FORM}]


@table.case(child_eras=("handshake",))
def an_unknown_question_is_refused(link: Link) -> None:
    answer = link.caller.tool("vendor_question", {"label": link.label})
    assert json.loads(answer.result["content"][0]["text"])["error"]["code"] == -32601


@table.case(child_eras=("handshake",))
def a_ping_of_the_server_is_answered(link: Link) -> None:
    answer = link.caller.tool("ping_me", {"label": link.label})
    assert json.loads(answer.result["content"][0]["text"])["result"] == {}


# Progress.


def _progress(caller: Caller, token: Any) -> list[Any]:
    return [one for one in caller.notifications("notifications/progress") if one["progressToken"] == token]


@table.case()
def progress_comes_under_the_callers_token(link: Link) -> None:
    for token in (f"{link.label} token", 77_000 + len(link.label)):
        link.caller.tool("progress", {"label": link.label}, _meta={"progressToken": token})
        told = [(one["progress"], one["total"], one["message"]) for one in _progress(link.caller, token)]
        assert told == [(step, 3, f"{link.label} {step}") for step in (1, 2, 3)]


@table.case()
def progress_is_not_told_to_those_who_did_not_ask(link: Link) -> None:
    before = len(link.caller.notifications("notifications/progress"))
    link.caller.tool("progress", {"label": link.label})
    assert len(link.caller.notifications("notifications/progress")) == before


@table.case(doors=("http",))
def two_callers_use_one_token_at_once(link: Link) -> None:
    with link.another() as other:
        meta = {"progressToken": f"{link.label} same"}
        pending = [
            caller.start("tools/call", {"name": "progress", "arguments": {"label": name}, "_meta": meta})
            for caller, name in ((link.caller, "one"), (other, "two"))
        ]
        for one in pending:
            one.wait()
        for caller, name in ((link.caller, "one"), (other, "two")):
            told = [one["message"] for one in _progress(caller, meta["progressToken"])]
            assert told == [f"{name} 1", f"{name} 2", f"{name} 3"]


# Logs.


def _logs(link: Link) -> list[str]:
    told = link.caller.notifications("notifications/message")
    return [
        one["level"] for one in told if isinstance(one.get("data"), dict) and one["data"].get("label") == link.label
    ]


def _log(link: Link, level: str) -> None:
    if link.era == "handshake":
        link.caller.request("logging/setLevel", {"level": level}).result  # noqa: B018 - an error fails here
        link.caller.tool("log", {"label": link.label})
    else:
        link.caller.tool("log", {"label": link.label}, _meta={f"{PREFIX}logLevel": level})


@table.case()
def logs_come_from_the_callers_level_on(link: Link) -> None:
    _log(link, "info")
    link.caller.wait_for(lambda: "error" in _logs(link), "the log")
    assert _logs(link) == ["info", "error"]


@table.case()
def a_log_keeps_its_logger_and_its_data(link: Link) -> None:
    _log(link, "error")
    link.caller.wait_for(lambda: _logs(link), "the log")
    told = [one for one in link.caller.notifications("notifications/message") if link.label in json.dumps(one)]
    kept = {key: value for key, value in told[0].items() if key != "_meta"}
    assert kept == {"level": "error", "logger": "script", "data": {"label": link.label, "n": 1.5}}


@table.case(eras=("modern",))
def logs_are_not_told_to_a_modern_caller_who_did_not_ask(link: Link) -> None:
    link.caller.tool("log", {"label": link.label})
    link.caller.tool("bare")
    assert _logs(link) == []


# Cancellation.


@table.case()
def a_cancelled_call_is_cancelled_at_the_server(link: Link) -> None:
    params = {"name": "wait", "arguments": {"label": link.label}, "_meta": {"progressToken": link.label}}
    held = link.caller.start("tools/call", params)
    link.caller.wait_for(lambda: _progress(link.caller, link.label), "progress")
    link.caller.cancel(held)
    link.wait_until_seen(lambda seen: {"cancelled": link.label} in seen, "the end of the call")
    assert link.caller.tool("bare").result["content"] == []


# Subscriptions.


def _watching(link: Link, wanted: Message) -> Pending | None:
    """Ask for changes, in the caller's way; return the stream of a modern caller."""
    if link.era == "handshake":
        for uri in wanted.get("resourceSubscriptions", []):
            assert link.caller.request("resources/subscribe", {"uri": uri}).result == {}
        return None
    stream = link.caller.start("subscriptions/listen", {"notifications": wanted}, key=f"{link.label} stream")
    acknowledged = "notifications/subscriptions/acknowledged"

    def ours() -> list[Message]:
        return [
            one
            for one in link.caller.notifications(acknowledged)
            if one["_meta"][f"{PREFIX}subscriptionId"] == stream.id
        ]

    link.caller.wait_for(ours, "the acknowledgement")
    assert ours()[0]["notifications"] == wanted
    return stream


def _told(link: Link, method: str, stream: Pending | None, change: Callable[[], Any]) -> Message:
    """Make a change and return the notification of it."""
    before = len(link.caller.notifications(method))
    change()
    link.caller.wait_for(lambda: len(link.caller.notifications(method)) > before, method)
    told = link.caller.notifications(method)[before]
    meta = told.get("_meta", {})
    assert meta.get(f"{PREFIX}subscriptionId") == (stream.id if stream else None)
    return told


@table.case()
def a_change_of_a_resource_is_told_to_those_who_asked(link: Link) -> None:
    stream = _watching(link, {"resourceSubscriptions": ["mem://plain"]})
    touch = lambda: link.caller.tool("touch", {"uri": "mem://plain"})  # noqa: E731
    assert _told(link, "notifications/resources/updated", stream, touch)["uri"] == "mem://plain"
    before = len(link.caller.notifications("notifications/resources/updated"))
    link.caller.tool("touch", {"uri": "mem://r1"})
    if stream is None:
        assert link.caller.request("resources/unsubscribe", {"uri": "mem://plain"}).result == {}
    else:
        link.caller.cancel(stream)
    link.caller.tool("bare")
    assert len(link.caller.notifications("notifications/resources/updated")) == before


def _list_change(link: Link, kind: str) -> None:
    stream = _watching(link, {f"{kind}ListChanged": True})
    _told(link, f"notifications/{kind}/list_changed", stream, lambda: link.caller.tool("grow", {"kind": kind}))
    if stream is not None:
        link.caller.cancel(stream)


@table.case()
def a_changed_list_of_tools_is_told(link: Link) -> None:
    _list_change(link, "tools")


@table.case()
def a_changed_list_of_prompts_is_told(link: Link) -> None:
    _list_change(link, "prompts")


@table.case()
def a_changed_list_of_resources_is_told(link: Link) -> None:
    _list_change(link, "resources")


@table.case(eras=("handshake",), child_eras=("handshake",), doors=("stdio",))
def changed_roots_are_told_to_the_server(link: Link) -> None:
    link.caller.notify("notifications/roots/list_changed", {"_meta": {"label": link.label}})
    link.wait_until_seen(bool, "the change", label="notifications/roots/list_changed")
