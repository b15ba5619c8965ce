"""One journal record: the outcome of one call, in the fields of spec 5.

Pure. Only `transport` and `route` differ from door to door. Only the time, the duration and, unless they are derived
from the call, the ids differ from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from signet.kernel.errors import Code, Fault
from signet.kernel.ids import Ids, deterministic, random
from signet.kernel.outcome import Call
from signet.kernel.schemas import PREFIX
from signet.kernel.tools import Tool
from signet.system.redaction import SecretRedactor, redact_secrets

__all__ = [
    "CALLS",
    "METHOD",
    "VOLATILE",
    "JournalEntry",
    "JournalRecord",
    "LoggedCall",
    "Recorder",
    "call_lines",
    "logged",
]

VOLATILE: Final = ("ts", "traceId", "spanId", "requestId", "durationMs", "transport", "route")
"""The fields in which two records of the same call may differ."""

AGENT: Final = "mcp_server"
TASK: Final = "06cV2A_mcp_envelope_and_schema_validation_A"  # rule: 5.golden.fixture
CALLS: Final = "calls.jsonl"
"""The file of a recording that has the calls, with their arguments and results."""
METHOD: Final = "mcp.tool.invoke"
"""The logical method of every call; `route` holds the way by which it came."""

SCHEMA_VERSION: Final = "0.1.0"
MAX_MESSAGE_CHARS: Final = 250
MAX_SHARED_CHARS: Final = 115
"""The same for two messages in one line."""
MAX_NAME_CHARS: Final = 120
MAX_LINE_BYTES: Final = 3584
"""The longest line: all text from outside is cut, and JSON takes at most six bytes per character."""
MAX_TEMPLATES: Final = 1000
"""The number of templates that are kept: callers can make up any number of routes."""

_encode: Final = msgspec.json.Encoder().encode


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The `metadata` of a record."""

    deterministic: bool
    prompt_id: None
    schema_version: str
    tool_id: str | None


class JournalRecord(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One line of the journal, with its fields in alphabetical order."""

    agent_id: str  # rule: 5.journal.keys
    attempt: int
    duration_ms: float
    error: dict[str, Any] | None
    input_bytes: int
    metadata: Metadata
    method: str
    output_bytes: int
    request_id: str
    route: str
    span_id: str
    status: str
    step_id: int
    task_id: str
    trace_id: str
    transport: str
    ts: str


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """The part of an outcome that is kept until its record is built.

    `gc=False`: nothing refers back to an entry, so the garbage collector need not look at a thousand that wait.
    """

    call: Call
    tool: Tool | None
    fault: Fault | None
    shadow_violation: Fault | None
    output_bytes: int
    ended_s: float
    took_s: float
    body: bytes = b""
    """The result, which may be large; empty unless calls are recorded for a replay."""


class RecordTemplate(msgspec.Struct, frozen=True):
    """The fields that all records of one tool and one route share."""

    metadata: Metadata
    route: str
    extra_bytes: int
    """The size that the canonical envelope adds to the arguments."""


class Recorder:
    """Builds the records of outcomes, and counts the steps of each door."""

    def __init__(self, *, deterministic_ids: bool = False, secrets: tuple[str, ...] = ()) -> None:
        self._deterministic = deterministic_ids
        self._redactor = SecretRedactor(secrets)
        self._steps: dict[str, int] = {}
        self._templates: dict[tuple[str, str], RecordTemplate] = {}

    def records(self, entries: list[JournalEntry]) -> list[JournalRecord]:
        """Return the records of outcomes, in their order."""
        ids = map(_derived_ids, entries) if self._deterministic else random(len(entries))
        return [self._record(entry, own) for entry, own in zip(entries, ids, strict=True)]

    def _record(self, entry: JournalEntry, ids: Ids) -> JournalRecord:
        call, tool, door = entry.call, entry.tool, entry.call.door
        template = self._templates.get((door.route, tool.slug)) if tool is not None else None  # rule: @Recorder._record
        if template is None:
            template = self._template(entry)
        is_plain = entry.fault is None and entry.shadow_violation is None
        self._steps[door.name] = step = self._steps.get(door.name, 0) + 1
        # Positional arguments in the order of the fields: keywords would take twice as long.
        return JournalRecord(
            AGENT,
            0,  # rule: 5.parity.equal
            int(entry.took_s * 1_000_000) / 1000,
            None if is_plain else self._error(entry),  # rule: @Recorder._record/2
            _size(call.arguments) + template.extra_bytes,
            template.metadata,
            METHOD,
            entry.output_bytes,
            ids.request_id,
            template.route,
            ids.span_id,
            "ok" if entry.fault is None else "error",
            step,
            TASK,
            ids.trace_id,
            door.transport,
            _timestamp(int(entry.ended_s * 1000)),
        )

    def _template(self, entry: JournalEntry) -> RecordTemplate:
        """Return the template of an entry's tool and route, and keep it where it may be kept."""
        template, route = self._build_template(entry), entry.call.door.route
        if entry.tool is not None and len(route) <= MAX_NAME_CHARS:
            if len(self._templates) >= MAX_TEMPLATES:  # rule: @Recorder._template
                self._templates.clear()
            self._templates[route, entry.tool.slug] = template
        return template

    def _build_template(self, entry: JournalEntry) -> RecordTemplate:
        # Text of callers is redacted before it is cut: half a secret would not be recognised.
        name = entry.tool.slug if entry.tool is not None else entry.call.tool_key.removeprefix(PREFIX)
        metadata = Metadata(self._deterministic, None, SCHEMA_VERSION, self._clean(name)[:MAX_NAME_CHARS] or None)
        extra_bytes = len(_encode({"input": Raw(), "tool": PREFIX + _slug(entry)}))
        return RecordTemplate(metadata, self._clean(entry.call.door.route)[:MAX_NAME_CHARS], extra_bytes)

    def _error(self, entry: JournalEntry) -> dict[str, Any] | None:
        """Return the `error` of a record; a violation in shadow mode is marked as such, also beside a failure."""
        violation = entry.shadow_violation
        fault = entry.fault or violation
        if fault is None:  # rule: @Recorder._error
            return None
        if violation is None:
            return self._told(fault)
        if fault is violation:
            return {**self._told(fault), "details": {"mode": "shadow"}}  # rule: 5.modes/2
        told = self._told(violation, MAX_SHARED_CHARS)
        return {**self._told(fault, MAX_SHARED_CHARS), "details": {"mode": "shadow", "violation": told}}

    def _told(self, fault: Fault, max_chars: int = MAX_MESSAGE_CHARS) -> dict[str, Any]:
        return {"code": fault.code.value, "message": self._clean(fault.message, max_chars)}

    def _clean(self, text: str, max_chars: int = MAX_MESSAGE_CHARS) -> str:
        """Return a text without known secrets and without values that are labelled as secrets, cut to its limit."""
        return self._redactor.beginning(text, max_chars)


def _slug(entry: JournalEntry) -> str:
    return entry.tool.slug if entry.tool is not None else entry.call.tool_key.removeprefix(PREFIX)[:MAX_NAME_CHARS]


def _size(arguments: Any) -> int:
    try:
        return len(_encode(arguments))
    except RecursionError:  # nested too deeply to be encoded
        return 0


def _derived_ids(entry: JournalEntry) -> Ids:
    tool = PREFIX + _slug(entry)
    try:
        # rule: 5.ids.same-everywhere
        return deterministic(METHOD, "tool", {"arguments": entry.call.arguments, "toolId": tool})
    except RecursionError:
        return deterministic(METHOD, "tool", {"arguments": None, "toolId": tool})


@lru_cache(maxsize=2)
def _timestamp(ended_ms: int) -> str:
    second, ms = divmod(ended_ms, 1000)
    return f"{_date_and_time(second)}.{ms:03d}Z"


@lru_cache(maxsize=2)
def _date_and_time(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class LoggedError(msgspec.Struct, frozen=True):
    """The fault of a call."""

    code: str
    message: str


class LoggedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a call, and its result or error."""

    request_id: str = msgspec.field(name="requestId")
    tool: str
    """The slug of the tool; for an unknown tool, the name that the caller used."""
    arguments: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: LoggedError | UnsetType = UNSET
    by_name: bool = False
    """Whether an unknown tool was searched by its name only, not by its slug."""
    ts: str = ""
    """The time of the end, as in the journal; ids that are derived from the call do not tell equal calls apart."""


def call_lines(pairs: list[tuple[JournalEntry, JournalRecord]], redact: Callable[[bytes], bytes]) -> list[bytes]:
    """Return the lines of a batch of calls, without their secrets."""
    return [_line(entry, record, redact) for entry, record in pairs]


def _line(entry: JournalEntry, record: JournalRecord, redact: Callable[[bytes], bytes]) -> bytes:
    try:
        call = logged(record.request_id, entry.call, entry.tool, entry.fault, entry.body)
    except RecursionError:  # the arguments are nested too deeply to be encoded
        call = LoggedCall(record.request_id, redact_secrets(entry.call.tool_key))
    return redact(_encode(msgspec.structs.replace(call, ts=record.ts)))


def logged(request_id: str, call: Call, tool: Tool | None, fault: Fault | None, body: bytes) -> LoggedCall:
    """Return the line of a call and its outcome."""
    began = fault is None or tool is not None or fault.code is Code.NOT_FOUND
    return LoggedCall(
        request_id,
        tool.slug if tool is not None else redact_secrets(call.tool_key),
        Raw(_encode(call.arguments)) if began else UNSET,
        Raw(body) if fault is None else UNSET,
        UNSET if fault is None else LoggedError(fault.code.value, redact_secrets(fault.message)),
        call.door.by_name and tool is None,
    )
