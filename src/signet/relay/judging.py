"""Judging the instances of one server by its lock: at once where that is cheap, the rest in a child meanwhile.

judged ── judge, in a thread ── nothing to prove ──▶ what is blocked
  └────── a changed schema ──▶ what is blocked now, that tool too ── Places, a child ──▶ what is blocked after all
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from signet.lock.fields import Prove
from signet.lock.policy import Judgement
from signet.mcp.snapshot import Snapshot

from .blocking import BeingCompared, Blocked

if TYPE_CHECKING:
    from signet.proofs.changes import SchemaChanges
    from signet.system.threads import WorkPlaces

__all__ = ["Judge", "places"]

THING: Final = "proofs of the lock"
PLACES: Final = 2
"""The children of all servers at once; of one server, one."""
MAX_WAITING: Final = 64


def places() -> WorkPlaces:
    """Return places that wrapped servers share; the modules are loaded when the first change has to be proven."""
    from signet.proofs.asking import PLACE
    from signet.system.places import FairTurns
    from signet.system.threads import WorkPlaces

    return WorkPlaces(FairTurns(THING, PLACES, MAX_WAITING, reserves=True), PLACE)


class Judging(Protocol):
    """Decides what is served of a server that says this of itself now."""

    def __call__(self, now: Snapshot, *, prove: Prove) -> Judgement:
        """Return what is served and blocked."""


class Judge:
    """Judges the instances of one server, and reports the last judgement."""

    def __init__(
        self, server: str, judge: Judging, tell: Callable[[Judgement], None], places: Callable[[], WorkPlaces]
    ) -> None:
        self._server = server
        self._places = places
        self._judge = judge
        self._tell = tell
        self._latest = 0
        self._proofs: set[asyncio.Task[None]] = set()

    async def judged(self, now: Snapshot) -> Blocked:
        """Return what the lock blocks of an instance; a changed schema is blocked as long as it is being compared."""
        from signet.proofs.changes import SchemaChanges

        changes = SchemaChanges()
        # A list may be long: comparing it must not hold up the others.
        judgement = await asyncio.to_thread(self._judge, now, prove=changes.find)
        self._latest += 1
        self._tell(judgement)
        if not changes.are_open:
            return judgement.blocked
        blocked = BeingCompared(judgement.blocked, judgement.pending)
        proof = asyncio.ensure_future(self._prove(now, changes, blocked, self._latest))
        self._proofs.add(proof)
        proof.add_done_callback(self._proofs.discard)
        return blocked

    def close(self) -> None:
        """Prove nothing more."""
        for proof in self._proofs:
            proof.cancel()

    async def _prove(self, now: Snapshot, changes: SchemaChanges, blocked: BeingCompared, number: int) -> None:
        from signet.proofs.asking import with_asker
        from signet.system.threads import BusyError

        try:
            await self._places().run(with_asker(changes.ask), self._server)
        except BusyError:
            changes.refuse()
        judgement = await asyncio.to_thread(self._judge, now, prove=changes.find)
        blocked.settle(judgement.blocked)
        if number == self._latest:
            self._tell(judgement)
