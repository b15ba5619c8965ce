"""Links to servers of a few lines, in this process, and callers of them: what a server says can change at any time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from signet.kernel.channel import HTTP_MCP, ClientChannel, Session
from signet.kernel.protocol import NO_META, Identity, eras
from signet.kernel.relay import RpcRequest
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.tools import Toolbox
from signet.lock.file import Lock, LockedServer, write_lock
from signet.mcp.link import Outgoing
from signet.mcp.snapshot import Snapshot
from signet.relay.opening import open_relay
from signet.relay.relay import ServerRelay
from signet.settings.server_spec import ServerSpec, Wrapping

MEMBERS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
IDENTITY = Identity("test", "1")
HANDSHAKE, _ = eras(IDENTITY)


class ScriptedLink:
    """A running server that lists what its `lists` hold and echoes every other request."""

    def __init__(self, **lists: list[Any]) -> None:
        self.lists = lists
        self.got: list[str] = []
        """The methods of the requests that came."""
        self.is_silent = False
        """Whether it answers nothing."""
        self.receive: Callable[[bytes], None]

    async def open(self, receive: Callable[[bytes], None], *_: Callable[[str], None]) -> None:
        self.receive = receive

    def say(self, **message: Any) -> None:
        self.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send(self, message: Outgoing) -> None:
        self.got.append(message.method)
        if message.id is not None and not self.is_silent:
            asyncio.get_running_loop().call_soon(self._answer, message.id, message.method)

    def _answer(self, number: int, method: str) -> None:
        if method == "initialize":
            capabilities: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
            info = {"name": "scripted", "version": "1"}
            self.say(
                id=number,
                result={"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info},
            )
        elif method in MEMBERS:
            member = MEMBERS[method]
            self.say(id=number, result={member: self.lists.get(member, [])})
        else:
            self.say(id=number, result={"content": [{"type": "text", "text": method}]})

    def cancel(self, request_id: int) -> None:
        """Nothing is streamed."""

    async def close(self) -> None:
        """Nothing runs."""


def unheard(*_: object, **__: object) -> None:
    """Log nothing."""


def relay_of(
    folder: Path,
    links: dict[str, list[ScriptedLink]],
    pinned: Snapshot | None,
    log: Callable[..., None] = unheard,
    **spec: Any,
) -> ServerRelay:
    """Return the relay of some servers, the n-th instance of each with the n-th link; a lock pins all alike."""
    lock_file = folder / "signet.lock"
    if pinned is not None:
        write_lock(str(lock_file), Lock({name: LockedServer(name=name, snapshot=pinned) for name in links}))
    specs = tuple(ServerSpec(name=name, command=("none",), era="handshake", **spec) for name in links)
    wrapping = Wrapping(servers=specs, lock_file=str(lock_file), prefixed=len(links) > 1)
    registry = SchemaRegistry(schema_root=folder)
    relay = open_relay(wrapping, Toolbox(), registry, IDENTITY, log=log)
    for server in relay.catalogue.servers:
        waiting = iter(links[server.name])
        server._make_link = lambda waiting=waiting: next(waiting)
    return relay


def caller(method: str, params: dict[str, Any], session: str = "", **channel: Any) -> RpcRequest:
    """Return a request of a client of the handshake era, over HTTP."""
    agreement = Session(id=session, version="2025-11-25")
    way = ClientChannel(door=HTTP_MCP, agreement=agreement, **channel)
    raw = Raw(json.dumps(params).encode())
    typed = msgspec.convert({"name": params.get("name", "")}, type=_Params)
    return RpcRequest(1, typed, NO_META, way, HANDSHAKE, method, raw)


class _Params(msgspec.Struct):
    name: str = ""
