"""The run that looks for a mutant for each clause."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading

from .clauses import ClauseBook, Prover, load, marked_tests, save
from .coverage_map import CoverageMap
from .results import Proof
from .running import Runner, Verdict, running

__all__ = ["prove_clauses"]

UNTRACED = "its tests start processes that the coverage map does not follow"
NONE_DIED = "no mutant on the lines that only a few tests reach made its tests fail"


def prove_clauses(tests: CoverageMap, verdicts: dict[str, Verdict], jobs: int, *, resume: bool) -> None:
    """Find a mutant for each clause, and write down at once what is found."""
    search = _Search(Prover(tests, verdicts), load().proofs if resume else {})
    with running(jobs) as runners:
        threads = [threading.Thread(target=search.work, args=(runner,)) for runner in runners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    search.save()


class _Search:
    """The clauses that wait for a mutant, and what was found for the others."""

    def __init__(self, prover: Prover, kept: dict[str, Proof]) -> None:
        self._prover = prover
        self._marked = marked_tests()
        self._proofs = {clause: proof for clause, proof in kept.items() if clause in self._marked}
        self._bare: dict[str, str] = {}
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        # Those first whose tests are quick: a run that is ended early has proved most.
        ordered = sorted(self._marked.items(), key=lambda one: not prover.traced(one[1]))
        for clause, functions in ordered:
            if clause in self._proofs:
                continue
            if found := prover.known(functions):
                self._proofs[clause] = found
            else:
                self._waiting.put(clause)

    def work(self, runner: Runner) -> None:
        """Take clauses until none is left."""
        with contextlib.suppress(queue.Empty):
            while True:
                clause = self._waiting.get_nowait()
                functions = self._marked[clause]
                with self._lock:
                    candidates = self._prover.candidates(clause, functions)
                proof = self._prover.prove(runner, functions, candidates)
                with self._lock:
                    self._tell(clause, proof)

    def _tell(self, clause: str, proof: Proof | None) -> None:
        if proof is None:
            self._bare[clause] = NONE_DIED if self._prover.traced(self._marked[clause]) else UNTRACED
        else:
            self._proofs[clause] = proof
        self.save()
        done = len(self._proofs) + len(self._bare)
        print(f"{done}/{len(self._marked)} · {clause} · {proof and proof.key}", file=sys.stderr, flush=True)

    def save(self) -> None:
        """Write down what was found."""
        save(ClauseBook(len(self._marked), self._proofs, self._bare))
