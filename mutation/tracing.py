"""A pytest plugin that notes which lines of the source each test runs, and how long it takes.

    python -m pytest -p mutation.tracing …      with MUTATION_TRACE=path of the data file

The lines go into a data file of coverage.py, one context for each test; times and outcomes into a JSON file beside it.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

FILE = Path(os.environ["MUTATION_TRACE"])
_tracer = coverage.Coverage(data_file=str(FILE), config_file=False, source=["src/signet"], context="import")
_tracer.start()
_times: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let the lines that run from here on count for this test."""
    _tracer.switch_context(item.nodeid)
    before_s, began_s = _processor_s(), time.monotonic()
    try:
        return (yield)
    finally:
        # A busy machine makes every test long; a test that waits is slow without any work.
        _times[item.nodeid] = _processor_s() - before_s + (time.monotonic() - began_s) / 10
        _tracer.switch_context("between")


def _processor_s() -> float:
    """Return the time of processors that this process and those that it has waited for have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test did not pass."""
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_unconfigure() -> None:
    """Write both files."""
    _tracer.stop()
    _tracer.save()
    passed = {test: round(took_s, 4) for test, took_s in _times.items() if test not in _failed}
    FILE.with_suffix(".json").write_text(json.dumps(passed), encoding="utf-8")
