"""Development mode's watch over the event loop: a tool that holds it longer than 50 ms is named."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from inspect import iscoroutine
from time import monotonic, sleep
from typing import Any, Final

import msgspec

from signet.kernel.tools import Context, Tool

from .traces import is_own_file

__all__ = ["LoopWatch"]

HELD_S: Final = 0.05
"""What one step of a tool may take: all other calls wait for it."""
STUCK_S: Final = 1.0
"""The time after which a step that has not ended is told, with the line where it is."""


class LoopWatch:
    """Measures the steps that tools make on the event loop."""

    def __init__(self, warn: Callable[..., None]) -> None:
        self._warn = warn
        """Called with facts: the tool, how long, and where it is where that can be told."""
        self._step: tuple[str, float, int] | None = None
        """The tool whose step runs now, since when, and in which thread."""
        self._lock = threading.Lock()
        self._is_sampling = False

    def watched(self, tool: Tool) -> Tool:
        """Return a tool whose steps are measured; what it does in a thread is no step."""

        def run(args: Any, context: Context) -> Any:
            value = self.measured(tool.name, tool.run, args, context)
            return _Steps(self, tool.name, value) if iscoroutine(value) else value

        return msgspec.structs.replace(tool, run=run)

    def measured(self, name: str, step: Callable[..., Any], *given: Any) -> Any:
        """Run one step, and warn if it held the loop."""
        self._sample()
        started_s = monotonic()
        self._step = (name, started_s, threading.get_ident())
        try:
            return step(*given)
        finally:
            self._step = None
            took_s = monotonic() - started_s
            if took_s > HELD_S:
                advice = "await in it, or take the async away: a plain function runs in a thread"
                self._warn(tool=name, ms=round(took_s * 1000), advice=advice)

    def _sample(self) -> None:
        """Start the thread that looks for a step that does not end, once."""
        with self._lock:
            if self._is_sampling:
                return
            self._is_sampling = True
        threading.Thread(target=self._look, name="signet-loop-watch", daemon=True).start()

    def _look(self) -> None:
        told = None
        while True:
            sleep(STUCK_S / 4)
            step = self._step
            if step is None or step == told or monotonic() - step[1] < STUCK_S:
                continue
            told = step
            self._warn(tool=step[0], ms=round((monotonic() - step[1]) * 1000), now=_place(step[2]))


class _Steps:
    """A coroutine that is driven step by step."""

    def __init__(self, watch: LoopWatch, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._watch = watch
        self._name = name
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        send, throw, watch = self._coroutine.send, self._coroutine.throw, self._watch
        step: Callable[..., Any] = send
        given: Any = None
        while True:
            try:
                awaited = watch.measured(self._name, step, given)
            except StopIteration as end:
                return end.value
            try:
                step, given = send, (yield awaited)
            except BaseException as error:  # noqa: BLE001 - a cancellation, too, is the coroutine's to hear
                step, given = throw, error


def _place(thread: int) -> str:
    """Return the innermost line of the user's code in which a thread is."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only way to see another thread
    while frame is not None and not is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "-"
