"""Questions to a child process of our own: what may take minutes or all memory is worked out there, within limits.

    WorkerAsker.ask(function, question, seconds) ── a child: 200 MB, a deadline ── function(question) ── answer

The function is one of this program, known by its name to the child, which imports it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeVar

from signet.system.piped_process import ChildEndedError, KillHandle, PipedProcess
from signet.system.processes import ProcessLimits

from .answering import LENGTH_BYTES, READY

__all__ = ["MEMORY_BYTES", "PLACE", "AnswerError", "Function", "TooHardError", "WorkerAsker", "with_asker"]

START_S: Final = 30.0
"""How long a child may take to load; the time of a question begins later."""
MEMORY_BYTES: Final = 200 << 20
MAX_ANSWER_BYTES: Final = 8 << 20
MAX_BUSY_S: Final = 60.0
"""The time of work after which a child is replaced."""
CPU_S: Final = 120
"""The processor time of a child that outlives a program which was killed."""
LAUNCH: Final = "import sys; sys.path[:] = sys.argv[1:]; from signet.proofs.answering import main; main()"

PLACE: Final = "signet-proof"
"""The name of a thread that asks."""
T = TypeVar("T")

Function = Callable[[bytes], bytes]
"""What answers a question: a function of a module, so that a child can import it."""


class TooHardError(Exception):
    """A question that has no answer within the limits; the text names the limit, as `10 s`."""

    def __init__(self, limit: str, *, is_time: bool = False) -> None:
        super().__init__(limit)
        self.is_time = is_time
        """Whether more time might help."""


class AnswerError(Exception):
    """The child does not start, or fails: a fault of ours, not of the question."""


class WorkerAsker:
    """Asks a child, which is started with the first question and serves for the next. For one thread at a time."""

    def __init__(self, hold: KillHandle | None = None) -> None:
        """Ask children that a hold can end from another thread."""
        self._hold = hold or KillHandle()
        self._child: PipedProcess | None = None
        self._busy_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def ask(self, function: Function, question: bytes, seconds: float) -> bytes:
        """Return what a function of this program answers to a question, called in the child.

        Raises:
            TooHardError: it has no answer within the limits of time and memory; the child has ended.
            AnswerError: the child does not start, or the function fails.
        """
        child = self._ready()
        began_s = time.monotonic()
        try:
            answer = _converse(child, f"{function.__module__}:{function.__qualname__}".encode(), question, seconds)
        except BaseException:
            self.close()
            raise
        self._busy_s += time.monotonic() - began_s
        return answer

    def close(self) -> None:
        """End the child; the next question starts another."""
        child, self._child = self._child, None
        self._hold.put(None)
        if child is not None:
            child.discard()

    def _ready(self) -> PipedProcess:
        if self._child is not None and (self._busy_s > MAX_BUSY_S or self._child.has_ended()):
            self.close()
        if self._child is None:
            self._child, self._busy_s = _started(), 0.0
            self._hold.put(self._child)
            try:
                self._child.read(len(READY), time.monotonic() + START_S)
            except (TimeoutError, ChildEndedError):
                self.close()
                raise AnswerError("the process that compares schemas does not start") from None
        return self._child


def _started() -> PipedProcess:
    # In isolated mode Python reads no variable; the way to the packages is our own, and no variable is handed on.
    command = [sys.executable, "-I", "-X", "utf8", "-c", LAUNCH, *map(os.path.abspath, sys.path)]
    try:
        return PipedProcess(command, {}, cwd=os.sep, limits=ProcessLimits(MEMORY_BYTES, CPU_S))
    except OSError as error:
        raise AnswerError(f"the process that compares schemas does not start ({error.strerror})") from None


def _converse(child: PipedProcess, name: bytes, question: bytes, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    try:
        child.write(b"".join(_with_length(part) for part in (name, question)), deadline)
        size = int.from_bytes(child.read(LENGTH_BYTES, deadline), "big")
        if size > MAX_ANSWER_BYTES:
            raise TooHardError(f"{MAX_ANSWER_BYTES >> 20} MB of answer")
        answer = child.read(size, deadline)
    except TimeoutError:
        raise TooHardError(f"{seconds:g} s", is_time=True) from None
    except ChildEndedError:
        raise TooHardError(f"{MEMORY_BYTES >> 20} MB of memory") from None
    if not answer:
        raise AnswerError("the process that compares schemas failed")
    return answer


def _with_length(part: bytes) -> bytes:
    return len(part).to_bytes(LENGTH_BYTES, "big") + part


def with_asker(work: Callable[[WorkerAsker], T]) -> Callable[[KillHandle], T]:
    """Return work for a thread that asks a child; whoever has the hold can end the child."""

    def run(hold: KillHandle) -> T:
        with WorkerAsker(hold) as asker:
            return work(asker)

    return run
