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

__all__ = ["Answered", "Handler", "Relay", "RpcRequest", "ServerState", "when_ready"]


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


class ServerState(msgspec.Struct, frozen=True):
    """How a wrapped server stands."""

    name: str
    source: str
    """Its command, its address or its recording, without secrets."""
    state: str
    """`running`, `not started` (it is started when it is first needed), `lost` or `failed`."""
    reason: str
    """The reason of the last loss or of the last failed start, while none runs."""
    restarts: int
    drift: int | None
    """The number of differences from the lock; None where no lock pins it."""
    blocked: int
    """The number of entries that the lock blocks."""


class Relay(Protocol):
    """What carries messages to wrapped servers and back."""

    @property
    def is_ready(self) -> bool:
        """Whether all tools are known."""

    @property
    def servers(self) -> list[str]:
        """The names of the servers whose tools are served: the last groups of the toolbox are theirs, in this order."""

    def states(self) -> list[ServerState]:
        """Return how each server stands now."""

    def entries(self) -> list[msgspec.Raw]:
        """Return what clients are told of the tools of all servers."""

    async def ready(self, tool: str = "", *, to_the_end: bool = False) -> None:
        """Learn the tools of all servers, or of the one that a tool is of; raise Fault if that cannot be done.

        A slow server holds up the others for a short time, unless its own tool is meant or all are read `to_the_end`.
        """

    def handler(self, method: str, *, modern: bool) -> Handler | None:
        """Return what answers a method in place of the server itself."""

    def receive(self, frame: Frame, channel: ClientChannel) -> None:
        """Take a notification or a response of a client."""


async def when_ready(
    relay: Relay, call: Call, run: Callable[[], Answered], refuse: Callable[[Outcome], Reply]
) -> Reply:
    """Return the reply to a call that came before the tools were known; `refuse` writes why they cannot be."""
    try:
        await relay.ready(call.tool_key)
    except Fault as fault:
        return refuse(Outcome(call, None, fault=fault))
    reply = run()
    return await reply.reply if isinstance(reply, Pending) else reply
