"""What the console asks about schemas, each question in a child process: a small one can take minutes and all memory.

question ── kept? ── wait for a place ── a thread ── WorkerAsker: limits, a deadline ── answer
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from signet.kernel.errors import Code, Fault
from signet.proofs.asking import PLACE, AnswerError, TooHardError, WorkerAsker, with_asker
from signet.proofs.kept import KeptProofs
from signet.system.advice import advise
from signet.system.places import FairTurns
from signet.system.threads import BusyError, WorkPlaces

from .contract_diff import answered

__all__ = ["Comparison", "Questions"]

THING: Final = "questions of the console about schemas"
PLACES: Final = 2
MAX_WAITING: Final = 8
WAIT_S: Final = 5.0
"""How long a question waits for those before it."""
KEPT_BYTES: Final = 16 << 20
"""The bytes of all answers that are kept."""
TIMEOUT_S: Final = 10.0
ADVICE: Final = (
    f"compare fewer tools at once, or at a terminal: {advise('contract.diff', here=False, old='OLD', new='NEW')}"
)
BUSY: Final = "Other schemas are being compared: ask again in a few seconds"


class Questions:
    """The questions of one console: a few at once, the answers kept."""

    def __init__(self) -> None:
        self._places = WorkPlaces(FairTurns(THING, PLACES, MAX_WAITING, reserves=True), PLACE, WAIT_S)
        self._kept = KeptProofs(KEPT_BYTES)

    async def answer(self, key: bytes, work: Callable[[WorkerAsker], bytes], holder: str) -> bytes:
        """Return what work with a WorkerAsker returns, or what it returned for this key; an empty key is never kept.

        When the caller leaves, the child is killed.

        Raises:
            Fault: too many others are asking, or no child starts.
        """
        kept = self._kept.get(key) if key else None
        if kept is not None:
            return kept

        def answered_once(asker: WorkerAsker) -> bytes:
            # Others may have asked the same before this had its place.
            answer = (self._kept.get(key) if key else None) or work(asker)
            if key:
                self._kept.put(key, answer)
            return answer

        try:
            return await self._places.run(with_asker(answered_once), holder)
        except BusyError:
            raise Fault(Code.INTERNAL_ERROR, BUSY, name="TOO_MANY_COMPARISONS", status=503) from None
        except AnswerError as error:
            message = f"The comparison failed, which is a fault of the server, not of the schemas: {error}"
            raise Fault(Code.INTERNAL_ERROR, message, name="COMPARISON_FAILED", status=503) from None


class Comparison:
    """Compares contract sets."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    async def answer(self, question: bytes, *, keep: bool, holder: str = "") -> bytes:
        """Return the answer to a question, both as JSON; `keep` it for the next who asks.

        Raises:
            Fault: the sets are too hard to compare, or too many others are being compared.
        """
        key = hashlib.sha256(question).digest() if keep else b""
        try:
            return await self._questions.answer(key, lambda asker: asker.ask(answered, question, TIMEOUT_S), holder)
        except TooHardError as error:
            sentence = f"The sets are too hard to compare in {error}: {ADVICE}"
            raise Fault(Code.INVALID_INPUT, sentence, name="COMPARISON_TOO_HARD", status=422) from None
