"""The HTTP server of one process: a listening socket, its connections, and a safe end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .connection import Connection
from .guard import LOOPBACK
from .messages import Application
from .slots import ConnectionLimits, Slots

if TYPE_CHECKING:
    from ssl import SSLContext

__all__ = [
    "UNIX_PREFIX",
    "HttpServer",
    "bind",
    "is_local",
    "new_event_loop",
    "path_of",
    "remove_path",
    "retirement_s",
]

BACKLOG: Final = 2048
ACCEPTS_PER_TURN: Final = 64
"""The number of waiting connections that are accepted before the open ones get their turn."""
ACCEPT_PAUSE_S: Final = 0.5
"""The pause after a connection could not be accepted: there are too many open files."""
MAX_HANDSHAKES: Final = 1024
"""The number of TLS connections that have not shown yet that they are HTTP."""
UNIX_PREFIX: Final = "unix:"


def is_local(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine only."""
    return host in LOOPBACK or host.startswith(("127.", UNIX_PREFIX))


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address, or on a path (`unix:PATH`); port 0 picks a free port.

    Raises:
        OSError: the address cannot be used.
    """
    if host.startswith(UNIX_PREFIX):
        return _bind_path(host.removeprefix(UNIX_PREFIX))
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _listen(listener, address)


def _bind_path(path: str) -> socket.socket:
    """Return a socket that listens on a path; a socket that a dead server left there is replaced."""
    remove_path(path)
    return _listen(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), path)


def path_of(listener: socket.socket) -> str:
    """Return the path of a unix socket; empty for any other."""
    address = listener.getsockname() if listener.family == getattr(socket, "AF_UNIX", None) else ""
    return address if isinstance(address, str) else ""


def remove_path(path: str) -> None:
    """Remove a unix socket without a listener; anything else stays.

    Raises:
        OSError: it cannot be removed.
    """
    if not os.path.lexists(path) or not stat.S_ISSOCK(os.lstat(path).st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except BlockingIOError:
            # Somebody listens, and has many connections to accept.
            return


def _listen(listener: socket.socket, address: object) -> socket.socket:
    try:
        listener.bind(address)  # type: ignore[arg-type] # a tuple or a path, as the family has it
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.settimeout(0)
    listener.set_inheritable(True)
    return listener


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop: uvloop's, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def retirement_s(limits: ConnectionLimits, call_s: float) -> float:
    """Return how long a process that is replaced may take: a request may begin late, and then has all of its time."""
    return limits.retire_s + limits.head_s + limits.body_s + call_s


class HttpServer:
    """Serves an application on a listening socket."""

    def __init__(
        self,
        app: Application,
        listener: socket.socket,
        limits: ConnectionLimits,
        tls: Callable[[], SSLContext] | None = None,
        *,
        drain_s: float = 0.0,
        call_s: float = 50.0,
    ) -> None:
        """Serve on a socket.

        `drain_s` is how long requests are still taken after the signal to stop; `call_s` is how long a call may take.
        """
        self._drain_s = drain_s
        self._call_s = call_s
        self._is_replaced = self._is_signalled = False
        self._retirement: asyncio.Task[None] | None = None
        self._app = app
        self._listener = listener
        self._slots = Slots(limits)
        self._limits = limits
        self._tls = tls
        """Return the context with the present certificate."""
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._handshakes: set[asyncio.Task[object]] = set()

    def open(self) -> None:
        """Start the application, and accept connections."""
        self._app.start()
        self._loop.add_reader(self._listener, self._accept)

    async def serve(self) -> None:
        """Serve until `stop`, then answer the calls in flight."""
        await self._stopped.wait()
        self._slots.last_answers = True
        if not self._is_replaced and self._drain_s:
            # A load balancer has to notice first.
            self._app.is_ready = False
            await asyncio.sleep(self._drain_s)
        self._loop.remove_reader(self._listener)
        self._listener.close()
        if self._retirement is not None:
            # Waited for and not awaited: `stop` cancels it.
            await asyncio.wait({self._retirement})
        await self._slots.drain(self._limits.grace_s)
        await self._app.close()

    def stop(self) -> None:
        """Say that the server is not ready, accept no further connection after the time for that, and end."""
        if not self._stopped.is_set():
            if not self._drain_s:
                # At once: from now on the socket may be another process's to serve.
                self._loop.remove_reader(self._listener)
            self._stopped.set()
        elif self._retirement is not None:
            self._retirement.cancel()

    def retire(self) -> None:
        """Leave the socket to another process, and end when all requests that the clients have begun are answered."""
        if not self._stopped.is_set():
            self._is_replaced = self._slots.is_retiring = True
            self._loop.remove_reader(self._listener)
            self._retirement = self._loop.create_task(self._retire())
            self._stopped.set()

    async def _retire(self) -> None:
        """Wait for the clients: one may be about to send a request on a connection that it has."""
        if self._handshakes:
            await asyncio.wait(self._handshakes, timeout=self._limits.retire_s)
        await self._slots.retire(retirement_s(self._limits, self._call_s))

    def stop_on_signals(self, *numbers: signal.Signals) -> None:
        """Stop on a signal; a second one ends the process at once."""
        for number in numbers:
            self._loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        # Not by `_stopped`: a process that is being replaced has stopped without a signal.
        if self._is_signalled:
            os._exit(0)
        self._is_signalled = True
        self.stop()

    def _accept(self) -> None:
        """Accept the connections that wait, all in one turn: the event loop's own server takes one in each."""
        for _ in range(ACCEPTS_PER_TURN):
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._listener)
                self._loop.call_later(ACCEPT_PAUSE_S, self._accept_again)
                return
            client.settimeout(0)
            if self._tls is not None and len(self._handshakes) >= MAX_HANDSHAKES:
                client.close()
                continue
            if client.family != socket.AF_UNIX:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._connect(client))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    def _accept_again(self) -> None:
        if not self._stopped.is_set() or (self._drain_s and not self._is_replaced and self._listener.fileno() >= 0):
            self._loop.add_reader(self._listener, self._accept)

    async def _connect(self, client: socket.socket) -> None:
        """Make a connection of an accepted socket, after the handshake if there is one."""
        try:
            if self._tls is None:
                await self._loop.connect_accepted_socket(self._new_connection, client)
            else:
                await self._loop.connect_accepted_socket(
                    self._new_connection, client, ssl=self._tls(), ssl_handshake_timeout=self._limits.head_s
                )
        except OSError:
            # The client is gone, or does not speak TLS.
            client.close()

    def _new_connection(self) -> Connection:
        return Connection(self._app, self._slots)
