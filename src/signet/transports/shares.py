"""The shares of the addresses in the calls that are in flight."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from signet.kernel.errors import Code, Fault
from signet.kernel.pipeline import MAX_IN_FLIGHT
from signet.kernel.shares import Shares

__all__ = ["CallShares"]

T = TypeVar("T")


class CallShares:
    """Counts the calls that are awaited for each address."""

    def __init__(self) -> None:
        self.awaited = Shares("calls in flight", MAX_IN_FLIGHT)

    def check(self, address: str) -> Fault | None:
        """Return a fault if an address has as many calls in flight as are left for all others."""
        if self.awaited.has_room(address):
            return None
        mine = self.awaited.of(address)
        message = f"This address has {mine} calls in flight, and others need room: ask again when one has ended"
        return Fault(Code.INTERNAL_ERROR, message, name="TOO_MANY_CALLS", status=503)

    def hold(self, address: str, answer: Awaitable[T]) -> Awaitable[T]:
        """Count a call now, and not when it is awaited: many may be asked for before that. Return its answer."""
        self.awaited.hold(address)
        return self._release_after(address, answer)

    async def _release_after(self, address: str, answer: Awaitable[T]) -> T:
        """Await an answer, and give its place back."""
        try:
            return await answer
        finally:
            self.awaited.give_back(address)
