"""One call of the journal: its road, its arguments and its answer where calls are recorded, and the same call again."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw

from signet.journal.record import LoggedCall, logged
from signet.kernel.caller import CALL_ALL
from signet.kernel.errors import ACCESS_FAULTS, Code, Fault, insufficient_scope
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool
from signet.kernel.wire import encode
from signet.settings.model import Settings
from signet.system.recording_redactor import RecordingRedactor
from signet.system.redaction import REDACTED

from .comparing import ComparedValue, differences
from .feed import MAX_CALLER_CHARS, OK, Feed, FeedRecord
from .parts import ConsoleContext
from .recording import find_call
from .twin import DOOR, Shown, Visit
from .work import work

__all__ = ["ARGUMENTS_NOT_KNOWN", "RecordPage", "ReplayAnswer", "ReplayRequest", "replay", "show_record"]

ARGUMENTS_NOT_KNOWN: Final = "ARGUMENTS_NOT_KNOWN"
RELAYED: Final = " relay"
"""How the doors of requests end that were passed on to a wrapped server and are no calls."""
AGAIN: Final = "/-/journal/{requestId}/replay"
STAGES: Final = ("envelope", "access", "input contract", "tool", "output contract")
FAILING: Final = {"envelope": "envelope", "access": "access", "input": "input contract", "output": "output contract"}
NOT_RECORDED: Final = "Arguments are not kept: the server does not record. Start it with --record DIR."
NO_JOURNAL: Final = "Arguments are not kept: a recording needs the journal. Start the server without --no-journal."
NOT_FOUND: Final = "Arguments are not known: the recording has no line of this call."
NOT_ALLOWED: Final = (
    "Arguments and answer are shown to those who may call this tool, and to the one who made the call. "
    "Your token may not call it."
)
AT_THE_DOOR: Final = "Arguments are not known: the request was refused before it was a call."
SECRET: Final = "A value of the arguments was a secret and is not kept, so the same call cannot be made again."  # noqa: S105 - a sentence


class RoadStage(Shown, frozen=True):
    """One stage of a call."""

    name: str
    status: str
    """passed, failed or skipped."""
    detail: str = ""
    place: str = ""
    """The first place that is wrong, such as `codes[0]`; `$` is the whole value."""
    keyword: str = ""


class RecordedAnswer(Shown, frozen=True):
    """A result, or an error."""

    ok: bool
    result: Any = None
    error: dict[str, Any] | None = None


class RecordPage(Shown, frozen=True):
    """All that is known of one call."""

    record: FeedRecord | None
    """The record; null for a call that only the recording knows."""
    road: list[RoadStage]
    tool: str
    is_read_only: bool
    """Whether the tool says that it changes nothing."""
    has_arguments: bool
    why: str
    """Why the arguments are not known, or why the call cannot be made again; empty where it can."""
    arguments: Any = None
    answer: RecordedAnswer | None = None


class ReplayRequest(Shown, frozen=True):
    """Which of several calls with the same requestId."""

    seq: Annotated[str, Meta(max_length=100)] = ""
    """The `seq` of its record; empty for the latest."""


class ReplayAnswer(Shown, frozen=True):
    """The recorded answer, the answer now, and how they differ."""

    tool: str
    then: RecordedAnswer
    now: RecordedAnswer
    equal: bool
    differences: list[ComparedValue]
    more: int
    """The number of further differences."""
    took_ms: float


async def show_record(parts: ConsoleContext, feed: Feed, visit: Visit) -> RecordPage:
    """Return one call, by its requestId or by its record's seq."""
    key = visit.path["requestId"]
    record, call = await work(_find, parts.settings, feed, key)
    if record is None and call is None:
        raise Fault(Code.NOT_FOUND, f"No call {key[:100]!r} is known: the latest are kept, and those of a recording")
    tool = _tool_of(parts, record, call)
    is_open = call is None or _may_see(visit, record, call)
    why = _why_not(parts.settings, call) if is_open else NOT_ALLOWED
    call = call if is_open else None
    has_arguments = call is not None and isinstance(call.arguments, Raw)
    return RecordPage(
        record,
        [] if record is None else _road(parts.settings, record, is_known=tool is not None),
        tool.name if tool is not None else record.tool if record is not None else "",
        is_read_only=tool is not None and bool(tool.annotations.get("readOnlyHint")),
        has_arguments=has_arguments,
        why=why,
        arguments=call.arguments if call is not None and has_arguments else None,
        answer=None if call is None else _answer(call),
    )


async def replay(parts: ConsoleContext, feed: Feed, visit: Visit) -> ReplayAnswer:
    """Make a recorded call again, as the visitor and through the one road, and compare the answers.

    A visitor who may not call is refused.
    """
    key = visit.body.seq or visit.path["requestId"]
    record, then = await work(_find, parts.settings, feed, key)
    why = _why_not(parts.settings, then)
    if then is None and record is None:
        raise Fault(Code.NOT_FOUND, f"No call {key[:100]!r} is known")
    if then is None or not isinstance(then.arguments, Raw) or why:
        raise Fault(Code.INVALID_INPUT, why, name=ARGUMENTS_NOT_KNOWN, status=409)
    outcome, took_ms = await _run_again(parts, visit, then, msgspec.json.decode(then.arguments))
    if outcome.fault is not None and outcome.fault.name in ACCESS_FAULTS:
        raise outcome.fault
    if not _may_see(visit, record, then):
        # A tool that is not served any more refuses nobody.
        raise insufficient_scope(then.tool, f"{CALL_ALL}:{then.tool}")
    return await work(_compare, parts.settings, then, outcome, took_ms)


def _may_see(visit: Visit, record: FeedRecord | None, call: LoggedCall) -> bool:
    """Return whether a visitor may see arguments and answers: of a tool that it may call, or of a call of its own."""
    principal = visit.request.caller.principal
    if principal is None or principal.may_call(call.tool):
        return True
    # A name that was cut may be somebody else's.
    return record is not None and record.caller == principal.name and len(principal.name) < MAX_CALLER_CHARS


async def _run_again(parts: ConsoleContext, visit: Visit, then: LoggedCall, arguments: Any) -> tuple[Outcome, float]:
    """Make a recorded call for a visitor; return its outcome, and how many milliseconds it took."""
    door = Door("http", AGAIN, DOOR, by_name=then.by_name)
    caller = visit.request.caller
    call = Call(then.tool, arguments, QUIET_CONTEXT, door, caller, trace=caller.trace)
    started_s = perf_counter()
    visit.request.call = call
    outcome = parts.server.pipeline.run(call)
    if not isinstance(outcome, Outcome):
        outcome = await outcome
    visit.request.outcome = outcome
    return outcome, round((perf_counter() - started_s) * 1000, 3)


def _compare(settings: Settings, then: LoggedCall, outcome: Outcome, took_ms: float) -> ReplayAnswer:
    # As calls are recorded: a secret in an answer is hidden on both sides.
    line = encode(logged(then.request_id, outcome.call, outcome.tool, outcome.fault, outcome.body))
    now = msgspec.json.decode(RecordingRedactor(settings.secrets()).body(line), type=LoggedCall)
    before, after = _answer(then), _answer(now)
    found, more = differences(_value(before), _value(after))
    tool = outcome.tool.name if outcome.tool is not None else then.tool
    return ReplayAnswer(tool, before, after, not found, found, more, took_ms)


def _value(answer: RecordedAnswer) -> dict[str, Any]:
    return {"result": msgspec.json.decode(answer.result)} if answer.ok else {"error": answer.error}


def _answer(call: LoggedCall) -> RecordedAnswer:
    if isinstance(call.result, Raw):
        return RecordedAnswer(ok=True, result=call.result)
    error = None if call.error is UNSET else msgspec.to_builtins(call.error)
    return RecordedAnswer(ok=False, error=error)


def _find(settings: Settings, feed: Feed, key: str) -> tuple[FeedRecord | None, LoggedCall | None]:
    """Return the record and the recorded call of an id, as far as there are such."""
    feed.take_others()
    record = feed.find(key)
    folder = settings.record or settings.replay
    if not folder:
        return record, None
    return record, find_call(folder, record.request_id if record else key, record.ts if record else "")


def _why_not(settings: Settings, call: LoggedCall | None) -> str:
    """Return why a call cannot be made again; empty if it can."""
    if call is None:
        if settings.record and not settings.keeps_journal:
            return NO_JOURNAL
        return NOT_FOUND if settings.record or settings.replay else NOT_RECORDED
    if not isinstance(call.arguments, Raw):
        return AT_THE_DOOR
    return SECRET if REDACTED.encode() in bytes(call.arguments) else ""


def _tool_of(parts: ConsoleContext, record: FeedRecord | None, call: LoggedCall | None) -> Tool | None:
    toolbox = parts.server.pipeline.toolbox
    if record is not None:
        # What was relayed names a prompt or a resource, which may be called like a tool.
        return None if record.door.endswith(RELAYED) else toolbox.named(record.tool)
    return toolbox.find(call.tool) if call is not None else None


def _road(settings: Settings, record: FeedRecord, *, is_known: bool) -> list[RoadStage]:
    """Return the stages of a call, as far as its record tells."""
    failing = None if record.code == OK else FAILING.get(record.stage, "tool" if is_known else "envelope")
    message = (record.error or {}).get("message", "")
    stages, is_over = [], False
    for name in STAGES if failing == "access" else (name for name in STAGES if name != "access"):
        if name == failing and record.shadow:
            stages.append(RoadStage(name, "failed", f"not enforced: {message}", record.place, record.keyword))
        elif name == failing:
            stages.append(RoadStage(name, "failed", message, record.place, record.keyword))
            is_over = True
        elif is_over or (not is_known and name == "input contract"):
            stages.append(RoadStage(name, "skipped"))
        elif name.endswith("contract") and settings.validation == "off":
            stages.append(RoadStage(name, "skipped", "contracts are not checked"))
        else:
            stages.append(RoadStage(name, "passed"))
    journal = ("passed", "") if settings.keeps_journal else ("skipped", "no journal is kept")
    return [*stages, RoadStage("journal", *journal)]
