"""A recorded server is played in its era, with its notifications and its questions, without the server."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from recorded_links import Client, messages, record, replay, talk_to
from signet.mcp.link import LinkError, Outgoing
from signet.recording.message_reader import MessageReader
from signet.recording.playback import PlaybackLink


def accept(name: str) -> Any:
    return lambda _: {"result": {"action": "accept", "content": {"name": name}}}


async def whole(client: Client) -> list[Any]:
    """Greet, list two pages, call every tool of the handshake era."""
    replies = [await client.greet(), await client.ask("tools/list"), await client.ask("tools/list", {"cursor": "more"})]
    replies.append(await client.call("echo", text="a"))
    replies.append(await client.call("count", meta={"progressToken": "mine"}))
    replies.append(await client.call("ask"))
    return [replies, client.heard, client.asked]


def without_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in message.items() if key != "id"} for message in messages]


def test_a_recording_answers_as_the_server_did(tmp_path: Path) -> None:
    replies, heard, asked = record(tmp_path, whole, accept("Ann"))

    again, heard_again, asked_again = replay(tmp_path, whole, accept("Ann"))

    assert again == replies
    assert [message["method"] for message in heard] == ["notifications/progress"] * 2 + ["notifications/message"]
    assert heard_again == heard
    assert without_ids(asked_again) == without_ids(asked)
    assert asked[0]["params"]["maxTokens"] == 7


def test_every_byte_but_the_id_is_as_the_server_wrote_it(tmp_path: Path) -> None:
    async def listed(client: Client) -> bytes:
        await client.ask("ping")
        await client.ask("tools/list")
        return client.raw[-1]

    async def listed_first(client: Client) -> bytes:
        await client.ask("tools/list")
        return client.raw[-1]

    live = record(tmp_path, listed)

    assert b'"maximum":1e2' in live
    assert b"?api_key=YOURS." in live
    replayed = replay(tmp_path, listed_first)
    assert replayed.replace(b'"id":1', b'"id":2').replace(b" ", b"") == live.replace(b" ", b"")


def test_progress_carries_the_token_of_the_new_request(tmp_path: Path) -> None:
    async def counted(client: Client) -> Any:
        await client.greet()
        return await client.call("count", meta={"progressToken": 5})

    async def counted_otherwise(client: Client) -> Any:
        await client.greet()
        await client.call("count", meta={"progressToken": "other", "traceparent": "00-1"})
        return [message["params"].get("progressToken") for message in client.heard]

    async def counted_without(client: Client) -> Any:
        await client.greet()
        await client.call("count")
        return [message["method"] for message in client.heard]

    record(tmp_path, counted)

    assert replay(tmp_path, counted_otherwise) == ["other", "other", None]
    assert replay(tmp_path, counted_without) == ["notifications/message"]


def test_equal_calls_get_their_replies_in_turn_and_then_the_last_again(tmp_path: Path) -> None:
    async def thrice(client: Client) -> list[int]:
        replies = [await client.call("count") for _ in range(3)]
        return [reply["result"]["structuredContent"]["n"] for reply in replies]

    async def five_times(client: Client) -> list[int]:
        waiting = [client.start("tools/call", {"name": "count"}) for _ in range(5)]
        return [(await one)["result"]["structuredContent"]["n"] for one in waiting]

    assert record(tmp_path, thrice) == [1, 2, 3]
    assert replay(tmp_path, five_times) == [1, 2, 3, 3, 3]


def test_links_that_share_a_recording_count_equal_calls_together(tmp_path: Path) -> None:
    async def once(client: Client) -> int:
        return (await client.call("count"))["result"]["structuredContent"]["n"]

    async def twice(client: Client) -> list[int]:
        return [await once(client), await once(client)]

    record(tmp_path, twice)
    shared = MessageReader(str(tmp_path))

    assert [talk_to(PlaybackLink(shared), once) for _ in range(3)] == [1, 2, 2]
    shared.close()


def test_calls_in_flight_at_once_are_told_apart(tmp_path: Path) -> None:
    async def both(client: Client) -> Any:
        counted = client.start("tools/call", {"name": "count", "_meta": {"progressToken": "c"}})
        echoed = client.start(
            "tools/call", {"name": "echo", "arguments": {"text": "x"}, "_meta": {"progressToken": "e"}}
        )
        return await counted, await echoed

    async def only_echo(client: Client) -> Any:
        await client.call("echo", text="x", meta={"progressToken": "e"})
        return client.heard

    live = record(tmp_path, both)

    assert replay(tmp_path, both) == live
    assert replay(tmp_path, only_echo) == []


async def ask_once(client: Client) -> Any:
    return await client.call("ask")


async def ask_twice(client: Client) -> Any:
    return [await client.call("ask"), await client.call("ask")]


def test_the_answer_of_the_client_chooses_what_follows(tmp_path: Path) -> None:
    answers = iter(["Ann", "Bob"])
    record(tmp_path, ask_twice, lambda _: accept(next(answers))({}))

    told = replay(tmp_path, ask_once, accept("Bob"))

    assert json.loads(told["result"]["content"][0]["text"])["content"] == {"name": "Bob"}


def test_an_answer_that_was_not_recorded_is_told_with_those_that_were(tmp_path: Path) -> None:
    record(tmp_path, ask_once, accept("Ann"))

    error = replay(tmp_path, ask_once, accept("Zoe"))["error"]

    assert error["code"] == -32602
    assert '{"action":"accept","content":{"name":"Zoe"}}' in error["message"]
    assert '{"action":"accept","content":{"name":"Ann"}}' in error["message"]


def test_a_secret_answer_is_not_recorded_and_is_asked_for_again(tmp_path: Path) -> None:
    def give(secret: str) -> Any:
        return lambda _: {"result": {"action": "accept", "content": {"password": secret}}}

    record(tmp_path, ask_once, give("hunter2-canary"))

    assert b"hunter2-canary" not in messages(tmp_path).read_bytes()
    told = replay(tmp_path, ask_once, give("another-one"))
    assert json.loads(told["result"]["content"][0]["text"])["content"] == {"password": "[redacted]"}


async def modern_rounds(client: Client, answer: str = "yes") -> list[Any]:
    first = await client.call("ask", modern=True)
    params = {
        "name": "ask",
        "arguments": {},
        "inputResponses": {"q": {"action": "accept", "content": {"a": answer}}},
        "requestState": first["result"]["requestState"],
    }
    return [await client.greet(modern=True), first, await client.ask("tools/call", params, modern=True)]


def test_rounds_of_the_modern_era_are_played(tmp_path: Path) -> None:
    live = record(tmp_path, modern_rounds, modern=True)

    assert live[1]["result"]["resultType"] == "input_required"
    assert replay(tmp_path, modern_rounds) == live


def test_a_round_with_another_answer_is_told_with_the_recorded_one(tmp_path: Path) -> None:
    record(tmp_path, modern_rounds, modern=True)

    error = replay(tmp_path, lambda client: modern_rounds(client, "no"))[2]["error"]

    assert error["code"] == -32602
    assert error["data"]["differs"] == ["inputResponses"]


async def greet_in_both(client: Client) -> list[Any]:
    return [await client.greet(modern=True), await client.greet()]


def test_a_handshake_recording_knows_no_discovery(tmp_path: Path) -> None:
    async def legacy(client: Client) -> Any:
        return await client.greet()

    record(tmp_path, legacy)

    discovered, initialized = replay(tmp_path, greet_in_both)

    assert discovered["error"] == {"code": -32601, "message": "Method not found"}
    assert initialized["result"]["protocolVersion"] == "2025-11-25"


def test_a_modern_recording_refuses_the_handshake(tmp_path: Path) -> None:
    async def modern(client: Client) -> Any:
        return [await client.greet(modern=True), await client.ask("tools/list", modern=True)]

    async def legacy(client: Client) -> Any:
        return [await client.greet(), await client.ask("tools/list")]

    live = record(tmp_path, modern, modern=True)

    initialized, listed = replay(tmp_path, legacy)
    assert initialized["error"]["code"] == -32022
    assert initialized["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    assert listed["error"]["code"] == -32602
    assert replay(tmp_path, modern) == live


def test_a_recording_of_both_eras_answers_in_both(tmp_path: Path) -> None:
    async def legacy(client: Client) -> Any:
        return [await client.greet(), await client.call("echo", text="old")]

    async def modern(client: Client) -> Any:
        return [await client.greet(modern=True), await client.call("echo", modern=True, text="new")]

    async def both(client: Client) -> Any:
        return [*await legacy(client), *await modern(client)]

    old = record(tmp_path, legacy)
    new = record(tmp_path, modern, modern=True)

    told = replay(tmp_path, both)
    assert [reply["result"] for reply in told] == [reply["result"] for reply in (*old, *new)]
    assert json.loads((tmp_path / "recording.json").read_bytes())["servers"]["played"]["era"] == "both"


def test_a_client_of_another_revision_gets_the_recorded_handshake(tmp_path: Path) -> None:
    async def legacy(client: Client) -> Any:
        return await client.greet()

    async def older(client: Client) -> Any:
        return await client.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {"roots": {}}})

    live = record(tmp_path, legacy)

    assert replay(tmp_path, older)["result"] == live["result"]


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ({"name": "echo", "arguments": {"text": "aaab", "n": 1}}, -32602, 'text is "aaab" here and "aaaa" there'),
        ({"name": "echo", "arguments": {"text": "zz"}}, -32602, "n is missing here"),
        ({"name": "ecko", "arguments": {}}, -32602, "the nearest recorded name is echo"),
    ],
)
def test_an_unknown_call_is_told_with_the_nearest(tmp_path: Path, call: Any, code: int, words: str) -> None:
    async def some(client: Client) -> None:
        for text in ("zzzz", "aaaa", "mmmm"):
            await client.call("echo", text=text, n=1)
        await client.call("count")

    async def unknown(client: Client) -> Any:
        return await client.ask("tools/call", call)

    record(tmp_path, some)

    error = replay(tmp_path, unknown)["error"]
    assert error["code"] == code
    assert words in error["message"]
    assert "--record" in error["message"]


def test_a_method_that_was_never_asked_is_unknown(tmp_path: Path) -> None:
    async def greet(client: Client) -> Any:
        return await client.greet()

    async def prompt(client: Client) -> Any:
        return await client.ask("prompts/list")

    record(tmp_path, greet)

    assert replay(tmp_path, prompt)["error"]["code"] == -32601


def test_a_number_may_be_spelled_in_another_way(tmp_path: Path) -> None:
    async def whole_number(client: Client) -> Any:
        return await client.call("echo", n=3, deep=[{"m": 4}])

    async def as_float(client: Client) -> Any:
        return await client.call("echo", deep=[{"m": 4.0}], n=3.0)

    live = record(tmp_path, whole_number)

    assert replay(tmp_path, as_float) == live


def test_a_cancelled_request_is_not_answered(tmp_path: Path) -> None:
    record(tmp_path, ask_once, accept("Ann"))

    async def cancelled() -> list[bytes]:
        link = PlaybackLink(str(tmp_path))
        heard: list[bytes] = []
        questions = asyncio.Event()

        def receive(message: bytes) -> None:
            heard.append(message)
            questions.set()

        await link.open(receive, lambda _: None)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask"}}
        link.send(Outgoing(json.dumps(call).encode(), "tools/call", id=1))
        await questions.wait()
        question = json.loads(heard[0])
        gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        link.send(Outgoing(json.dumps(gone).encode(), gone["method"]))
        late = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "Ann"}}}
        link.send(Outgoing(json.dumps(late).encode()))
        for _ in range(10):
            await asyncio.sleep(0)
        await link.close()
        return heard

    assert len(asyncio.run(cancelled())) == 1


def test_what_a_server_says_between_calls_follows_what_was_sent_before(tmp_path: Path) -> None:
    written(
        tmp_path,
        (">", '{"jsonrpc":"2.0","method":"notifications/initialized"}'),
        ("<", '{"jsonrpc":"2.0","id":"r1","method":"roots/list"}'),
        (">", '{"jsonrpc":"2.0","id":"r1","result":{"roots":[]}}'),
        ("<", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
        ("<", '{"jsonrpc":"2.0","id":1.5,"method":"roots/list"}'),
    )

    async def talk(client: Client) -> list[str]:
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await client.was_told.wait()
        return [*(one["method"] for one in client.asked), *(one["method"] for one in client.heard)]

    told = replay(tmp_path, talk, lambda _: {"result": {"roots": [{"uri": "file:///elsewhere"}]}})

    assert told == ["roots/list", "notifications/tools/list_changed"]


LABEL = '{"format":1,"servers":{"played":{"source":"c","started":"2026-11-16T00:00:00+00:00"}}}'
BROKEN = {
    "no label": ("", "", "there is no recording in"),
    "newer": ('{"format":2,"shape":"other"}', "", "newer format"),
    "no JSON": ("{", "", "recording.json in .* cannot be read"),
    "nested too deeply": ('{"format":1,"settings":' + "[" * 3000, "", "recording.json in .* cannot be read"),
    "a place for a name": ('{"format":1,"servers":{"../a":{"started":"x"}}}', "", "'../a' is not the name of a server"),
    "no servers": ('{"format":1}', "", "is a recording without wrapped servers"),
    "two servers": (
        '{"format":1,"servers":{"a":{"started":"x"},"b":{"started":"x"}}}',
        "",
        "choose one of .*servers/a, ",
    ),
    "no messages": (LABEL, None, "messages.jsonl cannot be read"),
    "broken line": (LABEL, "{}\n", "line 1 of"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_recording_is_a_sentence(tmp_path: Path, how: str) -> None:
    label, lines, words = BROKEN[how]
    if label:
        (tmp_path / "recording.json").write_text(label)
    if lines is not None:
        messages(tmp_path).parent.mkdir(parents=True)
        messages(tmp_path).write_text(lines)

    async def nothing(_: Client) -> None: ...

    with pytest.raises(LinkError, match=words):
        replay(tmp_path, nothing)


def test_a_line_that_was_cut_off_is_ignored(tmp_path: Path) -> None:
    async def echo(client: Client) -> Any:
        return await client.call("echo", text="a")

    live = record(tmp_path, echo)
    with messages(tmp_path).open("ab") as file:
        file.write(b'{"connection":9,"direction":"to_cl')

    assert replay(tmp_path, echo) == live


def written(folder: Path, *said: tuple[str, str]) -> None:
    """Write a recording by hand: messages of one connection, `>` to the server and `<` to the client."""
    line = '{"connection":1,"direction":"%s","sequence":%d,"ms":0,"message":%s}\n'
    to = {">": "to_server", "<": "to_client"}
    text = "".join(line % (to[sign], number, message) for number, (sign, message) in enumerate(said, 1))
    messages(folder).parent.mkdir(parents=True)
    messages(folder).write_text(text)
    (folder / "recording.json").write_text(LABEL)


LISTEN = {"notifications": {"toolsListChanged": True}}
KEY = "io.modelcontextprotocol/subscriptionId"


def test_what_a_server_told_its_listeners_is_told_under_the_new_id_and_the_stream_stays_open(tmp_path: Path) -> None:
    params = {**LISTEN, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    asked = {"jsonrpc": "2.0", "id": 77, "method": "subscriptions/listen", "params": params}
    note = '{"jsonrpc":"2.0","method":"notifications/%s","params":{"x":1,"_meta":{"%s":77}}}'
    written(
        tmp_path,
        (">", json.dumps(asked)),
        ("<", note % ("subscriptions/acknowledged", KEY)),
        (">", '{"jsonrpc":"2.0","id":78,"method":"tools/list","params":{}}'),
        ("<", note % ("tools/list_changed", KEY)),
        ("<", '{"jsonrpc":"2.0","id":77,"result":{}}'),
    )

    async def listen(client: Client) -> Any:
        client.start("ping")
        waiting = client.start("subscriptions/listen", LISTEN, modern=True)
        while len(client.heard) < 2:
            client.was_told.clear()
            await client.was_told.wait()
        return client.heard, waiting.done()

    told, is_done = replay(tmp_path, listen)

    assert [(one["method"], one["params"]) for one in told] == [
        ("notifications/subscriptions/acknowledged", {"x": 1, "_meta": {KEY: 2}}),
        ("notifications/tools/list_changed", {"x": 1, "_meta": {KEY: 2}}),
    ]
    assert is_done is False


def test_a_listener_that_was_not_recorded_is_acknowledged_and_hears_nothing(tmp_path: Path) -> None:
    async def greet(client: Client) -> Any:
        return await client.greet(modern=True)

    async def listen(client: Client) -> Any:
        client.start("subscriptions/listen", LISTEN, modern=True)
        await client.was_told.wait()
        return client.heard

    record(tmp_path, greet, modern=True)

    assert replay(tmp_path, listen) == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {**LISTEN, "_meta": {KEY: 1}},
        }
    ]


def test_a_question_that_the_server_took_back_is_not_waited_for(tmp_path: Path) -> None:
    written(
        tmp_path,
        (">", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}'),
        ("<", '{"jsonrpc":"2.0","id":50,"method":"elicitation/create","params":{}}'),
        ("<", '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":50}}'),
        ("<", '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'),
    )

    async def ask(client: Client) -> Any:
        reply = await client.call("ask")
        return reply["result"], client.heard[0]["params"]["requestId"] == client.asked[0]["id"]

    assert replay(tmp_path, ask) == ({"content": []}, True)


def test_a_large_recording_stays_on_the_disk(tmp_path: Path) -> None:
    text = "x" * 500_000
    call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"n":%d}}}'
    reply = '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%d%s"}]}}'
    pairs = [((">", call % (n, n)), ("<", reply % (n, n, text))) for n in range(40)]
    written(tmp_path, *(message for pair in pairs for message in pair))
    tape = MessageReader(str(tmp_path))

    tracemalloc.start()
    tape.load()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    async def last(client: Client) -> Any:
        return (await client.call("t", n=39))["result"]["content"][0]["text"]

    assert peak < 6_000_000
    assert talk_to(PlaybackLink(tape), last) == f"39{text}"
    tape.close()


def test_what_belongs_to_no_single_call_is_played_with_none(tmp_path: Path) -> None:
    call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d"}}'
    written(
        tmp_path,
        (">", call % (1, 1)),
        (">", call % (2, 2)),
        ("<", '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"whose?"}}'),
        ("<", '{"jsonrpc":"2.0","id":50,"method":"elicitation/create","params":{}}'),
        ("<", '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'),
        ("<", '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"of the second"}}'),
        ("<", '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}'),
    )

    async def both(client: Client) -> Any:
        await client.call("t1")
        await client.call("t2")
        return [one["params"]["data"] for one in client.heard], client.asked

    assert replay(tmp_path, both) == (["of the second"], [])


def test_a_question_beside_a_list_belongs_to_the_call(tmp_path: Path) -> None:
    written(
        tmp_path,
        (">", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}'),
        (">", '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'),
        ("<", '{"jsonrpc":"2.0","id":50,"method":"elicitation/create","params":{}}'),
        ("<", '{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}'),
        (">", '{"jsonrpc":"2.0","id":50,"result":{"action":"decline"}}'),
        ("<", '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'),
    )

    async def ask(client: Client) -> Any:
        reply = await client.call("ask")
        return reply["result"], [one["method"] for one in client.asked]

    assert replay(tmp_path, ask) == ({"content": []}, ["elicitation/create"])
