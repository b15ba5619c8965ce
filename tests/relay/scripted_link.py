"""A link whose server is the test itself: what is sent is kept, and the test says what comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Raw

from processes import PATIENCE_S
from signet.kernel.channel import HTTP_MCP, ClientChannel, Session
from signet.kernel.protocol import NO_META, CallParams, Identity, Meta, RequestPreamble, eras
from signet.kernel.relay import RpcRequest
from signet.mcp.link import Outgoing
from signet.mcp.session import ClientSession, Hooks
from signet.relay.notices import Notices
from signet.relay.wrapped_server import Listeners, WrappedServer
from signet.settings.server_spec import ServerSpec

HANDSHAKE, MODERN = eras(Identity("test", "1"))


def nothing(*_: object, **__: object) -> None:
    pass


class ScriptedLink:
    """Carries messages between a dialogue and a test."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.is_closed = False

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> None:
        self.receive, self.lose, self.unreadable = receive, lost, unreadable

    def send(self, message: Outgoing) -> None:
        self.sent.append(json.loads(message.body))

    def cancel(self, request_id: int | str) -> None:
        pass

    async def close(self) -> None:
        self.is_closed = True

    def say(self, **message: Any) -> None:
        self.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def requests(self, method: str) -> list[dict[str, Any]]:
        return [one for one in self.sent if one.get("method") == method]

    def response(self, number: int | str) -> dict[str, Any]:
        [found] = [one for one in self.sent if one.get("id") == number and "method" not in one]
        return found


async def opened(link: ScriptedLink, asked: Callable[..., None] = nothing, *, modern: bool = False) -> ClientSession:
    dialogue = ClientSession(link, Hooks(notified=nothing, asked=asked, lost=nothing, log=nothing))
    await dialogue.open()
    dialogue.modern = modern
    return dialogue


def calling(
    name: str, told: list[dict[str, Any]], session: Session | None = None, *, modern: bool = False, **params: Any
) -> RpcRequest:
    """Return a call over HTTP; what its client is told is kept."""
    given = {"name": name, "arguments": {}, **params}
    able: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
    agreement = session or Session(id="" if modern else f"session of {name}", version="2025-11-25", capabilities=able)
    channel = ClientChannel(lambda message: told.append(json.loads(message)), door=HTTP_MCP, agreement=agreement)
    meta = Meta(version="2026-07-28", capabilities=able) if modern else NO_META
    era = MODERN if modern else HANDSHAKE
    return RpcRequest(7, CallParams(name=name), meta, channel, era, "tools/call", Raw(json.dumps(given).encode()))


def requesting(method: str, session: Session, *, modern: bool = False, **params: Any) -> RpcRequest:
    """Return a request that is no call of a tool."""
    channel = ClientChannel(nothing, door=HTTP_MCP, agreement=session)
    era = MODERN if modern else HANDSHAKE
    return RpcRequest(8, RequestPreamble(), NO_META, channel, era, method, Raw(json.dumps(params).encode()))


class AnsweringLink(ScriptedLink):
    """A server of one era that answers each method with a fixed result, soon; other requests wait for the test."""

    def __init__(self, answers: dict[str, Any], *, modern: bool = False) -> None:
        super().__init__()
        able = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
        hello = {"capabilities": able, "serverInfo": {"name": "scripted", "version": "1"}}
        first = {"server/discover": {**hello, "supportedVersions": ["2026-07-28"]}}
        older = {"initialize": {**hello, "protocolVersion": "2025-11-25"}}
        lists: dict[str, Any] = {"tools/list": {"tools": []}, "resources/list": {"resources": []}}
        templates: dict[str, Any] = {"resources/templates/list": {"resourceTemplates": []}, "resources/subscribe": {}}
        self.answers = {**(first if modern else older), **lists, **templates, **answers}
        self.refused = "initialize" if modern else "server/discover"

    def send(self, message: Outgoing) -> None:
        super().send(message)
        loop = asyncio.get_running_loop()
        if message.method == self.refused:
            error = {"code": -32601, "message": "Method not found"}
            loop.call_soon(partial(self.say, id=message.id, error=error))
        elif message.id is not None and self.answers.get(message.method) is not None:
            loop.call_soon(partial(self.say, id=message.id, result=self.answers[message.method]))


def wrapped(links: list[AnsweringLink], notices: Notices | None = None, **spec: Any) -> WrappedServer:
    """Return a wrapped server whose instances are these, one after the other."""
    left = iter(links)
    told = notices or Notices(nothing)
    listeners = Listeners(
        notified=told.notified if notices else nothing,
        begun=told.begun if notices else nothing,
        lost=nothing,
        sessions=told.sessions,
        log=nothing,
    )
    return WrappedServer(ServerSpec(name="s", **spec), lambda: next(left), listeners, is_private=False)


async def until(condition: Callable[[], object]) -> None:
    """Let others go on until a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - the condition is another's state, which sets no event
            await asyncio.sleep(0)
