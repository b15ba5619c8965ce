"""The names of a project: of its folder and package index entry, of its Python package, and of its toolset. Pure."""

from __future__ import annotations

import keyword
import re
import sys
from typing import Final, NamedTuple

from signet.settings.catalogue import TOOLSETS
from signet.settings.usage import UsageError
from signet.system.advice import advise

__all__ = ["ProjectNames", "name_project", "taken"]

MAX_CHARS: Final = 64
RULE: Final = "write ASCII letters, digits, -, _ and ., a letter first and a letter or a digit last"
TAKEN: Final = {
    "aiohttp", "httptools", "jsonschema_rs", "msgspec", "pytest", "rich", "signet", "signet_mcp", "uvloop",
}  # fmt: skip
"""The packages that Signet and the tests of a project import: one of the same name would hide them."""


class ProjectNames(NamedTuple):
    """What one name is called in each place."""

    project: str
    """The name as it was given."""
    package: str
    """The package to import, which is the name of the toolset too."""


def name_project(name: str) -> ProjectNames:
    """Return the names of a project.

    Raises:
        UsageError: the name cannot be used; the text says which characters are wrong.
    """
    if name in {"", ".", ".."} or "/" in name or "\\" in name:
        raise UsageError(f"'{name}' is a place and no name: write {advise('new', folder=name or 'DIR')}")
    wrong = dict.fromkeys(re.sub(r"[A-Za-z0-9._-]", "", name))
    if wrong:
        raise UsageError(f"'{name}' cannot name a project because of {' '.join(map(repr, wrong))}: {RULE}")
    if not re.fullmatch(r"[A-Za-z](?:.*[A-Za-z0-9])?", name):
        raise UsageError(f"'{name}' cannot name a project: {RULE}")
    if len(name) > MAX_CHARS:
        raise UsageError(
            f"'{name[:MAX_CHARS]}…' is too long for a project's name: write {MAX_CHARS} characters at most"
        )
    package = re.sub(r"[._-]+", "_", name).lower()
    if package in TAKEN or package in sys.stdlib_module_names or keyword.iskeyword(package):
        raise taken(name, package)
    if package in {toolset.replace("-", "_") for toolset in TOOLSETS}:
        raise UsageError(f"there is a toolset '{package}' already: write another name, such as my-{name}")
    return ProjectNames(name, package)


def taken(name: str, package: str) -> UsageError:
    """Return the error for a name that another package has."""
    return UsageError(f"a package {package} would hide another of that name: write another name, such as my-{name}")
