"""The same call through every door of this process, and where the answers differ.

    call ── written for each door ── the very door ── the answer as on the wire ── read ──┬── compared
                                          └── arguments, outcome in the pipeline ─────────┘

A door is right if the tool got the arguments that were sent, and the client reads the outcome that there was. Each is a
real call, limited and journalled like all others; so outcomes may differ for a reason that is no door's, such as a time
in the answer of a service, and this is told apart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any, Final, Literal, NamedTuple

import msgspec

from signet.door_messages import (
    HANDSHAKE,
    IN_RECORD,
    MODERN,
    Observation,
    as_text,
    differences,
    most_frequent,
    read_envelope,
    read_mcp,
    read_rest,
    write_envelope,
    write_mcp,
    write_rest,
)
from signet.kernel.caller import Caller
from signet.kernel.channel import STDIO_MCP, ClientChannel
from signet.kernel.errors import ACCESS_FAULTS, Fault, unknown_tool
from signet.kernel.outcome import Outcome, Pending
from signet.kernel.wire import Headers, encode
from signet.transports.envelope import EnvelopeDoor
from signet.transports.http import McpDoor
from signet.transports.messages import Request, Response
from signet.transports.rest import RestDoor
from signet.upstream.mcp_messages import Message, MessageBuilder

from .parts import Parts
from .twin import PRIVATE, Shown, Twin, Visit
from .work import work

__all__ = ["Doors", "DoorsCompared", "DoorsWanted", "twins"]

OK: Final = "OK"
MAX_WIRE_CHARS: Final = 20_000
"""The part of an answer that is shown."""
MAX_VALUE_CHARS: Final = 200
MAX_DIFFERENCES: Final = 100


class DoorsWanted(Shown, frozen=True):
    """A call to make through every door."""

    tool: str
    """The tool's name."""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class DoorsOpen(Shown, frozen=True):
    """What a call through every door would do."""

    calls: int
    """The number of calls."""
    is_read_only: bool
    """Whether the tool says that it changes nothing."""


class NamedCall(NamedTuple):
    """A call with both names of its tool."""

    tool: str
    slug: str
    arguments: Any


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


class Answered(NamedTuple):
    """The answer of one door."""

    status: int | None
    body: bytes
    outcome: Outcome | None


class DoorSpec(NamedTuple):
    """One door: how a call is written for it, sent to it, and its answer read."""

    name: str
    write: Callable[[NamedCall], Message]
    send: Callable[[Message, Caller], Awaitable[Answered]]
    read: Callable[[bytes], Observation]


class Doors:
    """Sends calls through the doors of one server."""

    def __init__(self, parts: Parts) -> None:
        self._server = parts.server
        self._pipeline = parts.server.pipeline
        mcp, envelope, rest = McpDoor(self._server), EnvelopeDoor(self._server), RestDoor(self._pipeline, {})
        to_rest = partial(_over_http, lambda request: rest.call(rest.endpoint(request.path), request))
        to_mcp, to_envelope = partial(_over_http, mcp.answer), partial(_over_http, envelope.answer)
        old, new = partial(write_mcp, HANDSHAKE), partial(write_mcp, MODERN)
        self.specs = (
            DoorSpec(f"MCP over HTTP, {HANDSHAKE.version}", old, to_mcp, read_mcp),
            DoorSpec(f"MCP over HTTP, {MODERN.version}", new, to_mcp, read_mcp),
            DoorSpec("REST", write_rest, to_rest, read_rest),
            DoorSpec("Envelope over HTTP", write_envelope, to_envelope, read_envelope),
            DoorSpec(f"MCP on stdio, {HANDSHAKE.version}", old, partial(self._on_stdio, HANDSHAKE), read_mcp),
            DoorSpec(f"MCP on stdio, {MODERN.version}", new, partial(self._on_stdio, MODERN), read_mcp),
            DoorSpec("Envelope on stdio", write_envelope, partial(self._on_stdio, MODERN), read_envelope),
        )

    def open(self, visit: Visit) -> DoorsOpen:
        """Tell what a call of a tool through every door would do."""
        tool = self._pipeline.toolbox.named(visit.path["tool"])
        if tool is None:
            raise unknown_tool(visit.path["tool"][:MAX_VALUE_CHARS])
        return DoorsOpen(len(self.specs), bool(tool.annotations.get("readOnlyHint")))

    async def compare(self, visit: Visit) -> Response:
        """Make the call through every door, one after the other; one that may not be made is refused."""
        tool = self._pipeline.toolbox.named(visit.body.tool)
        if tool is None:
            raise unknown_tool(visit.body.tool[:MAX_VALUE_CHARS])
        wanted = NamedCall(tool.name, tool.slug, visit.body.arguments)
        answers: list[tuple[DoorSpec, Answered, float]] = []
        for spec in self.specs:
            started_s = perf_counter()
            answered = await spec.send(spec.write(wanted), visit.request.caller)
            fault = _fault_of(answered)
            if fault is not None and fault.name in ACCESS_FAULTS and not answers:
                raise fault
            answers.append((spec, answered, round((perf_counter() - started_s) * 1000, 3)))
        return Response(200, await work(lambda: encode(_compared(wanted, answers))), PRIVATE)

    async def _on_stdio(self, revision: MessageBuilder, message: Message, caller: Caller) -> Answered:
        channel = ClientChannel(door=STDIO_MCP, caller=caller)
        if not revision.is_modern:
            self._server.receive(revision.initialize(0).body, channel)
        reply = self._server.receive(message.body, channel)
        if isinstance(reply, Pending):
            reply = await reply.reply
        return Answered(None, reply.body, reply.outcome) if reply is not None else Answered(None, b"", None)


async def _over_http(
    answer: Callable[[Request], Response | Awaitable[Response]], message: Message, caller: Caller
) -> Answered:
    headers = Headers(list(message.headers), list(message.headers.values()))
    request = Request("POST", message.path, headers, body=message.body, caller=caller)
    response = answer(request)
    if not isinstance(response, Response):
        response = await response
    return Answered(response.status, response.body, request.outcome)


def _fault_of(answered: Answered) -> Fault | None:
    return answered.outcome.fault if answered.outcome is not None else None


def _compared(call: NamedCall, answers: list[tuple[DoorSpec, Answered, float]]) -> DoorsCompared:
    """Compare what each door told with the outcome that there was, and the outcomes with that of most calls."""
    seen = [_observation(spec, answered) for spec, answered, _ in answers]
    outcomes = [_outcome(answered) for _, answered, _ in answers]
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
    return [
        DoorDifference(spec.name, path, _cut(as_text(before)), _cut(as_text(after)), cause)
        for path, before, after in islice(differences(expected, found), MAX_DIFFERENCES)
    ]


def _outcome(answered: Answered) -> Observation | None:
    """Return the outcome that there was in the pipeline; None if the message was no call."""
    outcome, fault = answered.outcome, _fault_of(answered)
    if outcome is None:
        return None
    return Observation(outcome.result) if fault is None else Observation(code=fault.code.value)


def _observation(spec: DoorSpec, answered: Answered) -> Observation:
    """Return what a client reads; the canonical code of a REST error, which has names of its own, is the outcome's."""
    seen = spec.read(answered.body)
    fault = _fault_of(answered)
    return Observation(seen.result, fault.code.value) if seen.code == IN_RECORD and fault is not None else seen


def _content(one: Observation, arguments: Any = None) -> dict[str, Any]:
    return {"arguments": arguments, "outcome": one.code or OK, "result": one.result}


def _door(spec: DoorSpec, answered: Answered, took_ms: float, one: Observation, *, agrees: bool) -> DoorShown:
    # A character has four bytes at most.
    text = answered.body[: 4 * MAX_WIRE_CHARS].decode(errors="replace")[:MAX_WIRE_CHARS]
    is_cut, size = len(answered.body) > len(text.encode()), len(answered.body)
    return DoorShown(spec.name, answered.status, one.code or OK, took_ms, size, text, is_cut, agrees)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def twins(parts: Parts) -> tuple[Twin, ...]:
    """Return the twins of the doors."""
    doors = Doors(parts)
    return (
        Twin(
            path="/-/doors/{tool}",
            summary="Tell what a call of a tool through every door would do",
            answer=DoorsOpen,
            run=doors.open,
        ),
        Twin(
            method="POST",
            path="/-/doors",
            summary="Make one call through every door, and tell where the answers differ",
            body=DoorsWanted,
            answer=DoorsCompared,
            run=doors.compare,
        ),
    )
