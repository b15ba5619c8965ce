"""The supervisor's deadlines, and how it hears of a worker that serves; in one process."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from math import inf
from multiprocessing import get_context
from typing import Any

import pytest

from signet.transports import supervisor as supervisors
from signet.transports.slots import ConnectionLimits
from signet.transports.supervisor import Supervisor, Worker, _has_said_so
from signet.transports.workers import WorkerService, run_worker


@pytest.fixture
def idle() -> Iterator[Supervisor]:
    """A supervisor with one worker, which only waits to be ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        limits = ConnectionLimits(grace_s=100, retire_s=7, head_s=11, body_s=13)
        service = WorkerService(_no_application, listener, limits, drain_s=1000, call_s=17)
        supervisor = Supervisor(service, 1, run_worker)
        process = get_context("fork").Process(target=signal.pause, daemon=True)
        process.start()
        supervisor._workers.append(Worker(process, 0, None, inf))  # type: ignore[arg-type] # it is forked
        yield supervisor
        process.kill()
        process.join()
        os.close(supervisor._woken)
        os.close(supervisor._wake)


def _no_application() -> Any:
    raise AssertionError("nobody asks for it")


def test_at_a_stop_a_worker_has_the_drain_the_grace_and_five_seconds(idle: Supervisor) -> None:
    (worker,) = idle._workers
    before = time.monotonic()
    idle._stop()

    assert before + 1105 <= worker.deadline_s <= time.monotonic() + 1105


@pytest.mark.parametrize("is_stopping", [False, True])
def test_a_worker_that_is_replaced_has_the_time_of_its_clients_unless_all_end(
    idle: Supervisor, is_stopping: bool
) -> None:
    (worker,) = idle._workers
    idle._is_stopping = is_stopping
    before = time.monotonic()
    idle._retire(worker, worker)

    assert worker.retires
    if is_stopping:
        assert worker.deadline_s == inf
    else:
        # To begin late, to send its head and body, and to be answered; then to be drained and to end.
        limit_s = (7 + 11 + 13 + 17) + 7 + 100 + 5
        assert before + limit_s <= worker.deadline_s <= time.monotonic() + limit_s


def test_a_supervisor_waits_until_something_has_to_be_done(idle: Supervisor) -> None:
    (worker,) = idle._workers
    assert idle._patience_s() is None

    worker.deadline_s = time.monotonic() + 1000
    assert 0 < (idle._patience_s() or 0) <= 1000
    idle._pause_ends_s = time.monotonic() + 100
    assert 0 < (idle._patience_s() or 0) <= 100
    idle._is_stopping = True
    assert (idle._patience_s() or 0) > 100
    worker.deadline_s = 0
    assert idle._patience_s() == 0


@pytest.mark.parametrize(
    ("said", "is_open", "found"), [(True, True, True), (False, True, False), (False, False, False)]
)
def test_a_worker_serves_once_it_says_so(said: bool, is_open: bool, found: bool) -> None:
    ready, child = get_context("spawn").Pipe(duplex=False)
    if said:
        child.send(None)
    if not is_open:
        child.close()

    assert _has_said_so(ready) is found
    assert ready.closed
    child.close()


@pytest.mark.parametrize("is_stopping", [False, True])
def test_a_worker_is_started_deaf_to_ctrl_c_and_ends_with_its_supervisor(
    idle: Supervisor, monkeypatch: pytest.MonkeyPatch, is_stopping: bool
) -> None:
    done: list[object] = []

    class Child:
        def close(self) -> None:
            done.append("its end of the pipe is closed here")

    class Process:
        def start(self) -> None:
            done.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

        def terminate(self) -> None:
            done.append("terminated")

    class Context:
        def Pipe(self, *, duplex: bool) -> tuple[str, Child]:  # noqa: N802 - as multiprocessing has it
            assert not duplex
            return "ready", child

        def Process(self, **facts: object) -> Process:  # noqa: N802
            assert facts == {"target": run_worker, "args": (idle._service, child), "daemon": True}
            return process

    child, process = Child(), Process()
    monkeypatch.setattr(supervisors, "get_context", {"spawn": Context()}.__getitem__)
    idle._is_stopping = is_stopping
    before = time.monotonic()
    idle._start()

    worker = idle._workers[-1]
    assert (worker.process, worker.ready) == (process, "ready")
    assert before + 60 <= worker.deadline_s <= time.monotonic() + 60
    assert done == [True, "its end of the pipe is closed here", *(["terminated"] if is_stopping else [])]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    idle._workers.pop()
