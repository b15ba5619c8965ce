"""The HTTP server: uvicorn on one bound socket, in one process or several."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from .asgi import Receive, Scope, Send
from .connection import Connection

__all__ = ["bind", "end_on_signals", "serve"]

MAX_CONNECTIONS: Final = 4096
GRACE_S: Final = 10
"""The time for calls in flight to end after the signal to stop."""

BACKLOG: Final = 2048

Application = Callable[[Scope, Receive, Send], Any]


def end_on_signals() -> None:
    """Exit with status 0 on SIGINT and SIGTERM.

    The handlers run before uvicorn installs its own, and when uvicorn raises the signal again after its shutdown. By
    then calls in flight have had their time, so a tool that does not end must not keep the process alive.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 picks a free port.

    Raises:
        OSError: the address cannot be used.
    """
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener


def serve(factory: Callable[[], Application], listener: socket.socket, workers: int = 1) -> None:
    """Serve on a socket until SIGINT or SIGTERM, then answer the calls in flight; each worker calls `factory` once."""
    config = uvicorn.Config(
        factory,
        factory=True,
        http=Connection,
        ws="none",
        proxy_headers=False,
        workers=workers,
        access_log=False,
        log_level="error",
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_S,
    )
    if workers > 1:
        Multiprocess(config, sockets=[listener]).run()
        return
    uvicorn.Server(config).run(sockets=[listener])
