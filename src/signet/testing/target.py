"""The target of a project's tests: what its settings name, or the toolsets that its package brings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from signet.commands.check.project import FILE as PROJECT
from signet.commands.check.project import entry_points_of
from signet.settings import UsageError

__all__ = ["FILE", "find_target"]

FILE: Final = "signet.toml"


def find_target(folder: str, given: Sequence[str] = ()) -> str:
    """Return the tools to test, with paths that hold in any working folder.

    Args:
        folder: the project's.
        given: the targets that pytest's own settings name.

    Raises:
        UsageError: nothing names any.
    """
    targets = list(given) or _toolsets_of(folder) or entry_points_of(folder)
    if not targets:
        message = (
            f'no tools to test: write toolsets = ["tools.py"] in {FILE} beside {PROJECT}, or signet_target in '
            "pytest's settings, or a fixture of that name"
        )
        raise UsageError(message)
    return ",".join(_absolute(folder, target) for target in targets)


def _toolsets_of(folder: str) -> list[str]:
    """Return the toolsets that `signet.toml` names."""
    from signet.configuration.file import find_file
    from signet.configuration.values import read_toolsets

    path = os.path.join(folder, FILE)
    file = find_file({}, {"config": path}) if os.path.exists(path) else None
    given = read_toolsets(file).get("toolsets") if file is not None else None
    return str(given.value).split(",") if given is not None else []


def _absolute(folder: str, target: str) -> str:
    """Return a target that is a path as an absolute one; a name stays."""
    target = target.strip()
    path = os.path.join(folder, target)
    is_path = target.endswith(".py") or "/" in target or os.sep in target or os.path.exists(path)
    return os.path.normpath(path) if is_path else target
