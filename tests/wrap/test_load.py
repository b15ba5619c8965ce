"""The load on a wrapped server, in small: each call has one answer, and none that changes something is made twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from load.wrap.accounts import Accounts, take
from load.wrap.callers import Sent
from load.wrap.family import Sample

from processes import PATIENCE_S, ROOT, clean_env

SAMPLE = Sample(processes=3, descriptors=80, memory_kb=60_000)
MORE = {
    "there are more processes": Sample(processes=4, descriptors=80, memory_kb=60_000),
    "there are more descriptors": Sample(processes=3, descriptors=81, memory_kb=60_000),
    "there is more memory": Sample(processes=3, descriptors=80, memory_kb=70_000),
}


def accounts(*calls: Sent, executed: str = "", last: Sample = SAMPLE, left: tuple[int, ...] = ()) -> Accounts:
    return take(calls, executed.split(), 1, [SAMPLE] * 6 + [last] * 3, [*left])


def test_a_server_that_is_killed_under_load_loses_no_answer_and_makes_no_change_twice(tmp_path: Path) -> None:
    words = ("--calls", "2000", "--kill-every", "200", "--page", str(tmp_path / "page.md"))
    done = subprocess.run(
        [sys.executable, "-m", "load.wrap", *words],
        cwd=ROOT,
        env=clean_env(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 4,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "| the server was killed, times | 9 |" in done.stdout


def test_what_may_happen_when_a_server_is_killed_breaks_no_promise() -> None:
    calls = [
        Sent(1, "change", "result"),
        Sent(2, "change", "maybe"),
        Sent(3, "change", "maybe"),
        Sent(4, "look", "result"),
        Sent(5, "put", "maybe"),
    ]
    found = accounts(*calls, executed="entry-1 entry-2 entry-4 entry-4 entry-5")

    assert found.broken() == []
    assert (found.maybe_and_executed, found.sent_again) == (2, 1)


@pytest.mark.parametrize(
    ("call", "executed", "promise"),
    [
        (Sent(1, "look"), "", "a call has no answer"),
        (Sent(1, "look", "wrong"), "", "a call got the answer of another"),
        (Sent(1, "look", "error"), "", "a call failed that was never sent"),
        (Sent(1, "change", "maybe"), "entry-1 entry-1", "a changing call was executed twice"),
        (Sent(1, "look", "result"), "entry-2", "a result without an execution"),
    ],
)
def test_each_promise_about_calls_is_kept_or_told(call: Sent, executed: str, promise: str) -> None:
    assert accounts(call, executed=executed).broken() == [promise]


def test_an_error_that_hides_an_execution_is_told() -> None:
    found = accounts(Sent(1, "change", "error"), executed="entry-1")

    assert found.broken() == ["a call failed that was never sent", "an error hides an execution"]


@pytest.mark.parametrize("promise", MORE)
def test_a_wrapper_that_grows_is_told(promise: str) -> None:
    assert accounts(last=MORE[promise]).broken() == [promise]


def test_a_process_that_is_left_is_told() -> None:
    assert accounts(left=(5,)).broken() == ["a process is left"]
