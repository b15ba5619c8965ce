"""Messages of any door, carried as they are: a line there and lines back, over the pipes of a server that runs.

`PlainHttp` carries the same messages over HTTP. Both are for comparing doors; a session with a server is another part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import Protocol, TypeVar

from signet.kernel.errors import METHOD_NOT_FOUND
from signet.kernel.wire import message_head
from signet.upstream.server_process import ServerProcess

from .messages import WireMessage, error_object, response
from .plain_http import MAX_BYTES, too_long

__all__ = ["StdioTransport", "Transport"]

T = TypeVar("T")


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
