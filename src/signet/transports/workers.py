"""The processes of a server: one that serves by itself, or a supervisor with workers on one socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .http_server import GRACE_S, HttpServer, new_event_loop
from .messages import Application
from .slots import ConnectionLimits

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

__all__ = ["Service", "end_on_signals", "serve"]

YOUNG_S: Final = 1.0
"""The age below which a worker that ends is replaced only after a pause of the same length."""
PATIENCE_S: Final = GRACE_S + 5
"""The time after which a worker that does not stop is killed."""


def _ignore(_text: str, _error: BaseException | None = None) -> None:
    """Do nothing: nobody listens."""


class Service(msgspec.Struct, frozen=True):
    """What each process serves; it can be pickled."""

    factory: Callable[[], Application]
    """Return the application; called once in each process."""
    listener: socket.socket
    limits: ConnectionLimits = ConnectionLimits()
    certificate: tuple[str, str] | None = None
    """The files of the certificate and its key, for TLS."""
    warn: Callable[[str, BaseException | None], None] = _ignore
    """Called with what went wrong, and the exception if there was one."""
    on_start: Callable[[HttpServer], None] | None = None
    """Called with the server before it accepts connections."""


def end_on_signals() -> None:
    """Exit with status 0 on SIGINT and SIGTERM, until the server handles them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def serve(service: Service, workers: int = 1) -> None:
    """Serve until SIGINT or SIGTERM, answer the calls in flight, and end the process."""
    if workers == 1:
        _run(service, signal.SIGINT, signal.SIGTERM)
    else:
        Supervisor(service, workers).run()


def _run(service: Service, *numbers: signal.Signals) -> None:
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(partial(_on_loop_error, service))
    loop.run_until_complete(_serve(service, *numbers))
    # Not by way of the interpreter's own end, which would wait for a tool that does not end.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)


async def _serve(service: Service, *numbers: signal.Signals) -> None:
    tls = None
    if service.certificate is not None:
        from .tls import Certificate

        tls = Certificate(*service.certificate, service.warn).context  # type: ignore[arg-type] # the error is optional
    server = HttpServer(service.factory(), service.listener, service.limits, tls)
    server.stop_on_signals(*numbers)
    _stop_with_parent(server)
    if service.on_start is not None:
        service.on_start(server)
    await server.serve()


def _stop_with_parent(server: HttpServer) -> None:
    """Stop a worker when its supervisor ends, however that ends."""
    multiprocessing = sys.modules.get("multiprocessing")
    parent = multiprocessing.parent_process() if multiprocessing is not None else None
    if parent is not None:
        asyncio.get_running_loop().add_reader(parent.sentinel, server.stop)


def _on_loop_error(service: Service, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    service.warn(str(context.get("message")), context.get("exception"))


class Supervisor:
    """Keeps a number of workers running."""

    def __init__(self, service: Service, count: int) -> None:
        self._service = service
        self._count = count
        self._workers: dict[SpawnProcess, float] = {}
        """Each worker, and the time of its start."""
        self._is_stopping = False

    def run(self) -> None:
        """Start the workers, replace those that end, and stop them all on SIGINT or SIGTERM."""
        from multiprocessing.connection import wait

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        for _ in range(self._count):
            self._start()
        while self._workers:
            ended = wait([worker.sentinel for worker in self._workers], None if not self._is_stopping else PATIENCE_S)
            if not ended:
                for worker in self._workers:
                    worker.kill()
            for worker in [worker for worker in self._workers if worker.sentinel in ended]:
                self._replace(worker)

    def _start(self) -> None:
        from multiprocessing import get_context

        worker = get_context("spawn").Process(target=_run, args=(self._service, signal.SIGTERM), daemon=True)
        # Ctrl-C goes to all processes of a terminal; the workers inherit the mask and wait for the supervisor's word.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        worker.start()
        self._workers[worker] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if self._is_stopping:
            worker.terminate()

    def _replace(self, worker: SpawnProcess) -> None:
        worker.join()
        age_s = time.monotonic() - self._workers.pop(worker)
        if self._is_stopping:
            return
        self._service.warn(f"a worker ended with status {worker.exitcode}, another one takes its place", None)
        if age_s < YOUNG_S:
            time.sleep(YOUNG_S)
        self._start()

    def _stop(self, *_: object) -> None:
        self._is_stopping = True
        for worker in self._workers:
            worker.terminate()
