"""The rules of the test run itself, tried on a small run of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import ROOT


def _run_with_a_skipped_test(folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "test_small.py").write_text(
        "import pytest\ndef test_one(): pass\n@pytest.mark.skip\ndef test_two(): pass\n"
    )
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("COVERAGE_")}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "conftest",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(folder),
            ".",
        ],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT / "tests"), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_in_ci_a_skipped_test_fails_the_run(tmp_path: Path) -> None:
    """Nobody reads the letters of a green run."""
    done = _run_with_a_skipped_test(tmp_path, {"CI": "true"})

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 tests were skipped: the run fails" in done.stdout


def test_at_the_desk_a_skipped_test_stays_a_skipped_test(tmp_path: Path) -> None:
    """Only CI is strict."""
    done = _run_with_a_skipped_test(tmp_path, {})

    assert done.returncode == 0, done.stdout + done.stderr
