"""The supervisor of several workers on one socket: it replaces those that end, and all of them on SIGHUP, one by one.

    SIGHUP ── start a worker ── it says that it serves ── the oldest one retires ── the next, until all are new

A worker that retires leaves the socket to the others and answers what its clients still send on their connections, so
no request fails. A new worker that ends before it serves ends the replacement: the old ones stay.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

import msgspec

from .http_server import GRACE_S
from .systemd import notify
from .workers import Service, has_terminal

__all__ = ["Supervisor"]

YOUNG_S: Final = 1.0
"""The age below which a worker that ends is replaced only after a pause of the same length."""
PATIENCE_S: Final = GRACE_S + 5
"""The time after which a worker that does not stop is killed."""


class Worker(msgspec.Struct, eq=False):
    """One process that serves."""

    process: SpawnProcess
    started_s: float
    ready: Connection | None
    """Where it says that it serves; None as soon as it has."""
    retires: bool = False


class Supervisor:
    """Keeps a number of workers running."""

    def __init__(self, service: Service, count: int, run: Callable[[Service, Connection], None]) -> None:
        self._service = service
        self._count = count
        self._run = run
        self._workers: list[Worker] = []
        self._old: list[Worker] = []
        """Those that are to be replaced, the oldest last."""
        self._is_stopping = self._is_reloading = False
        self._has_terminal = has_terminal()
        self._woken, self._wake = os.pipe()

    def run(self) -> None:
        """Start the workers, replace those that end, and stop them all on SIGINT or SIGTERM."""
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGHUP, self._reload)
        for _ in range(self._count):
            self._start()
        while self._workers:
            self._await_event()
            if not self._is_stopping:
                self._replace_next()

    def _await_event(self) -> None:
        """Wait until a worker serves, a worker has ended, or a signal has come, and take note of it."""
        ready = {worker.ready: worker for worker in self._workers if worker.ready and not worker.ready.closed}
        ended = {worker.process.sentinel: worker for worker in self._workers}
        patience_s = PATIENCE_S + self._service.drain_s if self._is_stopping else None
        found = wait([*ready, *ended, self._woken], patience_s)
        if not found:
            for worker in self._workers:
                worker.process.kill()
        if self._woken in found:
            os.read(self._woken, 4096)
        for one in found:
            if one in ready:
                self._note_ready(ready[one])
        for one in found:
            if one in ended:
                self._bury(ended[one])

    def _start(self) -> None:
        context = get_context("spawn")
        ready, child = context.Pipe(duplex=False)
        process = context.Process(target=self._run, args=(self._service, child), daemon=True)
        # Ctrl-C goes to all processes of a terminal; the workers inherit the mask and wait for the supervisor's word.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        process.start()
        child.close()
        self._workers.append(Worker(process, time.monotonic(), ready))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP})
        if self._is_stopping:
            process.terminate()

    def _note_ready(self, worker: Worker) -> None:
        """Note that a worker serves, and let an old one retire for it."""
        if worker.ready is None or not _has_said_so(worker.ready):
            # It has ended before it served, which is noted by itself.
            return
        worker.ready = None
        if self._old and len(self._active()) > self._count:
            old = self._old.pop()
            old.retires = True
            self._service.tell(f"worker {worker.process.pid} takes the place of worker {old.process.pid}")
            if old.process.pid is not None:
                os.kill(old.process.pid, signal.SIGUSR1)
        if not self._is_starting() and not self._old and not self._is_stopping:
            notify("READY=1")

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
        if self._is_stopping or worker.retires:
            return
        number, status = worker.process.pid, worker.process.exitcode
        if self._old and worker.ready is not None:
            self._old.clear()
            self._service.warn(f"the new worker {number} ended with status {status}: the old workers stay", None)
            return
        if worker in self._old:
            self._old.remove(worker)
        self._service.warn(f"worker {number} ended with status {status}, another one takes its place", None)
        if time.monotonic() - worker.started_s < YOUNG_S:
            time.sleep(YOUNG_S)

    def _stop(self, *_: object) -> None:
        self._is_stopping = True
        notify("STOPPING=1")
        for worker in self._workers:
            worker.process.terminate()
        os.write(self._wake, b".")

    def _reload(self, *_: object) -> None:
        """Replace all workers; where the terminal is gone, stop."""
        if self._has_terminal and not has_terminal():
            self._stop()
            return
        self._is_reloading = True
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
