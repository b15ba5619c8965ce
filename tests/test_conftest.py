"""The rules of the test run itself, tried on a small run of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SLOW_FILES
from processes import ROOT

HIDDEN = {
    "skipped": "@pytest.mark.skip\ndef test_skipped(): pass\n",
    "expected to fail": "@pytest.mark.xfail\ndef test_failing(): assert False\n",
    "failing no more": "@pytest.mark.xfail\ndef test_failing_no_more(): pass\n",
}
"""Tests that a green run would hide."""
OPEN = "import pytest\ndef test_open(): pass\n"
INTERRUPTED = """
import signal, subprocess

def test_one():
    with subprocess.Popen(["sleep", "60"]) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT
"""


def small_run(folder: Path, tests: str, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a small file of tests under our rules, without any variable of the run that this test is part of."""
    (folder / "test_small.py").write_text(tests, encoding="utf-8")
    ours = ("COVERAGE_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith(ours)}
    command = ("-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "--rootdir", str(folder), *flags, ".")
    return subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" "$@"', sys.executable, *command],
        cwd=folder,
        # Plugins that the small run does not need take most of its time.
        env={
            **kept,
            "PYTHONPATH": f"{ROOT}/tests{os.pathsep}{ROOT}/tests/support",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **env,
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("how", HIDDEN)
def test_in_ci_a_test_that_hides_fails_the_run(tmp_path: Path, how: str) -> None:
    """Nobody reads the letters of a green run."""
    done = small_run(tmp_path, OPEN + HIDDEN[how], CI="true")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 tests were skipped or expected to fail: the run fails" in done.stdout


def test_in_ci_tests_that_hide_in_any_process_of_a_parallel_run_fail_it(tmp_path: Path) -> None:
    done = small_run(tmp_path, OPEN + "".join(HIDDEN.values()), "-p", "xdist", "-n", "2", CI="true")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 tests were skipped or expected to fail: the run fails" in done.stdout


def test_at_the_desk_they_may_hide(tmp_path: Path) -> None:
    """Only CI is strict."""
    done = small_run(tmp_path, OPEN + "".join(HIDDEN.values()))

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_process_of_a_test_can_be_interrupted_even_where_the_run_ignores_interrupts(tmp_path: Path) -> None:
    """As under `nohup make test &`, which is how every small run is started here."""
    done = small_run(tmp_path, INTERRUPTED)

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_of_the_files_that_go_first_is_there() -> None:
    files = [path.as_posix() for path in (ROOT / "tests").rglob("test_*.py")]

    assert [name for name in SLOW_FILES if len([path for path in files if path.endswith(name)]) != 1] == []


@pytest.mark.parametrize("room", ["kernel", "transports"])
def test_each_module_of_the_kernel_and_the_transports_has_a_test_file_of_its_name(room: str) -> None:
    modules = {path.stem for path in (ROOT / "src/signet" / room).glob("*.py")} - {"__init__"}

    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / room).glob("test_*.py")}

    assert modules - tested == set()
