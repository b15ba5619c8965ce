"""The files of a new project: texts from templates, contracts from its types, recordings from calls of its tool."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from typing import Any, Final

from signet import __version__
from signet.app import build_server
from signet.commands.call import walk
from signet.commands.contract.freeze import freeze_new
from signet.settings.catalogue import find_toolset, load
from signet.settings.fields import join_list
from signet.settings.model import Settings
from signet.settings.usage import UsageError

from .names import ProjectNames, taken

__all__ = ["TOOL", "make_project"]

TEMPLATES: Final = os.path.join(os.path.dirname(__file__), "templates")
FILES: Final = {
    "pyproject.toml": "pyproject.txt",
    "signet.toml": "signet.txt",
    "README.md": "readme.txt",
    ".gitignore": "gitignore.txt",
    ".github/workflows/ci.yml": "ci.txt",
    "src/PACKAGE/__init__.py": "package.txt",
    "src/PACKAGE/tools.py": "tools.txt",
    "tests/test_tools.py": "tests.txt",
}
"""The file of each template."""
TOOL: Final = "days_until"
EXAMPLE: Final = {"day": "2100-01-01"}
RECORDINGS: Final[dict[str, list[dict[str, Any]]]] = {
    "test_days_are_counted": [EXAMPLE],
    "test_every_door_agrees": [EXAMPLE, {"day": "2000-01-01"}],
}
"""The calls of each test with a cassette: the tests of a new project record nothing, so they pass in CI at once."""
KEPT: Final = {".git"}
"""What a folder may hold and still be empty."""


def make_project(folder: str, names: ProjectNames) -> int:
    """Write a project into a folder that is new or empty; return how many files. Nothing is left of one that fails.

    Raises:
        UsageError: the folder holds something, or cannot be written to, or the name is that of another package.
    """
    if _is_elsewhere(names.package, os.path.abspath(folder)):
        raise taken(names.project, names.package)
    try:
        is_there = os.path.lexists(folder)
        if is_there and (not os.path.isdir(folder) or set(os.listdir(folder)) - KEPT):
            raise UsageError(
                f"{folder} is there already and not empty: write another name, or --path with another folder"
            )
        above = os.path.dirname(os.path.abspath(folder))
        os.makedirs(above, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".signet-new-", dir=folder if is_there else above)
        try:
            made = os.path.join(scratch, "project")
            _write_all(made, names)
            count = sum(len(files) for _, _, files in os.walk(made))
            _move(made, folder, is_there=is_there)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        message = f"cannot write {folder} ({error.strerror}): write --path with a folder that can be written to"
        raise UsageError(message) from None
    return count


def _is_elsewhere(package: str, folder: str) -> bool:
    """Return whether a package can be imported already, from outside of a folder; it is not imported now."""
    from importlib.util import find_spec

    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return True
    # A folder without code hides nothing, and is hidden by the new package.
    return spec is not None and spec.origin is not None and not spec.origin.startswith(os.path.join(folder, ""))


def _write_all(folder: str, names: ProjectNames) -> None:
    for path, template in FILES.items():
        with open(os.path.join(TEMPLATES, template), encoding="utf-8") as file:
            text = file.read()
        for word, value in (("@PROJECT@", names.project), ("@PACKAGE@", names.package), ("@VERSION@", __version__)):
            text = text.replace(word, value)
        _write(os.path.join(folder, path.replace("PACKAGE", names.package)), text)
    # The new code is imported, and leaves nothing beside itself.
    sys.dont_write_bytecode = True
    target = os.path.join(folder, "src", names.package, "tools.py")
    toolsets = load(target)
    for toolset in toolsets:
        freeze_new(find_toolset(toolset))
    for test, calls in RECORDINGS.items():
        asyncio.run(_record(toolsets, os.path.join(folder, "tests/cassettes/test_tools", test), calls))


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _move(made: str, folder: str, *, is_there: bool) -> None:
    if not is_there:
        os.rename(made, folder)
        return
    for name in os.listdir(made):
        os.rename(os.path.join(made, name), os.path.join(folder, name))


async def _record(toolsets: list[str], folder: str, calls: list[dict[str, Any]]) -> None:
    """Record calls of the tool."""
    with tempfile.TemporaryDirectory() as journal:
        flags = {"toolsets": join_list(toolsets), "record": folder, "log_dir": journal}
        server = build_server(Settings.read({}, flags))
        try:
            for arguments in calls:
                await walk(server, TOOL, arguments)
        finally:
            await server.close()
