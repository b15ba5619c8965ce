"""Smaller inputs with the same failure: parts are left out, in halves, quarters and so on, while it fails alike."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["minimised"]

MAX_TRIALS = 400


def minimised(data: bytes, fails_alike: Callable[[bytes], bool]) -> bytes:
    """Return a smaller input for which `fails_alike` is true too."""
    trials = 0
    size = len(data) // 2
    while size:
        place = 0
        while place < len(data) and trials < MAX_TRIALS:
            shorter = data[:place] + data[place + size :]
            trials += 1
            if fails_alike(shorter):
                data = shorter
            else:
                place += size
        size //= 2
    return data
