"""What could not be told to the store when a call had ended: it is told as soon as the store is back.

Meanwhile this process answers from it. An entry without an answer says that its key is free again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from signet.operations.store.held import SECOND_NS, HeldValues
from signet.operations.store.store import Store, StoreError

__all__ = ["Unsaved", "UnsavedAnswers"]

MAX_BYTES: Final = 16_777_216
FIRST_PAUSE_S: Final = 0.5
MAX_PAUSE_S: Final = 5.0


class Unsaved(msgspec.Struct, frozen=True):
    """The end of one call."""

    digest: str
    runner: str
    body: bytes | None
    """The answer; None where it is not kept."""
    until_ns: int
    """The time from which nobody would ask for it any more."""
    holder: str = ""
    """Whose share of the room it takes."""


class UnsavedAnswers:
    """The ends of calls by their keys, within a size; of each caller the oldest go first. For the event loop alone."""

    def __init__(
        self,
        store: Store,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._store = store
        self._sleep = sleep
        self._clock_ns = clock_ns
        self._ends = HeldValues[Unsaved]("answers that the store did not get", MAX_BYTES)
        self._task: asyncio.Task[None] | None = None

    def add(self, key: str, digest: str, runner: str, body: bytes | None, keep_s: float, *, holder: str = "") -> None:
        """Keep the end of a call, and tell the store of it later; an answer stays, whatever becomes of other calls."""
        now_ns = self._clock_ns()
        known = self._ends.get(key, now_ns)
        if known is not None and known.body is not None:
            return
        end = Unsaved(digest, runner, body, now_ns + int(keep_s * SECOND_NS), holder)
        self._ends.put(key, end, now_ns, keep_s, holder=holder, size=len(body or b""))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._tell_all())

    def find(self, key: str) -> Unsaved | None:
        """Return the end of the last call with a key, if the store does not know it yet."""
        return self._ends.get(key, self._clock_ns()) if len(self._ends) else None

    def drop(self, key: str) -> None:
        """Forget an end: the call is made again."""
        self._ends.drop(key)

    async def _tell_all(self) -> None:
        """Tell the store until nothing is left to tell."""
        pause_s = FIRST_PAUSE_S
        while (key := self._ends.oldest()) is not None:
            end = self._ends.get(key, self._clock_ns())
            if end is None or await self._tell(key, end):
                pause_s = FIRST_PAUSE_S
                continue
            await self._sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_PAUSE_S)

    async def _tell(self, key: str, end: Unsaved) -> bool:
        left_s = (end.until_ns - self._clock_ns()) / SECOND_NS
        try:
            told = self._store.finish(key, end.digest, end.runner, end.body, left_s, holder=end.holder)
            if told is not None:
                await told
        except StoreError:
            return False
        if self._ends.get(key, self._clock_ns()) is end:
            self._ends.drop(key)
        return True
