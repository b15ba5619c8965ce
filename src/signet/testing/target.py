"""The project of a test, which is the nearest one, and its target: what its settings name, or its package brings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from signet.commands.check.project import FILE as PROJECT
from signet.commands.check.project import entry_points_of
from signet.settings.fields import join_list, split_list
from signet.settings.usage import UsageError

__all__ = ["FILE", "Projects", "find_target"]

FILE: Final = "signet.toml"
REPOSITORY: Final = ".git"


class Projects:
    """The projects of one run of pytest, each found once."""

    def __init__(self, others: Sequence[str], border: str, given: Sequence[str]) -> None:
        """Say where to look.

        Args:
            others: the folders for tests that have no project above them, the first one at the last.
            border: the folder of pytest's own settings, above which nothing is looked for; empty if there are none.
            given: the targets that pytest's settings name, for all tests.
        """
        self._others, self._border, self._given = others, border, given
        self._folders: dict[str, str] = {}
        self._targets: dict[str, str] = {}

    def folder_of(self, start: str) -> str:
        """Return the folder of the project whose tests are in a folder.

        Raises:
            UsageError: the file of a project cannot be read.
        """
        if start not in self._folders:
            self._folders[start] = self._find_above(start) or self._find_other()
        return self._folders[start]

    def target_of(self, start: str) -> str:
        """Return the tools of that project; raise UsageError as `find_target` does."""
        folder = self.folder_of(start)
        if folder not in self._targets:
            self._targets[folder] = find_target(self._find_other() if self._given else folder, self._given)
        return self._targets[folder]

    def _find_above(self, start: str) -> str | None:
        """Return the nearest folder upwards that names tools, within the project and the repository."""
        folder, below = start, ""
        while folder != below:
            if os.path.exists(os.path.join(folder, FILE)):
                return folder
            if os.path.exists(os.path.join(folder, PROJECT)):
                return folder if entry_points_of(folder) else None
            if folder == self._border or os.path.exists(os.path.join(folder, REPOSITORY)):
                return None
            folder, below = os.path.dirname(folder), folder
        return None

    def _find_other(self) -> str:
        has_file = (folder for folder in self._others if os.path.exists(os.path.join(folder, FILE)))
        return next(has_file, self._others[0])


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
    return join_list(_absolute(folder, target) for target in targets)


def _toolsets_of(folder: str) -> list[str]:
    """Return the toolsets that `signet.toml` names."""
    from signet.settings.file import find_file, read_toolsets

    path = os.path.join(folder, FILE)
    file = find_file({}, {"config": path}) if os.path.exists(path) else None
    given = read_toolsets(file).get("toolsets") if file is not None else None
    return split_list(str(given.value)) if given is not None else []


def _absolute(folder: str, target: str) -> str:
    """Return a target that is a path as an absolute one; a name stays."""
    target = target.strip()
    path = os.path.join(folder, target)
    is_path = target.endswith(".py") or "/" in target or os.sep in target or os.path.exists(path)
    return os.path.normpath(path) if is_path else target
