"""A check of what is installed, configured or reachable: a name, and a function that returns a finding. Pure.

`signet doctor` runs a list of these; a toolset adds its own (`Toolset.checks`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

import msgspec

__all__ = ["CONFIGURED", "INSTALLED", "REACHABLE", "Check", "CheckupResult", "State", "note", "ok", "trouble"]

INSTALLED: Final = "installed"
CONFIGURED: Final = "configured"
REACHABLE: Final = "reachable"


class State(StrEnum):
    """What a finding means."""

    OK = "ok"
    NOTE = "note"
    """An optional thing is missing, or something is worth knowing."""
    TROUBLE = "trouble"
    """A thing that is configured does not work."""


class CheckupResult(msgspec.Struct, frozen=True):
    """The result of a check."""

    state: State
    text: str
    """What was found; it holds no secret."""
    mend: str = ""
    """What to type, or to do, to change it."""


class Check(msgspec.Struct, frozen=True):
    """One check; a check that waits returns an awaitable, and is given up after a while."""

    area: str
    name: str
    run: Callable[[], CheckupResult | Awaitable[CheckupResult]]


def ok(text: str) -> CheckupResult:
    """Return the finding that all is well."""
    return CheckupResult(State.OK, text)


def note(text: str, mend: str = "") -> CheckupResult:
    """Return the finding that something optional is missing or worth knowing."""
    return CheckupResult(State.NOTE, text, mend)


def trouble(text: str, mend: str = "") -> CheckupResult:
    """Return the finding that something does not work."""
    return CheckupResult(State.TROUBLE, text, mend)
