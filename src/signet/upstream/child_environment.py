"""The environment of a child that is somebody else's program: a short allow-list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["ALLOWED", "child_environment"]

ALLOWED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM", "SHELL", "USER", "LOGNAME")
"""The variables that every child gets; no secret of ours is among them."""
WINDOWS: Final = ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA",
                  "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES")  # fmt: skip
"""Without these nothing starts on Windows, which sets the first of them always."""


def child_environment(environ: Mapping[str, str], extra: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the variables of a child: those of the allow-list that are set, and those that were named, which win."""
    names = (*ALLOWED, *WINDOWS) if WINDOWS[0] in environ else ALLOWED
    return {**{name: environ[name] for name in names if name in environ}, **dict(extra)}
