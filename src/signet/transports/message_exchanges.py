"""Exchanges on stdio as they are written down: one for each message that is answered, before its answer is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any, Final

import msgspec

from signet.kernel.caller import NOBODY
from signet.kernel.channel import STDIO_MCP
from signet.kernel.envelope import INVOKE
from signet.kernel.errors import INTERNAL, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Fault
from signet.kernel.errors import caller_left as left_fault
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Call, Outcome
from signet.kernel.server import STDIO_ENVELOPE
from signet.kernel.tools import Toolbox
from signet.kernel.wire import Reply, failure

__all__ = ["Message", "MessageNotes"]

DONE: Final = 200
FAILED: Final = 400
LEFT: Final = 499
"""The statuses that HTTP would have: an answer, an error, a client that left before its answer."""
LAST_TURNS: Final = 8
"""The turns of the event loop in which cancelled calls end."""
REFUSALS: Final = {
    PARSE_ERROR: "NOT_JSON",
    INVALID_REQUEST: "INVALID_REQUEST",
    METHOD_NOT_FOUND: "METHOD_NOT_FOUND",
    INVALID_PARAMS: "INVALID_PARAMS",
}
OTHER: Final = "REFUSED"
NO_ENVELOPE: Final = "INVALID_ENVELOPE"
"""The names of errors that refuse a message before it is a call."""


class _Named(msgspec.Struct):
    method: str = ""


class _Answered(msgspec.Struct):
    id: Any = None


_method: Final = msgspec.json.Decoder(_Named).decode
_id: Final = msgspec.json.Decoder(_Answered).decode


class Message(msgspec.Struct, frozen=True):
    """What is kept of a message until it is answered."""

    method: str
    started_s: float
    line: bytes = b""


def _nothing() -> None:
    """Do nothing."""


class MessageNotes:
    """Tells a listener of each exchange; the listener raises a fault if the request has to be refused instead."""

    def __init__(
        self,
        listener: Callable[[Exchange], None],
        toolbox: Toolbox,
        start: Callable[[], None] = _nothing,
        close: Callable[[], None] = _nothing,
    ) -> None:
        """Tell `listener`; `start` and `close` are called when messages begin and end, while signals are heeded."""
        self._listener = listener
        self._toolbox = toolbox
        self.start = start
        self.close = close

    def begin(self, line: bytes | None) -> Message:
        """Return what has to be kept of a message that has come; None stands for a line that is too long."""
        started_s = perf_counter()
        try:
            return Message(_method(line or b"").method, started_s, line or b"")
        except (ValueError, RecursionError):
            return Message("", started_s)

    def note(self, message: Message, reply: Reply) -> Reply:
        """Tell of a reply that is about to be written; return it, or the error that takes its place."""
        outcome = reply.outcome
        refusal = REFUSALS.get(reply.code, OTHER) if reply.code and outcome is None else ""
        if outcome is not None and outcome.fault is not None and outcome.fault.stage == "envelope":
            refusal = NO_ENVELOPE
        try:
            self._tell(message, outcome, FAILED if reply.code else DONE, refusal, reply.size)
        except Fault as fault:
            return failure(_id(reply.whole()).id, INTERNAL, fault.message, {"canonical_code": fault.code})
        return reply

    def note_left(self, message: Message, call: Call) -> None:
        """Tell of a call that was cancelled, so that it gets no reply."""
        tool = self._toolbox.of(call.tool_key, by_name=call.door.by_name) if call.door.runs_tool else None
        with suppress(Fault):
            self._tell(message, Outcome(call, tool, fault=left_fault()), LEFT, "", 0, is_left=True)

    async def settle(self) -> None:
        """Let cancelled calls end, so that the last exchange is told of."""
        for _ in range(LAST_TURNS):
            await asyncio.sleep(0)

    def _tell(
        self, message: Message, outcome: Outcome | None, status: int, refusal: str, size: int, *, is_left: bool = False
    ) -> None:
        door = STDIO_ENVELOPE if message.method == INVOKE else STDIO_MCP
        door = outcome.call.door if outcome is not None and outcome.call.door.runs_tool else door
        took_s = perf_counter() - message.started_s
        caller = outcome.call.caller if outcome is not None else NOBODY
        body = message.line if outcome is None else b""
        told = (caller, door.name, message.method, status, refusal, outcome, took_s, size)
        self._listener(Exchange(*told, body=body, is_left=is_left))
