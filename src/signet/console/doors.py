"""The same call through every door of this process, and where the answers differ.

    call ── written for each door ── the very door ── the answer as on the wire ── read ──┬── compared
                                          └── arguments, outcome in the pipeline ─────────┘

A door is right if the tool got the arguments that were sent, and the client reads the outcome that there was. Each is a
real call, limited, journalled and audited like all others; so outcomes may differ for a reason that is no door's, such
as a time in the answer of a service, and this is told apart.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, Literal

import msgspec

from signet.console.door_messages import IN_RECORD, Observation, as_text, differences, most_frequent
from signet.kernel.errors import unknown_tool
from signet.kernel.wire import encode
from signet.system.text import cut
from signet.transports.messages import Response

from .door_calls import Answered, DoorCalls, DoorSpec, NamedCall
from .parts import ConsoleContext
from .twin import PRIVATE, Shown, Twin, Visit
from .work import work

__all__ = ["CallWanted", "Doors", "DoorsCompared", "twins"]

OK: Final = "OK"
MAX_WIRE_CHARS: Final = 20_000
"""The part of an answer that is shown."""
MAX_VALUE_CHARS: Final = 200
UNKNOWN: Final = ((404, "TOOL_NOT_FOUND"),)
MAX_DIFFERENCES: Final = 100


class CallWanted(Shown, frozen=True):
    """A call to make."""

    tool: str
    """The tool's name."""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class DoorsOpen(Shown, frozen=True):
    """What a call through every door would do."""

    calls: int
    """The number of calls."""
    is_read_only: bool
    """Whether the tool says that it changes nothing."""


class DoorShown(Shown, frozen=True):
    """What one door answered."""

    name: str
    status: int | None
    """The HTTP status; null on stdio."""
    outcome: str
    """OK, or the canonical code of the error."""
    took_ms: float
    wire_bytes: int
    wire: str
    """The answer as on the wire, cut."""
    is_cut: bool
    agrees: bool


class DoorDifference(Shown, frozen=True):
    """One place at which a door differs from what was expected."""

    door: str
    path: str
    expected: str
    """The JSON of what belongs there, cut: of the call's own outcome, or of the outcome of most calls."""
    found: str
    cause: Literal["door", "call"]
    """`door`: the client reads something else than the outcome was. `call`: the tool itself answered differently."""


class DoorsCompared(Shown, frozen=True):
    """The answers of all doors to one call."""

    tool: str
    agrees: bool
    """Whether no door is the cause of a difference."""
    outcome: str
    """The outcome of most calls."""
    doors: list[DoorShown]
    differences: list[DoorDifference]


class Doors:
    """Sends calls through the doors of one server."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._toolbox = parts.server.pipeline.toolbox
        self._calls = DoorCalls(parts)

    def open(self, visit: Visit) -> DoorsOpen:
        """Tell what a call of a tool through every door would do."""
        tool = self._toolbox.named(visit.path["tool"])
        if tool is None:
            raise unknown_tool(visit.path["tool"][:MAX_VALUE_CHARS])
        return DoorsOpen(len(self._calls.specs), bool(tool.annotations.get("readOnlyHint")))

    async def compare(self, visit: Visit) -> Response:
        """Make the call through every door, one after the other; one that may not be made is refused."""
        tool = self._toolbox.named(visit.body.tool)
        if tool is None:
            raise unknown_tool(visit.body.tool[:MAX_VALUE_CHARS])
        wanted = NamedCall(tool.name, tool.slug, visit.body.arguments, tool.relays)
        answers = await self._calls.make(wanted, visit.request)
        return Response(200, await work(lambda: encode(_compared(wanted, answers))), PRIVATE)


def _compared(call: NamedCall, answers: list[tuple[DoorSpec, Answered, float]]) -> DoorsCompared:
    """Compare what each door told with the outcome that there was, and the outcomes with that of most calls."""
    seen = [_observation(spec, call, answered) for spec, answered, _ in answers]
    outcomes = [_outcome(call, answered) for _, answered, _ in answers]
    known = [one for one in outcomes if one is not None] or seen
    reference = known[most_frequent([one.text() for one in known]) or 0]
    shown: list[DoorShown] = []
    found: list[DoorDifference] = []
    for (spec, answered, took_ms), one, outcome in zip(answers, seen, outcomes, strict=True):
        given = answered.outcome.call.arguments if answered.outcome is not None else call.arguments
        by_door = _differences(spec, _content(outcome or reference, call.arguments), _content(one, given), cause="door")
        found += by_door
        found += _differences(spec, _content(reference), _content(outcome or reference), cause="call")
        shown.append(_door(spec, answered, took_ms, one, agrees=not by_door))
    agrees = all(door.agrees for door in shown)
    return DoorsCompared(call.tool, agrees, reference.code or OK, shown, found[:MAX_DIFFERENCES])


def _differences(spec: DoorSpec, expected: Any, found: Any, *, cause: Literal["door", "call"]) -> list[DoorDifference]:
    """Return the first differences of two values, as texts."""

    def shown(value: Any) -> str:
        return cut(as_text(value), MAX_VALUE_CHARS)

    found_first = islice(differences(expected, found), MAX_DIFFERENCES)
    return [DoorDifference(spec.name, path, shown(before), shown(after), cause) for path, before, after in found_first]


def _outcome(call: NamedCall, answered: Answered) -> Observation | None:
    """Return the outcome that there was in the pipeline; None if the message was no call."""
    outcome, fault = answered.outcome, answered.fault
    if outcome is None:
        return None
    if fault is not None:
        return Observation(code=fault.code.value)
    return Observation(msgspec.json.decode(outcome.body) if call.is_relayed else outcome.result)


def _observation(spec: DoorSpec, call: NamedCall, answered: Answered) -> Observation:
    """Return what a client reads; the canonical code of a REST error, which has names of its own, is the outcome's."""
    seen = spec.reader(call)(answered.body)
    fault = answered.fault
    return Observation(seen.result, fault.code.value) if seen.code == IN_RECORD and fault is not None else seen


def _content(one: Observation, arguments: Any = None) -> dict[str, Any]:
    return {"arguments": arguments, "outcome": one.code or OK, "result": one.result}


def _door(spec: DoorSpec, answered: Answered, took_ms: float, one: Observation, *, agrees: bool) -> DoorShown:
    # A character has four bytes at most.
    text = answered.body[: 4 * MAX_WIRE_CHARS].decode(errors="replace")[:MAX_WIRE_CHARS]
    is_cut, size = len(answered.body) > len(text.encode()), len(answered.body)
    return DoorShown(spec.name, answered.status, one.code or OK, took_ms, size, text, is_cut, agrees)


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of the doors."""
    doors = Doors(parts)
    return (
        Twin(
            path="/-/doors/{tool}",
            summary="Tell what a call of a tool through every door would do",
            answer=DoorsOpen,
            run=doors.open,
            refusals=UNKNOWN,
        ),
        Twin(
            method="POST",
            path="/-/doors",
            summary="Make one call through every door, and tell where the answers differ",
            body=CallWanted,
            answer=DoorsCompared,
            run=doors.compare,
            example=parts.example_call(),
            is_call=True,
            refusals=UNKNOWN,
        ),
    )
