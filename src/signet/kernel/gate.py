"""The gate before every call: who may call now, and what is done before and after the tool runs.

The pipeline asks the gate when the tool is found and before its arguments are looked at:

    find the tool ── Gate.enter ── prepare ── the tool ── finish ── Pass.leave

Scopes, rates, quotas, places and idempotency keys are rules of gates; the kernel knows none of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from msgspec.structs import replace

from .errors import Fault
from .outcome import Call, Outcome
from .tools import Tool

__all__ = ["Entry", "Gate", "LateGate", "Pass", "run_behind_gate"]


class Pass(Protocol):
    """The right to run one call; it is given back when the call has ended, however it ended."""

    def leave(self, outcome: Outcome | None) -> Awaitable[None] | None:
        """Take the outcome, before it is answered; None if the call was given up. Raise nothing."""


Entry = Fault | Outcome | Pass | None
"""What a gate says of a call: refused, answered already, let in with something to give back, or let in."""


class Gate(Protocol):
    """Decides over calls."""

    def enter(self, call: Call, tool: Tool) -> Entry | Awaitable[Entry]:
        """Return the entry of a call, or an awaitable of it where others have to be asked. Raise nothing."""


class LateGate:
    """A gate that is opened by the first call to come to it."""

    def __init__(self, open_: Callable[[], Gate]) -> None:
        self._open = open_
        self._gate: Gate | None = None

    def enter(self, call: Call, tool: Tool) -> Entry | Awaitable[Entry]:
        """Return the entry of the gate."""
        if self._gate is None:
            self._gate = self._open()
        return self._gate.enter(call, tool)


Run = Callable[[], Outcome | Coroutine[Any, Any, Outcome]]
Notify = Callable[[Outcome], Outcome]


def run_behind_gate(
    unanswered: Outcome, entry: Entry | Awaitable[Entry], run: Run, notify: Notify
) -> Outcome | Coroutine[Any, Any, Outcome]:
    """Run a call as the entry that its gate gave says, and give back what the gate gave; a refusal is told at once."""
    if isinstance(entry, Fault):
        return notify(replace(unanswered, fault=entry))
    return _run_with_entry(unanswered, entry, run, notify)


async def _run_with_entry(unanswered: Outcome, entry: Entry | Awaitable[Entry], run: Run, notify: Notify) -> Outcome:
    if isinstance(entry, Awaitable):
        entry = await entry
    if isinstance(entry, Fault):
        return notify(replace(unanswered, fault=entry))
    if isinstance(entry, Outcome):
        return notify(entry)
    outcome: Outcome | None = None
    try:
        running = run()
        outcome = running if isinstance(running, Outcome) else await running
    finally:
        left = entry.leave(outcome) if entry is not None else None
        if left is not None:
            await left
    return outcome
