"""The run that takes the rule of each clause away and asks the tests that carry the clause."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading

from .clauses import Trial, load, marked_tests, save, stages, trial_of
from .packages import ROOT
from .removals import Removal, Removals, read_removals
from .running import Runner, running

__all__ = ["prove_clauses", "try_removal"]

CPU_S, WALL_S = 120, 900
"""How long the tests of a clause may take at most, of one stage."""


def try_removal(runner: Runner, removal: Removal, clause: str, tests: list[str]) -> Trial:
    """Take a rule away and ask the tests of a clause, until one fails; that one must pass when the rule is back.

    A file of tests that can no longer be imported proves nothing: a test has to have noticed.
    """
    with runner.slot.replacing(removal.texts(ROOT)):
        for stage in stages(tests):
            found = runner.ask(stage, CPU_S, WALL_S)
            if found["outcome"] != "passed":
                break
    test = found.get("test", "")
    if found["outcome"] != "passed" and "::" not in test:
        print(f"{clause}: {removal.what}: no test failed, but all: {found}", file=sys.stderr, flush=True)
        test = ""
    if test and (again := runner.ask([test], CPU_S, WALL_S))["outcome"] != "passed":
        print(f"{clause}: {test} fails with the rule too: {again}", file=sys.stderr, flush=True)
        test = ""
    return Trial(removal.what, removal.digest, test, found.get("kind", "") if test else "")


def prove_clauses(jobs: int, specs: list[str], *, resume: bool) -> None:
    """Try all removals of specifications, or of clauses below a name such as `4.cors`, and write down at once what was found."""
    search = _Search(read_removals(), specs, resume=resume)
    with running(jobs) as runners:
        threads = [threading.Thread(target=search.work, args=(runner,)) for runner in runners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class _Search:
    """The removals that wait, and what was found of the others."""

    def __init__(self, removals: Removals, specs: list[str], *, resume: bool) -> None:
        self._marked = marked_tests()
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[Removal, str]] = queue.SimpleQueue()
        known, self._trials, self._left = load(), dict[str, list[Trial]](), 0
        for clause in self._marked:
            kept = [(one, trial_of(known, clause, one)) for one in removals.of(clause)]
            asked = not specs or any(f"{clause}.".startswith(f"{one}.") for one in specs)
            again = [one for one, trial in kept if asked and not (resume and trial and trial.test)]
            self._trials[clause] = [trial for one, trial in kept if trial and one not in again]
            for one in again:
                one.texts()  # a removal that no longer fits ends the run before it begins
                self._waiting.put((one, clause))
            self._left += len(again)

    def work(self, runner: Runner) -> None:
        """Take removals until none is left."""
        with contextlib.suppress(queue.Empty):
            while True:
                removal, clause = self._waiting.get_nowait()
                trial = try_removal(runner, removal, clause, self._marked[clause])
                with self._lock:
                    self._tell(clause, trial)

    def _tell(self, clause: str, trial: Trial) -> None:
        self._trials[clause].append(trial)
        self._left -= 1
        save(self._trials)
        told = trial.test or "SURVIVED"
        print(f"{self._left} left · {clause} · {trial.what} · {told}", file=sys.stderr, flush=True)
