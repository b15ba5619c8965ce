"""The road of one call: when it passed each stage, and which requests its tool made to upstreams.

    twin ── Road in a context variable ── the server's pipeline, timed ── prepare ── tool ── finish ── notify
                                                                                      └ upstream attempts

A pipeline of the server's own class is timed by a subclass that shares its state; all other calls run as they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from time import perf_counter
from types import MappingProxyType
from typing import Final

import msgspec

from signet.kernel.errors import Fault
from signet.kernel.outcome import Call, Outcome, PreparedCall, Relayed
from signet.kernel.pipeline import Pipeline
from signet.kernel.spending import THREAD_WORK
from signet.kernel.upstream import UpstreamVisit

__all__ = ["ROAD", "Attempt", "Road", "Span", "TimedPipeline", "timed", "visitor"]

MAX_ATTEMPTS: Final = 200
"""The attempts that are kept of one call; a tool that reads many pages makes hundreds."""


NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Span(msgspec.Struct):
    """A stretch of time, in seconds of the process clock."""

    start_s: float
    end_s: float


class Attempt(msgspec.Struct):
    """One request to an upstream."""

    upstream: str
    method: str
    origin: str
    span: Span
    code: str = ""
    """The status of the response, or the kind of the failure; empty while it is awaited."""

    headers: Mapping[str, str] = NO_HEADERS
    """The service is told of no trace."""

    def end(self, code: str) -> None:
        """Note the status of the response, or the kind of the failure."""
        self.code, self.span.end_s = code, perf_counter()


class Road:
    """The stages that one call has passed."""

    def __init__(self) -> None:
        self.started_s = perf_counter()
        self.sent_s = 0.0
        """When the call was handed to the pipeline."""
        self.spans: dict[str, Span] = {}
        """The stages by the name of the pipeline's step: `prepare`, `finish`, `notify`."""
        self.attempts: list[Attempt] = []
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

    def attempt(self, upstream: str, method: str, origin: str) -> Attempt:
        """Begin a request to an upstream."""
        now = perf_counter()
        attempt = Attempt(upstream, method, origin, Span(now, now))
        if len(self.attempts) < MAX_ATTEMPTS:
            self.attempts.append(attempt)
        else:
            self.left_out += 1
        return attempt


ROAD: Final[ContextVar[Road | None]] = ContextVar("ROAD", default=None)
"""The road of the call that is made in this context, if the console made it."""


class _Unwatched:
    """A request to an upstream of a call that the console did not make."""

    headers: Mapping[str, str] = NO_HEADERS

    def end(self, code: str) -> None:
        """Do nothing."""


UNWATCHED: Final = _Unwatched()


def visitor(upstream: str, method: str, origin: str) -> UpstreamVisit:
    """Begin a request to an upstream, which counts for the road that is watched here."""
    road = ROAD.get()
    return UNWATCHED if road is None else road.attempt(upstream, method, origin)


class TimedPipeline(Pipeline):
    """A pipeline whose steps are noted on the road of the call."""

    def prepare(
        self, call: Call, shadow_violation: Fault | None = None, work: int = THREAD_WORK
    ) -> PreparedCall | Outcome:
        """Check the arguments."""
        road, start_s = ROAD.get(), perf_counter()
        prepared = super().prepare(call, shadow_violation, work)
        if road is not None:
            road.spans["prepare"] = Span(start_s, perf_counter())
            road.prepared = prepared
            runtime = self._runtimes.get(prepared.tool.slug) if prepared.tool is not None else None
            road.has_upstream = runtime is not None and runtime.upstream is not None
        return prepared

    def finish(self, prepared: PreparedCall, value: object, work: int = THREAD_WORK) -> Outcome:
        """Check the result."""
        road, start_s = ROAD.get(), perf_counter()
        outcome = super().finish(prepared, value, work)
        if road is not None:
            road.spans["finish"] = Span(start_s, perf_counter())
            road.finished, road.value = outcome, value
        return outcome

    def notify(self, outcome: Outcome, started_s: float | None = None) -> Outcome:
        """Pass the outcome to the journal."""
        road, start_s = ROAD.get(), perf_counter()
        outcome = super().notify(outcome, started_s)
        if road is not None:
            road.spans["notify"] = Span(start_s, perf_counter())
        return outcome


_TIMED: Final[dict[type[Pipeline], type[Pipeline]]] = {Pipeline: TimedPipeline}
"""The timed class of each class of pipelines; its steps are those of that class."""


def timed(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline that is timed, and otherwise the given one: both have the same state."""
    kind = type(pipeline)
    if kind not in _TIMED:
        _TIMED[kind] = type(f"Timed{kind.__name__}", (TimedPipeline, kind), {})
    view = _TIMED[kind].__new__(_TIMED[kind])
    view.__dict__ = pipeline.__dict__
    return view
