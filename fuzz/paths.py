"""Paths: which steps from line to line an input takes in the code under test; an input that takes a new one is kept."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

__all__ = ["PathWatch"]


class PathWatch:
    """Counts the steps between lines of the files of some rooms, while it is switched on."""

    def __init__(self, rooms: tuple[str, ...]) -> None:
        self._rooms = tuple(f"/signet/{room}" for room in rooms)
        self._is_watched: dict[CodeType, bool] = {}
        self._known: set[tuple[CodeType, int, int]] = set()

    @property
    def count(self) -> int:
        """The number of steps that were seen."""
        return len(self._known)

    def start(self) -> None:
        """Watch this thread."""
        sys.settrace(self._called)

    def stop(self) -> None:
        """Watch no longer."""
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        is_watched = self._is_watched.get(code)
        if is_watched is None:
            name = code.co_filename
            at = name.rfind("/signet/")
            is_watched = self._is_watched[code] = at >= 0 and name[at:].startswith(self._rooms)
        if not is_watched or event != "call":
            return None
        known, before = self._known, 0

        def stepped(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event == "line":
                known.add((code, before, frame.f_lineno))
                before = frame.f_lineno
            return stepped

        return stepped
