"""The shares of the addresses in the calls that are in flight.

One table counts the calls through all doors. A call is in flight until it has ended, also where its response has begun.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from signet.kernel.errors import Code, Fault
from signet.kernel.pipeline import MAX_IN_FLIGHT
from signet.kernel.shares import Shares

from .messages import Request

__all__ = ["CallShares"]

T = TypeVar("T")


class CallShares:
    """Counts the calls that are awaited for each address."""

    def __init__(self) -> None:
        self.awaited = Shares("calls in flight", MAX_IN_FLIGHT)

    def check(self, request: Request) -> Fault | None:
        """Return a fault if an address has as many calls in flight as are left for all others."""
        address = request.network or request.address
        if self.awaited.has_room(address):
            return None
        mine = self.awaited.of(address)
        message = f"This address has {mine} calls in flight, and others need room: ask again when one has ended"
        return Fault(Code.INTERNAL_ERROR, message, name="TOO_MANY_CALLS", status=503)

    def hold(self, request: Request, answer: Awaitable[T]) -> Awaitable[T]:
        """Count a call now, and not when it is awaited: many may be asked for before that. Return its answer."""
        address = request.network or request.address
        self.awaited.hold(address)
        return self._release_after(request, address, answer)

    async def _release_after(self, request: Request, address: str, answer: Awaitable[T]) -> T:
        """Await an answer, and give its place back as soon as the call has ended too."""
        try:
            return await answer
        finally:
            # Not kept: it would hold its result.
            call, request.going_on = request.going_on, None
            if call is None or call.done():
                self.awaited.give_back(address)
            else:
                call.add_done_callback(lambda _: self.awaited.give_back(address))
