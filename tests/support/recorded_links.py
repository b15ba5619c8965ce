"""A server of either era at the other end of a link, and a client that talks to a link, for tests of recordings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from processes import PATIENCE_S
from signet.mcp.link import Link, Outgoing
from signet.recording.message_writer import MessageWriter, RecordingLink
from signet.recording.playback import PlaybackLink
from signet.relay.spec_secrets import secrets_of, shown_source
from signet.settings.server_spec import ServerSpec

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
SPEC = ServerSpec(name="played", command=("played-server", "--verbose"))
TOOLS = (
    b'{"name":"echo","description":"?api_key=YOURS.","inputSchema":{"properties":{"token":{"type":"string"},"n":{"maximum":1e2}}}}',
    b'{"name":"count","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["n"]}}',
    b'{"name":"ask","inputSchema":{"type":"object"}}',
)

Answering = Callable[[dict[str, Any]], dict[str, Any]]


def decline(_: dict[str, Any]) -> dict[str, Any]:
    return {"result": {"action": "decline"}}


class PlayedServer:
    """A small server in this process; `modern` decides its era."""

    def __init__(self, *, modern: bool = False) -> None:
        self.modern = modern
        self.calls = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, receive: Callable[[bytes], None], *_: Callable[[str], None]) -> None:
        self._receive = receive

    def send(self, message: Outgoing) -> None:
        said = json.loads(message.body)
        if "method" not in said:
            self._answers.pop(said["id"]).set_result(said)
        elif "id" in said:
            task = asyncio.get_running_loop().create_task(self._answer(said))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel(self, request_id: int) -> None:
        pass

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def say(self, **members: Any) -> None:
        self._receive(json.dumps({"jsonrpc": "2.0", **members}).encode())

    async def _answer(self, said: dict[str, Any]) -> None:
        params = said.get("params") or {}
        result = await self._result(said["method"], params)
        if result is None:
            self.say(id=said["id"], error={"code": -32601, "message": "Method not found"})
        elif isinstance(result, bytes):
            self._receive(b'{"result": %b, "jsonrpc":"2.0","id":%b}' % (result, json.dumps(said["id"]).encode()))
        else:
            self.say(id=said["id"], result=result)

    async def _result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize" and not self.modern:
            told = {"tools": {}, "logging": {}}
            return {
                "protocolVersion": "2025-11-25",
                "serverInfo": {"name": "played", "version": "1"},
                "capabilities": told,
            }
        if method == "server/discover" and self.modern:
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
        if method == "tools/list":
            pages = {None: TOOLS[:2], "more": TOOLS[2:]}
            more = b"" if params.get("cursor") else b',"nextCursor":"more"'
            return b'{"tools":[%b]%b}' % (b",".join(pages[params.get("cursor")]), more)
        return await self._called(params) if method == "tools/call" else None

    async def _called(self, params: dict[str, Any]) -> Any:
        name, arguments = params["name"], params.get("arguments", {})
        token = params.get("_meta", {}).get("progressToken")
        self.calls += 1
        if name == "count":
            for done in (1, 2) if token is not None else ():
                self.say(method="notifications/progress", params={"progressToken": token, "progress": done})
            if not self.modern:
                self.say(method="notifications/message", params={"level": "info", "data": f"call {self.calls}"})
            return b'{"content":[],"structuredContent":{"n":%d,"ratio":1.50}}' % self.calls
        if name == "say":
            return {"content": [{"type": "text", "text": "in words"}]}
        if name == "ask" and not self.modern:
            question = {"message": "sure?", "requestedSchema": {"type": "object"}, "maxTokens": 7}
            answer = await self._ask("elicitation/create", question)
            return {"content": [{"type": "text", "text": json.dumps(answer.get("result", answer.get("error")))}]}
        if name == "ask":
            if "inputResponses" not in params:
                asked = {"q": {"method": "elicitation/create", "params": {"message": "sure?"}}}
                return {"resultType": "input_required", "inputRequests": asked, "requestState": f"state-{self.calls}"}
            return {
                "content": [{"type": "text", "text": json.dumps(params["inputResponses"])}],
                "resultType": "complete",
            }
        return {"content": [{"type": "text", "text": json.dumps(arguments)}]}

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        number = 900 + len(self._answers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        waiting = self._answers[number]
        self.say(id=number, method=method, params=params)
        return await waiting


class Client:
    """Talks to a link: each request by `ask`, requests of the server answered by a function."""

    def __init__(self, link: Link, answering: Answering = decline) -> None:
        self.link = link
        self.heard: list[dict[str, Any]] = []
        self.was_told = asyncio.Event()
        self.raw: list[bytes] = []
        self.asked: list[dict[str, Any]] = []
        self._answering = answering
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 0

    async def __aenter__(self) -> Self:
        await self.link.open(self._receive, self._lost, self._lost)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.link.close()

    def _lost(self, why: str) -> None:
        for waiting in self._waiting.values():
            waiting.set_exception(AssertionError(why))

    def _receive(self, message: bytes) -> None:
        self.raw.append(message)
        said = json.loads(message)
        if "method" in said and "id" in said:
            self.asked.append(said)
            self.send({"jsonrpc": "2.0", "id": said["id"], **self._answering(said)})
        elif "method" in said:
            self.heard.append(said)
            self.was_told.set()
        else:
            self._waiting.pop(said["id"]).set_result(said)

    def send(self, message: dict[str, Any]) -> None:
        is_request = "method" in message and "id" in message
        number = message["id"] if is_request else None
        self.link.send(Outgoing(json.dumps(message).encode(), message.get("method", ""), id=number))

    def start(self, method: str, params: dict[str, Any] | None = None, *, modern: bool = False) -> asyncio.Future[Any]:
        """Send a request, and return where its reply comes."""
        self._next += 1
        told = dict(params or {})
        if modern:
            told["_meta"] = {**MODERN, **told.get("_meta", {})}
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[self._next] = waiting
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": told})
        return waiting

    async def ask(self, method: str, params: dict[str, Any] | None = None, *, modern: bool = False) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return await self.start(method, params, modern=modern)

    async def call(
        self, name: str, *, modern: bool = False, meta: dict[str, Any] | None = None, **arguments: Any
    ) -> Any:
        params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        return await self.ask("tools/call", params, modern=modern)

    async def greet(self, *, modern: bool = False) -> Any:
        if modern:
            return await self.ask("server/discover", modern=True)
        told = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        reply = await self.ask("initialize", told)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply


Talk = Callable[[Client], Awaitable[Any]]


def talk_to(link: Link, talk: Talk, answering: Answering = decline) -> Any:
    """Run one conversation with a link, in an event loop of its own."""

    async def run() -> Any:
        async with Client(link, answering) as client:
            return await talk(client)

    return asyncio.run(run())


def begin(
    folder: Path, warn: Callable[[str], Any], spec: ServerSpec = SPEC, secrets: tuple[str, ...] = ()
) -> MessageWriter:
    """Begin to record a server, as the wrapper does."""
    known = (*secrets, *secrets_of(spec))
    return MessageWriter(str(folder), spec.name, shown_source(spec), secrets=known, warn=warn)


def record(folder: Path, talk: Talk, answering: Answering = decline, *, modern: bool = False, **options: Any) -> Any:
    """Record one conversation with a played server."""
    warnings: list[str] = []
    server = options.pop("server", None) or PlayedServer(modern=modern)
    writer = begin(folder, warnings.append, options.pop("spec", SPEC), options.pop("secrets", ()))
    try:
        told = talk_to(RecordingLink(server, writer), talk, answering)
    finally:
        writer.close()
    assert warnings == []
    return told


def replay(folder: Path, talk: Talk, answering: Answering = decline, secrets: tuple[str, ...] = ()) -> Any:
    """Have one conversation with a server that is played."""
    return talk_to(PlaybackLink(str(folder), secrets), talk, answering)


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the recorded messages."""
    return [json.loads(line) for line in messages(folder).read_bytes().splitlines()]


def messages(folder: Path) -> Path:
    """Return the file of the recorded messages."""
    return folder / "servers/played/messages.jsonl"
