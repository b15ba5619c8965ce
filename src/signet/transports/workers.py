"""The processes of a server: one that serves by itself, or a supervisor with workers on one socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from .http_server import HttpServer, new_event_loop
from .messages import Application
from .slots import ConnectionLimits
from .systemd import notify

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["Service", "end_on_signals", "has_terminal", "run_worker", "serve"]


def _ignore(_text: str, _error: BaseException | None = None) -> None:
    """Do nothing: nobody listens."""


def _nothing() -> None:
    """Do nothing."""


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
    tell: Callable[[str], None] = _ignore
    """Called with what happens to the processes."""
    on_end: Callable[[], None] = _nothing
    """Called in the supervisor when a worker has ended."""
    drain_s: float = 0.0
    """How long requests are still taken after the signal to stop."""
    beside: tuple[Callable[[], Application], socket.socket] | None = None
    """A second application on a socket of its own, in each process."""


def end_on_signals() -> None:
    """Exit with status 0 on SIGINT and SIGTERM, until the server handles them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def serve(service: Service, workers: int = 1) -> None:
    """Serve until SIGINT or SIGTERM, answer the calls in flight, and end the process."""
    if workers == 1:
        _run(service, signal.SIGINT, signal.SIGTERM)
    else:
        from .supervisor import Supervisor

        Supervisor(service, workers, run_worker).run()


def run_worker(service: Service, ready: Connection) -> None:
    """Serve in a process of its own until SIGTERM; SIGUSR1 asks a worker to leave the socket to another one."""
    _run(service, signal.SIGTERM, ready=ready)


def _run(service: Service, *numbers: signal.Signals, ready: Connection | None = None) -> None:
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(partial(_on_loop_error, service))
    loop.run_until_complete(_serve(service, numbers, ready))
    # Not by way of the interpreter's own end, which would wait for a tool that does not end.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)


async def _serve(service: Service, numbers: tuple[signal.Signals, ...], ready: Connection | None) -> None:
    tls = None
    if service.certificate is not None:
        from .tls import Certificate

        tls = Certificate(*service.certificate, service.warn).context  # type: ignore[arg-type] # the error is optional
    app = service.factory()
    server = HttpServer(app, service.listener, service.limits, tls, service.drain_s)
    server.stop_on_signals(*numbers)
    _stop_with_parent(server)
    if service.on_start is not None:
        service.on_start(server)
    if ready is None:
        _reload_on_hangup(app, server)
        notify("READY=1")
    else:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, server.retire)
        ready.send(None)
        ready.close()
    if service.beside is None:
        await server.serve()
        return
    factory, listener = service.beside
    second = HttpServer(factory(), listener, service.limits)
    serving = asyncio.create_task(second.serve())
    await server.serve()
    second.stop()
    await serving


def _reload_on_hangup(app: Application, server: HttpServer) -> None:
    """Read again what may have changed on SIGHUP; where the terminal is gone, stop."""
    had_terminal = has_terminal()

    def on_hangup() -> None:
        if had_terminal and not has_terminal():
            server.stop()
        else:
            app.reload()

    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, on_hangup)


def has_terminal() -> bool:
    """Return whether the process has a terminal that could be closed under it."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        return False
    return True


def _stop_with_parent(server: HttpServer) -> None:
    """Stop a worker when its supervisor ends, however that ends."""
    multiprocessing = sys.modules.get("multiprocessing")
    parent = multiprocessing.parent_process() if multiprocessing is not None else None
    if parent is not None:
        asyncio.get_running_loop().add_reader(parent.sentinel, server.stop)


def _on_loop_error(service: Service, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    service.warn(str(context.get("message")), context.get("exception"))
