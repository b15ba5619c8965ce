"""For each clause of the specifications, a mutant that makes a test fail which carries the clause: `clauses.json`."""

from __future__ import annotations

import hashlib
import sys
from collections import defaultdict
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
import spec_matrix

from .coverage_map import CoverageMap
from .mutants import Mutant
from .packages import ROOT
from .results import Proof
from .running import Runner, Verdict
from .sample import mutants_of

__all__ = ["FILE", "ClauseBook", "Prover", "load", "marked_tests", "save"]

FILE = Path(__file__).with_name("clauses.json")
MAX_TRIES = 12
MAX_TESTS = 8
UNKNOWN_S = 5.0
PREFERRED = ("condition", "comparison", "statement removed", "constant", "not removed", "and/or", "text", "contract")
"""Changes that take a rule away, ahead of those that make any road end."""

OJ = ("src/signet/toolsets/oj/tools.py", "src/signet/toolsets/oj/api.py", "src/signet/upstream/http.py")
RULES = {
    "1": (*OJ, "src/signet/upstream/caching.py", "src/signet/commands/oj_mcp.py"),
    "2": OJ,
    "3": ("src/signet/toolsets/boj/validation.py", "src/signet/toolsets/boj/tools.py", "src/signet/upstream/http.py"),
    "4": ("src/signet/toolsets/plantuml/tools.py", "src/signet/transports/rest.py", "src/signet/transports/router.py"),
    "5": ("src/signet/kernel/envelope.py", "src/signet/transports/envelope.py", "src/signet/journal/record.py"),
}
"""The modules that hold most rules of a specification: for tests that leave the work to a process."""


def hash_of(*words: str) -> str:
    """Return a text by which things are put into an order that depends on them alone."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


class ClauseBook(msgspec.Struct, frozen=True):
    """Which clauses are proved by a mutant."""

    clauses: int
    proofs: dict[str, Proof]
    bare: dict[str, str]
    """The clauses without a proof, and why."""


def load(file: Path = FILE) -> ClauseBook:
    """Read what is known."""
    return msgspec.json.decode(file.read_bytes(), type=ClauseBook) if file.exists() else ClauseBook(0, {}, {})


def save(book: ClauseBook, file: Path = FILE) -> None:
    """Write what is known."""
    ordered = ClauseBook(book.clauses, dict(sorted(book.proofs.items())), dict(sorted(book.bare.items())))
    file.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def marked_tests(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the test functions that carry each clause."""
    found: dict[str, list[str]] = {
        clause.id: [] for clause in spec_matrix.read_clauses((root / spec_matrix.CLAUSES).read_text("utf-8")).clauses
    }
    for mark in spec_matrix.read_marks(root):
        found[mark.clause].append(f"{mark.path}::{mark.test}")
    return found


class Prover:
    """Looks for a mutant that a test of a clause dies of."""

    def __init__(self, tests: CoverageMap, verdicts: dict[str, Verdict]) -> None:
        self._tests = tests
        self._cases: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests.times, key=lambda one: tests.times[one]):
            self._cases[test.partition("[")[0]].append(test)
        self._killed: dict[str, Proof] = {}
        for one in sorted(verdicts.values(), key=lambda one: one.kind != "assert"):
            if one.outcome == "killed" and "::" in one.test:
                self._killed.setdefault(one.test.partition("[")[0], Proof(one.key, one.test))
        self._mutants: dict[str, list[Mutant]] = {}

    def known(self, functions: list[str]) -> Proof | None:
        """Return a proof that the run of the packages has found already."""
        return next((self._killed[one] for one in functions if one in self._killed), None)

    def traced(self, functions: list[str]) -> bool:
        """Return True if the map knows a test of the clause."""
        return any(one in self._cases for one in functions)

    def prove(self, runner: Runner, functions: list[str], mutants: list[Mutant]) -> Proof | None:
        """Return the first mutant that a test of the clause dies of, by an assert where there is such a one."""
        cases = self._chosen(functions)
        crashed = None
        for mutant in mutants:
            expected_s = sum(self._tests.times.get(case, UNKNOWN_S) for case in cases)
            with runner.slot.holding(mutant):
                found = runner.ask(cases, cpu_s=20 + 8 * expected_s, wall_s=180 + 40 * expected_s)
            if found["outcome"] == "passed" or "::" not in found.get("test", ""):
                continue
            proof = Proof(mutant.key, found["test"])
            if found["kind"] == "assert":
                return proof
            crashed = crashed or proof
        return crashed

    def candidates(self, clause: str, functions: list[str]) -> list[Mutant]:
        """Return a few mutants on lines that the tests run, no two of one line, the lines that few tests run first.

        Where the tests leave the work to a process, mutants of the modules that hold the rules of the specification.
        """
        chosen: list[Mutant] = []
        for path, line in self._tests.rare_lines(self._chosen(functions)):
            here = [one for one in self._mutants_of(path) if one.line == line and one.mutator in PREFERRED]
            chosen += sorted(here, key=lambda one: (PREFERRED.index(one.mutator), one.rank))[:1]
            if len(chosen) >= MAX_TRIES:
                return chosen
        rest = [one for path in RULES[clause[0]] for one in self._mutants_of(path) if one.mutator in PREFERRED[:3]]
        return [*chosen, *sorted(rest, key=lambda one: hash_of(clause, one.key))][:MAX_TRIES]

    def _mutants_of(self, path: str) -> list[Mutant]:
        if path not in self._mutants:
            self._mutants[path] = mutants_of(path) if "/sandbox/" not in path else []
        return self._mutants[path]

    def _chosen(self, functions: list[str]) -> list[str]:
        """Return cases of a clause's tests, the quickest; of functions that the map does not know, all cases."""
        known = [case for one in functions for case in self._cases.get(one, [])[:3]][:MAX_TESTS]
        return known or functions[:2]
