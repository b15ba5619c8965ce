"""The group of a foreign command, and what leaves it: both are ended when the command ends, or when Signet does.

A guard outlives us when we are killed: a shell that reads a pipe of which nobody else has the other end. The pipe ends
when we do, however we end, and then the guard ends the group. The system's own way (PR_SET_PDEATHSIG) reaches only the
leader, while `npx` and `uvx` run the server as a grandchild; it belongs to Linux and to the thread that forked; and it
must be set between fork and exec, in Python code that is not safe in a process with threads. A guard costs 1 ms and
200 KiB. Without a shell there is no guard, and a server has the end of its standard input as its sign.

Strays are processes that a foreign command started and that have left its group. A command gets a variable with a
random mark, which all that it starts inherit, whatever its group, session or parent. On Linux the environment of a
process can be read, so that every process with the mark is found. Beside them are the descendants of the command that
are known before it ends: they are found by their parents, also without the mark. A process that has cleared its
environment and whose parents have ended before is not found: containers end it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["GUARD", "MARK", "SHELL", "Strays", "new_mark"]

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
MARK: Final = "CHILD_OF_SIGNET"
"""The variable of each foreign child, with a value of its own."""
GRACE_S: Final = 1.0
"""How long strays may take to end after SIGTERM, and again after SIGKILL."""
POLL_S: Final = 0.05
PROC: Final = "/proc"
STATE: Final = 0
STARTED: Final = 19
"""The places of the state and of the time of the start in what the system says of a process, behind its name."""
MAX_DEPTH: Final = 64


class _Found(NamedTuple):
    """A process, told from later ones with its number by the time of its start."""

    pid: int
    started: bytes


def new_mark() -> str:
    """Return a mark for a child."""
    return os.urandom(16).hex()


class Strays:
    """What one child has started. For one thread at a time."""

    def __init__(self, mark: str, group: int) -> None:
        """Look for what has a mark, or was known to descend from the child, and is not in its group."""
        self._mark = f"{MARK}={mark}".encode()
        self._group = group
        self._known: set[_Found] = set()
        self._signalled: set[tuple[_Found, int]] = set()
        """The signals that were sent, each once."""

    def note_descendants(self, pid: int) -> None:
        """Note the descendants of the child while it lives: later they have other parents."""
        level = [pid]
        for _ in range(MAX_DEPTH):
            level = [child for parent in level for child in _children_of(parent)]
            if not level:
                return
            self._known.update(found for found in map(_identified, level) if found is not None)

    def signal(self, number: int) -> int:
        """Send a signal to all that are left and did not get it yet; return how many are left."""
        left = self._left()
        for process in left:
            if (process, number) not in self._signalled:
                self._signalled.add((process, number))
                _send(process, number)
        return len(left)

    def end(self) -> None:
        """Return when all have ended: by SIGTERM, and those that do not heed it by SIGKILL; each has a short time."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            over_s = time.monotonic() + GRACE_S
            while self.signal(number):
                if time.monotonic() > over_s:
                    break
                time.sleep(POLL_S)
            else:
                return

    def _left(self) -> list[_Found]:
        own = os.getpid()
        self._known = {one for one in self._known if _identified(one.pid) == one}
        marked = (_identified(pid) for pid in _pids() if pid != own and _has(pid, self._mark))
        every = self._known.union(found for found in marked if found is not None)
        return [one for one in every if _group_of(one.pid) not in {self._group, None}]


def _pids() -> Iterable[int]:
    try:
        return [int(name) for name in os.listdir(PROC) if name.isdecimal()]
    except OSError:
        return []


def _read(path: str) -> bytes:
    """Return what a file of the system has; nothing if the process has ended, or is another user's."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    content = bytearray()
    try:
        while chunk := os.read(file, 65_536):
            content += chunk
    except OSError:
        pass
    finally:
        os.close(file)
    return bytes(content)


def _has(pid: int, mark: bytes) -> bool:
    """Return whether a process has inherited a mark."""
    environ = _read(f"{PROC}/{pid}/environ")
    return mark in environ and mark in environ.split(b"\0")


def _children_of(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"{PROC}/{pid}/task")
    except OSError:
        return []
    return [int(one) for thread in threads for one in _read(f"{PROC}/{pid}/task/{thread}/children").split()]


def _identified(pid: int) -> _Found | None:
    """Return a process that runs; None for one that has ended."""
    fields = _read(f"{PROC}/{pid}/stat").rpartition(b")")[2].split()
    return _Found(pid, fields[STARTED]) if len(fields) > STARTED and fields[STATE] not in {b"Z", b"X"} else None


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _send(process: _Found, number: int) -> None:
    """Send a signal to a process, and to no other that has got its number."""
    with contextlib.suppress(OSError):
        file = os.pidfd_open(process.pid)
        try:
            if _identified(process.pid) == process:
                signal.pidfd_send_signal(file, number)
        finally:
            os.close(file)
