"""Verdicts: whether an output is right, as judges compare it. Pure.

Tokens are compared, so white space does not count; a number with a fraction may differ by the tolerance, absolutely or
relatively.
"""

from __future__ import annotations

import math
from difflib import unified_diff
from typing import Final

__all__ = ["TOLERANCE", "difference", "is_right"]

TOLERANCE: Final = 1e-6
"""The error of a fraction that most judges accept."""

MAX_DIFF_LINES: Final = 20
MAX_LINE_CHARS: Final = 200


def is_right(expected: str, output: str, tolerance: float = TOLERANCE) -> bool:
    """Return whether an output has the expected tokens."""
    wanted, got = expected.split(), output.split()
    return len(wanted) == len(got) and all(_agree(one, two, tolerance) for one, two in zip(wanted, got, strict=True))


def _agree(wanted: str, got: str, tolerance: float) -> bool:
    if wanted == got:
        return True
    if "." not in wanted and "e" not in wanted.lower():
        # An integer is exact.
        return False
    try:
        one, two = float(wanted), float(got)
    except ValueError:
        return False
    return math.isfinite(two) and math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance)


def difference(expected: str, output: str) -> list[str]:
    """Return a unified diff from the expected to the printed output, cut to what is readable."""
    before, after = (
        [line.rstrip()[:MAX_LINE_CHARS] for line in text.strip("\n").split("\n")[: MAX_DIFF_LINES * 10]]
        for text in (expected, output)
    )
    lines = [line.rstrip("\n") for line in unified_diff(before, after, "expected", "printed", lineterm="")]
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return lines or ["(the outputs differ in white space or beyond the lines shown)"]
