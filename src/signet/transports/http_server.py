"""The HTTP server of one process: a listening socket, its connections, and a safe end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from .connection import Connection
from .listening import remove_own_paths
from .memory import return_memory
from .messages import Application
from .slots import ConnectionLimits, Slots

if TYPE_CHECKING:
    from ssl import SSLContext

__all__ = ["HttpServer", "new_event_loop", "retirement_s"]

ACCEPTS_PER_TURN: Final = 64
"""The number of waiting connections that are accepted before the open ones get their turn."""
ACCEPT_PAUSE_S: Final = 0.5
"""The pause after a connection could not be accepted and none made room."""
ROOM_PAUSE_S: Final = 0.01
"""The pause in which connections that make room are closed."""
ROOM: Final = 16
"""The number of connections that are closed where there are too many open files."""
FAILED_AT_ONCE: Final = 1024
"""The number of failed handshakes after which their memory is given back."""
TELL_EVERY_S: Final = 60.0
"""The time between two warnings of too many open files."""
TOO_MANY_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})


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
        connection: type[Connection] = Connection,
    ) -> None:
        """Serve on a socket, by connections of a class.

        `drain_s` is how long requests are still taken after the signal to stop; `call_s` is how long a call may take.
        """
        self._connection = connection
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
        self._failed = 0
        """The number of connections that ended before they were made."""
        self._told_s = -TELL_EVERY_S
        """The time of the last warning of too many open files."""

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
            remove_own_paths()
            os._exit(0)
        self._is_signalled = True
        self.stop()

    def _accept(self) -> None:
        """Accept the connections that wait, all in one turn: the event loop's own server takes one in each."""
        for _ in range(ACCEPTS_PER_TURN):
            try:
                client, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            client.settimeout(0)
            if client.family != socket.AF_UNIX:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._take(client, peer)

    def _take(self, client: socket.socket, peer: object) -> None:
        """Begin a connection, which counts from now on: its handshake may never end."""
        connection = self._connection(self._app, self._slots)
        limits = self._limits
        limit_s = limits.head_s if self._tls is None else limits.handshake_s
        if not connection.enter(peer, partial(_reset, client), limit_s):
            self._slots.release(connection)
            client.close()
            return
        task = self._loop.create_task(self._connect(client, connection))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    def _pause(self, error: OSError) -> None:
        """Accept nothing for a short time: without it, a listener that cannot accept would call again and again.

        Where there are too many open files, connections that wait for their clients are closed for those that come.
        """
        self._loop.remove_reader(self._listener)
        has_room = error.errno in TOO_MANY_FILES and sum(self._slots.make_room() for _ in range(ROOM))
        self._loop.call_later(ROOM_PAUSE_S if has_room else ACCEPT_PAUSE_S, self._accept_again)
        if self._loop.time() >= self._told_s + TELL_EVERY_S:
            self._told_s = self._loop.time()
            why = f"a connection cannot be accepted ({error.strerror}), others are closed for it"
            self._loop.call_exception_handler({"message": f"{why}: raise the limit of open files"})

    def _accept_again(self) -> None:
        if not self._stopped.is_set() or (self._drain_s and not self._is_replaced and self._listener.fileno() >= 0):
            self._loop.add_reader(self._listener, self._accept)

    async def _connect(self, client: socket.socket, connection: Connection) -> None:
        """Make a connection of an accepted socket, after the handshake if there is one."""
        try:
            if self._tls is None:
                await self._loop.connect_accepted_socket(lambda: connection, client)
            else:
                await self._loop.connect_accepted_socket(
                    lambda: connection, client, ssl=self._tls(), ssl_handshake_timeout=self._limits.handshake_s
                )
        except OSError:
            # The client is gone, or does not speak TLS.
            self._slots.release(connection)
            client.close()
            self._failed += 1
            if self._tls is not None and self._failed % FAILED_AT_ONCE == 0:
                return_memory()


def _reset(client: socket.socket) -> None:
    """End both directions of a socket whose handshake goes on; the event loop closes it then."""
    with suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)
