"""The standard input of a child: lines are collected and written together, and never waited for.

All lines of one turn of the event loop go out with one system call. What the pipe does not take stays here, up to a
bound: a child that takes nothing for a while, or from which too much is kept, is told as stuck.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import IO, Final

__all__ = ["ChildInput"]

STUCK_BYTES: Final = 8 << 20
"""The size of unsent lines from which a child must go on reading."""
STUCK_S: Final = 10.0
"""How long a child may then take nothing: many large lines at once are a burst, and no reason to end it."""
MAX_UNSENT_BYTES: Final = 64 << 20
"""The size of unsent lines that no child may leave unread."""


class ChildInput:
    """Writes lines to a pipe; `on_broken` is called, at most once, with a sentence when nothing can be written."""

    def __init__(self, stream: IO[bytes], loop: asyncio.AbstractEventLoop, on_broken: Callable[[str], None]) -> None:
        os.set_blocking(stream.fileno(), False)
        self._stream = stream
        self._fd = stream.fileno()
        self._loop = loop
        self._on_broken = on_broken
        self._lines: list[bytes] = []
        self._rest = bytearray()
        """What the pipe did not take; the loop writes it on."""
        self._unsent = 0
        self._taken = 0
        self._watch: asyncio.TimerHandle | None = None
        self._is_open = True

    @property
    def unsent_bytes(self) -> int:
        """The size of the lines that the child has not taken."""
        return self._unsent

    def write(self, line: bytes) -> None:
        """Write a line and its end, soon."""
        if not self._is_open:
            return
        if not self._lines and not self._rest:
            self._loop.call_soon(self._flush)
        self._lines.append(line)
        self._unsent += len(line) + 1
        if self._unsent > STUCK_BYTES:
            self._watch_progress()

    def close(self) -> None:
        """Write what the pipe takes at once, drop the rest, and close the pipe."""
        if self._is_open:
            self._flush()
        self._stop()
        self._stream.close()

    def _flush(self) -> None:
        if self._rest or not self._lines or not self._is_open:
            return
        data = self._take_lines()
        sent = self._push(data)
        if sent < len(data) and self._is_open:
            self._rest += memoryview(data)[sent:]
            self._loop.add_writer(self._fd, self._resume)

    def _resume(self) -> None:
        if self._lines:
            self._rest += self._take_lines()
        with memoryview(self._rest) as view:
            sent = self._push(view)
        del self._rest[:sent]
        if not self._rest and self._is_open:
            self._loop.remove_writer(self._fd)

    def _take_lines(self) -> bytes:
        self._lines.append(b"")
        data = b"\n".join(self._lines)
        self._lines.clear()
        return data

    def _push(self, data: bytes | memoryview) -> int:
        """Write once; return how much the pipe took."""
        try:
            sent = os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._break("it closed its standard input")
            return 0
        self._taken += sent
        self._unsent -= sent
        return sent

    def _watch_progress(self) -> None:
        if self._unsent > MAX_UNSENT_BYTES:
            self._break(f"it does not read its standard input: {self._unsent} bytes wait")
        elif self._watch is None:
            self._watch = self._loop.call_later(STUCK_S, self._look, self._taken)

    def _look(self, taken: int) -> None:
        self._watch = None
        if self._unsent <= STUCK_BYTES:
            return
        if self._taken == taken:
            self._break(f"it does not read its standard input: {self._unsent} bytes wait")
        else:
            self._watch_progress()

    def _break(self, sentence: str) -> None:
        self._stop()
        self._on_broken(sentence)

    def _stop(self) -> None:
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(OSError, ValueError):
                self._loop.remove_writer(self._fd)
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._lines.clear()
        self._unsent = 0
