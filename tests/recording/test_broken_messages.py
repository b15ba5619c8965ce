"""Messages that no recorder writes, and those of odd servers: each request has one answer all the same."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from signet.mcp.link import LinkError, Outgoing
from signet.recording.message_reader import MessageReader, RecordedCall
from signet.recording.playback import PlaybackLink

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"n": 1}}}
REPLY = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
LABEL = {"format": 1, "servers": {"played": {"source": "x", "started": "2026-01-01T00:00:00Z"}}}
NOT_UNICODE = b'{"jsonrpc":"2.0","id":1,"result":{},"\x8c":1}'
PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"\x8c":1}}'


def question(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": {"message": "?"}}


def answer(number: int, action: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {"action": action}}


def with_token(call: dict[str, Any]) -> dict[str, Any]:
    return {**call, "params": {**call["params"], "_meta": {"progressToken": 5}}}


def recorded(folder: Path, *messages: tuple[int, dict[str, Any] | bytes]) -> str:
    """Write a recording; a client speaks first on each connection, and questions and replies are the server's."""
    lines = []
    for sequence, (connection, message) in enumerate(messages):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        is_call = isinstance(message, dict) and (message.get("method") == "tools/call" or "action" in str(message))
        direction = b"to_server" if is_call else b"to_client"
        head = b'{"connection":%d,"direction":"%b","sequence":%d,"ms":1,"message":' % (connection, direction, sequence)
        lines.append(head + body + b"}\n")
    place = folder / "servers/played"
    place.mkdir(parents=True)
    (folder / "recording.json").write_text(json.dumps(LABEL), encoding="utf-8")
    (place / "messages.jsonl").write_bytes(b"".join(lines))
    return str(folder)


async def call_and_decline(folder: str) -> list[dict[str, Any]]:
    """Make the call, decline what is asked, and return the answers to it."""
    link = PlaybackLink(folder)
    answers: list[dict[str, Any]] = []

    def receive(message: bytes) -> None:
        said = json.loads(message.decode("utf-8", "replace"))
        if "method" not in said:
            answers.append(said)
        elif "id" in said:
            link.send(Outgoing(json.dumps(answer(said["id"], "decline")).encode()))

    await link.open(receive, print)
    link.send(Outgoing(json.dumps({**with_token(CALL), "id": "mine"}).encode()))
    await asyncio.gather(*link._tasks, return_exceptions=True)
    await link.close()
    return answers


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([(1, CALL), (1, NOT_UNICODE)], "the recording has a message that cannot be played: record the call again"),
        (
            [(1, {name: value for name, value in CALL.items() if name != "id"})],
            "the recording has no reply to this request: record the call again",
        ),
    ],
)
def test_what_cannot_be_played_is_an_error(tmp_path: Path, messages: list[Any], told: str) -> None:
    answers = asyncio.run(call_and_decline(recorded(tmp_path, *messages)))

    assert answers == [{"jsonrpc": "2.0", "id": "mine", "error": {"code": -32603, "message": told}}]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([(1, CALL), (1, REPLY), (1, question(7)), (1, answer(7, "accept"))], id="asked after the reply"),
        pytest.param([(1, with_token(CALL)), (1, REPLY), (1, PROGRESS)], id="bytes after the reply"),
        pytest.param(
            [(1, CALL), (1, question(7)), (1, answer(7, "accept")), (1, REPLY),
             (2, CALL), (2, question(7)), (2, question(8)), (2, answer(7, "decline")), (2, answer(8, "accept")),
             (2, REPLY)],
            id="a question that another branch asked before",
        ),
    ],
)  # fmt: skip
def test_a_request_has_the_recorded_reply_and_no_other(tmp_path: Path, messages: list[Any]) -> None:
    answers = asyncio.run(call_and_decline(recorded(tmp_path, *messages)))

    assert answers == [{**REPLY, "id": "mine"}]


def test_arguments_that_are_no_object_are_no_arguments_of_a_call(tmp_path: Path) -> None:
    odd = {**CALL, "id": 2, "params": {"name": "echo", "arguments": "x"}}
    reader = MessageReader(recorded(tmp_path, (1, odd), (1, {**REPLY, "id": 2}), (1, CALL), (1, REPLY)))
    reader.load()

    found = list(reader.calls())
    reader.close()

    assert found == [RecordedCall("echo", {"n": 1}, {"content": []})]


@pytest.mark.parametrize("value", [b"1e309", b'"\x8c"'])
def test_a_result_that_cannot_be_decoded_is_no_result_to_learn_from(tmp_path: Path, value: bytes) -> None:
    reply = b'{"jsonrpc":"2.0","id":1,"result":{"a":' + value + b"}}"
    reader = MessageReader(recorded(tmp_path, (1, CALL), (1, reply), (1, CALL), (1, REPLY)))
    reader.load()

    found = list(reader.calls())
    reader.close()

    assert found == [RecordedCall("echo", {"n": 1}, {"content": []})]


def test_a_message_that_is_nested_beyond_all_bounds_is_named_by_its_line(tmp_path: Path) -> None:
    reply = b'{"jsonrpc":"2.0","id":1,"result":{"a":' + b"[" * 3000 + b"]" * 3000 + b"}}"
    reader = MessageReader(recorded(tmp_path, (1, CALL), (1, reply)))

    with pytest.raises(LinkError, match=r"^line 2 of \S+ is no recorded message \(maximum recursion depth exceeded"):
        reader.load()
