"""Variables that begin as Signet's do and set nothing, and the names that are near. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from signet.settings.names import PREFIX, is_address, is_setting, known_settings, secret_file_variables

__all__ = ["ignored_variables", "near", "nearest"]

MAX_NAME_CHARS: Final = 60
OPPOSITES: Final = ({"include", "exclude"}, {"allow", "disallow"}, {"enable", "disable"})
"""Names that are spelled alike and mean the opposite: none is proposed for the other."""
INJECTED: Final = r"(?:^|_)(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$"
"""The variables that Kubernetes sets for a service."""


def ignored_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that begins as Signet's do and sets nothing; none repeats a value."""
    names = sorted(name for name in environ if name.startswith(PREFIX))
    files = set(secret_file_variables(environ).values()) if names else set()
    told = []
    for name in names:
        if name in files:
            continue
        own = name.removeprefix(PREFIX).lower()
        if not is_setting(own):
            documented = [word for word, field in known_settings().items() if field.help]
            question = "" if _is_injected(name, environ[name]) else _question(own, documented)
            told.append(f"{name[:MAX_NAME_CHARS]} is not a setting of Signet{question}")
        elif is_address(own, environ[name]):
            told.append(f"{name} is an address, as an orchestrator sets it, and no port")
    return told


def _is_injected(variable: str, value: str) -> bool:
    """Return True for what an orchestrator sets: it makes no slips."""
    return "://" in value or re.search(INJECTED, variable[:MAX_NAME_CHARS]) is not None


def _question(name: str, known: Iterable[str]) -> str:
    meant = near(name, known)
    return f", did you mean {PREFIX}{meant.upper()}?" if meant else ""


def nearest(name: str, names: Iterable[str]) -> str:
    """Say which name may be meant, or which there are."""
    meant = near(name, names)
    return f"did you mean {meant}?" if meant else f"write one of: {', '.join(names)}"


def near(name: str, names: Iterable[str]) -> str:
    """Return the name that is most like one that is not known; empty where none is."""
    from difflib import get_close_matches

    close = get_close_matches(name[:MAX_NAME_CHARS], names, 3)
    return next((one for one in close if {name.lower(), one.lower()} not in OPPOSITES), "")
