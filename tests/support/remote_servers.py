"""Remote servers for tests: raw HTTP by a script, the official SDK's, and the other end of a link."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from processes import PATIENCE_S
from signet.mcp.http_link import HttpLink
from signet.mcp.link import Outgoing

EVENTS = "text/event-stream"
NO_BODY = frozenset({202, 204})


@dataclass
class Asked:
    """One HTTP request that a scripted server got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        return json.loads(self.body)


Script = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Scripted:
    """A server that does with each request what its script says; every connection has one request."""

    port: int
    stop: Callable[[], None]
    """Accept no further connection."""
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        return [asked.method for asked in self.asked]


@contextlib.asynccontextmanager
async def scripted(script: Script, listener: socket.socket | None = None) -> AsyncIterator[Scripted]:
    """Serve a script on loopback until the block ends."""
    running: set[asyncio.Task[Any]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Kept from here on: a connection that comes at the very end is closed too, and no later test hears of it.
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)
        task.add_done_callback(lambda _: writer.transport.abort() if task.cancelled() else None)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            asked = await _read(reader)
            server.asked.append(asked)
            await script(asked, writer)
            await writer.drain()
        writer.close()

    listener = listener or socket.create_server(("127.0.0.1", 0))
    serving = await asyncio.start_server(accept, sock=listener, limit=1 << 25)
    server = Scripted(listener.getsockname()[1], serving.close)
    try:
        yield server
    finally:
        serving.close()
        left = list(running)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)
            await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.rstrip().split("\r\n")
    method, path, _ = line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in fields)}
    return Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


def say(
    writer: asyncio.StreamWriter, status: int, body: bytes = b"", kind: str = "application/json", **more: str
) -> None:
    """Write a whole response."""
    lines = [f"HTTP/1.1 {status} X", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind and status not in NO_BODY else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)


def begin(writer: asyncio.StreamWriter, kind: str = EVENTS, **more: str) -> None:
    """Write the head of a response that ends with its connection."""
    lines = ["HTTP/1.1 200 OK", "Connection: close", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())


def result(request_id: Any, value: Any = None) -> bytes:
    """Return a reply as a server writes it."""
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": value or {}}).encode()


def event(data: bytes, event_id: str = "") -> bytes:
    """Return a message as an event."""
    return (f"id: {event_id}\n".encode() if event_id else b"") + b"data: " + data + b"\n\n"


class Peer:
    """The other end of a link: what it received, and what became of it."""

    def __init__(self, link: HttpLink) -> None:
        self.link = link
        self.texts: list[bytes] = []
        self.losses: list[str] = []
        self._news = asyncio.Event()

    @property
    def messages(self) -> list[Any]:
        return [json.loads(text) for text in self.texts]

    def receive(self, text: bytes) -> None:
        self.texts.append(text)
        self._news.set()

    def lost(self, sentence: str) -> None:
        self.losses.append(sentence)
        self._news.set()

    def send(self, method: str, params: Any = None, **more: Any) -> None:
        """Send a request (`id=…`) or a notification."""
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        body |= {"id": more["id"]} if "id" in more else {}
        self.link.send(Outgoing(json.dumps(body).encode(), method, **more))

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until a condition holds that a message or a loss brings about."""
        async with asyncio.timeout(PATIENCE_S):
            while not ready():
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.01)

    async def reply(self, request_id: int) -> Any:
        """Wait for the reply to a request, and return it."""
        await self.until(lambda: any(_is_reply(message, request_id) for message in self.messages))
        return next(message for message in self.messages if _is_reply(message, request_id))

    async def shake_hands(self, version: str = "2025-11-25", capabilities: Any = None) -> Any:
        """Open the handshake era, and return the reply to `initialize`."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.send("initialize", params, id=0, version=version)
        reply = await self.reply(0)
        self.send("notifications/initialized", version=version)
        return reply


def _is_reply(message: Any, request_id: int) -> bool:
    return "method" not in message and message.get("id") == request_id


@contextlib.asynccontextmanager
async def linked(url: str, headers: tuple[tuple[str, str], ...] = (), log: Any = None) -> AsyncIterator[Peer]:
    """Open a link until the block ends."""
    link = HttpLink(url, headers, **({"log": log} if log is not None else {}))
    peer = Peer(link)
    await link.open(peer.receive, peer.lost)
    try:
        yield peer
    finally:
        await link.close()


@contextlib.asynccontextmanager
async def serving_asgi(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI application in this event loop, and return its origin."""
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1))
    server.install_signal_handlers = lambda: None
    task = asyncio.get_running_loop().create_task(server._serve([listener]))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not server.started:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


def run(work: Awaitable[Any]) -> Any:
    """Run a test's coroutine, and fail if it leaves a task of ours behind or takes for ever."""

    async def bounded() -> Any:
        async with asyncio.timeout(2 * PATIENCE_S):
            found = await work
        await asyncio.sleep(0)
        left = [task for task in asyncio.all_tasks() if "/src/signet/" in task.get_coro().cr_code.co_filename]
        assert left == []
        return found

    return asyncio.run(bounded())
