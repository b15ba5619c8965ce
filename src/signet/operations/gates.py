"""Several gates as one: a call passes them in their order, and what it was given is given back in the opposite one.

The answer comes at once as long as every gate answers at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from signet.kernel.errors import Fault
from signet.kernel.gate import Entry, Gate, Pass
from signet.kernel.outcome import Call, Outcome
from signet.kernel.tools import Tool

__all__ = ["Gates"]


class _Passes:
    """The passes of one call."""

    def __init__(self, passes: Sequence[Pass]) -> None:
        self._passes = list(passes)

    def leave(self, outcome: Outcome | None) -> Awaitable[None] | None:
        """Give all of them back, the newest first."""
        while self._passes:
            left = self._passes.pop().leave(outcome)
            if left is not None:
                return self._leave_rest(left, outcome)
        return None

    async def _leave_rest(self, first: Awaitable[None], outcome: Outcome | None) -> None:
        try:
            await first
        finally:
            rest = self.leave(outcome)
            if rest is not None:
                await rest


class Gates:
    """A gate that is made of others."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = tuple(gates)

    def enter(self, call: Call, tool: Tool) -> Entry | Awaitable[Entry]:
        """Return the first refusal or answer, or all that the call was given."""
        for index, gate in enumerate(self._gates):
            entry = gate.enter(call, tool)
            if entry is None:
                continue
            if isinstance(entry, Fault | Outcome):
                return entry
            # From here on something may have to be given back, by whoever awaits this.
            return self._enter_rest(entry, call, tool, self._gates[index + 1 :])
        return None

    async def _enter_rest(self, first: Entry | Awaitable[Entry], call: Call, tool: Tool, rest: Sequence[Gate]) -> Entry:
        passes: list[Pass] = []
        is_in = False
        try:
            refusal = await _add(passes, first)
            for gate in rest:
                if refusal is not None:
                    return refusal
                refusal = await _add(passes, gate.enter(call, tool))
            is_in = refusal is None
        finally:
            left = None if is_in else _Passes(passes).leave(None)
            if left is not None:
                await left
        return refusal or _Passes(passes) if passes else refusal


async def _add(passes: list[Pass], entry: Entry | Awaitable[Entry]) -> Fault | Outcome | None:
    """Await an entry; return a refusal or an answer, and add a pass to the others."""
    if isinstance(entry, Awaitable):
        entry = await entry
    if isinstance(entry, Fault | Outcome):
        return entry
    if entry is not None:
        passes.append(entry)
    return None
