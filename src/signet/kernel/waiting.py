"""What a call waits for at this moment, in words: set by whoever waits, read by whoever is asked."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .caller import Caller

__all__ = ["Waiting"]


class Waiting(msgspec.Struct):
    """The present wait of one call.

    `now` is a text, or a function where the text changes with time. It is read only when somebody is told.
    """

    now: str | Callable[[], str] = ""
    caller: Caller | None = None
    """Whose call it is, once its tool is called."""

    def text(self) -> str:
        """Return what the call waits for; an empty text where nobody said."""
        return self.now if isinstance(self.now, str) else self.now()
