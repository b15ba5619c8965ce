"""A process that was started to be asked: its lines in and out, where it says it listens, its end."""

from __future__ import annotations

import contextlib
import queue
import re
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import IO, Final

__all__ = ["PATIENCE_S", "ServerProcess"]

PATIENCE_S: Final = 90.0
"""How long an answer is waited for; longer than any call may take."""
GRACE_S: Final = 15.0
"""How long a process may take to end."""
KEPT_LINES: Final = 20
LISTENS: Final = re.compile(r"listening on (http://\S+)")


class ServerProcess:
    """A process at the other end of three pipes."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(list(command), stdin=pipe, stdout=pipe, stderr=pipe, env=environ)  # noqa: S603 - the caller's command
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._url: Future[str] = Future()
        self._readers = [
            threading.Thread(target=_hand_on, args=(self._process.stdout, self._lines), daemon=True),
            threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def url(self) -> str:
        """Give the address at which it says that it listens.

        Raises:
            ConnectionError: it ended, or time did, before it said so.
        """
        try:
            return self._url.result(PATIENCE_S)
        except TimeoutError:
            raise ConnectionError("it does not say where it listens") from None

    def send(self, line: bytes) -> None:
        """Write one line.

        Raises:
            OSError: nobody reads any more.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def receive(self) -> bytes:
        """Read one line.

        Raises:
            ConnectionError: none comes.
        """
        try:
            line = self._lines.get(timeout=PATIENCE_S)
        except queue.Empty:
            message = f"no answer within {PATIENCE_S:g} s"
            raise ConnectionError(message) from None
        if not line:
            self._lines.put(line)
            raise ConnectionError(self._why())
        return line

    def end(self, *, by_signal: bool) -> None:
        """Ask it to end: by the end of its input, or by a signal if it minds no input."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        if by_signal:
            self._process.terminate()

    def wait(self) -> None:
        """See it end; one that will not is ended."""
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(GRACE_S)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _listen(self, stream: IO[bytes]) -> None:
        """Take what it says to people, so that it is never held up by it; keep the last of it."""
        for line in stream:
            text = line.decode(errors="replace").rstrip()
            self._said.append(text)
            if (found := LISTENS.search(text)) and not self._url.done():
                self._url.set_result(found[1])
        if not self._url.done():
            self._url.set_exception(ConnectionError(self._why()))

    def _why(self) -> str:
        return f"it ended; it said: {self._said[-1][:200]}" if self._said else "it ended without a word"


def _hand_on(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Hand on line after line, and an empty one at the end."""
    for line in stream:
        lines.put(line.rstrip(b"\n") or b" ")
    lines.put(b"")
