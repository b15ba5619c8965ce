"""The link to one generation of the tools on standard input and output: its pipes, and the requests that it has."""

from __future__ import annotations

import io
import threading
from typing import Any, Final, cast

import msgspec

from signet.kernel.wire import MessageHead, message_head
from signet.system.processes import PIPE

from .supervisor import Generation

__all__ = ["NO_MESSAGE", "Link", "cancelled_id", "key_of", "read_message"]


NO_MESSAGE: Final = MessageHead()


def read_message(line: bytes) -> MessageHead:
    """Return what can be read of a line; nothing of one that is no message."""
    try:
        return message_head(line)
    except (ValueError, RecursionError):
        return NO_MESSAGE


def cancelled_id(message: MessageHead) -> Any:
    """Return the id of the request that a message cancels, or None."""
    if message.method != "notifications/cancelled":
        return None
    try:
        params = msgspec.json.decode(message.params)
    except (ValueError, RecursionError):
        return None
    return params.get("requestId") if isinstance(params, dict) else None


def key_of(request_id: Any) -> bytes:
    """Return a key that is equal for equal ids: 1 and "1" are not; empty for none."""
    return b"" if request_id is msgspec.UNSET else msgspec.json.encode(request_id)


class Link(Generation):
    """A process at the end of two pipes."""

    def __init__(self, words: list[str]) -> None:
        super().__init__("stdio", words, pipe=PIPE)
        self._stdin = io.BufferedWriter(cast("io.RawIOBase", self.process.stdin))
        self.lines = io.BufferedReader(cast("io.RawIOBase", self.process.stdout))
        self._writing = threading.Lock()
        self.pending: dict[bytes, Any] = {}
        """The ids of the requests that are not answered."""
        self.hello: bytes | None = None
        """The id of the `initialize` whose answer the client has already."""
        self.greeted = threading.Event()
        """Set when that answer is read."""
        self.is_retired = False
        """Whether a newer process takes the requests."""
        self.is_closed = False
        """Whether everything that it wrote is read."""
        self.carried = threading.Event()

    def write(self, line: bytes) -> bool:
        """Send a line; return whether the process could take it."""
        try:
            with self._writing:
                self._stdin.write(line + b"\n")
                self._stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def hang_up(self) -> None:
        """Tell the process that nothing more comes: it answers what it has, and ends."""
        try:
            with self._writing:
                self._stdin.close()
        except OSError:
            # It has ended, with lines that it never read.
            return
