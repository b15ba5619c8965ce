"""Child processes on blocking pipes, for threads: every wait has a deadline, and another thread can kill the process.

Deadlines are times of `time.monotonic`.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from .processes import NULL, PIPE, POLL_S, Process, ProcessLimits, Stream, ended_descriptor

__all__ = ["MAX_OUTPUT_BYTES", "ChildEndedError", "KillHandle", "PipedProcess", "ProcessRun", "run_to_end"]

CHUNK_BYTES: Final = 65_536
MAX_OUTPUT_BYTES: Final = 16_777_216
"""The output of a command that is read; one that prints more is ended."""
MAX_ERROR_BYTES: Final = 4_096
DRAIN_S: Final = 1.0
"""How long to read the pipes of a process that has ended: one that left its group may hold them open."""


class ChildEndedError(Exception):
    """The child ended before its answer did."""


class PipedProcess(Process):
    """A running process that is written to and read from."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        stderr: Stream = NULL,
        leads: bool = True,
        is_foreign: bool = False,
        limits: ProcessLimits | None = None,
    ) -> None:
        """Start the command, as `Process` does; it leads a group unless that is left out."""
        streams = (PIPE, PIPE, stderr)
        super().__init__(command, environ, cwd=cwd, streams=streams, leads=leads, is_foreign=is_foreign, limits=limits)
        os.set_blocking(self.stdin.fileno(), False)
        self._rest = bytearray()
        """What was read and not returned."""
        self.uses = 0
        """How often it was used, as its user counts."""

    def write(self, data: bytes, deadline: float) -> None:
        """Write everything.

        Raises:
            TimeoutError: the deadline has passed.
            ChildEndedError: the child reads no more.
        """
        if self.stdin.closed:
            raise ChildEndedError
        view = memoryview(data)
        while view:
            _wait(self.stdin.fileno(), select.POLLOUT, deadline)
            try:
                view = view[os.write(self.stdin.fileno(), view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ChildEndedError from None

    def read(self, size: int, deadline: float) -> bytes:
        """Read so many bytes; raise as `write` does."""
        while len(self._rest) < size:
            self._fill(deadline)
        return self._take(size)

    def read_until(self, end: bytes, deadline: float, max_bytes: int) -> bytes:
        """Read up to an ending, which is left out; raise as `write` does, and ValueError for more than `max_bytes`."""
        searched = 0
        while (found := self._rest.find(end, searched)) < 0:
            if len(self._rest) > max_bytes:
                raise ValueError(f"more than {max_bytes} bytes")
            searched = max(0, len(self._rest) - len(end))
            self._fill(deadline)
        return self._take(found + len(end))[:found]

    def read_line(self, deadline: float, max_bytes: int) -> bytes:
        """Read a line with its end, or `max_bytes` of it; the last one may have no end. Raise as `write` does."""
        searched = 0
        with contextlib.suppress(ChildEndedError):
            while (found := self._rest.find(b"\n", searched)) < 0 and len(self._rest) < max_bytes:
                searched = len(self._rest)
                self._fill(deadline)
            return self._take(min(found + 1 or max_bytes, max_bytes))
        if not self._rest:
            raise ChildEndedError
        return self._take(len(self._rest))

    def read_to_end(self, deadline: float, max_bytes: int) -> tuple[bytes, int]:
        """End its input, and read all that it still writes; return that and its exit status, negative for a signal.

        What it has started and left in its group is killed. Raises as `read_until` does.
        """
        self.close_input()
        with contextlib.suppress(ChildEndedError):
            while len(self._rest) <= max_bytes:
                self._fill(deadline)
        if len(self._rest) > max_bytes:
            raise ValueError(f"more than {max_bytes} bytes")
        if not self.wait_for_end(deadline - time.monotonic()):
            raise TimeoutError
        self.kill()
        return bytes(self._rest), self.reap()

    def _take(self, size: int) -> bytes:
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data

    def _fill(self, deadline: float) -> None:
        _wait(self.stdout.fileno(), select.POLLIN, deadline)
        data = os.read(self.stdout.fileno(), CHUNK_BYTES)
        if not data:
            raise ChildEndedError
        self._rest += data


def _wait(fd: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(fd, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError


class KillHandle:
    """Ends the work that uses a child from another thread, by killing the child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Process | None = None
        self._ended = False

    def put(self, child: Process | None) -> None:
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


class ProcessRun(NamedTuple):
    """The output of a command that was run to its end."""

    output: bytes
    errors: bytes
    """The beginning of its standard error."""
    status: int
    """Its exit status; negative for the signal that ended it."""
    took_s: float
    is_late: bool
    """Return True if it was ended at its time limit."""
    is_endless: bool
    """Return True if it was ended because it printed too much."""


def run_to_end(
    command: Sequence[str],
    given: bytes = b"",
    *,
    limit_s: float,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    max_error_bytes: int = MAX_ERROR_BYTES,
    cwd: str | None = None,
) -> ProcessRun:
    """Run a command on an input, and end its whole process group when it ends, is late or prints too much.

    Raises:
        OSError: it cannot be started.
    """
    begun = time.monotonic()
    process = Process(command, cwd=cwd, leads=True)
    try:
        traffic = _Traffic(process, given, max_output_bytes, max_error_bytes)
        is_late = not traffic.carry(begun + limit_s)
        process.kill()
        took_s = time.monotonic() - begun
        traffic.read_rest()
    finally:
        process.discard()
    return ProcessRun(
        bytes(traffic.output),
        bytes(traffic.errors),
        process.reap(),
        took_s,
        is_late and not traffic.is_endless,
        traffic.is_endless,
    )


class _Traffic:
    """The input and the outputs of a process that runs to its end."""

    def __init__(self, process: Process, given: bytes, max_output_bytes: int, max_error_bytes: int) -> None:
        self._process = process
        self._given = memoryview(given)
        self._max_bytes = max_output_bytes
        self._stdin = process.stdin.fileno()
        self.output, self.errors = bytearray(), bytearray()
        self._open = {
            process.stdout.fileno(): (self.output, max_output_bytes),
            process.stderr.fileno(): (self.errors, max_error_bytes),
        }
        self._poll = select.poll()
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)
        os.set_blocking(self._stdin, False)
        self._poll.register(self._stdin, select.POLLOUT)

    @property
    def is_endless(self) -> bool:
        """Return True if the process has printed as much as is read."""
        return len(self.output) >= self._max_bytes

    def carry(self, deadline: float) -> bool:
        """Write and read until the process has ended or has printed too much; return False at the deadline."""
        with ended_descriptor(self._process.pid) as pidfd:
            if pidfd is not None:
                self._poll.register(pidfd, select.POLLIN)
            while not self.is_endless and not self._process.has_ended():
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                self._turn(left_s if pidfd is not None else min(left_s, POLL_S))
            if pidfd is not None:
                self._poll.unregister(pidfd)
        self._end_input()
        return True

    def read_rest(self) -> None:
        """Read the outputs of a process that was ended to their end, which a process outside its group may hold up."""
        self._end_input()
        over_s = time.monotonic() + DRAIN_S
        while self._open and (left_s := over_s - time.monotonic()) > 0:
            self._turn(left_s)

    def _turn(self, wait_s: float) -> None:
        for fd, _ in self._poll.poll(wait_s * 1000):
            if fd == self._stdin:
                self._write()
            elif fd in self._open:
                self._read(fd, *self._open[fd])

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._given = self._given[os.write(self._stdin, self._given) :]
            except BrokenPipeError:
                # A process need not read its input.
                self._given = self._given[:0]
        if not self._given:
            self._end_input()

    def _end_input(self) -> None:
        if not self._process.stdin.closed:
            self._poll.unregister(self._stdin)
            self._process.close_input()

    def _read(self, fd: int, kept: bytearray, max_bytes: int) -> None:
        chunk = os.read(fd, CHUNK_BYTES)
        kept += chunk[: max_bytes - len(kept)]
        if not chunk:
            self._poll.unregister(fd)
            del self._open[fd]
