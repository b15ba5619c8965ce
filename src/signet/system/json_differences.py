"""Two JSON values compared place by place. Pure.

A path is written for a difference alone, and is cut: a long name above many members would be written as often as there
are members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from .text import cut

__all__ = ["ABSENT", "JsonDifference", "json_differences"]

ABSENT: Final = object()
"""Stands for the value where there is none."""
MAX_NAME_CHARS: Final = 200
"""The longest name in a path."""
MAX_PATH_CHARS: Final = 2000
"""The length of a path after which its further names are left out."""


class JsonPlace(NamedTuple):
    """A place in a value: the place that it is in, and its name there."""

    above: JsonPlace | None
    name: str | int


class JsonDifference(NamedTuple):
    """A place at which two values differ, and both values; `ABSENT` where there is none."""

    place: JsonPlace | None
    before: Any
    after: Any

    @property
    def names(self) -> list[str | int]:
        """The names that lead to the place; none for the whole value."""
        names: list[str | int] = []
        place = self.place
        while place is not None:
            names.append(place.name)
            place = place.above
        return names[::-1]

    def dotted(self) -> str:
        """Return the path with a dot between its names."""
        return _path(iter(self.names), ".")

    def pointer(self) -> str:
        """Return the path as a JSON Pointer."""
        # Cut before it is escaped, too: a name may be long.
        escaped = (str(name)[: MAX_NAME_CHARS + 1].replace("~", "~0").replace("/", "~1") for name in self.names)
        return _path(chain(("",), escaped), "/") if self.place is not None else ""


def json_differences(
    before: Any,
    after: Any,
    text_of: Callable[[Any], object],
    *,
    in_lists: bool = True,
    in_order: bool = False,
    depth: int | None = None,
) -> Iterator[JsonDifference]:
    """Yield the deepest places at which two values differ, in their order.

    Args:
        before: the one value.
        after: the other value.
        text_of: returns equal texts for equal values; in Python True equals 1, which it does not in JSON.
        in_lists: whether lists are compared item by item.
        in_order: whether two objects differ that have the same members in another order.
        depth: how deep places are looked for; None for as deep as there are any.
    """
    found = 0
    waiting: list[tuple[JsonPlace | None, Any, Any, int, int | None]] = [(None, before, after, 0, None)]
    while waiting:
        place, one, other, level, found_before = waiting.pop()
        if found_before is not None:
            # All that is inside of two objects was compared.
            differs = found == found_before and list(one) != list(other)
        else:
            inside = None if level == depth else _inside(place, one, other, in_lists=in_lists)
            if inside is not None:
                if in_order and isinstance(one, dict):
                    waiting.append((place, one, other, level, found))
                waiting += [(below, left, right, level + 1, None) for below, left, right in reversed(inside)]
                continue
            differs = one is ABSENT or other is ABSENT or bool(one != other) or text_of(one) != text_of(other)
        if differs:
            found += 1
            yield JsonDifference(place, one, other)


def _inside(
    place: JsonPlace | None, one: Any, other: Any, *, in_lists: bool
) -> list[tuple[JsonPlace | None, Any, Any]] | None:
    """Return the places in two objects or two lists; None for anything else."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = dict.fromkeys((*one, *other))
        return [(JsonPlace(place, name), one.get(name, ABSENT), other.get(name, ABSENT)) for name in names]
    if in_lists and isinstance(one, list) and isinstance(other, list):
        longer = range(max(len(one), len(other)))
        return [(JsonPlace(place, at), _item(one, at), _item(other, at)) for at in longer]
    return None


def _item(items: list[Any], at: int) -> Any:
    return items[at] if at < len(items) else ABSENT


def _path(names: Iterator[str | int], separator: str) -> str:
    """Return names with a separator between them; long names are cut, and so are many."""
    parts: list[str] = []
    size = 0
    for name in names:
        parts.append(cut(str(name), MAX_NAME_CHARS))
        size += len(parts[-1])
        if size > MAX_PATH_CHARS:
            parts.append("…")
            break
    return separator.join(parts)
