"""The project in the working folder: the toolsets that its `pyproject.toml` offers."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from signet.authoring.target import GROUP
from signet.settings import UsageError

__all__ = ["targets_of_project"]

FILE: Final = "pyproject.toml"
SOURCES: Final = "src"
ADVICE: Final = "name a target, such as tools.py"


def targets_of_project() -> list[str]:
    """Return the targets of the entry points; those below `src` can be imported from then on, also by a process.

    Raises:
        UsageError: there is no such file, or it offers no toolsets.
    """
    import tomllib

    try:
        with open(FILE, "rb") as file:
            project: Any = tomllib.load(file)
    except FileNotFoundError:
        raise UsageError(f"there is nothing to check: no toolsets are set, and there is no {FILE}; {ADVICE}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{FILE} cannot be read ({error}); mend it, or {ADVICE}") from None
    for name in ("project", "entry-points", GROUP):
        project = project.get(name) if isinstance(project, dict) else None
    if not isinstance(project, dict) or not project or not all(isinstance(one, str) for one in project.values()):
        raise UsageError(f'{FILE} has no [project.entry-points."{GROUP}"] with NAME = "module:attribute"; {ADVICE}')
    if os.path.isdir(SOURCES):
        folder = os.path.abspath(SOURCES)
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    return list(dict.fromkeys(project.values()))
