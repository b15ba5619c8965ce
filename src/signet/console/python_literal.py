"""JSON values as Python writes them, over several lines where one would be too long. Pure.

The work is the size of the value times its depth; callers bound both with `depth_within`.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["depth_within", "python_literal"]

WIDTH: Final = 100
STEP: Final = "    "


def depth_within(value: Any, limit: int) -> bool:
    """Return whether objects and lists stand within each other at most `limit` times."""
    level = [value]
    for _ in range(limit + 1):
        level = [inner for outer in level for inner in _inner(outer)]
        if not level:
            return True
    return False


def _inner(value: Any) -> list[Any]:
    """Return the members of an object or a list; one that is empty has itself as a level, too."""
    if isinstance(value, dict):
        return list(value.values()) or [None]
    return (value or [None]) if isinstance(value, list) else []


def python_literal(value: Any, indent: str = "") -> str:
    """Return a JSON value as a Python expression, whose further lines begin with `indent`."""
    whole = repr(value)
    if len(indent) + len(whole) <= WIDTH or not value:
        return whole
    inner = indent + STEP
    if isinstance(value, dict):
        lines = [f"{inner}{key!r}: {python_literal(one, inner)},\n" for key, one in value.items()]
        return f"{{\n{''.join(lines)}{indent}}}"
    if isinstance(value, list):
        lines = [f"{inner}{python_literal(one, inner)},\n" for one in value]
        return f"[\n{''.join(lines)}{indent}]"
    if isinstance(value, str) and "\n" in value:
        lines = [f"{inner}{line!r}\n" for line in value.splitlines(keepends=True)]
        return f"(\n{''.join(lines)}{indent})"
    return whole
