"""The road of one call: when it passed each stage, and which requests its tool made to upstreams.

    twin ── Road in a context variable ── the server's pipeline, timed ── prepare ── tool ── finish ── notify
                                                                                      └ upstream attempts

The pipeline is timed by a subclass that shares its state; all other calls run as they did.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from typing import Final

import msgspec

from signet.kernel.errors import Fault
from signet.kernel.events import UpstreamVisit
from signet.kernel.outcome import Call, Outcome, PreparedCall, Relayed
from signet.kernel.pipeline import Pipeline
from signet.kernel.spending import THREAD_WORK

__all__ = ["ROAD", "CallSpan", "Road", "TimedPipeline", "note_attempt", "timed"]

MAX_ATTEMPTS: Final = 200
"""The attempts that are kept of one call; a tool that reads many pages makes hundreds."""


class CallSpan(msgspec.Struct):
    """A stretch of time, in seconds of the process clock."""

    start_s: float
    end_s: float


class Road:
    """The stages that one call has passed."""

    def __init__(self) -> None:
        self.started_s = perf_counter()
        self.sent_s = 0.0
        """When the call was handed to the pipeline."""
        self.spans: dict[str, CallSpan] = {}
        """The stages by the name of the pipeline's step: `prepare`, `finish`, `notify`."""
        self.attempts: list[UpstreamVisit] = []
        self.left_out = 0
        """The attempts beyond those that are kept."""
        self.prepared: PreparedCall | Outcome | None = None
        self.finished: Outcome | None = None
        self.value: object = None
        """What the tool returned or raised."""
        self.has_upstream = False

    @property
    def tool_failed(self) -> bool:
        """Whether the tool raised something, or the wrapped server answered with an error or a question."""
        return isinstance(self.value, BaseException) or (isinstance(self.value, Relayed) and bool(self.value.fault))


ROAD: Final[ContextVar[Road | None]] = ContextVar("ROAD", default=None)
"""The road of the call that is made in this context, if the console made it."""


def note_attempt(visit: UpstreamVisit) -> None:
    """Note a request to an upstream that a call of the console makes."""
    road = ROAD.get()
    if road is None:
        return
    if len(road.attempts) < MAX_ATTEMPTS:
        road.attempts.append(visit)
    else:
        road.left_out += 1


class TimedPipeline(Pipeline):
    """A pipeline whose steps are noted on the road of the call."""

    def prepare(
        self, call: Call, shadow_violation: Fault | None = None, work: int = THREAD_WORK
    ) -> PreparedCall | Outcome:
        """Check the arguments."""
        road, start_s = ROAD.get(), perf_counter()
        prepared = super().prepare(call, shadow_violation, work)
        if road is not None:
            road.spans["prepare"] = CallSpan(start_s, perf_counter())
            road.prepared = prepared
            runtime = self._runtimes.get(prepared.tool.slug) if prepared.tool is not None else None
            road.has_upstream = runtime is not None and runtime.upstream is not None
        return prepared

    def finish(self, prepared: PreparedCall, value: object, work: int = THREAD_WORK) -> Outcome:
        """Check the result."""
        road, start_s = ROAD.get(), perf_counter()
        outcome = super().finish(prepared, value, work)
        if road is not None:
            road.spans["finish"] = CallSpan(start_s, perf_counter())
            road.finished, road.value = outcome, value
        return outcome

    def notify(self, outcome: Outcome, started_s: float | None = None) -> Outcome:
        """Pass the outcome to the journal."""
        road, start_s = ROAD.get(), perf_counter()
        outcome = super().notify(outcome, started_s)
        if road is not None:
            road.spans["notify"] = CallSpan(start_s, perf_counter())
        return outcome


def timed(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline that is timed, and otherwise the given one: both have the same state."""
    view = TimedPipeline.__new__(TimedPipeline)
    view.__dict__ = pipeline.__dict__
    return view
