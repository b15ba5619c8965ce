"""The file of a module, found without importing anything, and whether only the working folder has it."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import NamedTuple

__all__ = ["ModuleFile", "find_module"]


class ModuleFile(NamedTuple):
    """A module that can be imported."""

    path: str
    """Its file, or the folder of a package without one; empty for a module that has neither."""
    is_here: bool
    """Whether it is found in the working folder alone, so that a program that starts elsewhere does not find it."""


def find_module(name: str) -> ModuleFile | None:
    """Return a module by its dotted name, or None; installed modules come before those of the working folder."""
    first, *parts = name.split(".")
    spec = _find_installed(first)
    is_here = spec is None
    if is_here:
        spec = PathFinder.find_spec(first, [os.getcwd()])
    for part in parts:
        # By the part alone: under its whole name, its parents would be imported.
        spec = PathFinder.find_spec(part, list(spec.submodule_search_locations or [])) if spec is not None else None
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or [])
    path = spec.origin if spec.has_location and spec.origin else next(iter(folders), "")
    return ModuleFile(os.path.abspath(path) if path else "", is_here)


def _find_installed(name: str) -> ModuleSpec | None:
    """Return a module that is found from any folder; `python -m` has put the working folder in the first place."""
    from importlib.util import find_spec

    before = list(sys.path)
    if sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]
    try:
        with contextlib.suppress(ImportError, ValueError):
            return find_spec(name)
        return None
    finally:
        sys.path[:] = before
