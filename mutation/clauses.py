"""Which tests carry a clause, and what they said when its rule was taken away: `clauses.json`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
import spec_matrix

from .packages import ROOT
from .removals import Removal

__all__ = ["FILE", "Trial", "load", "marked_tests", "save", "stages", "starts_processes", "trial_of"]

FILE = Path(__file__).with_name("clauses.json")
STARTS_PROCESSES = re.compile(r"\b(subprocess|processes|\w+_harness|drop_in_servers)\b|\bServer\b")
SLOW = ("tests/test_parity.py", "tests/real/")
"""Tests that are asked when all others have let a removal pass."""


class Trial(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the tests of a clause said of a removal."""

    what: str
    removal: str
    """The digest of the removal: the trial tells nothing of another one."""
    test: str = ""
    """The test that failed; empty where all passed."""
    kind: str = ""
    """By what it failed: `assert`, `crash` or `hang`."""


def load(file: Path = FILE) -> dict[str, list[Trial]]:
    """Read the trials of each clause."""
    return msgspec.json.decode(file.read_bytes(), type=dict[str, list[Trial]]) if file.exists() else {}


def save(trials: dict[str, list[Trial]], file: Path = FILE) -> None:
    """Write the trials of each clause."""
    ordered = {clause: sorted(found, key=lambda one: one.what) for clause, found in sorted(trials.items()) if found}
    file.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def trial_of(trials: dict[str, list[Trial]], clause: str, removal: Removal) -> Trial | None:
    """Return what is known of a removal as it is written now."""
    return next((one for one in trials.get(clause, ()) if one.removal == removal.digest), None)


def marked_tests(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the test functions that carry each clause."""
    found: dict[str, list[str]] = {
        clause.id: [] for clause in spec_matrix.read_clauses((root / spec_matrix.CLAUSES).read_text("utf-8")).clauses
    }
    for mark in spec_matrix.read_marks(root):
        found[mark.clause].append(f"{mark.path}::{mark.test}")
    return found


def stages(tests: list[str], root: Path = ROOT) -> list[list[str]]:
    """Return tests in the order in which they are asked: in the process, by processes, and the slow ones."""
    groups: list[list[str]] = [[], [], []]
    for test in tests:
        groups[2 if test.startswith(SLOW) else int(starts_processes(test, root))].append(test)
    return [group for group in groups if group]


def starts_processes(test: str, root: Path = ROOT) -> bool:
    """Return True if the file of a test has to do with processes."""
    return bool(STARTS_PROCESSES.search((root / test.partition("::")[0]).read_text(encoding="utf-8")))
