"""Versions: which tagged contract set is the newest, and what a version number allows to break. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["may_break", "newest"]


def may_break(before: str, after: str) -> bool:
    """Tell whether contracts may break between two versions: with a new major one, before 1.0 with a new minor one."""
    old, new = _numbers(before), _numbers(after)
    return new[:2] > old[:2] if old[0] == 0 else new[0] > old[0]


def newest(versions: Iterable[str]) -> str:
    """Give the highest version.

    Raises:
        ValueError: there is none, or one that is no version.
    """
    return max(versions, key=_numbers)


def _numbers(version: str) -> tuple[int, int, int]:
    """Read `major.minor.patch`; what follows (`rc1`, `.dev0`) says nothing here."""
    read = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if read is None:
        message = f"{version!r} is no version"
        raise ValueError(message)
    major, minor, patch = read.groups("0")
    return int(major), int(minor), int(patch)
