"""The lock files of pip, read line by line for tests: what is pinned, when it is needed, and by which hashes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][^\s;]*)(?: ; (?P<marker>[^\\]+?))?")


class Locked(NamedTuple):
    """One requirement of a lock file."""

    name: str
    version: str
    marker: str
    """The environments that need it; empty for all."""
    hashes: tuple[str, ...]


def locked(path: Path) -> list[Locked]:
    """Return the requirements of a lock file; fail at a line that is not a pin with options."""
    text = re.sub(r"(?m)^ *#.*\n?", "", path.read_text(encoding="utf-8")).replace("\\\n", " ")
    requirements = []
    for line in text.splitlines():
        pin, *options = re.split(r"\s+--hash=", line.strip())
        match = PIN.fullmatch(pin.strip())
        assert match, f"{path.name} has a line that is no pinned requirement: {line[:100]}"
        requirements.append(Locked(match["name"], match["version"], match["marker"] or "", tuple(options)))
    return requirements
