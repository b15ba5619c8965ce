"""A Redis server of the benchmark's own: on a unix socket in an empty folder, on the client's core, nothing kept."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.process import START_S, NotStartedError, client_core, spawned

__all__ = ["running"]

SOCKET = "redis.sock"


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run the server and yield its address once its socket is there; it is there when the server listens."""
    with tempfile.TemporaryDirectory(prefix="bench-redis-") as folder:
        socket = Path(folder, SOCKET)
        command = ("redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no")
        with spawned(command, client_core()) as child:
            while not socket.exists():
                if child.process.poll() is not None or time.perf_counter() > child.begun + START_S:
                    raise NotStartedError("redis-server does not start: scripts/install_tools.sh installs it")
                time.sleep(0.02)
            yield f"unix://{socket}"
