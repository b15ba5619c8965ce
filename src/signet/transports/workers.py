"""The processes of a server: one that serves by itself, or a supervisor with workers on one socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet.kernel.caller import holder_now
from signet.system.threads import FairExecutor

from .hangup import Hangup, block_hangup
from .http_server import HttpServer, new_event_loop
from .listening import remove_own_paths
from .messages import Application
from .slots import ConnectionLimits
from .systemd import notify

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["WorkerService", "end_on_signals", "run_worker", "serve"]

BESIDE_CONNECTIONS: Final = 256
"""The number of connections of the second application: monitoring systems have few."""


def _ignore(_text: str, _error: BaseException | None = None) -> None:
    """Do nothing: nobody listens."""


def _nothing() -> None:
    """Do nothing."""


class WorkerService(msgspec.Struct, frozen=True):
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
    tell: Callable[[str], None] = _ignore
    """Called with what happens to the processes."""
    on_end: Callable[[], None] = _nothing
    """Called in the supervisor when a worker has ended."""
    drain_s: float = 0.0
    """How long requests are still taken after the signal to stop."""
    call_s: float = 50.0
    """How long a call may take: a worker that is replaced waits for its calls."""
    start_s: float = 60.0
    """How long a worker may take until it serves."""
    beside: tuple[Callable[[], Application], socket.socket] | None = None
    """A second application on a socket of its own, in each process."""


def end_on_signals() -> None:
    """Exit with status 0 on SIGINT and SIGTERM, and leave SIGHUP pending, until the server handles them."""
    block_hangup()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(*_: object) -> None:
    remove_own_paths()
    os._exit(0)


def serve(service: WorkerService, workers: int = 1) -> None:
    """Serve until SIGINT or SIGTERM, answer the calls in flight, and end the process."""
    if workers == 1:
        _run(service, signal.SIGINT, signal.SIGTERM)
    else:
        from .supervisor import Supervisor

        Supervisor(service, workers, run_worker).run()
        service.listener.close()
        remove_own_paths()


def run_worker(service: WorkerService, ready: Connection) -> None:
    """Serve in a process of its own until SIGTERM; SIGUSR1 asks a worker to leave the socket to another one."""
    try:
        _run(service, signal.SIGTERM, ready=ready)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the process ends, and its supervisor cannot know why
        service.warn(f"worker {os.getpid()} cannot serve", error)
        _end(1)


def _run(service: WorkerService, *numbers: signal.Signals, ready: Connection | None = None) -> None:
    loop = new_event_loop()
    loop.set_default_executor(FairExecutor(holder_now))
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(partial(_on_loop_error, service))
    loop.run_until_complete(_serve(service, numbers, ready))
    if ready is None:
        remove_own_paths()
    _end(0)


def _end(status: int) -> None:
    """End the process, not by way of the interpreter's own end, which would wait for a tool that does not end."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


async def _serve(service: WorkerService, numbers: tuple[signal.Signals, ...], ready: Connection | None) -> None:
    tls = None
    if service.certificate is not None:
        from .tls import Certificate

        tls = Certificate(*service.certificate, service.warn).context  # type: ignore[arg-type] # the error is optional
    app = service.factory()
    server = HttpServer(app, service.listener, service.limits, tls, drain_s=service.drain_s, call_s=service.call_s)
    server.stop_on_signals(*numbers)
    _stop_with_parent(server)
    if service.on_start is not None:
        service.on_start(server)
    # Behind the handlers of signals: what says here that it serves is heard to say that it has stopped.
    server.open()
    if ready is None:
        _obey_hangup(service, app, server)
        notify("READY=1")
    else:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, server.retire)
        ready.send(None)
        ready.close()
    if service.beside is None:
        await server.serve()
        return
    factory, listener = service.beside
    second = HttpServer(factory(), listener, msgspec.structs.replace(service.limits, connections=BESIDE_CONNECTIONS))
    second.open()
    serving = asyncio.create_task(second.serve())
    await server.serve()
    second.stop()
    await serving


def _obey_hangup(service: WorkerService, app: Application, server: HttpServer) -> None:
    """Read again what may have changed on SIGHUP; stop when the terminal has ended."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        service.tell("the terminal has ended: the server stops")
        server.stop()

    if hasattr(signal, "SIGHUP"):
        Hangup(
            partial(loop.call_soon_threadsafe, app.reload),
            partial(loop.call_soon_threadsafe, stop),
        ).watch()


def _stop_with_parent(server: HttpServer) -> None:
    """Stop a worker when its supervisor ends, however that ends."""
    multiprocessing = sys.modules.get("multiprocessing")
    parent = multiprocessing.parent_process() if multiprocessing is not None else None
    if parent is None:
        return
    loop, sentinel = asyncio.get_running_loop(), parent.sentinel

    def stop() -> None:
        # It stays readable, and would be called in each turn.
        loop.remove_reader(sentinel)
        server.stop()

    loop.add_reader(sentinel, stop)


def _on_loop_error(service: WorkerService, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    service.warn(str(context.get("message")), context.get("exception"))
