"""Who may list, read and cancel what, where callers share a wrapped server: one table, held to on real sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attack.clients import connect, post, read_answers
from attack.wrapped_processes import ACCEPT, ALICE, Session, end
from door_calls import rpc
from processes import PATIENCE_S, ROOT, SIGNET, Server, run, serving_command
from wrap.callers import Answer
from wrap.http_caller import HttpCaller

SHARED = (sys.executable, str(ROOT / "tests/wrap/shared_server.py"))
WRAP = (SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--no-console", "--name", "shared")
SECRET = "ALICE-SALARY"
WORK = rpc("tools/call", {"name": "work", "arguments": {"secret": "x"}, "task": {"ttl": None}})
TABLE = {
    "a task in `tasks/list`": ("listed", "not listed"),
    "a task by `tasks/get`, `tasks/result`, `tasks/cancel`": ("yes", "as a task that does not exist"),
    "`notifications/tasks/status`": ("yes", "no"),
    "a question of the server during a task or a call": ("asked", "not asked"),
    "a question after a call, when others have used the server": ("refused", "refused"),
    "a log message during a call": ("yes", "no"),
    "a log message during calls of several callers": ("no", "no"),
    "a log message outside of calls": ("if all sessions are of one principal or address", "likewise"),
    "progress of a call": ("yes", "no"),
    "`notifications/resources/updated`": ("yes", "only for what bob has subscribed to"),
    "a subscription, ended by `resources/unsubscribe`": ("yes", "bob's own"),
    "a call, ended by `notifications/cancelled`": ("yes", "no"),
    "a session (`Mcp-Session-Id`), its end and its streams (`Last-Event-ID`)": (
        "yes",
        "404, as one that does not exist",
    ),
    "the answers to `requestState`": ("yes", "as a state that does not exist"),
    "a kept answer (`idempotencyKey`)": ("yes", "bob's own call runs"),
}
"""What alice has begun: whether alice may have it, and bob, who is another principal or holds another session."""


class Two:
    """Two callers of one server, each with a session."""

    def __init__(self, server: Server, tokens: tuple[str, str]) -> None:
        self.server = server
        asking = {"elicitation": {"form": {}}}
        self.alice, self.bob = (HttpCaller(f"{server.url}/mcp", "handshake", asking, token=one) for one in tokens)
        for one in (self.alice, self.bob):
            one.answers["elicitation/create"] = lambda _: {"action": "accept", "content": {"name": "me"}}
            one.open()

    def begin(self, who: HttpCaller, secret: str = SECRET) -> str:
        params = {"name": "work", "arguments": {"secret": secret}, "task": {"ttl": 60_000}}
        return str(who.request("tools/call", params).result["task"]["taskId"])

    def settle(self) -> None:
        """Wait until all that was said before is heard: each hears an answer of its own behind it."""
        for who in (self.alice, self.bob):
            self.settle_one(who)

    def settle_one(self, who: HttpCaller) -> None:
        who.request("tools/call", {"name": "answers", "arguments": {}})

    def raw(
        self, method: str, who: HttpCaller, session: HttpCaller, body: Any = None, **more: str
    ) -> tuple[int, bytes]:
        """Send a request with the token of one and the session of another; return the status and the body."""
        headers = {**who._headers({}), "mcp-session-id": session._session, **more}
        reply = self.server.ask(method, "/mcp", json.dumps(body).encode() if body else None, headers)
        return reply.status, reply.body


@pytest.fixture(params=["tokens", "sessions"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Two]:
    """Serve to two principals, or to two sessions of nobody in particular."""
    flags, tokens = [], ["", ""]
    if request.param == "tokens":
        path = str(tmp_path / "tokens")
        made = [run("token", "new", name, "--tokens-file", path) for name in ("alice", "bob")]
        tokens, flags = [one.stdout.decode().split()[-1] for one in made], ["--tokens-file", path]
    with serving_command(*WRAP, *flags, "--", *SHARED) as server:
        both = Two(server, (tokens[0], tokens[1]))
        yield both
        for one in (both.alice, both.bob):
            one.close()


def verdict(answer: Answer, unknown: Answer) -> str:
    """Return whether a request was served, or answered as one for an id that was never there, byte for byte."""
    if "result" in answer.message:
        return "yes"
    assert json.dumps(answer.message["error"]) == json.dumps(unknown.message["error"])
    return "as a task that does not exist"


def test_the_table_is_the_one_of_the_page() -> None:
    rows = [f"| {what} | {alice} | {bob} |" for what, (alice, bob) in TABLE.items()]

    assert "\n".join(rows) in (ROOT / "docs/access.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
def test_a_task_is_its_holders(two: Two, method: str) -> None:
    task = two.begin(two.alice)
    nowhere = two.bob.request(method, {"taskId": "task-77"})

    bobs = two.bob.request(method, {"taskId": task})
    alices = two.alice.request(method, {"taskId": task})

    assert (verdict(alices, nowhere), verdict(bobs, nowhere)) == ("yes", "as a task that does not exist")
    assert two.alice.request("tasks/get", {"taskId": task}).result["status"] == (
        "cancelled" if method == "tasks/cancel" else "working"
    )


def test_each_lists_its_own_tasks(two: Two) -> None:
    for _ in range(2):
        two.begin(two.alice)

    before = two.bob.request("tasks/list").result
    own = two.begin(two.bob, "bob's")

    assert before == {"tasks": []}
    assert [one["taskId"] for one in two.bob.request("tasks/list").result["tasks"]] == [own]
    assert len(two.alice.request("tasks/list").result["tasks"]) == 2
    assert two.bob.request("tasks/list", {"cursor": "0"}).error["code"] == -32602


def test_the_state_of_a_task_is_told_to_its_holder(two: Two) -> None:
    task = two.begin(two.alice)

    two.bob.tool("finish", {"task": task})
    two.alice.wait_for(lambda: two.alice.notifications("notifications/tasks/status"), "the state")
    two.settle()

    heard = [bool(who.notifications("notifications/tasks/status")) for who in (two.alice, two.bob)]
    assert heard == [True, False]


def test_a_question_of_a_task_is_for_its_holder(two: Two) -> None:
    """Also while another caller has a call under way, which the question could be taken to be of."""
    task = two.begin(two.alice)

    two.bob.tool("ask_for", {"task": task})
    two.alice.wait_for(lambda: two.alice.asked, "the question")
    two.settle()

    assert [len(who.asked) for who in (two.alice, two.bob)] == [1, 0]
    two.bob.tool("ask_for", {"task": "task-77"})
    two.settle()
    assert [len(who.asked) for who in (two.alice, two.bob)] == [1, 0]


def test_a_question_of_a_call_is_for_its_caller(two: Two) -> None:
    assert "accept" in json.dumps(two.alice.tool("ask").result)

    assert [len(who.asked) for who in (two.alice, two.bob)] == [1, 0]


def test_what_comes_after_a_call_is_told_to_nobody_else(two: Two) -> None:
    """It may be of that call. Sessions of one address without tokens hear log messages together, and nothing else."""
    two.alice.tool("late", {"text": SECRET})
    two.settle()
    two.alice.close()
    two.bob.tool("late", {"text": "bob's"})
    two.settle_one(two.bob)

    heard = {one["method"] for one in two.bob.heard if SECRET in json.dumps(one)}
    assert heard == (set() if two.bob._token else {"notifications/message"})
    assert SECRET not in json.dumps(two.bob.asked)


def test_a_log_message_of_a_call_is_for_its_caller(two: Two) -> None:
    two.alice.tool("say", {"text": SECRET})
    two.settle()

    heard = [bool(who.notifications("notifications/message")) for who in (two.alice, two.bob)]
    assert heard == [True, False]


def test_the_progress_of_a_call_is_for_its_caller(two: Two) -> None:
    """Also where both have named their calls alike."""
    named = {"name": "count", "arguments": {}, "_meta": {"progressToken": "same"}}
    two.alice.request("tools/call", named)
    two.settle()

    heard = [len(who.notifications("notifications/progress")) for who in (two.alice, two.bob)]
    assert heard == [1, 0]


def test_the_answers_to_a_question_are_its_callers(two: Two) -> None:
    """In the modern era a request goes on with a state; without tokens the state, which cannot be guessed, is all."""
    asking = {"elicitation": {"form": {}}}
    call = {"name": "ask", "arguments": {}}
    alice, bob = (
        HttpCaller(f"{two.server.url}/mcp", "modern", asking, token=one._token) for one in (two.alice, two.bob)
    )
    asked = alice.request("tools/call", call).result
    answers = {key: {"action": "accept", "content": {"name": "me"}} for key in asked["inputRequests"]}
    with_state = {**call, "inputResponses": answers, "requestState": asked["requestState"]}

    if two.bob._token:
        unknown = bob.request("tools/call", {**with_state, "requestState": "never-there"})
        assert bob.request("tools/call", with_state).raw == unknown.raw.replace(b'"id":1', b'"id":2')
    assert "accept" in json.dumps(alice.request("tools/call", with_state).result)


def test_the_level_of_one_does_not_silence_another(two: Two) -> None:
    two.bob.request("logging/setLevel", {"level": "emergency"})
    two.alice.tool("say", {"text": "loud"})
    two.settle()

    assert two.alice.notifications("notifications/message")


def test_a_subscription_is_for_whoever_made_it(two: Two) -> None:
    two.alice.request("resources/subscribe", {"uri": "mem://x"})

    two.bob.request("resources/unsubscribe", {"uri": "mem://x"})
    two.bob.tool("touch", {"uri": "mem://x"})
    two.alice.wait_for(lambda: two.alice.notifications("notifications/resources/updated"), "the update")
    two.settle()

    assert not two.bob.notifications("notifications/resources/updated")
    assert "mem://x" in two.bob.request("resources/read", {"uri": "mem://x"}).result["contents"][0]["text"]


def test_a_session_is_its_principals(two: Two) -> None:
    """Without tokens the id of a session, which cannot be guessed, is all that tells who holds it."""
    other = HttpCaller(f"{two.server.url}/mcp", "handshake", token=two.bob._token)
    other._session = "never-there"
    requests: list[Callable[[HttpCaller, HttpCaller], tuple[int, bytes]]] = [
        lambda who, of: two.raw("POST", who, of, rpc("tools/list", {}), accept="application/json"),
        lambda who, of: two.raw("GET", who, of, accept="text/event-stream", **{"last-event-id": "1-0"}),
        lambda who, of: two.raw("DELETE", who, of),
    ]
    for ask in requests:
        unknown = ask(two.bob, other)
        assert unknown[0] == 404
        if two.bob._token:
            assert ask(two.bob, two.alice) == unknown
    assert two.raw("POST", two.alice, two.alice, rpc("tools/list", {}), accept="application/json")[0] == 200


def test_a_call_is_cancelled_by_its_caller_alone(two: Two) -> None:
    two.alice.answers["elicitation/create"] = lambda _: (
        two.bob.notify("notifications/cancelled", {"requestId": pending.id})
        or {"action": "accept", "content": {"name": "me"}}
    )
    pending = two.alice.start("tools/call", {"name": "ask", "arguments": {}})

    assert "accept" in json.dumps(pending.wait().result)


def test_a_kept_answer_is_its_principals(two: Two) -> None:
    """Without tokens the keys belong to an address, which both have here."""
    named = {"name": "count", "arguments": {}, "_meta": {"idempotencyKey": "one"}}
    said = [json.dumps(who.request("tools/call", named).result) for who in (two.alice, two.alice, two.bob)]

    first, again, others = (re.findall("[0-9]", one)[-1] for one in said)
    assert again == first
    assert (others == first) == (not two.bob._token)


def from_address(server: Server, address: str, method: str, params: dict[str, Any]) -> Any:
    """Send a request without a session from an address of this machine, and return the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S, source_address=(address, 0))
    with contextlib.closing(connection):
        headers = {"content-type": "application/json", "accept": "application/json"}
        connection.request("POST", "/mcp", json.dumps(rpc(method, params)), headers)
        return json.loads(connection.getresponse().read())


def test_without_tokens_and_sessions_the_address_tells_who_it_is() -> None:
    work = {"name": "work", "arguments": {"secret": SECRET}, "task": {}}
    with serving_command(*WRAP, "--", *SHARED) as server:
        begun = from_address(server, "127.0.0.1", "tools/call", work)["result"]["task"]
        named = {"taskId": begun["taskId"]}
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            unknown = from_address(server, "127.0.0.2", method, {"taskId": "task-77"})
            assert from_address(server, "127.0.0.2", method, named) == unknown
            assert "error" in unknown
        assert from_address(server, "127.0.0.2", "tasks/list", {})["result"] == {"tasks": []}
        assert SECRET in json.dumps(from_address(server, "127.0.0.1", "tasks/result", named))


def test_the_tasks_of_one_have_a_bound_and_leave_room_for_others(two: Two) -> None:
    """One that has ended makes room; one that runs does not."""
    tasks = [two.begin(two.alice) for _ in range(256)]
    refused = two.alice.tool("work", {"secret": "x"}, task={}).result
    assert (refused["isError"], refused["_meta"]["code"]) == (True, "RATE_LIMITED")
    assert two.begin(two.bob)

    two.alice.request("tasks/cancel", {"taskId": tasks[7]})

    assert two.begin(two.alice)
    assert two.alice.request("tasks/get", {"taskId": tasks[0]}).result["status"] == "working"
    assert "error" in two.alice.request("tasks/get", {"taskId": tasks[7]}).message


@pytest.mark.parametrize("two", ["tokens"], indirect=True)
def test_calls_that_ask_take_turns_by_caller(two: Two) -> None:
    """Each of bob's ten calls asks him something before the next one begins; alice waits for few of them."""
    go_on = threading.Semaphore(0)

    def think(_: Any) -> Any:
        assert go_on.acquire(timeout=PATIENCE_S)
        return {"action": "decline"}

    two.alice.tool("ask")
    two.bob.answers["elicitation/create"] = think
    waiting = [two.bob.start("tools/call", {"name": "ask", "arguments": {}}) for _ in range(10)]
    two.bob.wait_for(lambda: two.bob.asked, "the first question to bob")
    two.settle()
    pending = two.alice.start("tools/call", {"name": "ask", "arguments": {}})
    two.settle()
    for count in range(1, 11):
        go_on.release()
        two.bob.wait_for(lambda n=count: pending.ended.is_set() or len(two.bob.asked) > n, "the next question")  # type: ignore[misc]
        if pending.ended.is_set():
            break
    bobs = len(two.bob.asked)
    go_on.release(10)

    assert "accept" in json.dumps(pending.wait().result)
    assert bobs <= 4
    assert all("result" in one.wait().message for one in waiting)


@pytest.mark.parametrize("two", ["tokens"], indirect=True)
def test_questions_that_one_caller_does_not_answer_leave_room_for_those_to_others(two: Two) -> None:
    """In the modern era the calls of questions are held for ten minutes, and the questions stay open."""
    asking = {"elicitation": {"form": {}}}
    bob = HttpCaller(f"{two.server.url}/mcp", "modern", asking, token=two.bob._token)
    held = [bob.request("tools/call", {"name": "ask", "arguments": {}}) for _ in range(300)]

    answer = two.alice.tool("ask").result

    assert "accept" in json.dumps(answer)
    assert {one.result["resultType"] for one in held} == {"input_required"}


@pytest.mark.parametrize("two", ["tokens"], indirect=True)
def test_questions_of_tasks_leave_room_for_those_to_others(two: Two) -> None:
    task = two.begin(two.bob)
    go_on = threading.Event()
    two.bob.answers["elicitation/create"] = lambda _: go_on.wait(PATIENCE_S) and {"action": "decline"}
    for _ in range(300):
        two.bob.tool("ask_for", {"task": task})

    answer = two.alice.tool("ask").result
    go_on.set()

    assert "accept" in json.dumps(answer)


@pytest.mark.parametrize("two", ["tokens"], indirect=True)
def test_the_end_of_a_subscription_ends_none_that_another_caller_is_about_to_have(two: Two) -> None:
    """The server answers alice's request when bob's has come, or when it has not."""
    params = {"uri": "mem://slow"}
    pending = two.alice.start("resources/subscribe", params)
    two.alice.wait_for(lambda: "mem://slow" in _subscribed(two), "the server has it")
    for _ in range(3):
        two.bob.request("resources/unsubscribe", params)
    two.bob.tool("touch", {"uri": "mem://go"})

    assert pending.wait().result == {}
    assert "mem://slow" in _subscribed(two)


def _subscribed(two: Two) -> list[str]:
    """Return what the server has subscriptions for."""
    return json.loads(two.alice.request("resources/read", {"uri": "mem://x"}).result["contents"][0]["text"])


def test_sessions_of_one_address_take_half_of_all_tasks_and_those_of_an_ended_session_are_gone() -> None:
    """A session is a holder of its own where there are no tokens, and an address may have many sessions."""
    with serving_command(*WRAP, "--", *SHARED) as server:
        mallory = [Session(server.port) for _ in range(16)]
        begun = [_begin_all(one, 256) for one in mallory]
        alice = Session(server.port, ALICE)
        of_alice = _begin_all(alice, 10)
        end(mallory[0])
        after = _begin_all(mallory[-1], 256)

    assert begun == [256] * 8 + [0] * 8
    assert of_alice == 10
    # As many as the ended session had, but for half of alice's.
    assert after == 251


def _begin_all(session: Session, count: int) -> int:
    """Begin tasks in a new session; return how many there were."""
    if not session.id:
        session.open()
    begun = 0
    with contextlib.closing(connect(session.port, session.source)) as client:
        for _ in range(count):
            client.sendall(post("/mcp", WORK, [ACCEPT, ("mcp-session-id", session.id)]))
            begun += "task" in read_answers(client, 1)[0].json()["result"]
    return begun
