"""Messages: recordings of wrapped servers, of any version, indexed and played to a client that asks for all of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fuzz.folders import joined, sections, write_files
from fuzz.odd_values import json_text, json_value, text
from fuzz.serving import LoopWatch, loop_watched
from fuzz.target import Run, Target, expect
from signet.mcp.link import LinkError, Outgoing
from signet.recording.message_reader import MessageReader
from signet.recording.playback import PlaybackLink
from signet.recording.requests import head_of, id_of

__all__ = ["TARGET"]

LABEL = {
    "format": 1,
    "signet": "0.2.0",
    "server": "played",
    "source": "x",
    "started": "2026-01-01T00:00:00Z",
    "era": "handshake",
}
SERVER = {"source": "x", "started": "2026-01-01T00:00:00Z", "era": "handshake"}
NEW_LABEL = {"format": 1, "signet": "0.3.0", "toolsets": {}, "settings": {}, "servers": {"played": SERVER}}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"n": {"maximum": 1e2}}}}
EXCHANGES: tuple[tuple[str, Any, Any], ...] = (
    (
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": {}},
        {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "p"}},
    ),
    ("tools/list", {}, {"tools": [TOOL]}),
    ("tools/list", {"cursor": "a"}, {"tools": [TOOL], "nextCursor": "b"}),
    ("tools/call", {"name": "echo", "arguments": {"n": 1}}, {"content": [{"type": "text", "text": "1"}]}),
    (
        "server/discover",
        {"_meta": MODERN},
        {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"},
    ),
    ("subscriptions/listen", {"_meta": MODERN, "notifications": {}}, {}),
    ("ping", {}, {}),
)
WORDS = (
    "connection", "direction", "to_server", "to_client", "sequence", "ms", "message", "text", "jsonrpc", "id",
    "method", "params", "result", "error", "progressToken", "notifications/progress", "notifications/cancelled",
    "elicitation/create", "roots/list", "_meta", "cursor", "nextCursor", "resultType", "requestId", *MODERN,
)  # fmt: skip
TOKENS = (
    *tuple(f'"{word}"'.encode() for word in WORDS),
    b"%% tape.json\n",
    b"%% recording.json\n",
    b"%% messages.jsonl\n",
    b"\n",
    b"\\ud800",
    b"1e400",
    b"1.0",
    b"[[[[",
    b"null",
    b"\xff",
    b"\x00",
)
MAX_ASKED = 20
TURNS = 400
UNANSWERED = "notifications/cancelled"
MAY_STAY_OPEN = "subscriptions/listen"
"""What has no answer where the recording plays a server that takes it, and an error where it does not."""


def _line(connection: int, direction: str, sequence: int, message: Any) -> dict[str, Any]:
    return {"connection": connection, "direction": direction, "sequence": sequence, "ms": 1, "message": message}


def _exchange(chance: random.Random, number: int) -> list[tuple[str, Any]]:
    """Return a request, what the server says and asks meanwhile, and the reply."""
    method, params, result = json.loads(json.dumps(chance.choice(EXCHANGES)))
    if chance.random() < 0.3:
        params["_meta"] = {**params.get("_meta", {}), "progressToken": number}
    messages: list[tuple[str, Any]] = [("to_server", {"id": number, "method": method, "params": params})]
    if chance.random() < 0.3:
        told = {"progressToken": number, "progress": 1}
        messages.append(("to_client", {"method": "notifications/progress", "params": told}))
    asks = list(range(chance.choice((0, 0, 0, 1, 1, 2))))
    for ask in asks:
        asked = chance.choice(("elicitation/create", "elicitation/create", "roots/list", "ping"))
        messages.append(("to_client", {"id": 70 + ask, "method": asked, "params": {}}))
    chance.shuffle(asks)
    for ask in asks:
        answer = chance.choice(({"action": "decline"}, {"action": "accept"}, {"roots": []}))
        messages.append(("to_server", {"id": 70 + ask, "result": answer}))
    reply = {"result": result} if chance.random() < 0.8 else {"error": {"code": -32603, "message": "no"}}
    messages.append(("to_client", {"id": number, **reply}))
    if chance.random() < 0.15:
        del messages[chance.randrange(len(messages))]
    return [(direction, {"jsonrpc": "2.0", **message}) for direction, message in messages]


def _messages(chance: random.Random) -> list[Any]:
    """Return the lines of some exchanges."""
    exchanges = [_exchange(chance, number) for number in range(chance.randrange(1, 6))]
    connections = [chance.choice((1, 2, 3)) for _ in exchanges]
    said = [(one, *message) for one, exchange in zip(connections, exchanges, strict=True) for message in exchange]
    return [_line(one, direction, place, message) for place, (one, direction, message) in enumerate(said)]


def _generate(chance: random.Random) -> bytes:
    is_old = chance.random() < 0.3
    label: Any = {**LABEL, "era": chance.choice(("handshake", "modern", "both", ""))} if is_old else {**NEW_LABEL}
    if chance.random() < 0.1:
        label[chance.choice([*label, text(chance)])] = json_value(chance)
    lines = _messages(chance)
    if chance.random() < 0.5:
        line = chance.choice(lines)
        holder = chance.choice(
            [
                one
                for one in (line, line["message"], line["message"].get("params"), line["message"].get("result"))
                if isinstance(one, dict)
            ]
        )
        holder[chance.choice([*holder, *WORDS[:3], text(chance)])] = json_value(chance)
    written = "\n".join(json_text(line, chance).replace("\n", " ") for line in lines) + "\n"
    return joined(
        {
            "tape.json" if is_old else "recording.json": json_text(label, chance).encode("utf-8", "surrogatepass"),
            "messages.jsonl": written.encode("utf-8", "surrogatepass"),
        }
    )


def _seeds() -> list[bytes]:
    chance = random.Random(7)
    return [
        joined(
            {
                name: json.dumps(label).encode(),
                "messages.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in _messages(chance)),
            }
        )
        for name, label in (("tape.json", LABEL), ("recording.json", NEW_LABEL))
        for _ in range(10)
    ]


class _Client:
    """A client of a recording: it declines what it is asked, and counts what is answered."""

    def __init__(self, link: PlaybackLink) -> None:
        self._link = link
        self.answers: Counter[Any] = Counter()

    def receive(self, message: bytes) -> None:
        """Take a message of the server that is played."""
        try:
            said = json.loads(message.decode("utf-8", "replace"))
        except RecursionError:
            return
        # Bytes that are not UTF-8 are as the server wrote them; a message is JSON all the same.
        expect(isinstance(said, dict), "a message is an object", message)
        if "method" not in said:
            self.answers[json.dumps(said.get("id"))] += 1
        elif "id" in said:
            reply = {"jsonrpc": "2.0", "id": said["id"], "result": {"action": "decline"}}
            self._link.send(Outgoing(msgspec.json.encode(reply)))


class _Folder:
    """A folder with one recording."""

    def __init__(self, folder: Path, watch: LoopWatch) -> None:
        self._folder = folder
        self._watch = watch
        self._messages = folder / "servers/played"
        self._messages.mkdir(parents=True)

    def run(self, data: bytes) -> None:
        """Index an input as a recording, and ask for what is in it."""
        files = sections(data)
        write_files(self._folder, files)
        write_files(self._messages, [one for one in files if one[0] == "messages.jsonl"])
        try:
            messages = MessageReader(str(self._folder))
            messages.load()
        except LinkError:
            return
        try:
            messages.snapshot()
            for call in messages.calls():
                objects = isinstance(call.arguments, dict) and isinstance(call.result, dict)
                expect(isinstance(call.tool, str) and objects, "a call has a tool and two objects", call)
            self._watch.run(self._play(messages, [*_asked(dict(files).get("messages.jsonl", b"")), *EXCHANGES[:4]]))
        except LinkError:
            return
        finally:
            messages.close()

    async def _play(self, messages: MessageReader, asked: list[tuple[str, Any, Any]]) -> None:
        link = PlaybackLink(messages)
        client = _Client(link)
        await link.open(client.receive, lambda _: None)
        for number, (method, params, _) in enumerate(asked[:MAX_ASKED]):
            link.send(
                Outgoing(
                    msgspec.json.encode({"jsonrpc": "2.0", "id": f"q{number}", "method": method, "params": params})
                )
            )
        for _ in range(TURNS):
            if not link._tasks:  # noqa: SLF001 - nobody else says whether all is played
                break
            await asyncio.sleep(0.0005)
        await link.close()
        for number, (method, _, _) in enumerate(asked[:MAX_ASKED]):
            count = client.answers[json.dumps(f"q{number}")]
            usual = {0} if method == UNANSWERED else {0, 1} if method == MAY_STAY_OPEN else {1}
            expect(count in usual, "a request has one answer", method, count)


def _asked(lines: bytes) -> Iterator[tuple[str, Any, Any]]:
    """Yield the recorded requests, as another client would send them."""
    for line in lines.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError):
            message = msgspec.json.decode(line)["message"]
            head = head_of(msgspec.json.encode(message))
            if head.method and id_of(head) is not None and isinstance(message.get("params"), dict):
                yield str(head.method), message["params"], None


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder, loop_watched() as watch:
        yield _Folder(Path(folder), watch).run


TARGET = Target(
    name="tape",
    about="recordings of wrapped servers, of any version: messages, indexed and played",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=(
        "recording/message_reader",
        "recording/playback",
        "recording/old_formats",
        "mcp/snapshot",
        "system/canonical_json",
    ),
    per_byte_s=60e-6,
    fresh=150,
)
