"""A session: inputs for one target, generated and mutated; those that reach new paths become the stock of the next."""

from __future__ import annotations

import gc
import itertools
import random
from pathlib import Path

from .minimise import minimised
from .mutation import mutate
from .paths import PathWatch
from .target import Run, Target
from .trial import Failure, Trial
from .watch import MIB, memory

__all__ = ["CORPUS", "Session", "corpus_of"]

CORPUS = Path(__file__).parent / "corpus"
GENERATED = 0.3
"""The share of inputs that are not mutations of others."""
TRACED = 3
"""One in so many inputs is watched for new paths: to watch takes ten times as long as to run."""
STEP = 1000
"""The number of inputs after which memory is looked at."""
STEPS = 6
MAX_STEP_BYTES = 4 * MIB
"""A target leaks if so many steps in sequence each take this much more memory than the one before."""
MAX_POOL = 4000
MAX_KEPT_BYTES = 20_000
"""The size up to which a kept input is changed further: thousands of lines take as long as a hundred other inputs."""
MAX_KINDS = 20
"""The number of different failures after which a session ends."""


def corpus_of(target: Target) -> dict[str, bytes]:
    """Return the kept inputs of a target, by the names of their files."""
    folder = CORPUS / target.name
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}


class Session:
    """A run of inputs through one target that is open."""

    def __init__(self, target: Target, run: Run, seed: int, *, is_guided: bool = True) -> None:
        self.target = target
        self.inputs = 0
        self.failures: dict[str, Failure] = {}
        self.paths = PathWatch(target.rooms)
        self._trial = Trial(target, run)
        self._chance = random.Random(f"{target.name} {seed}")
        self._is_guided = is_guided
        self._known = [*target.seeds(), *corpus_of(target).values()]
        self._pool = [data for data in self._known if len(data) <= MAX_KEPT_BYTES]
        self._rising: list[int] = []

    @property
    def is_over(self) -> bool:
        """Whether there are so many failures that more would tell nothing."""
        return len(self.failures) >= MAX_KINDS

    def replay(self) -> None:
        """Run the seeds and the kept inputs, and watch which paths they take."""
        for data in self._known:
            self._try(data, is_traced=True)

    def step(self) -> None:
        """Run one fresh input."""
        data = self.next_input()
        # Without guidance the same share is watched, to count paths alone.
        is_traced = self._chance.randrange(TRACED) == 0
        before = self.paths.count
        self._try(data, is_traced=is_traced)
        if is_traced and self._is_guided and self.paths.count > before and len(self._pool) < MAX_POOL:
            self._pool.append(data)
        if self.inputs % STEP == 0:
            self._look_at_memory()

    def next_input(self) -> bytes:
        """Return a fresh input: a generated one, or another one changed."""
        if not self._pool or self._chance.random() < GENERATED:
            return self.target.generate(self._chance)
        # New inputs are taken more often: what they lead to is not known yet.
        place = max(self._chance.randrange(len(self._pool)), self._chance.randrange(len(self._pool)))
        return mutate(self._chance, self._pool[place], self.target.tokens, self._pool)

    def _try(self, data: bytes, *, is_traced: bool) -> None:
        self.inputs += 1
        failure = self._trial.run(data, self.paths if is_traced else None)
        if failure is not None and failure.key not in self.failures:
            self.failures[failure.key] = failure if failure.kind in {"hang", "memory"} else self._smaller(failure)

    def _smaller(self, failure: Failure) -> Failure:
        def fails_alike(data: bytes) -> bool:
            found = self._trial.run(data)
            return found is not None and found.key == failure.key

        data = minimised(failure.data, fails_alike)
        return self._trial.run(data) or failure

    def _look_at_memory(self) -> None:
        # What refers to itself, such as an exception and its traceback, waits for the garbage collector.
        gc.collect()
        self._rising.append(memory())
        last = self._rising[-STEPS - 1 :]
        if len(last) > STEPS and all(after - before > MAX_STEP_BYTES for before, after in itertools.pairwise(last)):
            told = f"{(last[-1] - last[0]) / MIB:.0f} MiB more after {STEPS * STEP} inputs"
            failure = Failure("memory", "rises", told, b"")
            self.failures.setdefault(failure.key, failure)
