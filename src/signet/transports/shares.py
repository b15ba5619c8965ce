"""The shares of addresses and principals in the calls that are in flight.

One table counts the calls through all doors. A call is in flight until it has ended, also where its response has begun.
Each address has a share; a principal has one more for all of its addresses, unless all callers have its token.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from signet.kernel.errors import Code, Fault
from signet.kernel.pipeline import MAX_IN_FLIGHT
from signet.system.places import Shares

from .messages import Request

__all__ = ["CallShares"]

T = TypeVar("T")


class CallShares:
    """Counts the calls that are awaited for each address, and for each principal."""

    def __init__(self) -> None:
        self.awaited = Shares("calls in flight", MAX_IN_FLIGHT)
        self.by_principal = Shares("calls in flight", MAX_IN_FLIGHT)

    def check(self, request: Request) -> Fault | None:
        """Return a fault if an address, or a principal, has as many calls in flight as are left for all others."""
        address, principal = request.network or request.address, _principal_of(request)
        if not self.awaited.has_room(address):
            return _refused("address", self.awaited.of(address))
        if principal is not None and not self.by_principal.has_room(principal):
            return _refused("principal", self.by_principal.of(principal))
        return None

    def hold(self, request: Request, answer: Awaitable[T]) -> Awaitable[T]:
        """Count a call now, and not when it is awaited: many may be asked for before that. Return its answer."""
        address, principal = request.network or request.address, _principal_of(request)
        self.awaited.hold(address)
        if principal is not None:
            self.by_principal.hold(principal)
        return self._release_after(request, address, principal, answer)

    async def _release_after(self, request: Request, address: str, principal: str | None, answer: Awaitable[T]) -> T:
        """Await an answer, and give its place back as soon as the call has ended too."""
        try:
            return await answer
        finally:
            # Not kept: it would hold its result.
            call, request.going_on = request.going_on, None
            if call is None or call.done():
                self._give_back(address, principal)
            else:
                call.add_done_callback(lambda _: self._give_back(address, principal))

    def _give_back(self, address: str, principal: str | None) -> None:
        self.awaited.give_back(address)
        if principal is not None:
            self.by_principal.give_back(principal)


def _principal_of(request: Request) -> str | None:
    """Return by what a principal is counted; None where there is none, and for a token that all callers share."""
    principal = request.caller.principal
    return None if principal is None or principal.scopes is None else principal.key or principal.name


def _refused(who: str, mine: int) -> Fault:
    message = f"This {who} has {mine} calls in flight, and others need room: ask again when one has ended"
    return Fault(Code.INTERNAL_ERROR, message, name="TOO_MANY_CALLS", status=503)
