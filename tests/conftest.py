"""The rules of every run: a steady environment, repeatable property tests in CI, no skipped test there; upstreams."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import upstream_harness
from boj_harness import BojHarness, boj_sandbox
from oj_harness import OjHarness, oj_sandbox

IN_CI = bool(os.environ.get("CI"))

# Tests read what processes write as UTF-8, whatever the locale; the workers of a parallel run inherit this too.
os.environ["PYTHONUTF8"] = "1"

# Tests start thousands of processes, and without bytecode each of them would compile every module again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# `nohup make test &` starts us with SIGINT ignored, and processes would inherit that from us: the servers that tests
# start and interrupt could not be interrupted. A handler is not inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_unchecked = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
"""An example that talks to a process may be slow, and examples share the process on purpose."""

settings.register_profile("desk", max_examples=100, deadline=None, print_blob=True, suppress_health_check=_unchecked)
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True)
settings.load_profile("ci" if IN_CI else "desk")

SLOW_FILES = (
    "real/test_openapi.py", "test_parity.py", "test_clients.py", "test_examples.py", "test_walks.py",
    "toolsets/plantuml_tools/test_drawing.py", "toolsets/oj/test_convert.py", "test_boj_commands.py", "test_doctor.py",
    "real/test_cli.py", "attack/test_long_form.py", "test_diagram_command.py", "test_installation.py",
    "real/test_drop_in_servers.py", "real/test_call_arguments.py", "test_measure_house.py", "upstream/test_http.py",
)  # fmt: skip
"""The files of a parallel run that go first: begun last, one of them would leave a process alone at the end."""


@pytest.fixture(scope="module")
def bank() -> Iterator[BojHarness]:
    """Play the Bank of Japan's API."""
    with boj_sandbox() as harness:
        yield harness


@pytest.fixture(scope="module")
def judge() -> Iterator[OjHarness]:
    """Play the online judge's API."""
    with oj_sandbox() as harness:
        yield harness


@pytest.fixture(autouse=True)
def _clear_upstreams() -> None:
    """Start each test without fault rules and with empty request logs at every played upstream."""
    for harness in upstream_harness.RUNNING:
        harness.clear()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are processors: tests wait for processes, heartbeats and time limits too."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Let files be handed out in the order of pytest_collection_modifyitems, if the run is parallel."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In a process of a parallel run, begin with the files that take longest, and then with those of most tests."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    sizes = Counter(item.path for item in items)
    ranks = {path: not path.as_posix().endswith(SLOW_FILES) for path in sizes}
    items.sort(key=lambda item: (ranks[item.path], -sizes[item.path], item.path))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run in CI in which tests were skipped or expected to fail: nobody reads the letters of a green run."""
    if exitstatus == pytest.ExitCode.OK and _hidden_tests(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say why the run fails."""
    if count := _hidden_tests(config):
        text = f"CI is set and {count} tests were skipped or expected to fail: the run fails."
        terminalreporter.write_line(text, red=True)


def _hidden_tests(config: pytest.Config) -> int:
    """Return how many tests were skipped or expected to fail, in CI; of a parallel run only the main process knows."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    kinds = ("skipped", "xfailed", "xpassed")
    return sum(len(reporter.stats.get(kind, [])) for kind in kinds) if IN_CI and reporter else 0
