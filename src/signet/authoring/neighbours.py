"""Neighbours: the files beside a target that it imports by their names, which the folder of another target may take."""

from __future__ import annotations

import os
import sys
from typing import Final

from signet.settings.usage import UsageError

__all__ = ["check_neighbours"]

_folders: Final[dict[str, str]] = {}
"""The folders that targets were imported from, each with one of its targets."""


def check_neighbours(path: str, folder: str, shown: str) -> None:
    """Raise UsageError if a file would import a module of another target's folder in place of its neighbour."""
    folder = os.path.realpath(folder)
    others = [other for other in _folders if other != folder]
    _folders.setdefault(folder, shown)
    if not others:
        return
    for name in _neighbours(path, folder):
        for other in others:
            if _place(other, name) is not None:
                raise UsageError(
                    f"{shown} would get the {name} of {_folders[other]}, not its own: "
                    f"rename one of the two, or serve the targets apart"
                )


def _neighbours(path: str, folder: str) -> list[str]:
    """Return the modules of a folder that a file imports, itself or through another one of them."""
    found: list[str] = []
    files = [path]
    for file in files:
        for name in _imports(file):
            place = _place(folder, name)
            if place is not None and name not in found and name not in sys.stdlib_module_names:
                found.append(name)
                files.append(place)
    return found


def _imports(path: str) -> list[str]:
    """Return the first words of the modules that a file names in its imports; none if it cannot be read."""
    import ast

    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        # The import tells what is wrong.
        return []
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    return [name.partition(".")[0] for name in names]


def _place(folder: str, name: str) -> str | None:
    """Return the file of a module or package in a folder, or None."""
    places = (os.path.join(folder, f"{name}.py"), os.path.join(folder, name, "__init__.py"))
    return next((place for place in places if os.path.isfile(place)), None)
