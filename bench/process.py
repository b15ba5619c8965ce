"""Child processes: one environment for all, a core for servers, one for clients, each stopped by its id."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import PORT, Contender

__all__ = [
    "ALLOCATOR",
    "Child",
    "NotStartedError",
    "client_core",
    "pinned",
    "server_core",
    "serving",
    "spawned",
]

ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "16777216", "MALLOC_MMAP_THRESHOLD_": "16777216"}
"""glibc hands the deflate buffer back and faults it in again on each call, or not, by the luck of the
heap's layout. These settings, the same for every server, take that luck out of the comparison."""

START_S = 30.0
STOP_S = 5.0

_ROOT = Path(__file__).resolve().parent.parent
_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
_live: set[subprocess.Popen[bytes]] = set()


class NotStartedError(Exception):
    """A server did not come up; what it wrote to standard error is in the message."""


def server_core() -> int | None:
    """Name the core that every server runs on, if there is one to spare."""
    return _CORES[-1] if len(_CORES) > 1 else None


def client_core() -> int | None:
    """Name the core that the measuring side runs on."""
    return _CORES[0] if len(_CORES) > 1 else None


@contextlib.contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Stay on one core meanwhile; a child started here inherits it."""
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
    """Give every child the same environment: nothing of the caller's but where programs are found."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_ROOT),
        **ALLOCATOR,
    }


@dataclass(frozen=True)
class Child:
    """A running process, the moment it was started, and where its standard error goes."""

    process: subprocess.Popen[bytes]
    begun: float
    log: Path

    def told(self) -> str:
        """Read what it has written to standard error so far."""
        return self.log.read_text(errors="replace")


@contextlib.contextmanager
def spawned(command: Sequence[str], core: int | None) -> Iterator[Child]:
    """Run a child in an empty folder on one core, and stop it whatever happens."""
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        log = Path(home, "stderr.log")
        with pinned(core), log.open("wb") as stderr:
            env = environment(home)
            begun = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=home,
                env=env,
                bufsize=0,
            )
        _live.add(process)
        try:
            yield Child(process, begun, log)
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Close its input, ask it to end, and end it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _live.discard(process)


@atexit.register
def _stop_all() -> None:
    """End what a second Ctrl-C may have left."""
    for process in list(_live):
        process.kill()


@contextlib.contextmanager
def serving(contender: Contender) -> Iterator[int]:
    """Run one HTTP server and hand over its port once it accepts connections."""
    port = _free_port()
    command = [str(port) if word == PORT else word for word in contender.http]
    with spawned(command, server_core()) as child:
        while child.process.poll() is None and time.perf_counter() < child.begun + START_S:
            ready = port if PORT in contender.http else _told_port(child.told())
            if ready and _accepts(ready):
                yield ready
                return
            time.sleep(0.02)
        complaint = f"{contender.name} does not serve: {child.told()[-2000:]}"
        raise NotStartedError(complaint)


def _told_port(text: str) -> int | None:
    """Find the port that a server tells in its log, once it has."""
    found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", text)
    return int(found[1]) if found else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
