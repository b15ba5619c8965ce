"""Two JSON values, compared place by place. Pure."""

from __future__ import annotations

from typing import Any, Final

from signet.kernel.wire import encode

from .twin import Shown

__all__ = ["Difference", "differences"]

MAX_DIFFERENCES: Final = 100
MAX_CHARS: Final = 500
"""The longest text of a value."""
ABSENT: Final = object()


class Difference(Shown, frozen=True):
    """A place at which two values differ."""

    path: str
    """The place, as a JSON Pointer; empty for the whole value."""
    then: str | None
    """The value as JSON, cut if it is long; null where there was none."""
    now: str | None


def differences(then: Any, now: Any) -> tuple[list[Difference], int]:
    """Return the first places at which two values differ, in their order, and the number of further ones."""
    found: list[Difference] = []
    more = 0
    waiting = [("", then, now)]
    while waiting:
        path, before, after = waiting.pop()
        inside = _inside(path, before, after)
        if inside is not None:
            waiting += reversed(inside)
        elif before is ABSENT or after is ABSENT or encode(before) != encode(after):
            if len(found) < MAX_DIFFERENCES:
                found.append(Difference(path, _text(before), _text(after)))
            else:
                more += 1
    return found, more


def _inside(path: str, then: Any, now: Any) -> list[tuple[str, Any, Any]] | None:
    """Return the places in two objects or two arrays; None for anything else."""
    if isinstance(then, dict) and isinstance(now, dict):
        names = dict.fromkeys((*then, *now))
        return [(f"{path}/{_escaped(name)}", then.get(name, ABSENT), now.get(name, ABSENT)) for name in names]
    if isinstance(then, list) and isinstance(now, list):
        longer = range(max(len(then), len(now)))
        return [(f"{path}/{at}", _item(then, at), _item(now, at)) for at in longer]
    return None


def _item(items: list[Any], at: int) -> Any:
    return items[at] if at < len(items) else ABSENT


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _text(value: Any) -> str | None:
    if value is ABSENT:
        return None
    text = encode(value).decode()
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…"
