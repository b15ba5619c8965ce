"""Exchanges as they are written down: one for each request, before its answer is sent or when its client has left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Final, TypeVar

from msgspec.structs import replace

from signet.kernel.errors import Fault, bug, caller_left
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Outcome
from signet.kernel.tools import Toolbox

from .messages import Request, Response, exchange_of

__all__ = ["ExchangeNotes", "broken"]

T = TypeVar("T")

LAST_TURNS: Final = 8
"""The turns of the event loop in which cancelled calls end."""
LEFT: Final = Response(499)
"""The answer to a client that left before there was one, as proxies write it down."""


class ExchangeNotes:
    """Tells a listener of each exchange; the listener raises a fault if the request has to be refused instead."""

    def __init__(
        self,
        listener: Callable[[Exchange], None],
        refuse: Callable[[Request | None, Fault], Response],
        toolbox: Toolbox,
    ) -> None:
        self._listener = listener
        self._refuse = refuse
        self._toolbox = toolbox

    def note(self, request: Request | None, response: Response, address: str) -> Response:
        """Tell of a response that is about to be sent; return it, or the refusal that takes its place."""
        try:
            self._listener(exchange_of(request, response, address))
        except Fault as fault:
            return self._refuse(request, fault)
        return response

    def note_left(self, request: Request, response: Response = LEFT) -> None:
        """Tell of a request whose client left before its response; nobody is there to be refused."""
        if request.outcome is None and request.call is not None:
            call = request.call
            tool = self._toolbox.of(call.tool_key, by_name=call.door.by_name) if call.door.runs_tool else None
            request.outcome = Outcome(call, tool, fault=caller_left())
        with suppress(Fault):
            self._listener(replace(exchange_of(request, response, request.address), is_left=True))

    async def unless_left(self, request: Request, awaited: Awaitable[T]) -> T:
        """Await something that is needed for a response; if its client leaves meanwhile, tell of it."""
        try:
            return await awaited
        except asyncio.CancelledError:
            self.note_left(request)
            raise

    async def settle(self) -> None:
        """Let the calls end whose connections were closed, so that the last exchange is told of."""
        for _ in range(LAST_TURNS):
            await asyncio.sleep(0)

    async def events(
        self, request: Request, response: Response, events: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream, and tell of it before the last one, which holds the outcome.

        An endless stream has none: it is told of before its first event. If the request has to be refused by then, the
        stream ends without an answer.
        """
        is_noted = False
        try:
            async with aclosing(events):
                async for event in events:
                    is_told = request.outcome is not None or request.is_answered or response.is_endless
                    if is_told and not is_noted:
                        is_noted = True
                        if self.note(request, response, request.address) is not response:
                            return
                    yield event
        finally:
            if not is_noted:
                self.note_left(request, response)


def broken(error: Exception) -> Fault:
    """Return the fault for an error that nobody expected on the way to a response, and have it logged."""
    told = {"message": "an answer failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(told)
    return bug("The server", error)
