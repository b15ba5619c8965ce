"""A server process: started, spoken to over its pipes and always ended, with every wait bounded."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import IO, Final, TypeVar, cast

from .strays import MARK, Strays, new_mark

__all__ = ["LISTENING", "ServerProcess", "within"]

T = TypeVar("T")

LISTENING: Final = re.compile(r"listening on (http://\S+)")
"""The line on standard error in which a Signet server announces its address."""
GRACE_S: Final = 5.0
"""How long a process may take to end after its input was closed, and again after SIGTERM."""
SETTLE_S: Final = 5.0
"""How long to wait for the pipes of a process that has ended; a child of it may still hold them open."""
KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)
STDERR_LINES: Final = 20
STDERR_LINE_BYTES: Final = 8192
LAST_WORDS_CHARS: Final = 200


def within(timeout_s: float, work: Callable[[], T], message: str) -> T:
    """Return the result of blocking work, or raise TimeoutError with this message.

    The work runs in a thread of its own, because a pipe and a name lookup take no deadline. A thread that misses the
    deadline is left behind: it is a daemon, and it ends when its pipe or socket does.
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


class ServerProcess:
    """A running server with pipes on its standard input, output and error."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        stderr: IO[bytes] | None = None,
        own_group: bool = False,
    ) -> None:
        """Start the command; a file given as `stderr` takes its messages instead of this object.

        With `own_group` it leads a process group, which ends with it: launchers start the server as their child. What
        leaves the group ends with it too.
        """
        pipe = subprocess.PIPE
        mark = new_mark() if own_group else ""
        if own_group:
            environ = {**(os.environ if environ is None else environ), MARK: mark}
        self._leads = own_group and hasattr(os, "killpg")
        self.process = subprocess.Popen(  # noqa: S603 - the caller's own command
            list(command),
            stdin=pipe,
            stdout=pipe,
            stderr=stderr or pipe,
            env=environ,
            cwd=cwd,
            start_new_session=own_group,
        )
        self._strays = Strays(mark, self.process.pid) if own_group else None
        self._stdin = cast("IO[bytes]", self.process.stdin)
        self._stdout = cast("IO[bytes]", self.process.stdout)
        # Held during a write or a read, so that no stream is closed while another thread is blocked in it.
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._stderr_lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._url: Future[str] = Future()
        self._stderr_reader = threading.Thread(target=self._read_stderr, args=(self.process.stderr,), daemon=True)
        self._stderr_reader.start()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    def url(self, timeout_s: float) -> str:
        """Return the address that the server announces.

        Raises:
            TimeoutError: the server announces no address in time.
            EOFError: the server ended before it announced one.
        """
        return self._url.result(timeout_s)

    def send(self, line: bytes) -> None:
        """Write one line; raise OSError if the server no longer reads."""
        try:
            with self._writing:
                self._stdin.write(line + b"\n")
                self._stdin.flush()
        except BrokenPipeError:
            self._stderr_reader.join(SETTLE_S)
            raise

    def read_line(self, max_bytes: int) -> bytes:
        """Read one line, or the first `max_bytes` of it; raise EOFError if the server closed its output."""
        with self._reading:
            line = self._stdout.readline(max_bytes)
        if not line:
            self._stderr_reader.join(SETTLE_S)
            raise EOFError("it ended without an answer")
        return line

    def last_words(self) -> str:
        """Return the last line that the server wrote to standard error, or an empty string."""
        texts = (text.strip() for text in reversed(self._stderr_lines))
        return next(filter(None, texts), "")[:LAST_WORDS_CHARS]

    def end(self, *, by_signal: bool = False) -> None:
        """Ask the server to end: close its input, and send SIGTERM if it does not heed that."""
        if self._writing.acquire(blocking=False):
            with contextlib.suppress(OSError):
                self._stdin.close()
            self._writing.release()
        else:
            by_signal = True
        if by_signal:
            self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        """Send a signal to the process, or to the group that it leads, also when it has ended itself."""
        if self._leads:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def close(self, grace_s: float = GRACE_S) -> None:
        """Return once the server has ended: close its input, then send SIGTERM, then SIGKILL."""
        if self._strays is not None:
            self._strays.note_descendants(self.process.pid)
        self.end()
        try:
            for wait_s, number in ((grace_s, signal.SIGTERM), (GRACE_S, KILL)):
                try:
                    self.process.wait(wait_s)
                    break
                except subprocess.TimeoutExpired:
                    self._signal(number)
        finally:
            # A second Ctrl-C may interrupt the waiting, and a process may have left others of its group behind.
            self._signal(KILL)
            self.process.wait()
        if self._strays is not None:
            self._strays.end()
        self._close_streams()

    def _close_streams(self) -> None:
        for lock, stream in ((self._writing, self._stdin), (self._reading, self._stdout)):
            if lock.acquire(timeout=SETTLE_S):
                with contextlib.suppress(OSError):
                    stream.close()
                lock.release()
        self._stderr_reader.join(SETTLE_S)
        if self.process.stderr is not None and not self._stderr_reader.is_alive():
            self.process.stderr.close()

    def _read_stderr(self, stream: IO[bytes] | None) -> None:
        """Read standard error to its end, so that the server never blocks on it, and keep the last lines."""
        while stream is not None and (line := stream.readline(STDERR_LINE_BYTES)):
            text = line.decode(errors="replace")
            self._stderr_lines.extend(text.splitlines())
            if (match := LISTENING.search(text)) and not self._url.done():
                self._url.set_result(match[1])
        if not self._url.done():
            self._url.set_exception(EOFError("it ended before it said where it listens"))
