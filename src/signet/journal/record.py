"""One journal record: what became of one call, in spec 5's words.

Pure. What differs from door to door is `transport` and `route` alone; what differs from run to run is the time, the
duration and, unless they are derived from the call, the ids.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import Fault
from signet.kernel.ids import Ids, deterministic, random
from signet.kernel.outcome import Call
from signet.kernel.redaction import SecretRedactor, redact_labelled
from signet.kernel.schemas import PREFIX
from signet.kernel.tools import Tool

__all__ = ["MAX_LINE_BYTES", "VOLATILE", "JournalEntry", "JournalRecord", "Metadata", "Recorder"]

VOLATILE: Final = ("ts", "traceId", "spanId", "requestId", "durationMs", "transport", "route")
"""The fields in which two records of the same call may differ."""

AGENT: Final = "mcp_server"
TASK: Final = "06cV2A_mcp_envelope_and_schema_validation_A"
METHOD: Final = "mcp.tool.invoke"
"""The logical method of every call; how it came is the route's business."""

SCHEMA_VERSION: Final = "0.1.0"
MAX_MESSAGE_CHARS: Final = 250
MAX_NAME_CHARS: Final = 120
MAX_LINE_BYTES: Final = 3584
"""No line is longer: its parts from outside are cut, and a character takes six bytes at the most."""
MAX_FRAMES: Final = 1000
"""Routes may be as many as callers like."""

_encode: Final = msgspec.json.Encoder().encode


class Metadata(msgspec.Struct, frozen=True):
    """What a record says about its making."""

    deterministic: bool
    promptId: None  # noqa: N815 - spec 5's name
    schemaVersion: str  # noqa: N815
    toolId: str | None  # noqa: N815


class JournalRecord(msgspec.Struct, frozen=True):
    """One line; its fields in the order of their names."""

    agentId: str  # noqa: N815 - spec 5's names, here and below
    attempt: int
    durationMs: float  # noqa: N815
    error: dict[str, Any] | None
    inputBytes: int  # noqa: N815
    metadata: Metadata
    method: str
    outputBytes: int  # noqa: N815
    requestId: str  # noqa: N815 - the journal's name
    route: str
    spanId: str  # noqa: N815
    status: str
    stepId: int  # noqa: N815
    taskId: str  # noqa: N815
    traceId: str  # noqa: N815
    transport: str
    ts: str


class JournalEntry(msgspec.Struct, frozen=True):
    """What is kept of an outcome until its record is made: not the result, which may be large, unless it is wanted."""

    call: Call
    tool: Tool | None
    fault: Fault | None
    shadow_violation: Fault | None
    output_bytes: int
    ended_s: float
    took_s: float
    body: bytes = b""


class RecordTemplate(msgspec.Struct, frozen=True):
    """What is the same in all records of one tool through one route."""

    about: Metadata
    route: str
    extra_bytes: int
    """What the canonical envelope adds to the size of the arguments."""


class Recorder:
    """Makes records of outcomes, counting the steps of each door."""

    def __init__(self, *, deterministic_ids: bool = False, secrets: tuple[str, ...] = ()) -> None:
        self._deterministic = deterministic_ids
        self._veil = SecretRedactor(secrets)
        self._steps: dict[str, int] = {}
        self._frames: dict[tuple[str, str], RecordTemplate] = {}

    def records(self, entries: list[JournalEntry]) -> list[JournalRecord]:
        """Make the records of many outcomes, in their order."""
        names = map(_named, entries) if self._deterministic else random(len(entries))
        return [self._record(entry, ids) for entry, ids in zip(entries, names, strict=True)]

    def _record(self, entry: JournalEntry, ids: Ids) -> JournalRecord:
        call, frame = entry.call, self._frame(entry)
        # By place, in the order of the fields: by name it would take twice as long.
        return JournalRecord(
            AGENT,
            0,
            int(entry.took_s * 1_000_000) / 1000,
            self._error(entry),
            _size(call.arguments) + frame.extra_bytes,
            frame.about,
            METHOD,
            entry.output_bytes,
            ids.request_id,
            frame.route,
            ids.span_id,
            "ok" if entry.fault is None else "error",
            self._step(call.door.name),
            TASK,
            ids.trace_id,
            call.door.transport,
            _timestamp(int(entry.ended_s * 1000)),
        )

    def _frame(self, entry: JournalEntry) -> RecordTemplate:
        """Give what the records of one tool through one route share."""
        if entry.tool is None or len(entry.call.door.route) > MAX_NAME_CHARS:
            return self._frame_of(entry)
        key = entry.call.door.route, entry.tool.slug
        found = self._frames.get(key)
        if found is None:
            if len(self._frames) >= MAX_FRAMES:
                self._frames.clear()
            found = self._frames[key] = self._frame_of(entry)
        return found

    def _frame_of(self, entry: JournalEntry) -> RecordTemplate:
        """Cut what callers may have written, once it is clean."""
        name = entry.tool.slug if entry.tool is not None else entry.call.tool_key.removeprefix(PREFIX)
        about = Metadata(self._deterministic, None, SCHEMA_VERSION, self._clean(name)[:MAX_NAME_CHARS] or None)
        extra = len(_encode({"input": Raw(), "tool": PREFIX + _slug(entry)}))
        return RecordTemplate(about, self._clean(entry.call.door.route)[:MAX_NAME_CHARS], extra)

    def _step(self, door: str) -> int:
        self._steps[door] = self._steps.get(door, 0) + 1
        return self._steps[door]

    def _error(self, entry: JournalEntry) -> dict[str, Any] | None:
        """Say what was wrong; what was only shadow_violation, because contracts are in shadow, says so."""
        fault = entry.fault or entry.shadow_violation
        if fault is None:
            return None
        error: dict[str, Any] = {"code": fault.code.value, "message": self._clean(fault.message)}
        return error if entry.fault is not None else {**error, "details": {"mode": "shadow"}}

    def _clean(self, text: str) -> str:
        """Take secrets out of a text, those we were given and those that call themselves so."""
        return redact_labelled(self._veil.text(text))[:MAX_MESSAGE_CHARS]


def _slug(entry: JournalEntry) -> str:
    return entry.tool.slug if entry.tool is not None else entry.call.tool_key.removeprefix(PREFIX)[:MAX_NAME_CHARS]


def _size(arguments: Any) -> int:
    try:
        return len(_encode(arguments))
    except RecursionError:  # nested as deep as can be read
        return 0


def _named(entry: JournalEntry) -> Ids:
    tool = PREFIX + _slug(entry)
    try:
        return deterministic(METHOD, "tool", {"arguments": entry.call.arguments, "toolId": tool})
    except RecursionError:
        return deterministic(METHOD, "tool", {"arguments": None, "toolId": tool})


@lru_cache(maxsize=2)
def _timestamp(ended_ms: int) -> str:
    second, ms = divmod(ended_ms, 1000)
    return datetime.fromtimestamp(second, UTC).strftime(f"%Y-%m-%dT%H:%M:%S.{ms:03d}Z")
