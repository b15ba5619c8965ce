"""The places of the diagrams that one engine draws at once: a bounded number waits for one, and who leaves frees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from signet.kernel.caller import holder_now
from signet.system.piped_process import KillHandle
from signet.system.places import FairTurns
from signet.system.threads import BusyError, WorkPlaces

from .renderer import busy

__all__ = ["MAX_WAITING", "DrawingPlaces"]

T = TypeVar("T")

MAX_WAITING: Final = 32
"""The number of diagrams that wait for a place, of which each caller has a share.

Each takes seconds: clients do not wait longer.
"""


class DrawingPlaces:
    """As many threads as diagrams are drawn at once."""

    def __init__(self, count: int, name: str) -> None:
        self._places = WorkPlaces(FairTurns("diagrams of one engine", count, MAX_WAITING), name)

    async def run(self, work: Callable[[KillHandle], T]) -> T:
        """Return the result of work in a thread; when the caller leaves, the child that the work holds is killed.

        Raises:
            Fault: too many are waiting.
        """
        try:
            return await self._places.run(work, holder_now())
        except BusyError:
            raise busy() from None
