"""Cassettes: folders of recorded exchanges that a replay reads, and the recording of any response."""

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
from signet.system.recording_redactor import RecordingRedactor
from signet.upstream.cassette import RecordingUpstream, ReplayUpstream, replayed_today
from signet.upstream.cassette_folder import (
    CassetteManifest,
    CassetteReader,
    CassetteWriter,
    RecordedOrigin,
    read_manifest,
)

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
FAULT = {"code": "NOT_FOUND", "message": "no", "name": "X", "status": 404, "told": True, "mcp_code": -32602, "data": {}}
ANSWER = {"status": 200, "content_type": "application/json", "text": "{}"}
WORDS = (
    "answer", "fault", "status", "content_type", "text", "base64", "cut", "broken", "toolset", "target", "code",
    "told", "origin", "settings", "toolsets", "token", "api_key", "password", "INVALID_INPUT",
)  # fmt: skip
TOKENS = (
    *[f'"{word}"'.encode() for word in WORDS],
    b"%% answer0.1.a\n", b"%% answer2.2.b\n", b"%% cassette.json\n", b"%% answer0.9999999999999.x.json\n", b"\\ud800",
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
    manifest: Any = json.loads(json.dumps(MANIFEST))
    if chance.random() < 0.4:
        holder = chance.choice((manifest, manifest["toolsets"], manifest["settings"]))
        holder[chance.choice([*holder, text(chance)])] = json_value(chance)
    files = {"cassette.json": json_text(manifest, chance).encode("utf-8", "surrogatepass")}
    for number in range(chance.randrange(4)):
        place = chance.randrange(3)
        name = f"answer{place}.{number}.{chance.choice('abc')}.json"
        files[name] = json_text(_exchange(chance, place), chance).encode("utf-8", "surrogatepass")
    return joined(files)


def _seeds() -> list[bytes]:
    manifest = json.dumps(MANIFEST, indent=2).encode()
    whole = [
        json.dumps({"toolset": "boj", "target": target, **more}, indent=2).encode()
        for target in TARGETS
        for more in ({"answer": ANSWER}, {"fault": FAULT}, {"answer": {"status": 200, "base64": "gA=="}})
    ]
    return [joined({"cassette.json": manifest, f"answer{place // 3}.1.a.json": one}) for place, one in enumerate(whole)]


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


class _Cassettes:
    """A folder that is replayed, and one that is recorded into."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._played, self._made = folder / "played", folder / "made"
        self._played.mkdir()
        self._made.mkdir()
        self._loop = loop

    def run(self, data: bytes) -> None:
        """Replay an input, and record it as a response."""
        parts = [(_file_name(name), content) for name, content in sections(data)]
        write_files(self._played, parts)
        # One task for each, as each call has one, in a context in which nothing was replayed before.
        for work in (self._replay(), self._record(data)):
            self._loop.run_until_complete(self._loop.create_task(work, context=contextvars.Context()))

    async def _replay(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            read_manifest(str(self._played))
        reader, redactor = CassetteReader(str(self._played)), RecordingRedactor()
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
        problems: list[str] = []
        body = data + SECRET.encode() + data[:20]
        redactor = RecordingRedactor((SECRET,))
        writer = CassetteWriter(str(self._made), CassetteManifest("0", {"boj": None}, {}), problems.append)
        given = UpstreamResponse(200, "text/plain", body)
        await RecordingUpstream(_Inner(given), "boj", writer, redactor).send(UpstreamRequest("/a"))  # type: ignore[arg-type] # as much of one as is asked
        expect(not problems, "a response can be recorded", problems)
        expect(not any(SECRET.encode() in path.read_bytes() for path in self._made.iterdir()), "no secret is recorded")
        replay = ReplayUpstream("boj", ORIGIN, CassetteReader(str(self._made)), redactor)
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
            yield _Cassettes(Path(folder), loop).run
        finally:
            loop.close()


TARGET = Target(
    name="cassette",
    about="cassettes: the files of recorded exchanges, and the recording of any response",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=("upstream/cassette", "system/recording_redactor", "system/redaction"),
)
