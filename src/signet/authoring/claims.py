"""Claims: which toolsets the Python files of a folder may declare, read from their text; none of them is run."""

from __future__ import annotations

import ast
import glob
import os
from collections.abc import Collection, Iterable

from .toolset import toolset_name

__all__ = ["unclaimed"]


def unclaimed(folder: str, names: Iterable[str], loaded: Collection[str] = ()) -> list[str]:
    """Return those names of toolsets that no file of a folder can declare, in their order.

    Only what is certain counts: a file that cannot be read, or that computes the name of a toolset, may declare any.

    Args:
        folder: the folder of the code; for a package, with all folders below it.
        names: the names in question.
        loaded: files whose toolsets are all known and not among the names, unless they write a name down.
    """
    is_package = os.path.exists(os.path.join(folder, "__init__.py"))
    pattern = os.path.join(glob.escape(folder), *(("**",) if is_package else ()), "*.py")
    left = dict.fromkeys(names)
    for path in glob.iglob(pattern, recursive=is_package):
        if not left:
            break
        written = _written_in(path)
        if written is None:
            return []
        bare = () if os.path.realpath(path) in loaded else (_name_of(path),)
        for name in (*bare, *written):
            left.pop(name, None)
    return list(left)


def _name_of(path: str) -> str:
    """Return the name of the toolset that a file's tools have without a `signet.Toolset`."""
    folder, base = os.path.split(path)
    stem = os.path.basename(folder) if base == "__init__.py" else os.path.splitext(base)[0]
    return toolset_name(stem)


def _written_in(path: str) -> set[str] | None:
    """Return the names that a file gives to what it makes, or None if they cannot be told."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {word.arg: word.value for word in node.keywords}
        value = given.get("name")
        if isinstance(value, ast.Constant):
            if called != "tool":
                names.add(str(value.value))
        elif called == "Toolset" and (value is not None or None in given):
            return None
    return names
