"""A server process that a command talks to: over its pipes, or at the address that it announces."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import IO, Final, TypeVar

from signet.system.piped_process import ChildEndedError, PipedProcess

__all__ = ["LISTENING", "ServerProcess", "within"]

T = TypeVar("T")

LISTENING: Final = re.compile(r"listening on (http://\S+)")
"""The line on standard error in which a Signet server announces its address."""
SETTLE_S: Final = 5.0
"""How long to wait for the standard error of a process that has ended; a child of it may still hold it open."""
STDERR_LINES: Final = 20
STDERR_LINE_BYTES: Final = 8192
LAST_WORDS_CHARS: Final = 200


def within(timeout_s: float, work: Callable[[], T], message: str) -> T:
    """Return the result of blocking work, or raise TimeoutError with this message.

    The work runs in a thread of its own, because a name lookup takes no deadline. A thread that misses the deadline is
    left behind: it is a daemon, and it ends when its socket does.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return future.result(timeout_s)
    except TimeoutError:
        raise TimeoutError(message) from None


class ServerProcess(PipedProcess):
    """A running server; the end of its standard error is kept."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        stderr: IO[bytes] | None = None,
        is_foreign: bool = False,
    ) -> None:
        """Start the command; a file given as `stderr` takes its messages instead of this object.

        A foreign server ends with all that it has started: launchers start the server as their child.
        """
        source, sink = os.pipe() if stderr is None else (None, stderr)
        try:
            super().__init__(command, environ, cwd=cwd, stderr=sink, leads=False, is_foreign=is_foreign)
        except BaseException:
            if source is not None:
                os.close(source)
            raise
        finally:
            if source is not None and isinstance(sink, int):
                os.close(sink)
        self._stderr_lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._url: Future[str] = Future()
        self._stderr_reader = threading.Thread(target=self._read_stderr, args=(source,), daemon=True)
        self._stderr_reader.start()

    def url(self, timeout_s: float) -> str:
        """Return the address that the server announces.

        Raises:
            TimeoutError: the server announces no address in time.
            EOFError: the server ended before it announced one.
        """
        return self._url.result(timeout_s)

    def send(self, line: bytes, deadline: float) -> None:
        """Write one line; raise EOFError if the server no longer reads, TimeoutError at a time of `time.monotonic`."""
        try:
            self.write(line + b"\n", deadline)
        except ChildEndedError:
            raise self._ended() from None

    def receive(self, deadline: float, max_bytes: int) -> bytes:
        """Read one line, or `max_bytes` of it; raise as `send` does if the server closed its output."""
        try:
            return self.read_line(deadline, max_bytes)
        except ChildEndedError:
            raise self._ended() from None

    def last_words(self) -> str:
        """Return the last line that the server wrote to standard error, or an empty string."""
        texts = (text.strip() for text in reversed(self._stderr_lines))
        return next(filter(None, texts), "")[:LAST_WORDS_CHARS]

    def close(self, grace_s: float = 5.0) -> None:
        """Return once the server has ended, and close its pipes."""
        self.end(grace_s)
        self._stderr_reader.join(SETTLE_S)
        self.discard()

    def _ended(self) -> EOFError:
        self._stderr_reader.join(SETTLE_S)
        return EOFError("it ended without an answer")

    def _read_stderr(self, source: int | None) -> None:
        """Read standard error to its end, so that the server never blocks on it, and keep the last lines."""
        if source is not None:
            with open(source, "rb") as lines:
                while line := lines.readline(STDERR_LINE_BYTES):
                    self._note(line.decode(errors="replace"))
        if not self._url.done():
            self._url.set_exception(EOFError("it ended before it said where it listens"))

    def _note(self, text: str) -> None:
        self._stderr_lines.extend(text.splitlines())
        if (match := LISTENING.search(text)) and not self._url.done():
            self._url.set_result(match[1])
