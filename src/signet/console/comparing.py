"""Two JSON values, compared place by place. Pure."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final, NamedTuple

from signet.door_messages import MAX_NAME_CHARS, short_path
from signet.kernel.wire import encode
from signet.system.text import cut

from .twin import Shown

__all__ = ["Difference", "differences"]

MAX_DIFFERENCES: Final = 100
MAX_CHARS: Final = 500
"""The longest text of a value."""
ABSENT: Final = object()


class Trail(NamedTuple):
    """A place in a value: the place that it is in, and its name there."""

    above: Trail | None
    name: str | int


class Difference(Shown, frozen=True):
    """A place at which two values differ."""

    path: str
    """The place, as a JSON Pointer, its long names cut; empty for the whole value."""
    then: str | None
    """The value as JSON, cut if it is long; null where there was none."""
    now: str | None


def differences(then: Any, now: Any) -> tuple[list[Difference], int]:
    """Return the first places at which two values differ, in their order, and the number of further ones."""
    found: list[Difference] = []
    more = 0
    waiting: list[tuple[Trail | None, Any, Any]] = [(None, then, now)]
    while waiting:
        trail, before, after = waiting.pop()
        inside = _inside(trail, before, after)
        if inside is not None:
            waiting += reversed(inside)
        elif before is ABSENT or after is ABSENT or encode(before) != encode(after):
            if len(found) < MAX_DIFFERENCES:
                found.append(Difference(_path(trail), _text(before), _text(after)))
            else:
                more += 1
    return found, more


def _inside(trail: Trail | None, then: Any, now: Any) -> list[tuple[Trail | None, Any, Any]] | None:
    """Return the places in two objects or two arrays; None for anything else."""
    if isinstance(then, dict) and isinstance(now, dict):
        names = dict.fromkeys((*then, *now))
        return [(Trail(trail, name), then.get(name, ABSENT), now.get(name, ABSENT)) for name in names]
    if isinstance(then, list) and isinstance(now, list):
        longer = range(max(len(then), len(now)))
        return [(Trail(trail, at), _item(then, at), _item(now, at)) for at in longer]
    return None


def _item(items: list[Any], at: int) -> Any:
    return items[at] if at < len(items) else ABSENT


def _path(trail: Trail | None) -> str:
    """Return a place as a JSON Pointer; only those that are told are written out."""
    names: list[str | int] = []
    while trail is not None:
        names.append(trail.name)
        trail = trail.above
    # Cut before it is escaped, too: a name may be long.
    escaped = (str(name)[: MAX_NAME_CHARS + 1].replace("~", "~0").replace("/", "~1") for name in reversed(names))
    return short_path(chain(("",), escaped), "/") if names else ""


def _text(value: Any) -> str | None:
    if value is ABSENT:
        return None
    text = encode(value).decode()
    return cut(text, MAX_CHARS)
