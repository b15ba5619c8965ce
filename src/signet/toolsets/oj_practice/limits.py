"""The limits of a problem, where its statement states them."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

__all__ = ["RunLimits", "limits_of"]

_SPACE: Final = r"[\s*_:：|`]{0,12}"
_RANGE: Final = r"(?!\s*(?:[-~～]|to\b)\s*\d)"
_TIME: Final = re.compile(
    rf"(?:time\s+limit(?:\s+per\s+test)?|时间限制|実行時間制限){_SPACE}"
    rf"(\d{{1,6}}(?:\.\d{{1,6}})?)\s*(ms|milliseconds?|s|secs?|seconds?|秒|毫秒){_RANGE}",
    re.IGNORECASE,
)
_MEMORY: Final = re.compile(
    rf"(?:memory\s+limit(?:\s+per\s+test)?|内存限制|空间限制|メモリ制限){_SPACE}"
    rf"(\d{{1,6}}(?:\.\d{{1,6}})?)\s*(kib|kb|mib|mb|megabytes?|gib|gb|gigabytes?){_RANGE}",
    re.IGNORECASE,
)
MAX_HEAD_CHARS: Final = 20_000
"""The part of a statement in which limits are looked for: they stand at its beginning."""

_MILLISECONDS: Final = {"m": 1, "毫": 1}
_MEGABYTES: Final = {"k": 1 / 1024, "m": 1, "g": 1024}


class RunLimits(Struct, frozen=True):
    """The limits of one test; None where the statement states none, or a range."""

    time_ms: int | None = None
    memory_mb: int | None = None


def limits_of(content: str) -> RunLimits:
    """Return the limits that a statement states."""
    head = re.sub(r"<[^<>]{0,200}>", " ", content[:MAX_HEAD_CHARS])
    time, memory = _TIME.search(head), _MEMORY.search(head)
    return RunLimits(
        time_ms=round(float(time[1]) * _MILLISECONDS.get(time[2][0].lower(), 1000)) if time else None,
        memory_mb=round(float(memory[1]) * _MEGABYTES[memory[2][0].lower()]) if memory else None,
    )
