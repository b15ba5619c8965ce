"""The run that takes the rule of each clause away and asks the tests that carry the clause."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from .clauses import Trial, load, marked_tests, save, stages, trial_of
from .removals import Removal, Removals, read_removals
from .running import Runner, running

__all__ = ["passing", "prove_clauses", "try_removal"]

CPU_S, WALL_S = 120, 900
"""How long tests may take that are asked together."""
TOGETHER = 12
"""How many trials are told at once, when the tests that failed have passed again with the rules."""


def try_removal(runner: Runner, removal: Removal, tests: dict[str, list[str]]) -> dict[str, Trial]:
    """Take a rule away and ask the tests of each clause, until one fails.

    A file of tests that can no longer be imported proves nothing: a test has to have noticed.
    """
    trials: dict[str, Trial] = {}
    with runner.slot.replacing(removal.texts()):
        for clause, functions in tests.items():
            known = [one for one in trials.values() if one.test.partition("[")[0] in functions]
            trials[clause] = known[0] if known else _ask(runner, removal, functions)
    return trials


def _ask(runner: Runner, removal: Removal, functions: list[str]) -> Trial:
    found: dict[str, Any] = {}
    for stage in stages(functions):
        found = runner.ask(stage, CPU_S, WALL_S)
        if found["outcome"] != "passed":
            break
    if "::" in found.get("test", ""):
        return Trial(removal.what, removal.digest, found["test"], found["kind"])
    if found["outcome"] != "passed":
        print(f"{removal.what}: no test has noticed, {found}", file=sys.stderr, flush=True)
    return Trial(removal.what, removal.digest)


def passing(runner: Runner, tests: Iterable[str]) -> set[str]:
    """Return those of the tests that pass on what the slot holds."""
    left = dict.fromkeys(tests)
    while left:
        found = runner.ask(list(left), CPU_S, WALL_S)
        if found["outcome"] == "passed":
            break
        print(f"fails with the rules too: {found}", file=sys.stderr, flush=True)
        if found.get("test") not in left:
            return set()
        del left[found["test"]]
    return set(left)


def prove_clauses(jobs: int, specs: list[str], *, resume: bool) -> None:
    """Try all removals, or those of clauses below names such as `4.cors`."""
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
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[Removal, dict[str, list[str]]]] = queue.SimpleQueue()
        known, self._trials, self._left = load(), dict[str, list[Trial]](), 0
        marked = marked_tests()
        for removal in removals.removal:
            again = {}
            for clause in removal.clauses:
                trial = trial_of(known, clause, removal)
                asked = not specs or any(f"{clause}.".startswith(f"{one}.") for one in specs)
                if asked and not (resume and trial and trial.test.partition("[")[0] in marked[clause]):
                    again[clause] = marked[clause]
                elif trial:
                    self._trials.setdefault(clause, []).append(trial)
            if again:
                removal.texts()  # one that no longer fits ends the run before it begins
                self._waiting.put((removal, again))
                self._left += len(again)

    def work(self, runner: Runner) -> None:
        """Take removals until none is left."""
        found: list[tuple[str, Trial]] = []
        with contextlib.suppress(queue.Empty):
            while True:
                removal, tests = self._waiting.get_nowait()
                found += try_removal(runner, removal, tests).items()
                if len(found) >= TOGETHER:
                    self._tell(runner, found)
                    found = []
        self._tell(runner, found)

    def _tell(self, runner: Runner, found: list[tuple[str, Trial]]) -> None:
        """Write trials down; a test that fails in any case has noticed nothing."""
        sound = passing(runner, {trial.test for _, trial in found if trial.test})
        with self._lock:
            for clause, trial in found:
                told = trial if trial.test in sound else structs.replace(trial, test="", kind="")
                self._trials.setdefault(clause, []).append(told)
                self._left -= 1
                print(f"{self._left} left · {clause} · {told.what} · {told.test or 'SURVIVED'}", file=sys.stderr)
            save(self._trials)
