"""Two JSON values, compared place by place. Pure."""

from __future__ import annotations

from typing import Any, Final

from signet.kernel.wire import encode
from signet.system.json_differences import ABSENT, json_differences
from signet.system.text import cut

from .twin import Shown

__all__ = ["ComparedValue", "differences"]

MAX_DIFFERENCES: Final = 100
MAX_CHARS: Final = 500
"""The longest text of a value."""


class ComparedValue(Shown, frozen=True):
    """A place at which two values differ."""

    path: str
    """The place, as a JSON Pointer, its long names cut; empty for the whole value."""
    then: str | None
    """The value as JSON, cut if it is long; null where there was none."""
    now: str | None


def differences(then: Any, now: Any) -> tuple[list[ComparedValue], int]:
    """Return the first places at which two values differ, in their order, and the number of further ones."""
    found: list[ComparedValue] = []
    more = 0
    for one in json_differences(then, now, encode):
        if len(found) < MAX_DIFFERENCES:
            found.append(ComparedValue(one.pointer(), _text(one.before), _text(one.after)))
        else:
            more += 1
    return found, more


def _text(value: Any) -> str | None:
    return None if value is ABSENT else cut(encode(value).decode(), MAX_CHARS)
