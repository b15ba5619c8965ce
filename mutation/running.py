"""Mutants run beside each other, one in each slot; what becomes of each is written down at once."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import itertools
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import structs

from .coverage_map import BUILD, CoverageMap
from .mutants import Mutant
from .packages import ROOT, Package
from .slots import Slot

__all__ = ["Runner", "Verdict", "digest_of", "run_all", "running", "try_mutant"]


SOUND = "tests/kernel/test_gate.py"
"""Tests that must pass before a mutant is tried: otherwise every mutant would count as killed."""
SLOW_FILE_S = 30.0
"""How long a file of tests may take of which the map knows nothing."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a mutant."""

    key: str
    package: str
    outcome: str
    """`killed` or `survived`."""
    kind: str = ""
    """By what: `assert`, `crash` or `hang`."""
    test: str = ""
    error: str = ""
    line: int = 0
    source: str = ""
    """The digest of the file that was changed: the verdict holds while it stays as it is."""
    ran: int = 0
    cpu_s: float = 0.0


class Runner:
    """A slot and the fork server in it."""

    def __init__(self, folder: Path, temporary: str) -> None:
        self.slot = Slot(folder)
        self.slot.prepare()
        environ = {**os.environ, "CI": "1", "PYTHONHASHSEED": "0", "TMPDIR": temporary}
        environ.pop("PYTHONPATH", None)
        command = [str(self.slot.python), "-m", "mutation.fork_server"]
        self._process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, tests: list[str], cpu_s: float, wall_s: float) -> dict[str, Any]:
        """Run tests on what the slot holds, and return how that ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"tests": tests, "cpu_s": cpu_s, "wall_s": wall_s}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the fork server."""
        self._process.communicate()


@contextlib.contextmanager
def running(jobs: int, folder: Path = BUILD) -> Iterator[list[Runner]]:
    """Open as many slots as there are jobs, and end their processes with the block."""
    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as temporary:
        claimed = itertools.islice(_free_slots(folder), jobs)
        runners = []
        for slot, _ in (claims := list(claimed)):
            place = Path(temporary, slot.name)
            place.mkdir()
            runners.append(Runner(slot, str(place)))
        try:
            for runner in runners:
                if (found := runner.ask([SOUND], cpu_s=60, wall_s=600))["outcome"] != "passed" or not found["ran"]:
                    raise RuntimeError(f"the tests fail without a mutant: {found}")
            yield runners
        finally:
            for runner in runners:
                runner.close()
            for _, lock in claims:
                lock.close()


def _free_slots(folder: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Give slots that no other run uses, each with the open file whose lock says so."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        lock = (folder / f"slot-{number}.lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
        else:
            yield folder / f"slot-{number}", lock


def try_mutant(runner: Runner, package: Package, mutant: Mutant, tests: CoverageMap, *, quick: bool = False) -> Verdict:
    """Ask the tests that run the mutant's lines, then the slow ones of its package; the first that fails kills it."""
    base = Verdict(mutant.key, package.name, "survived", line=mutant.line, source=digest_of(mutant.path))
    ran, cpu_s = 0, 0.0
    with runner.slot.holding(mutant):
        for stage in filter(None, [*tests.stages(mutant), *([] if quick else map(list, package.last))]):
            expected_s = sum(tests.times.get(test, SLOW_FILE_S) for test in stage)
            found = runner.ask(stage, cpu_s=20 + 8 * expected_s, wall_s=180 + 40 * expected_s)
            ran, cpu_s = ran + found.get("ran", 0), round(cpu_s + found["cpu_s"], 1)
            if found["outcome"] != "passed":
                told = {name: found.get(name, "") for name in ("kind", "test", "error")}
                return structs.replace(base, outcome="killed", **told, ran=ran, cpu_s=cpu_s)
    return structs.replace(base, ran=ran, cpu_s=cpu_s)


@functools.cache
def digest_of(path: str) -> str:
    """Return what tells one state of a source file from another."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:12]


def run_all(
    work: list[tuple[Package, Mutant]],
    tests: CoverageMap,
    jobs: int,
    told: Callable[[Verdict], None],
    *,
    quick: bool = False,
) -> None:
    """Try every mutant."""
    waiting: queue.SimpleQueue[tuple[Package, Mutant]] = queue.SimpleQueue()
    for one in work:
        waiting.put(one)
    lock = threading.Lock()

    def work_off(runner: Runner) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                package, mutant = waiting.get_nowait()
                verdict = try_mutant(runner, package, mutant, tests, quick=quick)
                with lock:
                    told(verdict)

    with running(jobs) as runners:
        threads = [threading.Thread(target=work_off, args=(runner,)) for runner in runners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
