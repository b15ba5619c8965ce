"""Exchanges with an upstream, kept as files and given again: recording stands around a way out, replay in its place.

    tool ── RecordingUpstream ── (politeness) ── the network        each exchange is written once it has ended
    tool ── ReplayUpstream                                          no network: each question is looked up

A file is named by the SHA-256 of toolset and target, a number that counts equal questions in the order of their
answers, and the call that asked: what a call asks again it is answered in turn, and another call begins anew. Headers
are not kept; secrets are taken out first. A question whose caller left before its answer came leaves no file. What day
it is comes from outside too, and is kept in the same way.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse

from .cassette_folder import CassetteReader, CassetteWriter, RecordedOrigin
from .cassette_redaction import CassetteRedactor

__all__ = ["RecordingUpstream", "ReplayUpstream", "recorded_today", "replayed_today"]

_asking: ContextVar[str | None] = ContextVar("asking", default=None)
"""What a call is recorded as."""
_left: ContextVar[dict[str, list[str]] | None] = ContextVar("left", default=None)
"""What is left to answer a call with, by the names of its questions."""

DAY: Final = "what day it is"
"""Stands for the target of a question that is asked of the clock."""


class RecordedResponse(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An answer as a file holds it: the body as text where it is UTF-8, else in base64."""

    status: int
    content_type: str = ""
    text: str | None = None
    base64: str | None = None
    cut: bool = False
    broken: str = ""


class RecordedFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault as a file holds it."""

    code: Code
    message: str
    name: str
    status: int
    as_tool_result: bool = msgspec.field(name="told")
    mcp_code: int
    data: dict[str, Any]


class RecordedExchange(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One file: what was asked, and the answer or the fault that came of it."""

    toolset: str
    target: str
    answer: RecordedResponse | None = None
    fault: RecordedFailure | None = None


class RecordingUpstream:
    """A way out that keeps what comes back through it; what is answered is what the way out inside answers."""

    def __init__(self, inner: Upstream, toolset: str, files: CassetteWriter, redact: CassetteRedactor) -> None:
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._toolset = toolset
        self._files = files
        self._redact = redact

    async def send(self, ask: UpstreamRequest) -> UpstreamResponse:
        """Give the answer, and keep it."""
        try:
            answer = await self._inner.send(ask)
        except Fault as fault:
            self._keep(ask, fault=_failed(fault, self._redact))
            raise
        self._keep(ask, answer=_kept(answer, self._redact))
        return answer

    def warm(self) -> None:
        """Get ready for the first request."""
        self._inner.warm()

    async def close(self) -> None:
        """Hang up."""
        await self._inner.close()

    def forget(self, ask: UpstreamRequest) -> None:
        """Let the way out inside keep an answer no longer; what was recorded stays."""
        self._inner.forget(ask)

    def _keep(
        self, ask: UpstreamRequest, *, answer: RecordedResponse | None = None, fault: RecordedFailure | None = None
    ) -> None:
        target = self._redact.target(ask.target)
        exchange = RecordedExchange(self._toolset, target, answer, fault)
        self._files.keep(_name_of(self._toolset, target), _call_id(), _written(exchange))


class ReplayUpstream:
    """A way out that leads nowhere: every question has the answer that it had when it was recorded."""

    def __init__(self, toolset: str, source: RecordedOrigin, files: CassetteReader, redact: CassetteRedactor) -> None:
        self.origin = source.origin
        self.has_token = source.has_token
        self._toolset = toolset
        self._files = files
        self._redact = redact

    async def send(self, ask: UpstreamRequest) -> UpstreamResponse:
        """Give the recorded answer; to a question asked more often than it was recorded, the last one again.

        Raises:
            Fault: the one that was recorded; or that nothing was, or nothing that can be read.
        """
        return _looked_up(self._toolset, self._redact.target(ask.target), self._files)

    def warm(self) -> None:
        """Be ready."""

    async def close(self) -> None:
        """Have nothing to hang up."""

    def forget(self, ask: UpstreamRequest) -> None:
        """Forget nothing: what was answered is what was answered."""


def recorded_today(toolset: str, today: Callable[[], str], files: CassetteWriter) -> Callable[[], str]:
    """Keep every day that is told."""

    def told() -> str:
        day = today()
        exchange = RecordedExchange(toolset, DAY, RecordedResponse(200, "text/plain", day))
        files.keep(_name_of(toolset, DAY), _call_id(), _written(exchange))
        return day

    return told


def replayed_today(toolset: str, files: CassetteReader) -> Callable[[], str]:
    """Tell the days that were kept."""

    def told() -> str:
        return _looked_up(toolset, DAY, files).body.decode()

    return told


def _looked_up(toolset: str, target: str, files: CassetteReader) -> UpstreamResponse:
    """Find what was recorded.

    Raises:
        Fault: the one that was recorded; or that nothing was, or nothing that can be read.
    """
    name, data = _next(_name_of(toolset, target), files)
    if not data:
        message = f"not recorded: the cassette has no answer to {target}; record it with --record"
        raise _unanswered(message)
    try:
        exchange = msgspec.convert(json.loads(data), RecordedExchange)
        if exchange.fault is None:
            return _answer(exchange.answer)
    except (ValueError, RecursionError) as error:
        message = f"the cassette's {name} cannot be read: {str(error)[:200]}"
        raise _unanswered(message) from None
    raise _fault(exchange.fault)


def _call_id() -> str:
    """Name the call that asks: each has a task of its own, and so a context of its own."""
    if _asking.get() is None:
        _asking.set(token_hex(8))
    return str(_asking.get())


def _next(name: str, files: CassetteReader) -> tuple[str, bytes]:
    """Give the file of a call's next exchange, or of its last one again, and what it holds."""
    left = _left.get()
    if left is None:
        left = {}
        _left.set(left)
    if name not in left:
        left[name] = files.next_call(name)
    answers = left[name]
    file = answers[0] if answers else ""
    left[name] = answers[1:] or answers
    return file, files.read(file) if file else b""


def _name_of(toolset: str, target: str) -> str:
    return sha256(f"{toolset}\n{target}".encode()).hexdigest()


def _unanswered(message: str) -> Fault:
    return Fault(Code.INTERNAL_ERROR, message, name="NOT_RECORDED", as_tool_result=False)


def _kept(answer: UpstreamResponse, redact: CassetteRedactor) -> RecordedResponse:
    body = redact.body(answer.body)
    text, packed = None, None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        packed = base64.b64encode(body).decode()
    return RecordedResponse(answer.status, redact.text(answer.content_type), text, packed, answer.cut, answer.broken)


def _answer(kept: RecordedResponse | None) -> UpstreamResponse:
    if kept is None:
        message = "it holds neither an answer nor a fault"
        raise ValueError(message)
    body = (kept.text or "").encode() if kept.base64 is None else base64.b64decode(kept.base64, validate=True)
    return UpstreamResponse(kept.status, kept.content_type, body, kept.cut, kept.broken)


def _failed(fault: Fault, redact: CassetteRedactor) -> RecordedFailure:
    message = redact.text(fault.message)
    return RecordedFailure(
        fault.code, message, fault.name, fault.status, fault.as_tool_result, fault.mcp_code, fault.data
    )


def _fault(kept: RecordedFailure) -> Fault:
    return Fault(
        kept.code,
        kept.message,
        name=kept.name,
        status=kept.status,
        as_tool_result=kept.as_tool_result,
        mcp_code=kept.mcp_code,
        data=kept.data,
    )


def _written(exchange: RecordedExchange) -> bytes:
    """Write an exchange for people too; a header may hold what is no Unicode, and is escaped then."""
    value = msgspec.to_builtins(exchange)
    try:
        return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, indent=2).encode() + b"\n"
