"""Quiet names: which tools and prompts have answered without a question to their caller. Pure.

Names of tools are those that the server lists. Names of prompts are what callers write: each caller has a share of
them, its oldest give way to its new ones, and all of them are forgotten when its last session ends.
"""

from __future__ import annotations

from typing import Final

from signet.system.places import Shares

__all__ = ["MAX_KEY_CHARS", "QuietNames", "key_of"]

MAX_TOOLS: Final = 10_000
MAX_NAMES: Final = 4_096
"""The names that callers have made up and that are remembered of one instance."""
MAX_KEY_CHARS: Final = 64
"""The longest name that is remembered as it is; of a longer one, a digest is."""

What = tuple[str, str]
"""A method, and what stands for the name in it."""


def key_of(name: str) -> str:
    """Return what stands for a name wherever it is remembered."""
    if len(name) <= MAX_KEY_CHARS:
        return name
    from hashlib import sha256

    # The prefix makes it longer than any name that is remembered as it is.
    return f"sha256:{sha256(name.encode(errors='surrogatepass')).hexdigest()}"


class QuietNames:
    """The names of one running instance."""

    def __init__(self) -> None:
        self._tools: set[What] = set()
        self._shares = Shares("remembered names", MAX_NAMES)
        self._names: dict[What, str] = {}
        """The holder of each name."""
        self._by_holder: dict[str, dict[What, None]] = {}
        """The names of each holder, the oldest first."""

    def __contains__(self, what: What) -> bool:
        return what in self._tools or what in self._names

    def __len__(self) -> int:
        return len(self._tools) + len(self._names)

    def add(self, what: What, holder: str) -> None:
        """Remember a name that a holder has used."""
        if what in self:
            return
        if what[0] == "tools/call":
            if len(self._tools) < MAX_TOOLS:
                self._tools.add(what)
            return
        mine = self._by_holder.get(holder)
        if not self._shares.has_room(holder) and mine:
            self.discard(next(iter(mine)))
        if self._shares.take(holder):
            self._names[what] = holder
            self._by_holder.setdefault(holder, {})[what] = None

    def discard(self, what: What) -> None:
        """Forget a name, if it is remembered."""
        self._tools.discard(what)
        holder = self._names.pop(what, None)
        if holder is not None:
            self._shares.give_back(holder)
            mine = self._by_holder[holder]
            del mine[what]
            if not mine:
                del self._by_holder[holder]

    def forget(self, holder: str) -> None:
        """Forget all that a holder has made up."""
        for what in [*self._by_holder.get(holder, ())]:
            self.discard(what)
