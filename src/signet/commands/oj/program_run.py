"""A run of a program on one sample: bounded in time and output, in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO, Final

from msgspec import Struct

__all__ = ["MAX_OUTPUT_BYTES", "ProgramRun", "run_program"]

MAX_OUTPUT_BYTES: Final = 16_777_216
"""The output of a program that is read; one that prints more is ended."""
CHUNK_BYTES: Final = 65_536
MAX_ERROR_BYTES: Final = 4_096


class ProgramRun(Struct, frozen=True):
    """What became of a program."""

    output: bytes
    errors: bytes
    """The beginning of what it wrote to standard error."""
    status: int
    """Its exit status; negative for the signal that ended it."""
    took_s: float
    is_late: bool = False
    is_endless: bool = False
    """Whether it printed more than is read."""


class _Tube(threading.Thread):
    """Reads one output of a program to its end, and keeps its beginning."""

    def __init__(self, pipe: IO[bytes], limit: int, on_excess: threading.Event | None = None) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._limit = limit
        self._on_excess = on_excess
        self.kept = bytearray()
        self.start()

    def run(self) -> None:
        """Read until the end."""
        with self._pipe, contextlib.suppress(OSError):
            while chunk := self._pipe.read1(CHUNK_BYTES):  # type: ignore[attr-defined]
                self.kept += chunk[: self._limit - len(self.kept)]
                if len(self.kept) >= self._limit and self._on_excess is not None:
                    self._on_excess.set()


def run_program(command: Sequence[str], given: bytes, limit_s: float) -> ProgramRun:
    """Run a program on an input, and end its whole process group at the limit.

    Raises:
        OSError: it cannot be started.
    """
    begun = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - the user's own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    endless = threading.Event()
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise OSError(0, "it has no pipes")
    output = _Tube(process.stdout, MAX_OUTPUT_BYTES, endless)
    errors = _Tube(process.stderr, MAX_ERROR_BYTES)
    threading.Thread(target=_feed, args=(process.stdin, given), daemon=True).start()
    try:
        is_late = not _wait(process, endless, begun + limit_s)
    finally:
        _end_group(process)
    took_s = time.monotonic() - begun
    for tube in (output, errors):
        # A process that left the group may hold the pipe open.
        tube.join(timeout=1.0)
    return ProgramRun(
        bytes(output.kept),
        bytes(errors.kept),
        process.wait(),
        took_s,
        is_late and not endless.is_set(),
        endless.is_set(),
    )


def _wait(process: subprocess.Popen[bytes], endless: threading.Event, deadline: float) -> bool:
    """Wait until a program ends, prints too much or is late; return False if it was late."""
    while not endless.is_set():
        left_s = deadline - time.monotonic()
        try:
            process.wait(timeout=max(min(left_s, 0.05), 0.001))
        except subprocess.TimeoutExpired:
            if left_s <= 0:
                return False
        else:
            return True
    return True


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """Write the input; a program need not read it."""
    with contextlib.suppress(OSError):
        pipe.write(given)
    with contextlib.suppress(OSError):
        pipe.close()
