"""Numbers that JSON has: NaN and infinity are none, and an encoder would write null for them. Pure."""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

__all__ = ["is_finite"]


def is_finite(*values: Any) -> bool:
    """Return whether all numbers in some values are finite; what contains itself is left to the encoder."""
    pending, seen = list(values), set[int]()
    while pending:
        part = pending.pop()
        if isinstance(part, float):
            if not isfinite(part):
                return False
            continue
        if part is None or isinstance(part, str | bytes | int) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            pending += part
        else:
            pending += _fields(part)
    return True


def _fields(value: Any) -> list[Any]:
    """Return the values of an object's fields, also of one with slots, and what a model of pydantic has beside them."""
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    kind = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return [getattr(value, name, None) for name in kind.__dataclass_fields__]
    if hasattr(kind, "__attrs_attrs__"):
        return [getattr(value, field.name, None) for field in kind.__attrs_attrs__]
    fields = list(vars(value).values()) if hasattr(value, "__dict__") else []
    return [*fields, getattr(value, "__pydantic_extra__", None)]
