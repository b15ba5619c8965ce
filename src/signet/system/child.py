"""A child process that can be killed: limits of the system around it, every wait bounded.

A child has no environment but what it is given, works in an empty folder, and ends when Signet does: its input ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["Child", "ChildEndedError", "Hold"]

CHUNK_BYTES: Final = 65_536
MAX_USES: Final = 500
"""The number of diagrams after which a child is replaced, so that nothing grows for ever."""
CPU_S: Final = 3600
"""The processor time of one child: the bound for one that outlives a Signet that was killed."""
MAX_FILES: Final = 256
PAUSE_S: Final = 0.005


class ChildEndedError(Exception):
    """The child ended before its answer did."""


class Child:
    """A running process with pipes on its standard input and output."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        folder: str,
        memory_bytes: int,
        *,
        max_uses: int = MAX_USES,
        cpu_s: int = CPU_S,
    ) -> None:
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
        self._max_uses = max_uses
        self._killing = threading.Lock()
        self._is_killed = False
        try:
            _limit(self._process.pid, memory_bytes, cpu_s)
        except BaseException:
            self.discard()
            raise
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
        return ended is None and self.uses < self._max_uses

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

    def read_to_end(self, deadline: float, max_bytes: int) -> tuple[bytes, int]:
        """End its input, and read all that it still writes; return that and its exit status, negative for a signal.

        Raises as `read_until` does.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(ChildEndedError):
            while len(self._rest) <= max_bytes:
                self._fill(deadline)
        if len(self._rest) > max_bytes:
            raise ValueError(f"more than {max_bytes} bytes")
        while (ended := os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(PAUSE_S)
        return bytes(self._rest), ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

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


class Hold:
    """The hand on the child that one piece of work uses: it ends the work from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._ended = False

    def put(self, child: Child | None) -> None:
        """Note the child that the work uses now."""
        with self._lock:
            self._child = child
            if self._ended and child is not None:
                child.kill()

    def end(self) -> None:
        """Kill the child, now or as soon as there is one."""
        with self._lock:
            self._ended = True
            if self._child is not None:
                self._child.kill()


def _limit(pid: int, memory_bytes: int, cpu_s: int) -> None:
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
        resource.RLIMIT_CPU: cpu_s,
    }
    with contextlib.suppress(ProcessLookupError):
        for kind, limit in limits.items():
            # Nobody but root may go beyond the limit that Signet itself was started with.
            hard = resource.prlimit(pid, kind)[1]
            lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.prlimit(pid, kind, (lower, lower))
