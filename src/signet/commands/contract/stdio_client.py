"""A server process at the other end of two pipes, asked one message at a time."""

from __future__ import annotations

import contextlib
import queue
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

import msgspec

__all__ = ["opened"]

LONGEST_LINE: Final = 16 << 20
GOODBYE_S: Final = 5.0

RpcMessage = dict[str, Any]


@contextlib.contextmanager
def opened(command: str, patience_s: float) -> Iterator[Callable[[RpcMessage], RpcMessage | None]]:
    """Start a command and give a function that sends a message and waits for its answer.

    Raises:
        ValueError, OSError: it cannot be started, or does not answer.
    """
    words = shlex.split(command)
    if not words:
        raise ValueError("no command is written behind stdio:")
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)  # noqa: S603 - the user's own command
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            yield lambda message: _ask(process, lines, message, time.monotonic() + patience_s)
        except (OSError, ValueError) as error:
            said = _last_line(complaints)
            message = f"{error}; it said: {said}" if said else str(error)
            raise ValueError(message) from None
        finally:
            _end(process)
            reader.join(GOODBYE_S)
            # A child of the server may still hold the pipe; then it is left to the reader.
            if process.stdout is not None and not reader.is_alive():
                process.stdout.close()


def _ask(
    process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes], message: RpcMessage, deadline: float
) -> RpcMessage | None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.write(msgspec.json.encode(message) + b"\n")
    process.stdin.flush()
    while "id" in message:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise ValueError("it does not answer in time") from None
        if not line:
            raise ValueError("it ended without an answer")
        with contextlib.suppress(msgspec.DecodeError):
            answer = msgspec.json.decode(line, type=RpcMessage)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer
    return None


def _read(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Hand on line after line, and an empty one at the end."""
    with contextlib.suppress(OSError, ValueError):
        while line := stream.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(b"")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, which ends a server; one that stays is ended."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(GOODBYE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    said = complaints.read().decode(errors="replace").strip().splitlines()
    return said[-1][:200] if said else ""
