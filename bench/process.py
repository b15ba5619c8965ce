"""Child processes: one environment for all, a core for servers and one for clients, each child always stopped."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

from bench.contenders import PORT, Contender
from signet.mcp.server_process import LISTENING

__all__ = [
    "ALLOCATOR",
    "Child",
    "NotStartedError",
    "client_core",
    "pinned",
    "served",
    "server_core",
    "serving",
    "spawned",
]

ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "16777216", "MALLOC_MMAP_THRESHOLD_": "16777216"}
"""By the chance of the heap's layout, glibc may release the deflate buffer and fault it in again on each call. These
settings, the same for every server, remove that chance from the comparison."""

START_S = 120.0
"""How long a server may take to start; it bounds a hang, also where much else runs."""
STOP_S = 5.0

_ROOT = Path(__file__).resolve().parent.parent
_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class NotStartedError(Exception):
    """A server did not start; the message holds its standard error."""


def server_core() -> int | None:
    """Return the core that every server runs on, or None if there is only one."""
    return _CORES[-1] if len(_CORES) > 1 else None


def client_core() -> int | None:
    """Return the core that the measuring side runs on, or None if there is only one."""
    return _CORES[0] if len(_CORES) > 1 else None


@contextlib.contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Run on one core; a child that is started meanwhile inherits it."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def environment(home: str) -> dict[str, str]:
    """Return the environment of every child: of the caller's variables only the search path."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_ROOT),
        **ALLOCATOR,
    }


@dataclass(frozen=True)
class Child:
    """A running process, the moment of its start and the file of its standard error."""

    process: subprocess.Popen[bytes]
    begun: float
    log: Path

    def stderr(self) -> str:
        """Return the standard error so far."""
        return self.log.read_text(errors="replace")


@contextlib.contextmanager
def spawned(command: Sequence[str], core: int | None) -> Iterator[Child]:
    """Run a child in an empty folder on one core until the block ends.

    Its standard error goes to a file, so that nothing has to read it while the clock runs.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        log = Path(home, "stderr.log")
        with pinned(core), log.open("wb") as stderr:
            env = environment(home)
            begun = time.perf_counter()
            pipe = subprocess.PIPE
            process = subprocess.Popen(list(command), stdin=pipe, stdout=pipe, stderr=stderr, env=env, cwd=home)
        try:
            yield Child(process, begun, log)
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a child, by SIGKILL if it does not heed SIGTERM, and close its pipes."""
    with contextlib.suppress(OSError):
        cast("IO[bytes]", process.stdin).close()
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    cast("IO[bytes]", process.stdout).close()


@contextlib.contextmanager
def serving(contender: Contender) -> Iterator[int]:
    """Run one HTTP server and yield its port once it accepts connections."""
    with served(contender) as (_, port):
        yield port


@contextlib.contextmanager
def served(contender: Contender) -> Iterator[tuple[Child, int]]:
    """Run one HTTP server and yield its process and its port once it accepts connections."""
    port = _free_port()
    command = [str(port) if word == PORT else word for word in contender.http]
    with spawned(command, server_core()) as child:
        while child.process.poll() is None and time.perf_counter() < child.begun + START_S:
            ready = port if PORT in contender.http else _announced_port(child.stderr())
            if ready and _accepts(ready):
                yield child, ready
                return
            time.sleep(0.02)
        complaint = f"{contender.name} does not serve: {child.stderr()[-2000:]}"
        raise NotStartedError(complaint)


def _announced_port(text: str) -> int | None:
    match = LISTENING.search(text)
    return urlsplit(match[1]).port if match else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
