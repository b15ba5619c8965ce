"""The rules of the test run itself, tried on a small run of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processes import ROOT

SMALL = "import pytest\ndef test_one(): pass\n@pytest.mark.{mark}\ndef test_two(): {body}\n"
"""A file of two tests, the second of which hides behind a mark."""
HIDDEN = {
    "skipped": ("skip", "pass"),
    "expected to fail": ("xfail", "assert False"),
    "failing no more": ("xfail", "pass"),
}


def small_run(folder: Path, how: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    mark, body = HIDDEN[how]
    (folder / "test_small.py").write_text(SMALL.format(mark=mark, body=body))
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("COVERAGE_")}
    flags = ("-q", "-p", "conftest", "-p", "no:cacheprovider", "--rootdir", str(folder), ".")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *flags],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT / "tests"), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("how", HIDDEN)
def test_in_ci_a_test_that_hides_fails_the_run(tmp_path: Path, how: str) -> None:
    """Nobody reads the letters of a green run."""
    done = small_run(tmp_path, how, {"CI": "true"})

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 tests were skipped or expected to fail: the run fails" in done.stdout


@pytest.mark.parametrize("how", HIDDEN)
def test_at_the_desk_it_may(tmp_path: Path, how: str) -> None:
    """Only CI is strict."""
    done = small_run(tmp_path, how, {})

    assert done.returncode == 0, done.stdout + done.stderr
