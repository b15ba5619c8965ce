"""The process that runs tests in a slot: it has loaded what tests need, and forks a child for each request.

    request    {"tests": [node ids or files], "cpu_s": 30, "wall_s": 120}       one JSON line
    answer     {"outcome": "passed" | "failed" | "crashed" | "hung", "kind": …, "test": …, "cpu_s": …}

Nothing of Signet is loaded before the fork: each child imports the source as the slot has it at that moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

DEATH_SIGNAL, SUBREAPER = 1, 36
"""Operations of prctl(2)."""
LOADED = (
    "_hypothesis_pytestplugin", "_pytest.cacheprovider", "_pytest.doctest", "_pytest.junitxml", "_pytest.pytester",
    "_pytest.unittest", "aiohttp", "anyio.pytest_plugin", "asyncio", "attrs", "http.client", "httptools",
    "hypothesis.strategies", "idna", "jsonschema", "jsonschema_rs", "msgspec", "pdb", "platformdirs", "pytest_timeout",
    "readline", "ssl", "tomllib", "uvloop", "xdist.plugin",
)  # fmt: skip
"""What nearly every test needs: loaded once, before the first fork."""
QUIET = "ignore::pytest.PytestAssertRewriteWarning"
"""Plugins are loaded before pytest could rewrite their asserts."""
OPTIONS = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--maxfail=1",
    "-q",
    "--tb=short",
    "-o",
    "timeout=60",
    "-W",
    QUIET,
)


class Watch:
    """A plugin that keeps to the chosen tests, in their order, and notes the first that fails."""

    def __init__(self, tests: list[str]) -> None:
        self.ranks = {test: rank for rank, test in enumerate(tests)}
        self.found: dict[str, Any] = {"outcome": "passed", "ran": 0}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all tests that were not chosen."""
        items[:] = sorted((item for item in items if self._rank(item) is not None), key=self._rank)  # type: ignore[arg-type]

    def _rank(self, item: pytest.Item) -> int | None:
        """Return the place of a test that was chosen, by its own name, its function's or its file's."""
        names = (item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0])
        return next((self.ranks[name] for name in names if name in self.ranks), None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the tests."""
        self.found["ran"] += report.when == "call"

    def pytest_exception_interact(self, node: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        """Note the test that fails, and by what."""
        error = call.excinfo.value if call.excinfo else None
        text = str(error)[:200]
        timed_out = isinstance(error, pytest.fail.Exception) and "Timeout" in text
        kind = (
            "hang" if timed_out else "assert" if isinstance(error, AssertionError | pytest.fail.Exception) else "crash"
        )
        self.found |= {
            "outcome": "failed",
            "test": node.nodeid,
            "kind": kind,
            "error": f"{type(error).__name__}: {text}",
        }


def main() -> None:
    """Answer requests until the input ends."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # what a test leaves behind becomes our child, and ends with it
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone
        for line in sys.stdin:
            print(json.dumps(_run(json.loads(line))), flush=True)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    """Run the tests in a child, and end it with all that it started when its time is over."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        _work(request, writable)
    os.close(writable)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    data, deadline = b"", time.monotonic() + request["wall_s"]
    while (left_s := deadline - time.monotonic()) > 0:
        if select.select([readable], [], [], left_s)[0]:
            chunk = os.read(readable, 65536)
            data += chunk
            if not chunk or data.endswith(b"\n"):
                break
    os.close(readable)
    _end_all(child, patient=bool(data))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)
    if data.endswith(b"\n"):
        return {**json.loads(data), "cpu_s": cpu_s}
    hung = left_s <= 0 or cpu_s > request["cpu_s"] - 0.5
    return {"outcome": "failed", "kind": "hang" if hung else "crash", "cpu_s": cpu_s}


def _end_all(child: int, *, patient: bool) -> None:
    """End the child and every process that it left behind."""
    deadline = time.monotonic() + (2 if patient else 0)
    while time.monotonic() < deadline and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.005)
    while True:
        for pid in Path("/proc/self/task", str(os.getpid()), "children").read_text(encoding="ascii").split():
            os.kill(int(pid), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _work(request: dict[str, Any], writable: int) -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.set_inheritable(writable, False)
    log = os.open("build/run.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    limit_s = int(request["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
    watch = Watch(request["tests"])
    files = list(dict.fromkeys(test.partition("::")[0] for test in request["tests"]))
    try:
        status = pytest.main([*OPTIONS, *files], plugins=[watch])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the mutant caused it
        watch.found |= {"outcome": "failed", "kind": "crash", "error": repr(error)[:200]}
        status = 1
    broken = status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
    if broken and watch.found["outcome"] == "passed":
        watch.found |= {"outcome": "failed", "kind": "crash", "error": f"pytest ended with {int(status)}"}
    os.write(writable, json.dumps(watch.found).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main()
