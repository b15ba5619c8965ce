"""Comparisons of contract sets, each in a child process: a small set can take minutes, and all memory that there is.

question ── kept? ── wait for the one place ── a thread ── Child: limits, a deadline ── answer
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import threading
import time
from collections import OrderedDict
from typing import Final

from signet.advice import advise
from signet.engines.pool import Hold
from signet.engines.process import Child, ChildEndedError
from signet.kernel.caller import holder_now
from signet.kernel.errors import Code, Fault
from signet.kernel.fair_turns import FairTurns

from .comparison_child import LENGTH_BYTES, READY
from .work import Threads

__all__ = ["Comparison"]

TIMEOUT_S: Final = 10.0
START_S: Final = 30.0
"""How long a child may take to load."""
CPU_S: Final = 20
"""The processor time of a child that outlives a server which was killed."""
MEMORY_BYTES: Final = 200 << 20
MAX_ANSWER_BYTES: Final = 8 << 20
WAIT_S: Final = 5.0
"""How long a question waits for those before it."""
MAX_WAITING: Final = 8
KEPT: Final = 4
"""The number of answers that are kept."""
ADVICE: Final = (
    f"compare fewer tools at once, or at a terminal: {advise('contract.diff', here=False, old='OLD', new='NEW')}"
)
BUSY: Final = "Other contract sets are being compared: ask again in a few seconds"
LAUNCH: Final = "import sys; sys.path[:] = sys.argv[1:]; from signet.console.comparison_child import main; main()"


class Comparison:
    """Makes one comparison at a time."""

    def __init__(self) -> None:
        self._turns = FairTurns("comparisons", 1, MAX_WAITING)
        # One that was left takes a moment to end.
        self._thread = Threads("signet-comparison", 1, MAX_WAITING, BUSY)
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    async def answer(self, question: bytes, *, keep: bool) -> bytes:
        """Return the answer to a question, both as JSON; `keep` it for the next who asks.

        When the caller leaves, the child is killed.

        Raises:
            Fault: the sets are too hard to compare, or too many others are being compared.
        """
        key = hashlib.sha256(question).digest() if keep else b""
        holder = await self._enter()
        try:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            answer = await self._compare(question)
        finally:
            self._turns.give_back(holder)
        if keep:
            self._kept[key] = answer
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return answer

    async def _enter(self) -> str:
        """Wait for the place, and return whose it is; raise Fault if that takes too long."""
        turns, holder = self._turns, holder_now()
        if turns.must_wait(holder) and not turns.may_wait(holder):
            raise _busy()
        try:
            async with asyncio.timeout(WAIT_S):
                await turns.take(holder)
        except TimeoutError:
            raise _busy() from None
        return holder

    async def _compare(self, question: bytes) -> bytes:
        hold = Hold()
        try:
            return await self._thread.run(_ask_child, question, hold)
        except asyncio.CancelledError:
            # Its end is waited for, which is not for the event loop to do.
            threading.Thread(target=hold.end, daemon=True).start()
            raise


def _ask_child(question: bytes, hold: Hold) -> bytes:
    """Return what a new child answers; it has ended when this returns."""
    # In isolated mode Python reads no variable; the way to the packages is our own, and no variable is handed on.
    command = [sys.executable, "-I", "-X", "utf8", "-c", LAUNCH, *map(os.path.abspath, sys.path)]
    child = Child(command, {}, os.sep, MEMORY_BYTES, cpu_s=CPU_S)
    try:
        hold.put(child)
        _greet(child)
        return _converse(child, question)
    finally:
        hold.put(None)
        child.discard()


def _greet(child: Child) -> None:
    """Wait until a child can be asked."""
    try:
        child.read(len(READY), time.monotonic() + START_S)
    except (TimeoutError, ChildEndedError):
        message = "The process that compares contract sets does not start: ask again in a few seconds"
        raise Fault(Code.INTERNAL_ERROR, message, name="COMPARISON_FAILED", status=503) from None


def _converse(child: Child, question: bytes) -> bytes:
    deadline = time.monotonic() + TIMEOUT_S
    try:
        child.write(len(question).to_bytes(LENGTH_BYTES, "big") + question, deadline)
        size = int.from_bytes(child.read(LENGTH_BYTES, deadline), "big")
        if size > MAX_ANSWER_BYTES:
            raise _too_hard("The differences of the sets are too large to show")
        answer = child.read(size, deadline)
    except TimeoutError:
        raise _too_hard(f"The sets are too hard to compare in {TIMEOUT_S:g} s") from None
    except ChildEndedError:
        raise _too_hard(f"The sets are too hard to compare in {MEMORY_BYTES >> 20} MB of memory") from None
    if not answer:
        message = "The comparison failed: this is a fault of the server, not of the sets"
        raise Fault(Code.INTERNAL_ERROR, message, name="COMPARISON_FAILED")
    return answer


def _too_hard(sentence: str) -> Fault:
    return Fault(Code.INVALID_INPUT, f"{sentence}: {ADVICE}", name="COMPARISON_TOO_HARD", status=422)


def _busy() -> Fault:
    return Fault(Code.INTERNAL_ERROR, BUSY, name="TOO_MANY_COMPARISONS", status=503)
