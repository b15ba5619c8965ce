"""The changed schemas of one comparison: settled at once where that is cheap, else compared in a child.

    find ── equal, or other words alone ──▶ Verdict
      └──── else, not compared yet ───────▶ None         ask ── WorkerAsker, 10 s in all ──▶ a Verdict for each

A comparison is made twice: to find out which schemas need a proof, and with the verdicts.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Raw

from signet.compatibility.contract_set import ContractFinding, ContractTerms, compare_tools
from signet.compatibility.open_objects import Schema
from signet.compatibility.verdict import Side, Verdict, settled
from signet.kernel.schema_budget import check_budget
from signet.lock.comparison import EntryChange, compare
from signet.lock.fields import prove_here
from signet.mcp.snapshot import Snapshot

from .asking import MEMORY_BYTES, AnswerError, TooHardError, WorkerAsker
from .kept import KeptProofs

__all__ = ["PROOF_S", "SchemaChanges", "compare_contracts", "compare_snapshots", "compared"]

PROOF_S: Final = 10.0
"""How long all proofs of one comparison may take: of a server with its lock, or of two contract sets."""
FIRST_S: Final = 1.0
"""How long each schema has before the others had their turn, so that a hard one keeps no easy one from its proof."""
MAX_BYTES: Final = 16 << 20
"""The bytes of all schemas that wait for a proof; further ones are not compared."""
KEPT_BYTES: Final = 1 << 20
TRIED_AGAIN_S: Final = 300.0
"""How long a schema that was not proven counts so: the machine may only have been busy."""
LIMITS: Final = f"within {PROOF_S:g} s and {MEMORY_BYTES >> 20} MB of memory"
COUNTS: Final = "and that counts as breaking"
UNPROVEN: Final = Verdict(compatible=False, why=f"it is not proven to be compatible {LIMITS}, {COUNTS}")
TOO_MANY: Final = Verdict(compatible=False, why=f"too many large schemas changed to compare each, {COUNTS}")
FAILED: Final = Verdict(compatible=False, why=f"the comparison of its schema failed, {COUNTS}")
BUSY: Final = Verdict(compatible=False, why=f"too many schemas are being compared to compare it now, {COUNTS}")

_kept: Final = KeptProofs(KEPT_BYTES)
"""The verdicts of this process: a server that starts again is not compared again."""


class _Question(msgspec.Struct, frozen=True):
    """Two schemas to compare."""

    old: Raw
    new: Raw
    side: Side


class _Known(msgspec.Struct, frozen=True):
    """A verdict that is kept."""

    verdict: Verdict
    until_s: float | None = None


class SchemaChanges:
    """The schemas that changed, with their verdicts."""

    def __init__(self) -> None:
        self._verdicts: dict[bytes, Verdict] = {}
        self._waiting: dict[bytes, bytes] = {}
        self._bytes = 0

    @property
    def are_open(self) -> bool:
        """Whether a schema waits for its proof."""
        return bool(self._waiting)

    def find(self, old: Schema, new: Schema, side: Side) -> Verdict | None:
        """Return the verdict on a change, or None if it needs a proof, which waits for `ask`."""
        try:
            verdict = settled(old, new)
            if verdict is not None:
                return verdict
            for one in (old, new):
                check_budget(one, 0)
            question = msgspec.json.encode(_Question(_encoded(old), _encoded(new), side))
        except ValueError as error:
            return Verdict(compatible=False, why=f"{error}, {COUNTS}")
        except RecursionError:
            return Verdict(compatible=False, why=f"it is nested too deeply to compare, {COUNTS}")
        key = hashlib.sha256(question).digest()
        return self._verdicts.get(key) or self._known(key) or self._wait(key, question)

    def _known(self, key: bytes) -> Verdict | None:
        found = _kept.get(key)
        known = None if found is None else msgspec.json.decode(found, type=_Known)
        is_old = known is not None and known.until_s is not None and known.until_s < time.monotonic()
        return None if known is None or is_old else known.verdict

    def _wait(self, key: bytes, question: bytes) -> Verdict | None:
        if key not in self._waiting:
            self._bytes += len(question)
            if self._bytes > MAX_BYTES:
                return TOO_MANY
            self._waiting[key] = question
        return None

    def ask(self, asker: WorkerAsker) -> None:
        """Give each schema that waits its verdict: what cannot be proven in time counts as breaking."""
        end_s = time.monotonic() + PROOF_S
        hard = self._ask_all(asker, self._waiting, end_s, lambda _: FIRST_S)
        hard = self._ask_all(asker, hard, end_s, lambda left: (end_s - time.monotonic()) / left)
        for key in hard:
            self._note(key, UNPROVEN)
        self._waiting.clear()

    def refuse(self) -> None:
        """Let every schema that waits count as breaking: too many others are being compared."""
        self._verdicts |= dict.fromkeys(self._waiting, BUSY)
        self._waiting.clear()

    def _ask_all(
        self, asker: WorkerAsker, questions: Mapping[bytes, bytes], end_s: float, seconds: Callable[[int], float]
    ) -> dict[bytes, bytes]:
        """Ask each question, which has so many seconds for the number that is left; return those without a verdict."""
        hard: dict[bytes, bytes] = {}
        for place, (key, question) in enumerate(questions.items()):
            left_s = min(seconds(len(questions) - place), end_s - time.monotonic())
            if left_s <= 0:
                hard[key] = question
                continue
            known = self._known(key)
            if known is not None:
                # Another comparison had the same question meanwhile.
                self._verdicts[key] = known
                continue
            try:
                self._note(key, msgspec.json.decode(asker.ask(compared, question, left_s), type=Verdict))
            except TooHardError as error:
                if error.is_time:
                    hard[key] = question
                else:
                    self._note(key, UNPROVEN)
            except AnswerError:
                self._verdicts[key] = FAILED
        return hard

    def _note(self, key: bytes, verdict: Verdict) -> None:
        self._verdicts[key] = verdict
        until_s = time.monotonic() + TRIED_AGAIN_S if verdict is UNPROVEN else None
        _kept.put(key, msgspec.json.encode(_Known(verdict, until_s)))


def _encoded(schema: Schema) -> Raw:
    return Raw(msgspec.json.encode(schema))


def compared(question: bytes) -> bytes:
    """Compare two schemas, in the child."""
    asked = msgspec.json.decode(question, type=_Question)
    verdict = prove_here(msgspec.json.decode(asked.old), msgspec.json.decode(asked.new), asked.side)
    return msgspec.json.encode(verdict)


def compare_snapshots(old: Snapshot, new: Snapshot) -> tuple[EntryChange, ...]:
    """Return the entries of a server that changed; a changed schema is compared in a child, and its caller waits."""
    changes = SchemaChanges()
    found = compare(old, new, changes.find)
    if not changes.are_open:
        return found
    with WorkerAsker() as asker:
        changes.ask(asker)
    return compare(old, new, changes.find)


def compare_contracts(old: Mapping[str, ContractTerms], new: Mapping[str, ContractTerms]) -> list[ContractFinding]:
    """Compare each tool of two sets; a changed schema is compared in a child, and its caller waits."""
    changes = SchemaChanges()

    def verdict_on(before: Schema, after: Schema, side: Side) -> Verdict:
        return changes.find(before, after, side) or UNPROVEN

    found = compare_tools(old, new, verdict_on)
    if not changes.are_open:
        return found
    with WorkerAsker() as asker:
        changes.ask(asker)
    return compare_tools(old, new, verdict_on)
