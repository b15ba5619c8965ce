"""The children of an engine, a few kept for the next diagram.

Pool.use(work) ── an idle child, or a new one ── work(child) ── kept, or killed if anything went wrong
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from signet.system.piped_process import ChildEndedError, KillHandle, PipedProcess
from signet.system.shared_folder import SharedFolder

__all__ = ["PREFIX", "Pool"]

T = TypeVar("T")

PREFIX: Final = "signet-engine-"
MAX_USES: Final = 500
"""The number of diagrams after which a child is replaced, so that nothing grows for ever."""
UNOWNED_S: Final = 86_400
"""The age from which a folder without an owner, as versions up to 0.2 made them, is that of a killed process."""
CHILDREN: Final = "children"
"""The name of the empty folder in which children start."""


class Pool:
    """The children of one engine: as many as are used at once, and idle ones for a while."""

    def __init__(self, start: Callable[[str], PipedProcess], idle_s: float, max_uses: int = MAX_USES) -> None:
        """Keep children that a function starts in an empty folder, each for a number of uses."""
        self._start = start
        self._idle_s = idle_s
        self._max_uses = max_uses
        self._lock = threading.Lock()
        self._idle: list[tuple[PipedProcess, threading.Timer]] = []
        self._busy: set[PipedProcess] = set()
        self._folder: SharedFolder | None = None
        self._closed = False

    def use(self, work: Callable[[PipedProcess], T], hold: KillHandle | None = None) -> T:
        """Return what work with a child returns; a child is killed if the work raises anything, or by its hold."""
        hold = hold or KillHandle()
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
            folder.remove()

    def _take(self) -> PipedProcess:
        with self._lock:
            if self._closed:
                raise ChildEndedError
            while self._idle:
                child, timer = self._idle.pop()
                timer.cancel()
                if not child.has_ended():
                    self._busy.add(child)
                    return child
                child.discard()
            child = self._start(self._children_folder())
            self._busy.add(child)
            return child

    def _children_folder(self) -> str:
        """Return the empty folder in which children start; make it if there is none, or if it was removed."""
        if self._folder is None or not os.path.isdir(self._folder.file(CHILDREN)):
            if self._folder is not None:
                self._folder.remove()
            self._folder = SharedFolder.create(PREFIX, UNOWNED_S)
            os.mkdir(self._folder.file(CHILDREN), 0o700)
        return self._folder.file(CHILDREN)

    def _give_back(self, child: PipedProcess) -> None:
        with self._lock:
            self._busy.discard(child)
            if not self._closed and child.uses < self._max_uses and not child.has_ended():
                timer = threading.Timer(self._idle_s, self._end_idle, (child,))
                timer.daemon = True
                timer.start()
                self._idle.append((child, timer))
                return
        child.discard()

    def _drop(self, child: PipedProcess) -> None:
        with self._lock:
            self._busy.discard(child)
        child.discard()

    def _end_idle(self, child: PipedProcess) -> None:
        with self._lock:
            kept = [pair for pair in self._idle if pair[0] is not child]
            if len(kept) == len(self._idle):
                return
            self._idle = kept
        child.discard()
