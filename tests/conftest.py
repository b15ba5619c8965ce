"""How every run goes: in CI a test that hides is a failure, and property tests are repeatable; the upstreams."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from boj_harness import BojHarness, boj_sandbox
from oj_harness import OjHarness, oj_sandbox

IN_CI = bool(os.environ.get("CI"))

_slow_doors = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
"""Examples that talk to a process take as long as they take; the process is shared on purpose."""

settings.register_profile("desk", max_examples=100, deadline=None, print_blob=True, suppress_health_check=_slow_doors)
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True)
settings.load_profile("ci" if IN_CI else "desk")


@pytest.fixture(scope="module")
def the_bank() -> Iterator[BojHarness]:
    """The Bank of Japan's API, as the tests before have left it."""
    with boj_sandbox() as bank:
        yield bank


@pytest.fixture
def bank(the_bank: BojHarness) -> BojHarness:
    """The Bank of Japan's API, with nothing ordered and nothing seen."""
    the_bank.clear()
    return the_bank


@pytest.fixture(scope="module")
def the_judge() -> Iterator[OjHarness]:
    """The judge's API, as the tests before have left it."""
    with oj_sandbox() as judge:
        yield judge


@pytest.fixture
def judge(the_judge: OjHarness) -> OjHarness:
    """The judge's API, with nothing ordered and nothing seen."""
    the_judge.clear()
    return the_judge


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Turn a green run red that passed tests over, or expected them to fail, where nobody reads the letters."""
    if exitstatus == pytest.ExitCode.OK and _passed_over(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say why."""
    if count := _passed_over(config):
        text = f"CI is set and {count} tests were skipped or expected to fail: the run fails."
        terminalreporter.write_line(text, red=True)


def _passed_over(config: pytest.Config) -> int:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    kinds = ("skipped", "xfailed", "xpassed")
    return sum(len(reporter.stats.get(kind, [])) for kind in kinds) if IN_CI and reporter else 0
