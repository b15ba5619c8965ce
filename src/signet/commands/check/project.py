"""The project in the working folder: the toolsets that its `pyproject.toml` offers."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from signet.authoring.target import GROUP
from signet.settings.usage import UsageError

__all__ = ["entry_points_of", "targets_of_project"]

FILE: Final = "pyproject.toml"
SOURCES: Final = "src"
ADVICE: Final = "name a target, such as tools.py"


def targets_of_project() -> list[str]:
    """Return the targets of the entry points; those below `src` can be imported from then on, also by a process.

    Raises:
        UsageError: there is no such file, or it offers no toolsets.
    """
    if not os.path.lexists(FILE):
        raise UsageError(f"there is nothing to check: no toolsets are set, and there is no {FILE}; {ADVICE}")
    targets = entry_points_of("")
    if not targets:
        raise UsageError(f'{FILE} has no [project.entry-points."{GROUP}"] with NAME = "module:attribute"; {ADVICE}')
    return targets


def entry_points_of(folder: str) -> list[str]:
    """Return the targets of the project in a folder, which can be imported from then on; none if it offers none.

    Raises:
        UsageError: its file cannot be read.
    """
    import tomllib

    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            project: Any = tomllib.load(file)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}); mend it, or {ADVICE}") from None
    for name in ("project", "entry-points", GROUP):
        project = project.get(name) if isinstance(project, dict) else None
    if not isinstance(project, dict) or not all(isinstance(one, str) for one in project.values()):
        return []
    sources = os.path.abspath(os.path.join(folder, SOURCES))
    if project and os.path.isdir(sources):
        sys.path.insert(0, sources)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
    return list(dict.fromkeys(project.values()))
