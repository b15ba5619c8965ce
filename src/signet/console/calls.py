"""Calls that are made in the console: the result as people want it, and the road that the call took.

POST /-/call ── Call ── the one pipeline, timed ── Outcome ──┬── view      in a thread
                                                             └── stages    in a thread
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Final

import msgspec

from signet.kernel.errors import ACCESS_FAULTS, Fault
from signet.kernel.events import Events
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool
from signet.kernel.wire import encode
from signet.system.text import cut
from signet.transports.messages import Request, Response

from . import doors
from .doors import CallWanted
from .parts import ConsoleContext
from .road import ROAD, Road, note_attempt, timed
from .stages import RoadStep, Stages
from .tool_groups import tool_groups
from .twin import MAX_TOLD_CHARS, PRIVATE, Shown, Twin, Visit
from .views import JSON_VIEW, ResultView, view_of
from .violations import PlaceShown, Violations
from .work import work

__all__ = ["CallAnswer", "CallError", "twins"]

DOOR: Final = Door("http", "/-/call", "console", by_name=True)


class CallError(Shown, frozen=True):
    """Why a call failed."""

    code: str
    """The canonical code."""
    name: str
    """The name of the error in REST."""
    message: str
    status: int
    """The HTTP status in REST."""


class CallAnswer(Shown, frozen=True):
    """What became of a call."""

    request_id: str
    """The id of the HTTP request, which stands in the log of requests."""
    tool: str
    arguments: Any
    """As they were sent."""
    ok: bool
    result: Any
    error: CallError | None
    places: list[PlaceShown]
    """Every place that breaks a contract, ten at most."""
    road: list[RoadStep]
    """The stages in their order; the attempts to reach an upstream stand behind the tool."""
    view: ResultView
    took_ms: float
    result_bytes: int


class CallerView:
    """Makes the calls of the console's visitors."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._parts = parts
        pipeline = parts.server.pipeline
        violations = Violations(pipeline.registry, parts.settings.secrets())
        self._stages = Stages(violations, pipeline.mode, keeps_journal=parts.settings.keeps_journal)
        parts.server.events.add(Events(upstream_request=note_attempt))

    async def call(self, visit: Visit) -> Response:
        """Make a call and return what became of it."""
        road, request, wanted = Road(), visit.request, visit.body
        outcome = await self._run(road, request, wanted)
        ended_s = perf_counter()
        fault = outcome.fault
        if fault is not None and fault.name in ACCESS_FAULTS:
            raise fault
        took_ms = round((ended_s - road.started_s) * 1000, 3)
        return Response(200, await work(self._shown, road, outcome, took_ms), PRIVATE)

    async def _run(self, road: Road, request: Request, wanted: CallWanted) -> Outcome:
        caller = request.caller
        call = Call(cut(wanted.tool, MAX_TOLD_CHARS), wanted.arguments, QUIET_CONTEXT, DOOR, caller, trace=caller.trace)
        request.call = call
        token = ROAD.set(road)
        try:
            road.sent_s = perf_counter()
            running = timed(self._parts.server.pipeline).run(call)
            request.outcome = outcome = running if isinstance(running, Outcome) else await running
        finally:
            ROAD.reset(token)
        return outcome

    def _server_of(self, tool: Tool | None) -> str:
        """Return the name of the wrapped server of a tool; empty for a tool of one's own."""
        if tool is None or not tool.relays:
            return ""
        return next((group.name for group in tool_groups(self._parts) if tool in group.tools), "")

    def _shown(self, road: Road, outcome: Outcome, took_ms: float) -> bytes:
        """Return the answer as JSON: the result may be large, and places have to be searched for."""
        is_limited = self._parts.server.pipeline.is_limited
        steps, places = self._stages.tell(road, outcome, is_limited=is_limited, server=self._server_of(outcome.tool))
        ok = outcome.fault is None
        answer = CallAnswer(
            request_id=outcome.call.caller.request_id,
            tool=outcome.tool.name if outcome.tool is not None else outcome.call.tool_key,
            arguments=outcome.call.arguments,
            ok=ok,
            result=msgspec.Raw(outcome.body) if ok else None,
            error=_error(outcome.fault),
            places=places,
            road=steps,
            view=view_of(outcome.tool, outcome.result) if ok else JSON_VIEW,
            took_ms=took_ms,
            result_bytes=len(outcome.body),
        )
        return encode(answer)


def _error(fault: Fault | None) -> CallError | None:
    return CallError(fault.code.value, fault.name, fault.message, fault.status) if fault is not None else None


def twins(parts: ConsoleContext) -> tuple[Twin, ...]:
    """Return the twins of calls."""
    caller = CallerView(parts)
    return (
        Twin(
            method="POST",
            path="/-/call",
            summary="Call a tool, and tell the road that the call took",
            body=CallWanted,
            answer=CallAnswer,
            run=caller.call,
            example=parts.example_call(),
            is_call=True,
        ),
        *doors.twins(parts),
    )
