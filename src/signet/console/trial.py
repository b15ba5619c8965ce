"""Calls that the console makes through a door, to try it: how they are told apart from those of the door's clients."""

from __future__ import annotations

from typing import Final

from signet.kernel.caller import Caller
from signet.kernel.outcome import Door

__all__ = ["TrialCaller", "door_of", "trial_door"]

MARK: Final = " (console)"


class TrialCaller(Caller, frozen=True):
    """The caller of a call that tries a door; all else about it is as with any other caller."""


def trial_door(name: str) -> str:
    """Return the name of a door for calls that try it."""
    return name + MARK


def door_of(door: Door, caller: Caller) -> str:
    """Return a door's name as the console shows it for a caller: a call that tries the door is marked."""
    # The exact type is checked first: most callers are not trials, and `isinstance` takes twice as long.
    return door.name if type(caller) is Caller or not isinstance(caller, TrialCaller) else trial_door(door.name)
