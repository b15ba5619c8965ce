"""Calls as they were made: what a journal's record leaves out, for the call to be run again.

Pure. One line a call, tied to its record by the request id. A call that never began, because its envelope was none,
has no arguments here.
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
    """What was wrong with a call."""

    code: str
    message: str


class LoggedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line."""

    requestId: str  # noqa: N815 - the journal's name
    tool: str
    """The slug of a tool; of one that is not known, what it was asked for by."""
    arguments: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: CallError | UnsetType = UNSET
    by_name: bool = False
    """Whether a tool that was not found would have been found by its name alone, not by its slug."""
    ts: str = ""
    """When it ended, as the journal says: ids that follow from the call are the same in every run."""


def call_lines(pairs: list[tuple[JournalEntry, JournalRecord]], redact: Redact) -> list[bytes]:
    """Write the calls of a batch, without their secrets."""
    return [_line(entry, record, redact) for entry, record in pairs]


def _line(entry: JournalEntry, record: JournalRecord, redact: Redact) -> bytes:
    try:
        line = logged(record.requestId, entry.call, entry.tool, entry.fault, entry.body)
    except RecursionError:  # nested as deep as can be read: there is nothing to run again
        line = LoggedCall(record.requestId, redact_labelled(entry.call.tool_key))
    return redact(_encode(msgspec.structs.replace(line, ts=record.ts)))


def logged(request_id: str, call: Call, tool: Tool | None, fault: Fault | None, body: bytes) -> LoggedCall:
    """Give a call and what became of it."""
    began = fault is None or tool is not None or fault.code is Code.NOT_FOUND
    return LoggedCall(
        request_id,
        tool.slug if tool is not None else redact_labelled(call.tool_key),
        Raw(_encode(call.arguments)) if began else UNSET,
        Raw(body) if fault is None else UNSET,
        UNSET if fault is None else CallError(fault.code.value, redact_labelled(fault.message)),
        call.door.by_name and tool is None,
    )
