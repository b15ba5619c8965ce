"""A server with sessions for tests: what a relay would do, in a few tools, behind the real door on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from processes import PATIENCE_S
from signet.app import build_server
from signet.kernel.caller import Principal
from signet.kernel.channel import ClientChannel
from signet.kernel.errors import Code, Fault
from signet.kernel.events import Events
from signet.kernel.outcome import Call, Pending
from signet.kernel.relay import Answered, Handler, RpcRequest
from signet.kernel.server import QUIET_CONTEXT, Server
from signet.kernel.wire import Frame, Reply, encode, success
from signet.mcp.event_stream import EventParser
from signet.settings.reading import read_settings
from signet.transports.guard import Guard
from signet.transports.http_server import HttpServer
from signet.transports.listening import bind
from signet.transports.sessions import SessionLimits, SessionTable
from signet.transports.slots import ConnectionLimits
from signet.transports.web_app import App

VERSION = "2025-11-25"
EVENTS = "text/event-stream"
NOTE = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


class Wrapped:
    """Answers `tools/call` in place of a wrapped server."""

    is_ready = True
    servers = ("wrapped",)

    async def ready(self) -> None:
        """Do nothing: no tool has to be learnt."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        """What the tool `wait` waits for."""
        self.started = 0
        self.cancelled = 0
        self.ended: list[str] = []
        """The sessions whose end was told."""
        self.questions: dict[str, asyncio.Future[Any]] = {}

    def handler(self, method: str, *, modern: bool) -> Handler | None:  # noqa: ARG002 - both eras alike
        return self._call if method == "tools/call" else None

    def receive(self, frame: Frame, channel: ClientChannel) -> None:
        if not frame.method and isinstance(frame.id, str) and frame.id in self.questions:
            assert channel.agreement.id
            self.questions.pop(frame.id).set_result(json.loads(bytes(frame.result)))

    def _call(self, request: RpcRequest) -> Answered:
        name, arguments = request.params.name, request.params.arguments or {}
        session = request.channel.agreement
        if name == "now":
            return success(request.id, _text(session.id))
        if name == "watch":
            session.on_end.append(lambda: self.ended.append(session.id))
        call = Call(name, arguments, QUIET_CONTEXT, request.channel.door, request.channel.caller)
        return Pending(request.id, self._run(name, arguments, request), call)

    async def _run(self, name: str, arguments: Any, request: RpcRequest) -> Reply:
        self.started += 1
        act = getattr(self, f"_{name}", None)
        try:
            text = await act(request.channel, **arguments) if act is not None else "done"
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return success(request.id, _text(text))

    async def _wait(self, _: ClientChannel) -> str:
        await self.gate.wait()
        return "done"

    async def _note(self, channel: ClientChannel, count: int = 1) -> str:
        assert channel.agreement.notify is not None
        for _ in range(count):
            channel.agreement.notify(encode(NOTE))
        return "done"

    async def _talk(self, channel: ClientChannel, count: int = 1, size: int = 0, *, wait: bool = False) -> str:
        for number in range(count):
            params = {"level": "info", "data": f"{number}" + "x" * size}
            channel.notify(encode({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
            if number % 50 == 0:
                await asyncio.sleep(0)
        return await self._wait(channel) if wait else "done"

    async def _broken(self, _: ClientChannel) -> str:
        raise RuntimeError

    async def _large(self, _: ClientChannel, size: int) -> str:
        return "x" * size

    async def _ask(self, channel: ClientChannel) -> str:
        question = f"question-{len(self.questions)}-{channel.agreement.id}"
        answer = self.questions[question] = asyncio.get_running_loop().create_future()
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
        params = {"message": "Which colour?", "requestedSchema": schema}
        channel.notify(encode({"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": params}))
        return str((await answer)["content"]["colour"])


def _text(text: str) -> bytes:
    return encode({"content": [{"type": "text", "text": text}]})


class Tokens:
    """Knows two principals by their tokens."""

    def identify(self, token: str) -> Principal | Fault:
        return Principal(token) if token in ("ann", "bob") else Fault(Code.UNAUTHORIZED, "no token", status=401)

    def challenge(self, _: Fault) -> str:
        return "Bearer"

    def reload(self) -> None:
        """Do nothing."""


@dataclass
class Said:
    """One response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[tuple[str, Any]]:
        """Return the id and the message of each event."""
        return read_events(self.body)


def read_events(body: bytes) -> list[tuple[str, Any]]:
    """Return the id and the message (None for an empty one) of each whole event."""
    parser, found = EventParser(1 << 26), []
    for piece in body.split(b"\r\n\r\n")[:-1]:
        found += [
            (parser.last_id, json.loads(one.data) if one.data else None) for one in parser.feed(piece + b"\r\n\r\n")
        ]
    return found


@dataclass
class Site:
    """A running server, and a client for it."""

    url: str
    wrapped: Wrapped
    table: SessionTable
    server: HttpServer
    http: aiohttp.ClientSession
    exchanges: list[Any] = field(default_factory=list)

    async def send(self, method: str, body: Any = None, **headers: str) -> Said:
        async with self.open(method, body, **headers) as response:
            return Said(response.status, {k.lower(): v for k, v in response.headers.items()}, await response.read())

    def open(self, method: str, body: Any = None, **headers: str) -> Any:
        """Send a request; the block reads the response."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {"accept": f"application/json, {EVENTS}", "content-type": "application/json"} | named
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return self.http.request(method, self.url, data=data, headers=named)

    async def initialize(self, version: str = VERSION, **headers: str) -> Said:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        return await self.send("POST", message("initialize", params), **headers)

    async def session(self, version: str = VERSION, **headers: str) -> dict[str, str]:
        """Open a session, and return the headers that name it."""
        opened = await self.initialize(version, **headers)
        return {"mcp_session_id": opened.headers["mcp-session-id"], "mcp_protocol_version": version} | headers

    async def call(self, session: dict[str, str], name: str, **arguments: Any) -> Said:
        return await self.send("POST", call(name, **arguments), **session)


def message(method: str, params: Any = None, request_id: Any = 1) -> dict[str, Any]:
    found = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return found | ({"id": request_id} if request_id is not None else {})


def call(name: str, request_id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", {"name": name, "arguments": arguments}, request_id)


def new_server(wrapped: Wrapped) -> Server:
    server = build_server(read_settings({}, {"toolsets": "plantuml", "journal": False}))
    server.relay = wrapped
    return server


@contextlib.asynccontextmanager
async def serving_sessions(limits: SessionLimits | None = None, *, secured: bool = False) -> AsyncIterator[Site]:
    """Serve until the block ends."""
    wrapped, table, exchanges = Wrapped(), SessionTable(limits), []
    guard = Guard(authenticator=Tokens()) if secured else Guard()
    app = App(new_server(wrapped), guard, {}, events=Events(exchange=exchanges.append), sessions=table)
    listener = bind("127.0.0.1", 0)
    server = HttpServer(app, listener, ConnectionLimits(linger_s=0.1))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    server.open()
    task = asyncio.get_running_loop().create_task(server.serve())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        try:
            yield Site(url, wrapped, table, server, http, exchanges)
        finally:
            wrapped.gate.set()
            server.stop()
            await task
    assert len(table) == 0


async def until(ready: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not ready():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)
