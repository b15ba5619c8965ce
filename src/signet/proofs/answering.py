"""The child process that answers questions about schemas, one after the other, until its input ends.

    stdin    the name of a function and a question, each behind its length in four bytes
    stdout   READY as soon as it can be asked; then for each question a length and the answer: empty if it failed

A question can be so hard that the child runs out of memory: then it ends without an answer. While it works, nothing in
it can run beside that. So it is the system that ends it when the program that asked has ended: with a signal.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from importlib import import_module
from typing import BinaryIO, Final

__all__ = ["LENGTH_BYTES", "READY", "main"]

READY: Final = b"?"
LENGTH_BYTES: Final = 4
NICE: Final = 10
"""How much the child steps back behind the program that asks, where both want the processor."""


def main() -> None:
    """Answer questions until the input ends."""
    given, taken = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Output of a library must not reach the answers, and its messages about a schema are dropped.
    os.dup2(2, 1)
    os.nice(NICE)
    import jsonschema_rs  # noqa: F401 - loaded before the time of the question begins

    taken.write(READY)
    taken.flush()
    while name := _part(given):
        question = _part(given)
        _watch_parent(on=True)
        answered = b""
        try:
            answered = _answered(name.decode(), question)
        finally:
            # An internal error ends the child, after an answer without a text. The next question, which comes
            # behind the answer, does not end the input.
            _watch_parent(on=False)
            taken.write(len(answered).to_bytes(LENGTH_BYTES, "big") + answered)
            taken.flush()


def _part(given: BinaryIO) -> bytes:
    return given.read(int.from_bytes(given.read(LENGTH_BYTES), "big"))


def _answered(name: str, question: bytes) -> bytes:
    """Return what the function `MODULE:NAME` of this program answers."""
    module, _, function = name.partition(":")
    try:
        answer: bytes = getattr(import_module(module), function)(question)
    except (MemoryError, RecursionError):
        # The question was too hard to answer.
        os._exit(1)
    except BaseException as error:
        if type(error).__module__ == "pyo3_runtime":
            # The native validator has given up on the schema: a panic, which does not derive from Exception.
            os._exit(1)
        raise
    return answer


def _watch_parent(*, on: bool) -> None:
    """Have the system end this process when the other end of its input is closed, whatever it is doing.

    Where the system has no such signal, its limit on processor time ends it.
    """
    if sys.platform != "linux":
        return
    import fcntl

    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    if not on:
        fcntl.fcntl(0, fcntl.F_SETFL, flags & ~os.O_ASYNC)
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC)
    poll = select.poll()
    poll.register(0, 0)
    # It may have been closed before the signal was asked for.
    if poll.poll(0):
        os._exit(1)
