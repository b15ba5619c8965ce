"""Which tests run which lines: made once for a state of source and tests, kept below `build/mutation`."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from coverage import CoverageData

from .mutants import Mutant
from .packages import NO_MAP, ROOT, TRACED

__all__ = ["BUILD", "CoverageMap", "open_map"]

BUILD = ROOT / "build/mutation"
IMPORTED = "import|"
"""What coverage.py writes before the name of a test that ran in the tracing process itself."""
TIME_LIMIT_S = 120
HOME_TESTS, AWAY_TESTS, MOST_TESTS = 25, 4, 40
"""How many tests are asked: of the file that is named like the module, then of each other file, and of all those."""
FIRST_S, SECOND_S = 6.0, 15.0
"""How long, added up, the tests may take that are asked first, and those that are asked after them."""


def open_map(jobs: int, *, fresh: bool = False, stale: bool = False, more: Iterable[str] = ()) -> CoverageMap:
    """Return the map of the present source and tests, made anew where either has changed.

    Args:
        jobs: How many processes trace.
        fresh: Make it anew in any case.
        stale: Take the map as it is, whatever has changed.
        more: Test files that are traced into the present map, in place of what it knows of them.
    """
    key_file, digest = BUILD / "map.key", _digest()
    known = key_file.read_text(encoding="utf-8") if key_file.exists() else ""
    if fresh or (known != digest and not (stale and known) and not more):
        BUILD.mkdir(parents=True, exist_ok=True)
        for old in BUILD.glob("trace-*"):
            old.unlink()
        _trace(_files(), jobs)
        key_file.write_text(digest, encoding="utf-8")
    elif more:
        _trace(list(more), jobs)
    return CoverageMap(BUILD)


def _digest() -> str:
    total = hashlib.sha256()
    for folder in ("src/signet", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".json", ".toml"} and "__pycache__" not in path.parts:
                total.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return total.hexdigest()


def _files() -> list[str]:
    found = [
        path.relative_to(ROOT).as_posix()
        for place in TRACED
        for path in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("test_*.py")))
    ]
    return [path for path in found if path not in NO_MAP]


def _trace(files: list[str], jobs: int) -> None:
    """Run the tests under coverage.py, the largest files spread over the processes."""
    files = sorted(files, key=lambda path: -(ROOT / path).stat().st_size)
    start = len(list(BUILD.glob("trace-*.json")))
    running = []
    for number in range(min(jobs, len(files))):
        data = BUILD / f"trace-{start + number}"
        environ = {**os.environ, "MUTATION_TRACE": str(data), "CI": "1", "PYTHONHASHSEED": "0"}
        options = ("-p", "mutation.tracing", "-p", "no:xdist", "-q", "-o", f"timeout={TIME_LIMIT_S}")
        command = [sys.executable, "-m", "pytest", *options, *files[number::jobs]]
        with data.with_suffix(".log").open("wb") as log:
            running.append(subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log))
    for process in running:
        process.wait()


class CoverageMap:
    """The traced tests with their times, and the lines that they run."""

    def __init__(self, folder: Path) -> None:
        self.times: dict[str, float] = {}
        self._data: list[CoverageData] = []
        for times in sorted(folder.glob("trace-*.json"), key=lambda path: path.stat().st_mtime):
            self.times.update(json.loads(times.read_text(encoding="utf-8")))
            data = CoverageData(str(times.with_suffix("")))
            data.read()
            self._data.append(data)

    @functools.lru_cache(maxsize=400)  # noqa: B019 - there is one map, and it lives as long as the process
    def _lines(self, path: str) -> dict[int, set[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for data in self._data:
            for line, contexts in data.contexts_by_lineno(str(ROOT / path)).items():
                found[line].update(context.removeprefix(IMPORTED) for context in contexts)
        return {line: {test for test in tests if test in self.times} for line, tests in found.items()}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the lines of a mutant; of a line that importing runs, those that run its module."""
        lines = self._lines(mutant.path)
        found = {test for line in range(mutant.line, mutant.end_line + 1) for test in lines.get(line, ())}
        whole = mutant.function == "<module>" or not found
        return list({test for tests in lines.values() for test in tests} if whole else found)

    def stages(self, mutant: Mutant) -> list[list[str]]:
        """Return the tests to ask about a mutant: of one file, a few of each other file, and then many.

        The tests of the module's own file are asked even where the map says nothing: they may start processes.
        """
        if not mutant.path.endswith(".py"):
            return self._contract_stages(Path(mutant.path).name.removesuffix(".json"))
        tests = self.tests_of(mutant)
        home = f"test_{Path(mutant.path).stem}.py::"
        files: dict[str, list[str]] = defaultdict(list)
        for test in self._varied(tests):
            files[test.partition("::")[0]].append(test)
        order = sorted(files, key=lambda name: (home not in f"{name}::", min(self.times[one] for one in files[name])))
        own = [test for test in self._varied(list(self.times)) if home in test and test not in set(tests)]
        near = self._within([*(files[order[0]] if order else []), *own], FIRST_S, HOME_TESTS)
        away = self._within([test for name in order[1:] for test in files[name][:AWAY_TESTS]], FIRST_S, MOST_TESTS)
        asked = {*near, *away}
        rest = [test for test in (*own, *(one for name in order for one in files[name])) if test not in asked]
        return [near, away, self._within(rest, SECOND_S, 4 * MOST_TESTS)]

    def _contract_stages(self, slug: str) -> list[list[str]]:
        """Return the tests whose names have the slug of a contract, then those of its toolset's tools."""
        toolset = slug.partition(".")[0]
        named = [test for test in self.times if slug in test]
        tools = [
            test
            for test in self.times
            if test.startswith(f"tests/toolsets/test_{toolset}")
            or f"/{toolset}" in test.rpartition("/test_tools.py")[0]
        ]
        return [
            self._within(self._varied(named), FIRST_S, MOST_TESTS),
            self._within(self._varied(tools), SECOND_S, 4 * MOST_TESTS),
        ]

    def _varied(self, tests: list[str]) -> list[str]:
        """Return the tests with the first case of each function ahead of all second cases, the quickest first."""
        cases: dict[str, int] = defaultdict(int)
        order = []
        for test in sorted(tests, key=lambda one: (self.times[one], one)):
            function = test.partition("[")[0]
            order.append((cases[function], self.times[test], test))
            cases[function] += 1
        return [test for _, _, test in sorted(order)]

    def _within(self, tests: list[str], seconds: float, number: int) -> list[str]:
        kept, left_s = [], seconds
        for test in tests[:number]:
            left_s -= self.times[test]
            if left_s < 0 and kept:
                continue
            kept.append(test)
        return kept
