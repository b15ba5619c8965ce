"""Child processes: the one way to start, signal and end a command.

    Process ──▶ LineProcess    lines in and out, for an event loop    (`line_process`)
            └─▶ PipedProcess   bytes under deadlines, for threads     (`piped_process`)

A process can lead a group, which is ended with it. A foreign command gets a guard too, and all that it starts ends with
it, in its group or not (`process_group`). A leader is reaped after its group was signalled: until then no other group
can get its number.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Final, NamedTuple, cast

from .process_group import GUARD, MARK, SHELL, Strays, new_mark

__all__ = [
    "NULL",
    "PIPE",
    "Process",
    "ProcessLimits",
    "Stream",
    "child_environment",
    "ended_descriptor",
    "open_pidfd",
    "restart_pause_s",
    "signal_name",
]

PIPE: Final = subprocess.PIPE
NULL: Final = subprocess.DEVNULL
GRACE_S: Final = 5.0
"""How long a process may take to end after SIGTERM."""
KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)
POLL_S: Final = 0.02
"""How often to look for the end of a process where the system has no descriptor for it."""
YOUNG_S: Final = 1.0
"""The age below which a server process that ends is replaced only after a pause of the same length."""
ALLOWED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM", "SHELL", "USER", "LOGNAME")
"""The variables that every foreign child gets; no secret of ours is among them."""
WINDOWS: Final = ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA",
                  "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES")  # fmt: skip
"""Without these nothing starts on Windows, which sets the first of them always."""


Stream = int | IO[bytes] | None
"""A standard stream: a pipe, nothing, a descriptor, a file; None inherits that of this process."""


class ProcessLimits(NamedTuple):
    """The system's limits on a process; it writes no file and no core dump."""

    memory_bytes: int
    """The memory that it can write to."""
    cpu_s: int = 3600
    """Its processor time: the bound for a process that outlives a Signet that was killed."""
    files: int = 256


class Process:
    """A running command; its pipes are unbuffered."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        streams: tuple[Stream, Stream, Stream] = (PIPE, PIPE, PIPE),
        leads: bool = False,
        is_foreign: bool = False,
        limits: ProcessLimits | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start the command; without `environ` it inherits the variables.

        With `leads` it leads a process group of its own. With `is_foreign` all that it starts ends with it.

        Raises:
            OSError: it cannot be started, or not be limited.
        """
        mark = new_mark() if is_foreign else ""
        if is_foreign:
            environ = {**(os.environ if environ is None else environ), MARK: mark}
        self._leads = (leads or is_foreign) and hasattr(os, "killpg")
        self._popen = _started(command, environ, cwd, streams, pass_fds, leads=self._leads)
        self.pid: Final = self._popen.pid
        # A handler of signals may come in between.
        self._killing = threading.RLock()
        # Then nothing is signalled any more: the number may be given to another process.
        self._is_gone = False
        self._strays = Strays(mark, self.pid)
        self._is_foreign = is_foreign
        self.guard = _guard_of(self.pid, mark) if is_foreign else None
        try:
            if limits is not None:
                _limit(self.pid, limits)
        except BaseException:
            self.discard()
            raise

    @property
    def stdin(self) -> IO[bytes]:
        """The pipe to its standard input, if it has one."""
        return cast("IO[bytes]", self._popen.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe from its standard output, if it has one."""
        return cast("IO[bytes]", self._popen.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        """The pipe from its standard error, if it has one."""
        return cast("IO[bytes]", self._popen.stderr)

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None until the process is reaped."""
        return self._popen.returncode

    def has_ended(self) -> bool:
        """Return True if the process has ended; the leader of a group is left unreaped."""
        if self.status is not None:
            return True
        if not self._leads or not hasattr(os, "waitid"):
            return self._popen.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            # Another thread has just reaped it.
            return True

    def wait_for_end(self, timeout_s: float) -> bool:
        """Return True as soon as the process has ended, or False after a time; the leader of a group is not reaped."""
        over_s = time.monotonic() + timeout_s
        with ended_descriptor(self.pid) as pidfd:
            while not self.has_ended():
                left_s = over_s - time.monotonic()
                if left_s <= 0:
                    return False
                if pidfd is None:
                    time.sleep(min(left_s, POLL_S))
                else:
                    poll = select.poll()
                    poll.register(pidfd, select.POLLIN)
                    poll.poll(left_s * 1000)
        return True

    def reap(self) -> int:
        """Wait for the process itself, and return its exit status; its group can still be signalled."""
        return self._popen.wait()

    def signal(self, number: int) -> None:
        """Send a signal to the process, or to all of the group that it leads, as far as there are any."""
        with self._killing:
            self._send(number)

    def has_members(self) -> bool:
        """Return True if the group has processes left; a leader that is not reaped is one of them."""
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            # Processes that have become somebody else's may not be signalled, and are no longer ours.
            self._is_gone = True
            return False
        return True

    def kill(self, wait_s: float | None = None) -> None:
        """End the process and its group at once, and reap it; do nothing the second time.

        A process that was killed ends at once, unless the system holds it in a call. With `wait_s` that is not waited
        for: the next process that is started reaps it.
        """
        with self._killing:
            if self._is_gone and self.status is not None:
                return
            self._send(KILL)
            self._is_gone = True
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(wait_s)

    def end(self, grace_s: float) -> None:
        """Return once the process and all that has to end with it have ended; its output can still be read.

        It has `grace_s` after the end of its input, then a few seconds after SIGTERM. An exception, such as a second
        Ctrl-C, kills it at once.
        """
        try:
            self.note_descendants()
            self.close_input()
            for wait_s, number in ((grace_s, signal.SIGTERM), (GRACE_S, KILL)):
                if self.wait_for_end(wait_s):
                    break
                self.signal(number)
        finally:
            # A process may have left others of its group behind.
            self.kill()
        if self._is_foreign:
            self._strays.end()
        self._dismiss_guard()

    def note_descendants(self) -> None:
        """Note what a foreign command has started, before it ends: what leaves its group then ends with it too."""
        if self._is_foreign:
            self._strays.note_descendants(self.pid)

    def close_input(self) -> None:
        """Close the pipe to its standard input, if it has one."""
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def discard(self, wait_s: float | None = None) -> None:
        """Kill the process, its group and its guard, and close all pipes, from which nothing may be read any more."""
        self.kill(wait_s)
        self._dismiss_guard()
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _dismiss_guard(self) -> None:
        guard, self.guard = self.guard, None
        if guard is not None:
            guard.discard()

    def _send(self, number: int) -> None:
        if self._is_gone:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._leads:
                os.killpg(self.pid, number)
            else:
                self._popen.send_signal(number)


def child_environment(environ: Mapping[str, str], extra: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the variables of a foreign child: those of a short allow-list that are set, and `extra`, which wins."""
    names = (*ALLOWED, *WINDOWS) if WINDOWS[0] in environ else ALLOWED
    return {**{name: environ[name] for name in names if name in environ}, **dict(extra)}


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that can be read when a process has ended; None on a system without such."""
    opened = getattr(os, "pidfd_open", None)
    with contextlib.suppress(OSError):
        return cast("int", opened(pid)) if opened else None
    return None


@contextlib.contextmanager
def ended_descriptor(pid: int) -> Iterator[int | None]:
    """Yield a descriptor as `open_pidfd` returns it, and close it."""
    pidfd = open_pidfd(pid)
    try:
        yield pidfd
    finally:
        if pidfd is not None:
            os.close(pidfd)


def restart_pause_s(started_s: float, *, has_served: bool = True) -> float:
    """Return the pause before a server process that has ended is replaced: none if it is not young, and has served."""
    return 0.0 if has_served and time.monotonic() - started_s >= YOUNG_S else YOUNG_S


def signal_name(number: int) -> str:
    """Return the name of a signal, or `signal 40` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _started(
    command: Sequence[str],
    environ: Mapping[str, str] | None,
    cwd: str | None,
    streams: tuple[Stream, Stream, Stream],
    pass_fds: Sequence[int],
    *,
    leads: bool,
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    return subprocess.Popen(  # noqa: S603 - the caller's own command
        [*command],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,
        env=environ,
        cwd=cwd,
        start_new_session=leads,
        pass_fds=pass_fds,
    )


def _guard_of(pid: int, mark: str) -> Process | None:
    words = [SHELL, "-c", GUARD, "signet-guard", str(pid), f"{MARK}={mark}"]
    try:
        return Process(words, {"PATH": os.defpath}, cwd="/", streams=(PIPE, NULL, NULL), leads=True)
    except OSError:
        return None


def _limit(pid: int, limits: ProcessLimits) -> None:
    """Set the system's limits on a process.

    `RLIMIT_AS` cannot be used: V8 and Java reserve a terabyte of addresses and use a part in a thousand of them.
    `RLIMIT_DATA` counts what can be written, which is what a hostile diagram can use up.
    """
    import resource

    if not hasattr(resource, "prlimit"):
        return
    values = {
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_CPU: limits.cpu_s,
    }
    with contextlib.suppress(ProcessLookupError):
        for kind, limit in values.items():
            # Only root may go beyond the limit that Signet itself was started with.
            hard = resource.prlimit(pid, kind)[1]
            lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.prlimit(pid, kind, (lower, lower))
