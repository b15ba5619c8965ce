"""The calls of a journal with arguments and result, which a journal record lacks, so that they can be replayed.

Pure. There is one line per call, with the request id of its record. A call that never began, because its envelope was
not valid, has no arguments here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import Call
from signet.kernel.redaction import redact_labelled
from signet.kernel.tools import Tool

from .record import JournalEntry, JournalRecord

__all__ = ["CallError", "LoggedCall", "call_lines", "logged"]

Redact = Callable[[bytes], bytes]

_encode: Final = msgspec.json.Encoder().encode


class CallError(msgspec.Struct, frozen=True):
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
    error: CallError | UnsetType = UNSET
    by_name: bool = False
    """Whether an unknown tool was searched by its name only, not by its slug."""
    ts: str = ""
    """The time of the end, as in the journal; ids that are derived from the call do not tell equal calls apart."""


def call_lines(pairs: list[tuple[JournalEntry, JournalRecord]], redact: Redact) -> list[bytes]:
    """Return the lines of a batch of calls, without their secrets."""
    return [_line(entry, record, redact) for entry, record in pairs]


def _line(entry: JournalEntry, record: JournalRecord, redact: Redact) -> bytes:
    try:
        call = logged(record.request_id, entry.call, entry.tool, entry.fault, entry.body)
    except RecursionError:  # the arguments are nested too deeply to be encoded
        call = LoggedCall(record.request_id, redact_labelled(entry.call.tool_key))
    return redact(_encode(msgspec.structs.replace(call, ts=record.ts)))


def logged(request_id: str, call: Call, tool: Tool | None, fault: Fault | None, body: bytes) -> LoggedCall:
    """Return the line of a call and its outcome."""
    began = fault is None or tool is not None or fault.code is Code.NOT_FOUND
    return LoggedCall(
        request_id,
        tool.slug if tool is not None else redact_labelled(call.tool_key),
        Raw(_encode(call.arguments)) if began else UNSET,
        Raw(body) if fault is None else UNSET,
        UNSET if fault is None else CallError(fault.code.value, redact_labelled(fault.message)),
        call.door.by_name and tool is None,
    )
