"""The supervisor of several workers on one socket: it replaces those that end, and all of them on SIGHUP, one by one.

    SIGHUP ── start a worker ── it says that it serves ── the oldest one retires ── the next, until all are new

A worker that retires leaves the socket to the others and answers what its clients still send on their connections, so
no request fails. A new worker that ends before it serves, or takes too long, ends the replacement: the old ones stay.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

import msgspec

from signet.system.processes import restart_pause_s

from .hangup import Hangup
from .http_server import retirement_s
from .systemd import notify
from .workers import WorkerService

__all__ = ["Supervisor"]

SLACK_S: Final = 5.0
"""The time beyond its own limits after which a worker that does not end is killed."""


class Worker(msgspec.Struct, eq=False):
    """One process that serves."""

    process: SpawnProcess
    started_s: float
    ready: Connection | None
    """Where it says that it serves; None as soon as it has."""
    deadline_s: float
    """The time at which it is killed: it has to serve, or to end, by then."""
    retires: bool = False
    is_late: bool = False
    """Whether it was killed at its deadline."""


class Supervisor:
    """Keeps a number of workers running."""

    def __init__(self, service: WorkerService, count: int, run: Callable[[WorkerService, Connection], None]) -> None:
        self._service = service
        self._count = count
        self._run = run
        self._workers: list[Worker] = []
        self._old: list[Worker] = []
        """Those that are to be replaced, the oldest last."""
        self._is_stopping = self._is_reloading = False
        self._is_hung_up = False
        """Whether the terminal has ended."""
        self._pause_ends_s = 0.0
        """The time before which no worker is started."""
        self._woken, self._wake = os.pipe()

    def run(self) -> None:
        """Start the workers, replace those that end, and stop them all on SIGINT or SIGTERM."""
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._stop)
        Hangup(self._reload, self._hang_up).watch()
        for _ in range(self._count):
            self._start()
        while self._workers or not self._is_stopping:
            self._await_event()
            if self._is_hung_up and not self._is_stopping:
                self._service.tell("the terminal has ended: the server stops")
                self._stop()
            if not self._is_stopping and time.monotonic() >= self._pause_ends_s:
                self._replace_next()

    def _await_event(self) -> None:
        """Wait until a worker serves, has ended or has to be killed, or a signal has come, and take note of it."""
        ready = {worker.ready: worker for worker in self._workers if worker.ready and not worker.ready.closed}
        ended = {worker.process.sentinel: worker for worker in self._workers}
        found = wait([*ready, *ended, self._woken], self._patience_s())
        if self._woken in found:
            os.read(self._woken, 4096)
        for one in found:
            if one in ready:
                self._note_ready(ready[one])
        for one in found:
            if one in ended:
                self._bury(ended[one])
        for worker in self._workers:
            if worker.deadline_s <= time.monotonic():
                # Its end is noted by itself.
                worker.deadline_s, worker.is_late = inf, True
                worker.process.kill()

    def _patience_s(self) -> float | None:
        """Return the time until something has to be done though nothing happens, or None."""
        now = time.monotonic()
        next_s = min((worker.deadline_s for worker in self._workers), default=inf)
        if not self._is_stopping and self._pause_ends_s > now:
            next_s = min(next_s, self._pause_ends_s)
        return None if next_s == inf else max(0.0, next_s - now)

    def _start(self) -> None:
        context = get_context("spawn")
        ready, child = context.Pipe(duplex=False)
        process = context.Process(target=self._run, args=(self._service, child), daemon=True)
        # Ctrl-C goes to all processes of a terminal; the workers inherit the mask and wait for the supervisor's word.
        # SIGHUP is blocked at all times.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        process.start()
        child.close()
        now = time.monotonic()
        self._workers.append(Worker(process, now, ready, now + self._service.start_s))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if self._is_stopping:
            process.terminate()

    def _note_ready(self, worker: Worker) -> None:
        """Note that a worker serves, and let an old one retire for it."""
        if worker.ready is None or not _has_said_so(worker.ready):
            # It has ended before it served, which is noted by itself.
            return
        worker.ready = None
        if not self._is_stopping:
            worker.deadline_s = inf
        if self._old and len(self._active()) > self._count:
            self._retire(self._old.pop(), worker)
        if not self._is_starting() and not self._old and not self._is_stopping:
            notify("READY=1")

    def _retire(self, old: Worker, new: Worker) -> None:
        """Let a worker leave the socket to another one; it has the time of its calls to end."""
        service, limits = self._service, self._service.limits
        old.retires = True
        if not self._is_stopping:
            limit_s = retirement_s(limits, service.call_s) + limits.retire_s + limits.grace_s
            old.deadline_s = time.monotonic() + limit_s + SLACK_S
        service.tell(f"worker {new.process.pid} takes the place of worker {old.process.pid}")
        if old.process.pid is not None:
            os.kill(old.process.pid, signal.SIGUSR1)

    def _active(self) -> list[Worker]:
        return [worker for worker in self._workers if not worker.retires]

    def _is_starting(self) -> bool:
        return any(worker.ready is not None for worker in self._workers)

    def _replace_next(self) -> None:
        """Start a worker in the place of one that has ended, or the next one of a replacement: one at a time."""
        if self._is_reloading and not self._old and not self._is_starting():
            self._is_reloading = False
            self._service.tell("all workers are being replaced")
            self._old = self._active()[::-1]
        if len(self._active()) < self._count or (self._old and not self._is_starting()):
            self._start()

    def _bury(self, worker: Worker) -> None:
        """Take note of a worker that has ended; one that ends at once is replaced after a pause."""
        self._note_ready(worker)
        worker.process.join()
        self._service.on_end()
        self._workers.remove(worker)
        if self._is_stopping or (worker.retires and not worker.process.exitcode):
            return
        end = f"ended with status {worker.process.exitcode}"
        if worker.retires:
            self._service.warn(f"worker {worker.process.pid}, which was replaced, {end}", None)
            return
        if worker.is_late:
            end = f"did not serve within {self._service.start_s:g} s and was killed"
        if self._old and worker.ready is not None:
            self._old.clear()
            self._service.warn(f"the new worker {worker.process.pid} {end}: the old workers stay", None)
            return
        if worker in self._old:
            self._old.remove(worker)
        self._service.warn(f"worker {worker.process.pid} {end}, another one takes its place", None)
        if pause_s := restart_pause_s(worker.started_s, has_served=worker.ready is None):
            self._pause_ends_s = time.monotonic() + pause_s

    def _stop(self, *_: object) -> None:
        """Stop all workers, those that retire too; a second time, end them at once."""
        if not self._is_stopping:
            notify("STOPPING=1")
        self._is_stopping = True
        deadline_s = time.monotonic() + self._service.drain_s + self._service.limits.grace_s + SLACK_S
        for worker in self._workers:
            worker.deadline_s = min(worker.deadline_s, deadline_s)
            worker.process.terminate()
        os.write(self._wake, b".")

    def _reload(self) -> None:
        """Replace all workers; called in the thread that waits for SIGHUP."""
        self._is_reloading = True
        os.write(self._wake, b".")

    def _hang_up(self) -> None:
        """Stop; called in the thread that waits for SIGHUP."""
        self._is_hung_up = True
        os.write(self._wake, b".")


def _has_said_so(ready: Connection) -> bool:
    """Return whether a worker has said that it serves."""
    try:
        if not ready.poll():
            return False
        ready.recv()
    except (EOFError, OSError):
        return False
    finally:
        ready.close()
    return True
