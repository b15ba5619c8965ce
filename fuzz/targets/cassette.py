"""Exchanges: folders of recorded exchanges, of any version, that a replay reads, and the recording of any response."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import random
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from fuzz.folders import joined, sections, write_files
from fuzz.odd_values import json_text, json_value, text
from fuzz.target import Run, Target, expect
from signet.kernel.errors import Fault
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.recording.exchanges import ExchangeReader, ExchangeWriter
from signet.recording.folder import read_recording
from signet.recording.label import RecordedOrigin, Recording, RecordingError, RecordingLabel, new_label
from signet.recording.upstream import RecordingUpstream, ReplayUpstream, replayed_today
from signet.system.recording_redactor import RecordingRedactor

__all__ = ["TARGET"]

ORIGIN = RecordedOrigin("https://a.example")
SECRET = "s3cr3t-of-the-fuzzer"
TARGETS = ("/a", "/b?x=1", "what day it is")
NAMES = {f"answer{place}": sha256(f"boj\n{target}".encode()).hexdigest() for place, target in enumerate(TARGETS)}
"""The sections that hold exchanges, and how the files of their requests begin."""
MANIFEST = {
    "version": "0.2.0",
    "toolsets": {"boj": {"origin": "https://a.example", "has_token": False}, "plantuml": None},
    "settings": {},
}
LABEL = {"format": 1, "signet": "0.3.0", "toolsets": MANIFEST["toolsets"], "settings": {}, "servers": {}}
FAULT = {"code": "NOT_FOUND", "message": "no", "name": "X", "status": 404, "told": True, "mcp_code": -32602, "data": {}}
ANSWER = {"status": 200, "content_type": "application/json", "text": "{}"}
WORDS = (
    "answer", "fault", "status", "content_type", "text", "base64", "cut", "broken", "toolset", "target", "code",
    "told", "origin", "settings", "toolsets", "token", "api_key", "password", "INVALID_INPUT",
)  # fmt: skip
TOKENS = (
    *[f'"{word}"'.encode() for word in WORDS],
    b"%% answer0.1.a\n", b"%% answer2.2.b\n", b"%% cassette.json\n", b"%% recording.json\n",
    b"%% answer0.9999999999999.x.json\n", b"\\ud800",
    b"[[[[", b"=", b"?token=abc", b"Authorization: Bearer abcdefgh",
)  # fmt: skip


def _exchange(chance: random.Random, place: int) -> Any:
    answer: Any = {**ANSWER, "text": json_text({"token": text(chance), "a": json_value(chance)}, chance)}
    if chance.random() < 0.3:
        answer = {"status": 200, "content_type": "", "base64": chance.choice(("gA==", "gA", "=", "é", "YQ==\n"))}
    value: dict[str, Any] = {"toolset": "boj", "target": TARGETS[place], "answer": answer}
    if chance.random() < 0.3:
        value["fault"] = dict(FAULT)
    for holder in (value, value["answer"], value.get("fault")):
        if isinstance(holder, dict) and chance.random() < 0.15:
            holder[chance.choice([*holder, text(chance)])] = json_value(chance)
    return value


def _generate(chance: random.Random) -> bytes:
    is_old = chance.random() < 0.3
    manifest: Any = json.loads(json.dumps(MANIFEST if is_old else LABEL))
    if chance.random() < 0.4:
        holder = chance.choice((manifest, manifest["toolsets"], manifest["settings"]))
        holder[chance.choice([*holder, text(chance)])] = json_value(chance)
    name = "cassette.json" if is_old else "recording.json"
    files = {name: json_text(manifest, chance).encode("utf-8", "surrogatepass")}
    for number in range(chance.randrange(4)):
        place = chance.randrange(3)
        name = f"answer{place}.{number}.{chance.choice('abc')}.json"
        files[name] = json_text(_exchange(chance, place), chance).encode("utf-8", "surrogatepass")
    return joined(files)


def _seeds() -> list[bytes]:
    labels = {"cassette.json": MANIFEST, "recording.json": LABEL}
    whole = [
        json.dumps({"toolset": "boj", "target": target, **more}, indent=2).encode()
        for target in TARGETS
        for more in ({"answer": ANSWER}, {"fault": FAULT}, {"answer": {"status": 200, "base64": "gA=="}})
    ]
    return [
        joined({name: json.dumps(label, indent=2).encode(), f"answer{place // 3}.1.a.json": one})
        for name, label in labels.items()
        for place, one in enumerate(whole)
    ]


class _Inner:
    """An upstream that answers with what it is given."""

    origin = ORIGIN.origin
    has_token = False

    def __init__(self, response: UpstreamResponse) -> None:
        self._response = response

    async def send(self, request: UpstreamRequest, wait: object = None) -> UpstreamResponse:
        """Answer."""
        del request, wait
        return self._response


class _Folders:
    """A folder that is replayed, and one that is recorded into."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._played, self._made = folder / "played", folder / "made"
        (self._played / "exchanges").mkdir(parents=True)
        (self._made / "exchanges").mkdir(parents=True)
        self._loop = loop

    def run(self, data: bytes) -> None:
        """Replay an input, and record it as a response."""
        parts = [(_file_name(name), content) for name, content in sections(data)]
        is_new = any(name == "recording.json" for name, _ in parts)
        write_files(self._played, parts)
        write_files(self._played / "exchanges", parts if is_new else [])
        # One task for each, as each call has one, in a context in which nothing was replayed before.
        for work in (self._replay(), self._record(data)):
            self._loop.run_until_complete(self._loop.create_task(work, context=contextvars.Context()))

    async def _replay(self) -> None:
        recording = Recording(str(self._played), RecordingLabel(1), str(self._played / "exchanges"))
        with contextlib.suppress(RecordingError):
            recording = read_recording(str(self._played))
        reader, redactor = ExchangeReader(recording), RecordingRedactor()
        upstream = ReplayUpstream("boj", ORIGIN, reader, redactor)
        for target in (*TARGETS, TARGETS[0]):
            with contextlib.suppress(Fault):
                response = await upstream.send(UpstreamRequest(target))
                expect(
                    isinstance(response.body, bytes) and type(response.status) is int,
                    "an answer has its types",
                    response,
                )
        with contextlib.suppress(Fault):
            replayed_today("boj", reader)

    async def _record(self, data: bytes) -> None:
        write_files(self._made, [])
        write_files(self._made / "exchanges", [])
        problems: list[str] = []
        body = data + SECRET.encode() + data[:20]
        redactor = RecordingRedactor((SECRET,))
        writer = ExchangeWriter(str(self._made), new_label(toolsets={"boj": None}), problems.append)
        given = UpstreamResponse(200, "text/plain", body)
        await RecordingUpstream(_Inner(given), "boj", writer, redactor).send(UpstreamRequest("/a"))  # type: ignore[arg-type] # as much of one as is asked
        expect(not problems, "a response can be recorded", problems)
        expect(
            not any(SECRET.encode() in path.read_bytes() for path in self._made.rglob("*.json")),
            "no secret is recorded",
        )
        replay = ReplayUpstream("boj", ORIGIN, ExchangeReader(read_recording(str(self._made))), redactor)
        call = self._loop.create_task(replay.send(UpstreamRequest("/a")), context=contextvars.Context())
        played = await call
        again = redactor.body(played.body)
        expect(again == played.body, "what was redacted stays as it is", played.body[:200], again[:200])
        if not any(
            word in body.lower()
            for word in (b"token", b"key", b"secret", b"passw", b"auth", b"cred", b"sess", b"cookie", b"sign", b"pwd")
        ):
            expect(
                played.body == body.replace(SECRET.encode(), b"[redacted]"),
                "a response is played as it was",
                played.body[:200],
            )


def _file_name(name: str) -> str:
    start, dot, rest = name.partition(".")
    return f"{NAMES[start]}{dot}{rest}" if start in NAMES else name


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:
        loop = asyncio.new_event_loop()
        try:
            yield _Folders(Path(folder), loop).run
        finally:
            loop.close()


TARGET = Target(
    name="cassette",
    about="recordings of upstreams, of any version: the files of exchanges, and the recording of any response",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=(
        "recording/exchanges",
        "recording/upstream",
        "recording/label",
        "recording/old_formats",
        "system/recording_redactor",
        "system/redaction",
    ),
)
