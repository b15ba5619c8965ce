"""A child process that speaks in lines, for an event loop: it always ends with all that it started.

    write ── LineInput ──▶ stdin           stdout ── LineSplitter ──▶ on_line
                                           stderr ── StderrLines ───▶ on_stderr

Nothing here blocks the event loop. The child is ended by closing its standard input, then by SIGTERM and SIGKILL to its
process group; its leader is reaped on every path, also when the task that ends it is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import IO, TYPE_CHECKING, Final

from .lines import LineSplitter
from .processes import Process, open_pidfd, signal_name
from .stderr_lines import StderrLines

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["MAX_LINE_BYTES", "LineInput", "LineProcess"]

MAX_LINE_BYTES: Final = 16 << 20
"""The longest line that is read; a longer line is skipped and reported."""
READ_BYTES: Final = 1 << 16
"""The size of a pipe on most systems: more would not come at once."""
DRAIN_BYTES: Final = 4 << 20
"""How much is read of the pipes of a child that has ended; the largest pipe of most systems has 1 MiB."""
GRACE_S: Final = 2.0
"""How long a child may take to end after its input was closed, and again after SIGTERM."""
SETTLE_S: Final = 0.5
"""How long a child that closed a pipe may take to end by itself, so that its exit status can be reported."""
STUCK_BYTES: Final = 8 << 20
"""The size of unsent lines from which a child must go on reading."""
STUCK_S: Final = 10.0
"""How long a child may then take nothing: many large lines at once are a burst, and no reason to end it."""
MAX_UNSENT_BYTES: Final = 64 << 20
"""The size of unsent lines that no child may leave unread."""
POLL_S: Final = 0.02
"""How often to look for the end of processes of which the system tells nothing."""
GUARD_POLL_S: Final = 0.001
ENDING_AT_ONCE: Final = 8


class LineProcess:
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
        """Set the command and its listeners.

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
        self._process: _WatchedProcess | None = None
        self._input: LineInput | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._open_fds: set[int] = set()
        self.write: Callable[[bytes], None] = _drop
        """Sends a line, without waiting; a child that is gone, or that was not started, does not get it."""
        self._is_silent = False
        """The listeners are called no more: the child was lost, or is closed."""

    @property
    def pid(self) -> int | None:
        """The id of the process, which is the id of its group too; None before the start."""
        return self._process.pid if self._process else None

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
        process = _WatchedProcess(self.command, self._environ, self._cwd)
        try:
            self._input = LineInput(process.stdin, loop, self._settle)
            for stream, take in ((process.stdout, self._take_stdout), (process.stderr, self._stderr.feed)):
                os.set_blocking(stream.fileno(), False)
                loop.add_reader(stream.fileno(), partial(self._read, stream.fileno(), take))
                self._open_fds.add(stream.fileno())
            process.watch(partial(self._ended, process))
        except BaseException:
            self._stop_reading()
            process.discard()
            raise
        self._process = process
        self.write = self._input.write

    async def close(self) -> None:
        """Return once the child and its group have ended; may be called more than once."""
        self._is_silent = True
        if (ending := self._end()) is not None:
            # A caller that is cancelled here leaves the ending to itself.
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
        if self._process is None or fd != self._process.stdout.fileno():
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

    def _ended(self, process: _WatchedProcess) -> None:
        """Read what the child had written, reap it, and tell how it ended."""
        for fd, take in (
            (process.stdout.fileno(), self._take_stdout),
            (process.stderr.fileno(), self._stderr.feed),
        ):
            size = DRAIN_BYTES
            while fd in self._open_fds and size > 0 and (read := self._read(fd, take)):
                size -= read
        self._take_last_line()
        status = process.reap()
        self._lose(f"it ended with exit code {status}" if status >= 0 else f"it was killed by {signal_name(-status)}")

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
        if self._ending is None and self._process is not None:
            self._ending = asyncio.get_running_loop().create_task(self._end_process(self._process))
        return self._ending

    async def _end_process(self, process: _WatchedProcess) -> None:
        try:
            if self._input is not None:
                process.note_descendants()
                self._input.close()
            await process.end_all(GRACE_S)
        finally:
            self._stop_reading()
            process.discard()

    def _stop_reading(self, *fds: int) -> None:
        for fd in fds or tuple(self._open_fds):
            if fd in self._open_fds:
                self._open_fds.discard(fd)
                asyncio.get_running_loop().remove_reader(fd)


def _drop(_: bytes) -> None:
    """Do nothing with a line: there is no child that could get it."""


class LineInput:
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


class _WatchedProcess(Process):
    """A foreign command, the end of which is awaited."""

    _pidfd: int | None = None
    _poll: asyncio.TimerHandle | None = None

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], cwd: str | None) -> None:
        """Start the command.

        Raises:
            OSError: it cannot be started; the text is a sentence.
        """
        if not command:
            raise FileNotFoundError("no command is given")
        try:
            super().__init__(command, environ, cwd=cwd, is_foreign=True)
        except (OSError, ValueError) as error:
            raise _explained(error, command, cwd) from error
        self._pidfd = open_pidfd(self.pid)
        self._exited = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call `on_exit` once, when the leader has ended and is not reaped yet."""

        def end() -> None:
            self._unwatch()
            self._exited.set()
            on_exit()

        def look() -> None:
            if self.has_ended():
                end()
            else:
                self._poll = self._loop.call_later(POLL_S, look)

        if self._pidfd is None:
            look()
        else:
            self._loop.add_reader(self._pidfd, end)

    async def end_all(self, grace_s: float) -> None:
        """Return once the group, what has left it, and its guard have ended; the input of the leader is closed."""
        if not (await self._wait_for_leader(grace_s) and await self._wait_for_group(0)):
            # At the same time: the end of all then takes the time of one.
            strays = asyncio.ensure_future(self._end_strays())
            for number in (signal.SIGTERM, signal.SIGKILL):
                self.signal(number)
                if await self._wait_for_group(grace_s):
                    break
            await strays
        await self._end_strays()
        if self.guard is not None:
            self.guard.signal(signal.SIGKILL)
            while not self.guard.has_ended():  # noqa: ASYNC110 - there is no event, and it has been killed
                await asyncio.sleep(GUARD_POLL_S)

    def discard(self, wait_s: float | None = 1.0) -> None:
        """Kill and close what is left, and stop watching."""
        self._unwatch()
        super().discard(wait_s)

    async def _wait_for_leader(self, timeout_s: float) -> bool:
        """Return True as soon as the leader has ended, or False after a time."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), timeout_s)
        return self._exited.is_set()

    async def _wait_for_group(self, timeout_s: float) -> bool:
        """Return True as soon as the whole group has ended and its leader is reaped, or False after a time."""
        over_s = self._loop.time() + timeout_s
        if not await self._wait_for_leader(timeout_s):
            return False
        # A leader that is not reaped counts as a member.
        self.reap()
        while self.has_members():
            if self._loop.time() > over_s:
                return False
            await asyncio.sleep(POLL_S)
        return True

    async def _end_strays(self) -> None:
        """End the processes that have left the group, as far as there are any."""
        await self._loop.run_in_executor(_strays_threads(), self._strays.end)

    def _unwatch(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._poll is not None:
            self._poll.cancel()


@cache
def _strays_threads() -> ThreadPoolExecutor:
    """Return the threads that end strays: there is a file to read for each process of the machine."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(ENDING_AT_ONCE, "signet-strays")


def _explained(error: OSError | ValueError, command: Sequence[str], cwd: str | None) -> OSError:
    from shutil import which

    name = command[0] if command else ""
    if cwd is not None and not os.path.isdir(cwd):
        return NotADirectoryError(f"there is no folder {cwd!r} to run {name!r} in")
    # A folder of PATH that may not be searched makes the system speak of permission where nothing was found.
    is_found = os.path.exists(name) or which(name, os.F_OK) is not None
    if isinstance(error, FileNotFoundError) or (isinstance(error, PermissionError) and not is_found):
        hint = "no such command" if not os.path.exists(name) else "it names an interpreter that does not exist:"
        return FileNotFoundError(f"{hint} {name!r}")
    if isinstance(error, PermissionError):
        return PermissionError(f"{name!r} is not an executable file")
    return OSError(f"{name!r} cannot be started: {getattr(error, 'strerror', None) or error}")
