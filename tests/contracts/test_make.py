"""`make contracts`: the tests that it runs need nothing but Python."""

from __future__ import annotations

import subprocess

from processes import ROOT


def test_make_contracts_names_files_that_are_there_and_no_word() -> None:
    command = ["make", "-n", "contracts"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = next(line for line in shown.splitlines() if "pytest" in line)

    paths = [word for word in line.split() if word.startswith("tests/")]
    assert "tests/test_contracts.py" in paths
    assert all((ROOT / path).exists() for path in paths)
    assert " -k " not in line
    assert not any("console" in path for path in paths)
