"""The rules of every run: a steady environment, repeatable property tests in CI, no skipped test there; upstreams."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import fork_server
import upstream_harness
from boj_harness import BojHarness, boj_sandbox
from oj_harness import OjHarness, oj_sandbox
from signet.settings import catalogue

IN_CI = bool(os.environ.get("CI"))

# Tests read what processes write as UTF-8, whatever the locale; the workers of a parallel run inherit this too.
os.environ["PYTHONUTF8"] = "1"

# Tests start thousands of processes, and without bytecode each of them would compile every module again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Messages name a command by its path where the shell does not find it; the tests run as in an active environment.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"

# What is printed is compared line by line: the size of the terminal that a run is started from must not count.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

# `nohup make test &` starts us with SIGINT ignored, and processes would inherit that from us: the servers that tests
# start and interrupt could not be interrupted. A handler is not inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Most of the time of a command is its start; what a start from nothing shows is shown by FRESH_PROCESSES=1.
fork_server.install()

# All that is made until the first test lives to the end of the run: without this, a process spends a third of the time
# of its collection on looking for garbage among test items, and looks at them again and again while tests run.
gc.disable()

_unchecked = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
"""An example that talks to a process may be slow, and examples share the process on purpose."""

settings.register_profile("desk", max_examples=50, deadline=None, print_blob=True, suppress_health_check=_unchecked)
# The same examples in each run; at the desk others each time, so that many runs find what one does not.
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True)
settings.load_profile("ci" if IN_CI else "desk")

SLOW_FILES = (
    "wrap/test_sdk_pairings.py", "wrap/test_wrapped_conformance.py", "wrap/test_servers.py",
    "wrap/test_relay_matrix.py",
    "wrap/test_hostile_servers.py", "system/test_line_process.py",
    "tests/test_parity.py", "real/test_openapi.py", "operations/test_bank_pace.py", "tests/test_boj_commands.py",
    "console/test_every_view.py", "toolsets/oj/test_convert.py", "transports/test_supervisor.py", "check/test_check.py",
    "real/test_drop_in_servers.py", "operations/test_redis_store.py", "console/test_diagram.py",
    "console/test_chart.py", "tests/test_examples.py", "engines/test_jar.py", "transports/test_stdio.py",
    "plantuml_tools/test_drawing.py", "real/test_cli.py", "journal/test_retention_settings.py",
    "real/test_differential.py", "tests/test_walks.py", "console/test_tools.py", "console/test_journal_page.py",
    "operations/test_tracing.py", "tests/test_replay.py", "boj_explore/test_index.py",
    "operations/test_oauth_issuer.py", "tests/test_docs.py", "console/test_form.py", "console/test_hostile.py",
    "console/test_health.py", "console/test_page.py", "console/test_screenshots.py", "console/test_numbers.py",
    "tests/test_distribution.py", "authoring/test_dev_reload.py",
    "install/test_install_command.py", "tests/test_boj_mcp.py", "upstream/test_http.py", "tests/test_measure_house.py",
    "testing/test_plugin.py", "tests/test_doors.py", "console/test_journal.py", "console/test_doors.py",
    "toolsets/test_boj_large.py", "tests/test_oj_mcp.py", "real/test_progress.py", "tests/test_new.py",
    "journal/test_writer.py", "tests/test_waiting.py", "tests/test_diagram_command.py", "sandbox/test_boj.py",
    "tests/test_doctor.py", "operations/test_oauth.py", "journal/test_retention.py", "attack/test_long_form.py",
    "recording/test_exchanges.py", "tests/test_drop_in_servers.py", "attack/test_pipelining.py",
    "upstream/test_caching.py", "real/test_tool_pages.py", "transports/test_workers.py", "tests/test_tutorial.py",
    "testing/test_cassettes.py", "attack/test_fair_share.py", "transports/test_reader.py", "install/test_json_edit.py",
    "attack/test_time_limits.py", "attack/test_unfinished_bodies.py", "tests/test_example_toolset.py",
    "toolsets/test_boj_retry.py", "engines/test_server.py", "tests/test_supply_chain.py",
    "upstream/test_pace.py", "real/test_openapi_linters.py", "authoring/test_own_context.py",
    "transports/test_hangup.py", "tests/test_conftest.py", "tests/test_clients.py", "operations/test_oauth_flow.py",
    "tests/test_config_command.py", "real/test_conformance.py", "real/test_plantuml_jar.py",
    "system/test_installation.py", "operations/test_deployment_page.py", "operations/test_memory_store.py",
    "contracts/test_verdict_properties.py", "wrap/test_load.py", "mcp/test_negotiation.py",
)  # fmt: skip
"""The files of a parallel run that go first, the slowest at the head: begun last, one would leave a process alone.

Each third of them waits more than it works (for time limits, intervals and retries), while others use the processors.
"""


@pytest.fixture(scope="module", autouse=True)
def _own_catalogue() -> Iterator[None]:
    """Let the targets that the tests of a file load in this process be forgotten with the file."""
    before = [list(catalogue.TOOLSETS), dict(catalogue._registered), dict(catalogue._loaded)]
    yield
    catalogue.TOOLSETS[:] = before[0]
    for kept, now in zip(before[1:], (catalogue._registered, catalogue._loaded), strict=True):
        now.clear()
        now.update(kept)
    catalogue.find_toolset.cache_clear()


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
    """Return two processes more than there are processors: tests wait for processes, heartbeats and time limits too."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 2


def pytest_configure(config: pytest.Config) -> None:
    """Let files be handed out in the order of pytest_collection_modifyitems, if the run is parallel."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_finish() -> None:
    """Look for garbage again, among what tests make."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In a process of a parallel run, begin with the files that take longest, and then with those of most tests."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    sizes = Counter(item.path for item in items)
    ranks = {path: _rank(path) for path in sizes}
    items.sort(key=lambda item: (ranks[item.path], -sizes[item.path], item.path))


def _rank(path: Path) -> int:
    """Return the place of a file among the slow ones; all others share the last."""
    return next((place for place, name in enumerate(SLOW_FILES) if path.as_posix().endswith(name)), len(SLOW_FILES))


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
