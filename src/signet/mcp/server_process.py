"""A server process that a command talks to: over its pipes, or at the address that it announces.

The messages are those of any door, carried as they are; a session with a server is another part.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import IO, Final, Protocol, TypeVar

from signet.kernel.errors import METHOD_NOT_FOUND
from signet.kernel.wire import message_head
from signet.system.piped_process import ChildEndedError, PipedProcess

from .link import MAX_BYTES, too_long
from .messages import WireMessage, error_object, response

__all__ = ["LISTENING", "ServerProcess", "StdioTransport", "Transport"]

T = TypeVar("T")

LISTENING: Final = re.compile(r"listening on (http://\S+)")
"""The line on standard error in which a Signet server announces its address."""
SETTLE_S: Final = 5.0
"""How long to wait for the standard error of a process that has ended; a child of it may still hold it open."""
STDERR_LINES: Final = 20
STDERR_LINE_BYTES: Final = 8192
LAST_WORDS_CHARS: Final = 200


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


class Transport(Protocol):
    """Carries messages to a server and replies back; after an error it is not used again."""

    def exchange(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Send a request and return what `read` makes of the texts that come back.

        Raises:
            OSError, EOFError, HTTPException: no reply came; TimeoutError if it took too long.
            ValueError: the reply is too long, or `read` refuses it.
        """

    def notify(self, message: WireMessage) -> None:
        """Send a message to which no reply is due; raises what `exchange` raises."""


class StdioTransport:
    """The pipes of a server process: one line for each message."""

    def __init__(self, process: ServerProcess, *, timeout_s: float, max_bytes: int = MAX_BYTES) -> None:
        self._process = process
        self.timeout_s = timeout_s
        self._max_bytes = max_bytes

    def exchange(self, message: WireMessage, read: Callable[[Iterator[bytes]], T]) -> T:
        """Send a line and read the lines that follow."""
        deadline = monotonic() + self.timeout_s
        try:
            self._process.send(message.body, deadline)
            return read(self._replies(deadline))
        except TimeoutError:
            raise TimeoutError("it does not answer in time") from None

    def _replies(self, deadline: float) -> Iterator[bytes]:
        """Yield the lines of the server but its requests, which are answered here."""
        for line in _bounded_lines(partial(self._process.receive, deadline), self._max_bytes):
            answer = _answer_of(line)
            if answer is None:
                yield line
            else:
                self._process.send(answer, deadline)

    def notify(self, message: WireMessage) -> None:
        """Send a line."""
        try:
            self._process.send(message.body, monotonic() + self.timeout_s)
        except TimeoutError:
            raise TimeoutError("it does not read its input in time") from None


def _answer_of(text: bytes) -> bytes | None:
    """Return the answer to a text if it is a request of the server: to a ping, or that its method is not known."""
    if b'"method"' not in text:
        return None
    try:
        asked = message_head(text)
    except (ValueError, RecursionError):
        return None
    if not asked.is_request or asked.id is None:
        return None
    if asked.method == "ping":
        return response(asked.id, result=b"{}")
    return response(asked.id, error=error_object(METHOD_NOT_FOUND, "this client has no such method"))


def _bounded_lines(readline: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    while line := readline(left + 1):
        left -= len(line)
        if left < 0:
            raise too_long(max_bytes)
        yield line
