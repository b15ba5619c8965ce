"""The child process that compares two contract sets: one question, one answer, and it ends.

    stdin    a length in four bytes, then the question as JSON
    stdout   READY as soon as it can be asked, then a length and the answer as JSON: empty if it failed

A set can be so hard to compare that the child runs out of memory: then it ends without an answer. While it compares,
nothing in it can run beside it. So it is the system that ends it when the server has ended: with a signal.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Final

import msgspec

from signet.console.contract_diff import Question, answer

__all__ = ["LENGTH_BYTES", "READY", "main"]

READY: Final = b"?"
LENGTH_BYTES: Final = 4
NICE: Final = 10
"""How much it steps back behind the server, where both want the processor."""


def main() -> None:
    """Answer one question."""
    given, taken = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever a library prints is no answer, and its last words on a schema are nobody's.
    os.dup2(2, 1)
    os.nice(NICE)
    import jsonschema_rs  # noqa: F401 - loaded before the time of the question begins

    taken.write(READY)
    taken.flush()
    body = given.read(int.from_bytes(given.read(LENGTH_BYTES), "big"))
    _end_with_parent()
    answered = b""
    try:
        answered = _answered(body)
    finally:
        # An error of ours ends the child, and the server is told by an answer without a text.
        taken.write(len(answered).to_bytes(LENGTH_BYTES, "big") + answered)
        taken.flush()


def _answered(body: bytes) -> bytes:
    try:
        return msgspec.json.encode(answer(msgspec.json.decode(body, type=Question)))
    except (MemoryError, RecursionError):
        # The sets were too hard: there is no answer.
        os._exit(1)


def _end_with_parent() -> None:
    """Have the system end this process when the other end of its input is closed, whatever it is doing.

    Where the system has no such signal, its limit on processor time ends it.
    """
    if sys.platform != "linux":
        return
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(0, 0)
    # It may have been closed before the signal was asked for.
    if poll.poll(0):
        os._exit(1)
