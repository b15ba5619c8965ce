"""Validation modes: what becomes of a value that breaks its contract."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["RULES", "Mode"]


class Mode(StrEnum):
    """What the pipeline does with a value that breaks its contract."""

    ENFORCE = "enforce"
    """Refuse the value."""
    SHADOW = "shadow"
    """Note the violation in `shadow_violation` and continue the call."""
    OFF = "off"
    """Check nothing."""


RULES: Final = {
    Mode.ENFORCE.value: (True, True),
    Mode.SHADOW.value: (True, False),
    Mode.OFF.value: (False, False),
    "relax": (False, False),
}
"""Whether a contract is checked and whether it is enforced, in each mode; `relax` is for wrapped servers' outputs."""
