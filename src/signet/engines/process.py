"""Child processes that can be killed: limits of the system around each, every wait bounded, a few kept for the next.

    Pool.use(work) ── an idle Child, or a new one ── work(child) ── kept, or killed if anything went wrong

A child has no environment but what it is given, works in an empty folder, and ends when Signet does: its input ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

__all__ = ["Child", "ChildEndedError", "Pool"]

T = TypeVar("T")

CHUNK_BYTES: Final = 65_536
MAX_USES: Final = 500
"""The number of diagrams after which a child is replaced, so that nothing grows for ever."""
CPU_S: Final = 3600
"""The processor time of one child: the bound for one that outlives a Signet that was killed."""
MAX_FILES: Final = 256


class ChildEndedError(Exception):
    """The child ended before its answer did."""


class Child:
    """A running process with pipes on its standard input and output."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: str, memory_bytes: int) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own commands
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            cwd=folder,
            bufsize=0,
            start_new_session=True,
        )
        self.uses = 0
        self._killing = threading.Lock()
        self._is_killed = False
        _limit(self._process.pid, memory_bytes)
        stdin, stdout = self._process.stdin, self._process.stdout
        self._in = stdin.fileno() if stdin else -1
        self._out = stdout.fileno() if stdout else -1
        os.set_blocking(self._in, False)
        self._rest = bytearray()

    @property
    def alive(self) -> bool:
        """Whether it runs, and may be used once more."""
        # Looked at without taking note of its end: its number may be given to another process after that.
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return ended is None and self.uses < MAX_USES

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def write(self, data: bytes, deadline: float) -> None:
        """Write everything.

        Raises:
            TimeoutError: the deadline, a time of `time.monotonic`, has passed.
            ChildEndedError: the child reads no more.
        """
        view = memoryview(data)
        while view:
            self._wait(self._in, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ChildEndedError from None

    def read(self, size: int, deadline: float) -> bytes:
        """Read so many bytes; raise as `write` does."""
        while len(self._rest) < size:
            self._fill(deadline)
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data

    def read_until(self, end: bytes, deadline: float, max_bytes: int) -> bytes:
        """Read up to an ending, which is left out; raise as `write` does, and ValueError for more than `max_bytes`."""
        searched = 0
        while (found := self._rest.find(end, searched)) < 0:
            if len(self._rest) > max_bytes:
                raise ValueError(f"more than {max_bytes} bytes")
            searched = max(0, len(self._rest) - len(end))
            self._fill(deadline)
        data = bytes(self._rest[:found])
        del self._rest[: found + len(end)]
        return data

    def kill(self) -> None:
        """End the process and all that it has started, at once; do nothing the second time."""
        with self._killing:
            if self._is_killed:
                return
            self._is_killed = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def discard(self) -> None:
        """Kill it and close its pipes: by its user alone, since nobody may be waiting at a pipe that is closed."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _fill(self, deadline: float) -> None:
        self._wait(self._out, select.POLLIN, deadline)
        data = os.read(self._out, CHUNK_BYTES)
        if not data:
            raise ChildEndedError
        self._rest += data

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError


def _limit(pid: int, memory_bytes: int) -> None:
    """Set the system's limits on a process: memory that it can write to, no files to write, no core dump.

    `RLIMIT_AS` cannot be used: V8 and Java reserve a terabyte of addresses and use a part in a thousand of them.
    `RLIMIT_DATA` counts what can be written, which is what a hostile diagram can use up.
    """
    import resource

    if not hasattr(resource, "prlimit"):
        return
    limits = {
        resource.RLIMIT_DATA: memory_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: MAX_FILES,
        resource.RLIMIT_CPU: CPU_S,
    }
    with contextlib.suppress(ProcessLookupError):
        for kind, limit in limits.items():
            resource.prlimit(pid, kind, (limit, limit))


class Pool:
    """The children of one engine: as many as are used at once, and idle ones for a while."""

    def __init__(self, start: Callable[[str], Child], idle_s: float) -> None:
        """Keep children that a function starts in an empty folder."""
        self._start = start
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._idle: list[tuple[Child, threading.Timer]] = []
        self._busy: set[Child] = set()
        self._folder: str | None = None
        self._closed = False

    def use(self, work: Callable[[Child], T]) -> T:
        """Return what work with a child returns; a child is killed if the work raises anything."""
        child = self._take()
        child.uses += 1
        try:
            result = work(child)
        except BaseException:
            self._drop(child)
            raise
        self._give_back(child)
        return result

    def close(self) -> None:
        """Kill every child, also those in use."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
            folder, self._folder = self._folder, None
        for child, timer in idle:
            timer.cancel()
            child.discard()
        for child in busy:
            # Whoever uses it sees its end, and discards it.
            child.kill()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _take(self) -> Child:
        with self._lock:
            if self._closed:
                raise ChildEndedError
            while self._idle:
                child, timer = self._idle.pop()
                timer.cancel()
                if child.alive:
                    self._busy.add(child)
                    return child
                child.discard()
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="signet-engine-")
            child = self._start(self._folder)
            self._busy.add(child)
            return child

    def _give_back(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
            if not self._closed and child.alive:
                timer = threading.Timer(self._idle_s, self._end_idle, (child,))
                timer.daemon = True
                timer.start()
                self._idle.append((child, timer))
                return
        child.discard()

    def _drop(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
        child.discard()

    def _end_idle(self, child: Child) -> None:
        with self._lock:
            kept = [pair for pair in self._idle if pair[0] is not child]
            if len(kept) == len(self._idle):
                return
            self._idle = kept
        child.discard()
