"""The children of an engine, a few kept for the next diagram.

Pool.use(work) ── an idle Child, or a new one ── work(child) ── kept, or killed if anything went wrong
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from signet.system.child import Child, ChildEndedError, Hold

__all__ = ["PREFIX", "Pool"]

T = TypeVar("T")

PREFIX: Final = "signet-engine-"
STALE_S: Final = 86_400
"""The age from which a folder is that of a Signet which was killed; one in use is touched whenever a child starts."""


class Pool:
    """The children of one engine: as many as are used at once, and idle ones for a while."""

    def __init__(self, start: Callable[[str], Child], idle_s: float) -> None:
        """Keep children that a function starts in an empty folder."""
        self._start = start
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._idle: list[tuple[Child, threading.Timer]] = []
        self._busy: set[Child] = set()
        self._folder: str | None = None
        self._closed = False

    def use(self, work: Callable[[Child], T], hold: Hold | None = None) -> T:
        """Return what work with a child returns; a child is killed if the work raises anything, or by its hold."""
        hold = hold or Hold()
        child = self._take()
        child.uses += 1
        try:
            hold.put(child)
            result = work(child)
        except BaseException:
            hold.put(None)
            self._drop(child)
            raise
        hold.put(None)
        self._give_back(child)
        return result

    def close(self) -> None:
        """Kill every child, also those in use."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
            folder, self._folder = self._folder, None
        for child, timer in idle:
            timer.cancel()
            child.discard()
        for child in busy:
            # Whoever uses it sees its end, and discards it.
            child.kill()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _take(self) -> Child:
        with self._lock:
            if self._closed:
                raise ChildEndedError
            while self._idle:
                child, timer = self._idle.pop()
                timer.cancel()
                if child.alive:
                    self._busy.add(child)
                    return child
                child.discard()
            if self._folder is None or not os.path.isdir(self._folder):
                _remove_stale()
                self._folder = tempfile.mkdtemp(prefix=PREFIX)
            with contextlib.suppress(OSError):
                os.utime(self._folder)
            child = self._start(self._folder)
            self._busy.add(child)
            return child

    def _give_back(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
            if not self._closed and child.alive:
                timer = threading.Timer(self._idle_s, self._end_idle, (child,))
                timer.daemon = True
                timer.start()
                self._idle.append((child, timer))
                return
        child.discard()

    def _drop(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
        child.discard()

    def _end_idle(self, child: Child) -> None:
        with self._lock:
            kept = [pair for pair in self._idle if pair[0] is not child]
            if len(kept) == len(self._idle):
                return
            self._idle = kept
        child.discard()


def _remove_stale() -> None:
    """Remove the folders of this user that a killed Signet has left."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if not entry.name.startswith(PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == os.getuid() and time.time() - status.st_mtime > STALE_S:
                shutil.rmtree(entry.path, ignore_errors=True)
