"""The port to wrapped servers: an MCP request as its handler gets it, and what answers in the server's place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from .channel import ClientChannel
from .errors import Fault
from .outcome import Call, Outcome, Pending
from .protocol import Era, Meta
from .wire import NO_PARAMS, Frame, Id, Reply

__all__ = ["Answered", "Handler", "Relay", "RpcRequest", "when_ready"]


class RpcRequest(msgspec.Struct, frozen=True):
    """One MCP request, as a method's handler gets it."""

    id: Id
    params: Any
    meta: Meta
    channel: ClientChannel
    era: Era
    method: str = ""
    raw: msgspec.Raw = NO_PARAMS
    """The params as they came."""


Answered = Reply | Pending
Handler = Callable[[RpcRequest], Answered]


class Relay(Protocol):
    """What carries messages to wrapped servers and back."""

    @property
    def is_ready(self) -> bool:
        """Whether all tools are known."""

    @property
    def servers(self) -> list[str]:
        """The names of the servers whose tools are served: the last groups of the toolbox are theirs, in this order."""

    def entries(self) -> list[msgspec.Raw]:
        """Return what clients are told of the tools of all servers."""

    async def ready(self) -> None:
        """Learn the tools of all servers; raise Fault if that cannot be done."""

    def handler(self, method: str, *, modern: bool) -> Handler | None:
        """Return what answers a method in place of the server itself."""

    def receive(self, frame: Frame, channel: ClientChannel) -> None:
        """Take a notification or a response of a client."""


async def when_ready(
    relay: Relay, call: Call, run: Callable[[], Answered], refuse: Callable[[Outcome], Reply]
) -> Reply:
    """Return the reply to a call that came before the tools were known; `refuse` writes why they cannot be."""
    try:
        await relay.ready()
    except Fault as fault:
        return refuse(Outcome(call, None, fault=fault))
    reply = run()
    return await reply.reply if isinstance(reply, Pending) else reply
