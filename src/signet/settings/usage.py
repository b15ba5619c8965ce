"""The errors of a start that cannot be made as requested: a flag, a variable, a file or a target."""

from __future__ import annotations

__all__ = ["UnknownTargetError", "UsageError"]


class UsageError(Exception):
    """A start that cannot be made as requested; the text says what to write instead.

    `trace` is the traceback of a user's own module, to be shown above it.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class UnknownTargetError(UsageError):
    """There is no such target."""
