"""The verdicts of a run in a file: a run that was ended goes on where it was."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from .running import Verdict, digest_of

__all__ = ["Progress", "known_verdicts"]


class Progress:
    """Writes each verdict down and tells it."""

    def __init__(self, file: Path, total: int) -> None:
        self._file = file
        self._total = total
        self._done = 0
        self._started_s = time.monotonic()

    def __call__(self, verdict: Verdict) -> None:
        """Write a verdict down and tell it."""
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(verdict) + b"\n")
        self._done += 1
        took_s = time.monotonic() - self._started_s
        left = took_s / self._done * (self._total - self._done) / 60
        told = verdict.kind or "SURVIVED"
        print(f"{self._done}/{self._total} {left:.0f} min left · {told} · {verdict.key}", file=sys.stderr, flush=True)


def known_verdicts(file: Path) -> dict[str, Verdict]:
    """Return the last verdict on each mutant whose source is as it was."""
    if not file.exists():
        return {}
    lines = file.read_bytes().splitlines()
    verdicts = [msgspec.json.decode(line, type=Verdict) for line in lines]
    return {one.key: one for one in verdicts if one.source == digest_of(one.key.partition(" · ")[0])}
