"""A child process: a command with lines on its standard input and output, that always ends with all it started.

write ── ChildInput ──▶ stdin          stdout ── LineSplitter ──▶ on_line
                                       stderr ── StderrLines ───▶ on_stderr

Nothing here blocks the event loop. The child is ended by closing its standard input, then by SIGTERM and SIGKILL to its
process group; its leader is reaped on every path, also when whoever ends it is cancelled.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from signet.kernel.lines import LineSplitter

from .child_input import ChildInput
from .process_group import ProcessGroup
from .stderr_lines import StderrLines

__all__ = ["MAX_LINE_BYTES", "ChildProcess"]

MAX_LINE_BYTES: Final = 16 << 20
"""The longest line that is read; a longer line is skipped and told."""
READ_BYTES: Final = 1 << 16
"""The size of a pipe on most systems: more would not come at once."""
DRAIN_BYTES: Final = 4 << 20
"""How much is read of the pipes of a child that has ended; the largest pipe of most systems has 1 MiB."""
GRACE_S: Final = 2.0
"""How long a child may take to end after its input was closed, and again after SIGTERM."""
SETTLE_S: Final = 0.5
"""How long a child that closed a pipe may take to end by itself, so that its exit status can be told."""


class ChildProcess:
    """One run of a command; all methods are called from one event loop."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: str | None = None,
        on_line: Callable[[bytes], None],
        on_stderr: Callable[[str], None],
        on_exit: Callable[[str], None],
        on_long_line: Callable[[bytes, bytes], None] | None = None,
    ) -> None:
        """Remember what to run and whom to tell.

        `on_line` gets each line of standard output that is not empty, `on_stderr` each of standard error, bounded and
        with named secrets redacted. `on_exit` gets a sentence, once, when the child is lost without `close`.
        `on_long_line` gets the beginning and the end of a line that is too long, which is skipped.
        """
        self.command = command
        self._environ = environ
        self._cwd = cwd
        self._on_line = on_line
        self._on_stderr = on_stderr
        self._on_exit = on_exit
        self._on_long_line = on_long_line
        self._lines = LineSplitter(MAX_LINE_BYTES)
        self._stderr = StderrLines(on_stderr)
        self._group: ProcessGroup | None = None
        self._input: ChildInput | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._open_fds: set[int] = set()
        self._is_silent = False
        """Nobody is told anything: the child was lost, or is closed."""

    @property
    def pid(self) -> int | None:
        """The id of the process, which is the id of its group too; None before the start."""
        return self._group.pid if self._group else None

    @property
    def unsent_bytes(self) -> int:
        """The size of the lines that the child has not taken."""
        return self._input.unsent_bytes if self._input else 0

    async def start(self) -> None:
        """Start the command.

        Raises:
            OSError: it cannot be started; the text is a sentence.
        """
        loop = asyncio.get_running_loop()
        group = ProcessGroup(self.command, self._environ, self._cwd)
        try:
            stdin, stdout, stderr = group.streams
            self._input = ChildInput(stdin, loop, self._settle)
            for stream, take in ((stdout, self._take_stdout), (stderr, self._stderr.feed)):
                os.set_blocking(stream.fileno(), False)
                loop.add_reader(stream.fileno(), partial(self._read, stream.fileno(), take))
                self._open_fds.add(stream.fileno())
            group.watch(partial(self._ended, group))
        except BaseException:
            self._stop_reading()
            group.discard()
            raise
        self._group = group

    def write(self, line: bytes) -> None:
        """Send a line, without waiting; a child that is gone does not get it."""
        if self._input is not None:
            self._input.write(line)

    async def close(self) -> None:
        """Return once the child and its group have ended; may be called more than once."""
        self._is_silent = True
        if (ending := self._end()) is not None:
            # Whoever is cancelled here leaves the ending to itself.
            await asyncio.shield(ending)

    def _read(self, fd: int, take: Callable[[bytes], None]) -> int:
        """Read once and pass it on; return its size, 0 if there is nothing now or nothing more."""
        try:
            chunk = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return 0
        except OSError:
            chunk = b""
        if chunk:
            take(chunk)
        else:
            self._stop_reading(fd)
            self._pipe_ended(fd)
        return len(chunk)

    def _take_stdout(self, chunk: bytes) -> None:
        self._hand_over(iter(self._lines.feed(chunk)))

    def _hand_over(self, lines: Iterator[bytes | None]) -> None:
        is_done = False
        try:
            for line in lines:
                if self._is_silent:
                    break
                if line is None:
                    self._tell_long_line()
                elif line:
                    self._on_line(line)
            is_done = True
        finally:
            # One line that its reader could not bear must not take the others along.
            if not is_done:
                asyncio.get_running_loop().call_soon(self._hand_over, lines)

    def _tell_long_line(self) -> None:
        self._on_stderr(f"(a line of more than {MAX_LINE_BYTES} bytes on standard output was skipped)")
        if self._on_long_line is not None:
            self._on_long_line(*self._lines.edges)

    def _pipe_ended(self, fd: int) -> None:
        if self._group is None or fd != self._group.streams[1].fileno():
            return
        self._take_last_line()
        self._settle("it closed its standard output")

    def _take_last_line(self) -> None:
        """Hand over a line without an end, unless it is half a message: then it was never said."""
        line = self._lines.last()
        if line and line.rstrip().endswith(b"}") and not self._is_silent:
            self._on_line(line)

    def _settle(self, sentence: str) -> None:
        """Count the child as lost after a time, unless it ends before and has an exit status to tell."""
        if not self._is_silent and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self._lose, sentence)

    def _ended(self, group: ProcessGroup) -> None:
        """Read what the child had written, reap it, and tell how it ended."""
        for fd, take in (
            (group.streams[1].fileno(), self._take_stdout),
            (group.streams[2].fileno(), self._stderr.feed),
        ):
            size = DRAIN_BYTES
            while fd in self._open_fds and size > 0 and (read := self._read(fd, take)):
                size -= read
        self._take_last_line()
        status = group.reap()
        self._lose(f"it ended with exit code {status}" if status >= 0 else f"it was killed by {_signal_name(-status)}")

    def _lose(self, sentence: str) -> None:
        self._stderr.finish()
        was_silent, self._is_silent = self._is_silent, True
        self._end()
        if not was_silent:
            last = self._stderr.last
            self._on_exit(f"{sentence}; its last line on standard error: {last}" if last else sentence)

    def _end(self) -> asyncio.Task[None] | None:
        """Begin to end the child, unless that has begun."""
        if self._timer is not None:
            self._timer.cancel()
        if self._ending is None and self._group is not None:
            self._ending = asyncio.get_running_loop().create_task(self._end_group(self._group))
        return self._ending

    async def _end_group(self, group: ProcessGroup) -> None:
        try:
            group.note_descendants()
            if self._input is not None:
                self._input.close()
            if not (await group.wait_for_leader(GRACE_S) and await group.wait_for_all(0)):
                # At the same time: the end of all then takes the time of one.
                strays = asyncio.ensure_future(group.end_strays())
                for number in (signal.SIGTERM, signal.SIGKILL):
                    group.signal(number)
                    if await group.wait_for_all(GRACE_S):
                        break
                await strays
            await group.end_strays()
            await group.dismiss_guard()
        finally:
            self._stop_reading()
            group.discard()

    def _stop_reading(self, *fds: int) -> None:
        for fd in fds or tuple(self._open_fds):
            if fd in self._open_fds:
                self._open_fds.discard(fd)
                asyncio.get_running_loop().remove_reader(fd)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
