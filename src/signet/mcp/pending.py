"""An exchange: one request to a server that is under way, its answer, and what the server asks on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from signet.kernel.caller import holder_now
from signet.kernel.errors import INTERNAL
from signet.kernel.relay import RpcRequest

from .messages import error_object

if TYPE_CHECKING:
    from .session import ClientSession

__all__ = ["Answer", "LostError", "PendingRequest", "ServerRequest"]


class LostError(Exception):
    """The server was gone before it answered; the text says why, `was_sent` whether it may have got the request."""

    def __init__(self, why: str, *, was_sent: bool = True) -> None:
        super().__init__(why)
        self.was_sent = was_sent


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The reply to a request: one of both members is there."""

    result: Raw | None = None
    error: Raw | None = None


class ServerRequest(msgspec.Struct, eq=False):
    """A request of the server that the caller answers."""

    dialogue: ClientSession
    id: int | str
    method: str
    params: Raw
    is_open: bool = True
    exchanges: list[PendingRequest] = msgspec.field(default_factory=list)
    """The exchanges under way in one of which it came."""
    timer: asyncio.TimerHandle | None = None
    """Brings it to the likeliest of them; None as soon as it was brought."""
    holder: str = ""
    """Whose share of the open questions it uses, as soon as it was brought."""
    withdraw: Callable[[], None] | None = None
    """Tell the caller that its answer is not needed any more, where it was asked."""

    def give_up(self, why: str) -> None:
        """Tell the server that nobody answers, and the caller that nobody waits."""
        if self.is_open:
            if self.withdraw is not None:
                self.withdraw()
            self.answer(error=error_object(INTERNAL, why))

    def take_back(self) -> None:
        """Tell the caller, where it was asked, that the server does not wait for its answer any more."""
        self.is_open = False
        if self.withdraw is not None:
            self.withdraw()

    def answer(self, *, result: bytes | None = None, error: bytes | None = None) -> None:
        """Send the caller's answer; once."""
        if self.is_open:
            self.is_open = False
            self.dialogue.questions.pop(self.id, None)
            self.dialogue.send_response(self.id, result=result, error=error)


class PendingRequest(msgspec.Struct, eq=False):
    """A request that is under way, and whoever waits for it."""

    id: int
    method: str
    dialogue: ClientSession
    request: RpcRequest | None
    """The caller's request; None through doors other than MCP, and for those of our own."""
    reply: asyncio.Future[Answer]
    questions: list[ServerRequest] = msgspec.field(default_factory=list)
    """What the server has asked in this exchange and nobody has answered."""
    asked: asyncio.Event | None = None
    """Set with each question, where somebody waits for it."""
    name: str = ""
    """The tool or prompt that it names."""
    is_suspect: bool = False
    """Whether a question that was refused may have been of this exchange."""
    is_held: bool = False
    """Whether it waits for its caller's answers, between two requests of the caller."""
    is_serial: bool = False
    """Whether it is one of those that go on one at a time."""
    turn_of: str | None = None
    """Whose turn it has, as long as it has one."""

    async def take_turn(self) -> None:
        """Wait until it is this exchange's turn."""
        holder = holder_now() if self.request is None else self.request.channel.caller.holder
        await self.dialogue.turn.take(holder)
        self.turn_of = holder

    def end_turn(self) -> None:
        """Let the next exchange go on, if it is this one's turn."""
        if self.turn_of is not None:
            holder, self.turn_of = self.turn_of, None
            self.dialogue.turn.give_back(holder)
