"""The stages of a call as the console draws them: passed, failed or skipped, when, and where a failure is."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from signet.kernel.events import UpstreamVisit
from signet.kernel.outcome import Outcome, PreparedCall
from signet.kernel.pipeline import Mode

from .road import CallSpan, Road
from .twin import Shown
from .violations import PlaceShown, Violations, as_path

__all__ = ["RoadStep", "Stages"]

Status = Literal["passed", "failed", "skipped"]

NOT_REACHED: Final = "not reached"
FAILED_FROM: Final = 400
"""The lowest status of a response that is a failure."""


class RoadStep(Shown, frozen=True):
    """One stage of a call."""

    name: str
    """`envelope`, `access`, `input contract`, `tool`, `upstream` for each attempt, `output contract`, `journal`."""
    status: Status
    start_ms: float
    """The time since the call began."""
    took_ms: float
    detail: str = ""
    place: str | None = None
    """The first place that is wrong, such as `codes[0]`; `$` is the whole value."""
    keyword: str | None = None
    value: str | None = None
    """The JSON of the value at that place, cut."""


class Stages:
    """Tells the stages of calls of one server."""

    def __init__(self, violations: Violations, mode: Mode, *, keeps_journal: bool) -> None:
        self._violations = violations
        self._checks = mode is not Mode.OFF
        self._keeps_journal = keeps_journal

    def tell(
        self, road: Road, outcome: Outcome, *, is_limited: bool, server: str = ""
    ) -> tuple[list[RoadStep], list[PlaceShown]]:
        """Return the stages of a call and the places that are wrong; for a thread, as places have to be found.

        `server` is the name of the wrapped server behind the tool, if there is one.
        """
        prepare, notify = road.spans.get("prepare"), road.spans.get("notify")
        entered_s = (prepare or notify or CallSpan(road.started_s, 0)).start_s
        places: list[PlaceShown] = []
        steps = [_envelope(road, outcome)]
        refused = prepare is None and outcome.fault is not None
        if outcome.tool is not None and (is_limited or refused):
            steps.append(_access(road, outcome, CallSpan(road.sent_s, entered_s), refused=refused))
        steps.append(self._input(road, outcome, places))
        steps += _tool(road, server)
        steps.append(self._output(road, places))
        status: Status = "passed" if self._keeps_journal else "skipped"
        detail = "handed over, to be written" if self._keeps_journal else "no journal is kept"
        steps.append(_step(road, "journal", status, notify, detail))
        return steps, places

    def _input(self, road: Road, outcome: Outcome, places: list[PlaceShown]) -> RoadStep:
        name, span, prepared = "input contract", road.spans.get("prepare"), road.prepared
        if prepared is None or prepared.tool is None:
            return _step(road, name, "skipped", None, NOT_REACHED)
        fault = prepared.fault if isinstance(prepared, Outcome) else prepared.shadow_violation
        if fault is not None:
            places += self._violations.of_input(outcome, fault)
            more = " (noted, not enforced)" if isinstance(prepared, PreparedCall) else ""
            return _placed(_step(road, name, "failed", span, fault.message + more), places)
        if not self._checks:
            return _step(road, name, "skipped", span, "contracts are not checked")
        ignored = f"ignored: {', '.join(prepared.ignored)}" if prepared.ignored else ""
        return _step(road, name, "passed", span, ignored)

    def _output(self, road: Road, places: list[PlaceShown]) -> RoadStep:
        name, span, finished = "output contract", road.spans.get("finish"), road.finished
        if finished is None or road.tool_failed:
            return _step(road, name, "skipped", None, NOT_REACHED)
        fault = finished.fault
        note = ""
        if fault is None and finished.shadow_violation is not None and finished.shadow_violation.stage == "output":
            fault, note = finished.shadow_violation, " (noted, not enforced)"
        if fault is not None:
            found = self._violations.of_output(finished, fault, road.value)
            places += found
            return _placed(_step(road, name, "failed", span, fault.message + note), found)
        if not self._checks:
            return _step(road, name, "skipped", span, "contracts are not checked")
        return _step(road, name, "passed", span, f"{len(finished.body):,} bytes")


def _envelope(road: Road, outcome: Outcome) -> RoadStep:
    span = CallSpan(road.started_s, max(road.sent_s, road.started_s))
    if outcome.tool is None and outcome.fault is not None:
        return _step(road, "envelope", "failed", span, outcome.fault.message)
    return _step(road, "envelope", "passed", span, "POST /-/call")


def _access(road: Road, outcome: Outcome, span: CallSpan, *, refused: bool) -> RoadStep:
    if refused and outcome.fault is not None:
        return _step(road, "access", "failed", span, outcome.fault.message)
    answered = road.prepared is None
    return _step(road, "access", "passed", span, "answered before: the key was used" if answered else "scopes, limits")


def _tool(road: Road, server: str) -> list[RoadStep]:
    prepare, finish = road.spans.get("prepare"), road.spans.get("finish")
    if prepare is None or finish is None:
        return [
            _step(road, "tool", "skipped", None, NOT_REACHED),
            _step(road, "upstream", "skipped", None, NOT_REACHED),
        ]
    span = CallSpan(prepare.end_s, finish.start_s)
    failed = road.tool_failed
    fault = road.finished.fault if road.finished is not None else None
    detail = fault.message if failed and fault is not None else ""
    steps = [_step(road, "tool", "failed" if failed else "passed", span, detail)]
    if server:
        answered = not isinstance(road.value, BaseException)
        status: Status = "passed" if answered else "failed"
        return [*steps, _step(road, "upstream", status, span, f"{server}: the wrapped server")]
    return [*steps, *_upstream(road)]


def _upstream(road: Road) -> list[RoadStep]:
    if not road.attempts:
        why = "no request: the answer was cached or shared, or none was needed" if road.has_upstream else "it has none"
        return [_step(road, "upstream", "skipped", None, why)]
    steps = [_attempt(road, attempt) for attempt in road.attempts]
    if road.left_out:
        steps.append(_step(road, "upstream", "skipped", None, f"and {road.left_out} further requests"))
    return steps


def _attempt(road: Road, attempt: UpstreamVisit) -> RoadStep:
    passed = attempt.code.isdigit() and int(attempt.code) < FAILED_FROM
    detail = f"{attempt.upstream}: {attempt.method} {attempt.origin}, {attempt.code or 'not answered'}"
    span = CallSpan(attempt.started_s, attempt.ended_s)
    return _step(road, "upstream", "passed" if passed else "failed", span, detail)


def _placed(step: RoadStep, places: list[PlaceShown]) -> RoadStep:
    if not places:
        return step
    first = places[0]
    return msgspec.structs.replace(step, place=as_path(first.path), keyword=first.keyword, value=first.value)


def _step(road: Road, name: str, status: Status, span: CallSpan | None, detail: str = "") -> RoadStep:
    if span is None:
        last_s = max((one.end_s for one in road.spans.values()), default=road.started_s)
        span = CallSpan(last_s, last_s) if status != "skipped" else CallSpan(road.started_s, road.started_s)
    start_ms, took_ms = (span.start_s - road.started_s) * 1000, (span.end_s - span.start_s) * 1000
    return RoadStep(name, status, round(max(start_ms, 0.0), 3), round(max(took_ms, 0.0), 3), detail)
