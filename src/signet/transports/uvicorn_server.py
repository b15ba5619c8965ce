"""The HTTP server: one bound socket, uvicorn on it, in one process or several."""

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
"""How long calls in flight may take to end once the server is told to stop."""

BACKLOG: Final = 2048

Application = Callable[[Scope, Receive, Send], Any]


def end_on_signals() -> None:
    """Let SIGINT and SIGTERM end the process well: before uvicorn minds them, and when it raises them again.

    By then every call in flight has had its time; a tool that will not end does not keep the process.
    """
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: os._exit(0))


def bind(host: str, port: int) -> socket.socket:
    """Take an address; port 0 is any free one.

    Raises:
        OSError: it cannot be had.
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
    """Answer on a socket until SIGINT or SIGTERM; calls in flight are answered first."""
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
