"""A process group: a command started as the leader of a group of its own, and ended with all that it started.

What leaves the group is ended as well (`upstream/strays`).

A guard outlives us when we are killed: a shell that reads a pipe of which nobody else has the other end. The pipe ends
when we do, however we end, and then the guard ends the group. The system's own way (PR_SET_PDEATHSIG) reaches only the
leader, while `npx` and `uvx` run the server as a grandchild; it belongs to Linux and to the thread that forked; and it
must be set between fork and exec, in Python code that is not safe in a process with threads. A guard costs 1 ms and
200 KiB. Without a shell there is no guard, and a server has the end of its standard input as its sign.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import IO, TYPE_CHECKING, Final, cast

from signet.upstream.strays import MARK, Strays, new_mark

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["ProcessGroup"]

GUARD: Final = """
strays() {
  for found in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
    found=${found#/proc/}
    kill -s "$2" "${found%/environ}"
  done
}
read -r _ || {
  kill -s TERM -- "-$1"
  is_gone=$?
  strays "$2" TERM
  sleep 1
  [ "$is_gone" = 0 ] && kill -s KILL -- "-$1"
  strays "$2" KILL
} 2>/dev/null
"""
SHELL: Final = "/bin/sh"
POLL_S: Final = 0.02
"""How often to look for the end of processes of which the system tells nothing."""
GUARD_POLL_S: Final = 0.001
ENDING_AT_ONCE: Final = 8


class ProcessGroup:
    """A running command and the processes of its group, with three pipes."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], cwd: str | None) -> None:
        """Start the command.

        Raises:
            OSError: it cannot be started; the text is a sentence.
        """
        if not command:
            raise FileNotFoundError("no command is given")
        pipe = subprocess.PIPE
        mark = new_mark()
        try:
            self._leader = subprocess.Popen(  # noqa: S603 - the user's own command
                [*command],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                env={**environ, MARK: mark},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise _explained(error, command, cwd) from error
        self.pid = self._leader.pid
        self.streams = tuple(
            cast("IO[bytes]", s) for s in (self._leader.stdin, self._leader.stdout, self._leader.stderr)
        )
        self._strays = Strays(mark, self.pid)
        self._guard = _guard_of(self.pid, mark)
        self._pidfd = _pidfd_of(self.pid)
        self._exited = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._poll: asyncio.TimerHandle | None = None
        self._is_gone = False

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call `on_exit` once, when the leader has ended and is not reaped yet."""

        def end() -> None:
            self._unwatch()
            self._exited.set()
            on_exit()

        def look() -> None:
            if _has_ended(self.pid):
                end()
            else:
                self._poll = self._loop.call_later(POLL_S, look)

        if self._pidfd is None:
            look()
        else:
            self._loop.add_reader(self._pidfd, end)

    def reap(self) -> int:
        """Return the exit status of the leader, which has ended; negative for a signal."""
        return self._leader.wait()

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the group, as far as there are any."""
        # The number of a group that is gone may be given to another.
        if not self._is_gone:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def wait_for_leader(self, timeout_s: float) -> bool:
        """Return True as soon as the leader has ended, or False after a time."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), timeout_s)
        return self._exited.is_set()

    async def wait_for_all(self, timeout_s: float) -> bool:
        """Return True as soon as the whole group has ended and its leader is reaped, or False after a time."""
        over_s = self._loop.time() + timeout_s
        if not await self.wait_for_leader(timeout_s):
            return False
        # A leader that is not reaped counts as a member.
        self.reap()
        while self._has_members():
            if self._loop.time() > over_s:
                return False
            await asyncio.sleep(POLL_S)
        self._is_gone = True
        return True

    def note_descendants(self) -> None:
        """Note what the leader has started, before it ends."""
        self._strays.note_descendants(self.pid)

    async def end_strays(self) -> None:
        """End the processes that have left the group, as far as there are any."""
        await self._loop.run_in_executor(_looking(), self._strays.end)

    async def dismiss_guard(self) -> None:
        """End the guard of a group that has ended."""
        if self._guard is not None:
            self._guard.kill()
            while self._guard.poll() is None:  # noqa: ASYNC110 - there is no event, and it has been killed
                await asyncio.sleep(GUARD_POLL_S)

    def discard(self) -> None:
        """Kill what is left of the group, reap its leader and its guard, and close all descriptors."""
        self._unwatch()
        self.signal(signal.SIGKILL)
        # What was killed ends at once, unless the system holds it in a call; the next process that is started reaps it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._leader.wait(1)
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            cast("IO[bytes]", self._guard.stdin).close()
            self._guard = None
        for stream in self.streams:
            stream.close()

    def _has_members(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            # Processes that have become somebody else's may not be signalled, and are no longer ours.
            return False
        return True

    def _unwatch(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._poll is not None:
            self._poll.cancel()


@cache
def _looking() -> ThreadPoolExecutor:
    """Return the threads that end strays: there is a file to read for each process of the machine."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(ENDING_AT_ONCE, "signet-strays")


def _guard_of(pid: int, mark: str) -> subprocess.Popen[bytes] | None:
    null = subprocess.DEVNULL
    words = [SHELL, "-c", GUARD, "signet-guard", str(pid), f"{MARK}={mark}"]
    try:
        return subprocess.Popen(  # noqa: S603 - our own script
            words,
            stdin=subprocess.PIPE,
            stdout=null,
            stderr=null,
            bufsize=0,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None


def _pidfd_of(pid: int) -> int | None:
    """Return a descriptor that can be read when a process has ended; None on a system without such."""
    open_pidfd = getattr(os, "pidfd_open", None)
    with contextlib.suppress(OSError):
        return cast("int", open_pidfd(pid)) if open_pidfd else None
    return None


def _has_ended(pid: int) -> bool:
    """Return True if a child has ended, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


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
