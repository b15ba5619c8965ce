"""Upstreams of a recorded run and of its replay: exchanges are written to files, and requests answered from them.

    tool ── RecordingUpstream ── (cache, rate limit) ── the network     writes each exchange when it has ended
    tool ── ReplayUpstream                                              looks each request up; no network

The name of a file consists of the SHA-256 of toolset and target, a number that counts equal requests in the order of
their responses, and the call that sent the request. A call that repeats a request gets the recorded responses one
after the other; the next call gets those of the next recorded call. The target of another request than a GET has the
method and a digest of the body with it. Headers are not kept, and secrets are removed. A request whose caller left
before the response leaves no file. The date is recorded in the same way, as the response to a request of its own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting
from signet.system.recording_redactor import RecordingRedactor

from .exchanges import ExchangeReader, ExchangeWriter
from .label import RecordedOrigin
from .old_formats import old_body, old_target

__all__ = ["RecordingUpstream", "ReplayUpstream", "recorded_today", "replayed_today"]

_recorded_call: ContextVar[str | None] = ContextVar("recorded_call", default=None)
"""The id under which a call is recorded."""
_remaining_files: ContextVar[dict[str, list[str]] | None] = ContextVar("remaining_files", default=None)
"""The files that a replayed call has not used yet, by the name of the request."""

DAY: Final = "what day it is"
"""The target under which the date is recorded."""


class RecordedResponse(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A response in a file, with its body as text if it is UTF-8, else in base64."""

    status: int
    content_type: str = ""
    text: str | None = None
    base64: str | None = None
    cut: bool = False
    broken: str = ""


class RecordedFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault in a file."""

    code: Code
    message: str
    name: str
    status: int
    as_tool_result: bool = msgspec.field(name="told")
    mcp_code: int
    data: dict[str, Any]


class RecordedExchange(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One file: a request, and its response or fault."""

    toolset: str
    target: str
    answer: RecordedResponse | None = None
    fault: RecordedFailure | None = None


class RecordingUpstream:
    """An upstream that records the exchanges of another upstream, and changes none of them."""

    def __init__(self, inner: Upstream, toolset: str, files: ExchangeWriter, redactor: RecordingRedactor) -> None:
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._toolset = toolset
        self._files = files
        self._redactor = redactor

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the response of the inner upstream, and record it.

        Raises:
            Fault: the fault of the inner upstream, which is recorded too.
        """
        try:
            response = await self._inner.send(request, wait)
        except Fault as fault:
            failure = msgspec.convert(fault, RecordedFailure, from_attributes=True)
            message = self._redactor.text(fault.message)
            self._record(request, fault=msgspec.structs.replace(failure, message=message))
            raise
        self._record(request, _to_recorded_response(response, self._redactor))
        return response

    def states(self) -> list[UpstreamState]:
        """Return the states of the services."""
        return states_of(self._inner)

    def warm(self) -> None:
        """Load what the first request needs."""
        self._inner.warm()

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()

    def forget(self, request: UpstreamRequest) -> None:
        """Drop a response that the inner upstream has cached; the recording of it stays."""
        self._inner.forget(request)

    def _record(
        self, request: UpstreamRequest, response: RecordedResponse | None = None, fault: RecordedFailure | None = None
    ) -> None:
        target = _recorded_target(request, self._redactor)
        _keep(RecordedExchange(self._toolset, target, response, fault), self._files)


class ReplayUpstream:
    """An upstream without network: every request gets the response that was recorded for it."""

    def __init__(
        self, toolset: str, source: RecordedOrigin, files: ExchangeReader, redactor: RecordingRedactor
    ) -> None:
        self.origin = source.origin
        self.has_token = source.has_token
        self._toolset = toolset
        self._files = files
        self._redactor = redactor

    async def send(self, request: UpstreamRequest, _: Waiting | None = None) -> UpstreamResponse:
        """Return the recorded response; once all recorded responses of a request are used, the last one again.

        Raises:
            Fault: the recorded fault, or NOT_RECORDED if there is no readable recording.
        """
        names = [_name_of(self._toolset, _recorded_target(request, self._redactor))]
        if self._files.is_old:
            names += [_name_of(self._toolset, target) for target in _old_targets(request, self._redactor)]
        response = _look_up(_recorded_target(request, self._redactor), names, self._files)
        return msgspec.structs.replace(response, origin=self.origin)

    def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing: a recorded response stays as it is."""


def _recorded_target(request: UpstreamRequest, redactor: RecordingRedactor) -> str:
    """Return the target of a request without secrets; with its method and a digest of its body unless it is a GET."""
    return _target_of(request, redactor.target(request.target), redactor.body(request.body))


def _old_targets(request: UpstreamRequest, redactor: RecordingRedactor) -> Iterator[str]:
    """Yield the targets that version 0.2.0 may have recorded for a request."""
    target, body = redactor.target(request.target), redactor.body(request.body)
    yield _target_of(request, old_target(target), body)
    yield _target_of(request, old_target(target), old_body(body))


def _target_of(request: UpstreamRequest, target: str, body: bytes) -> str:
    if request.method == "GET" and not request.body:
        return target
    return f"{request.method} {target} {sha256(body).hexdigest()[:16]}"


def recorded_today(toolset: str, today: Callable[[], str], files: ExchangeWriter) -> str:
    """Return the date that `today` returns, and record it."""
    day = today()
    _keep(RecordedExchange(toolset, DAY, RecordedResponse(200, "text/plain", day)), files)
    return day


def replayed_today(toolset: str, files: ExchangeReader) -> str:
    """Return the recorded date; raise Fault as `ReplayUpstream.send` does."""
    try:
        return _look_up(DAY, [_name_of(toolset, DAY)], files).body.decode()
    except UnicodeDecodeError:
        raise _not_recorded("the recording's date cannot be read: it is not UTF-8 text") from None


def _look_up(target: str, names: list[str], files: ExchangeReader) -> UpstreamResponse:
    """Return the recorded response to a request, or raise the recorded fault, or NOT_RECORDED if there is neither.

    The request is the first of some names that the recording has.
    """
    name, data = _next_file(next(filter(files.has, names), names[0]), files)
    if not data:
        raise _not_recorded(f"not recorded: the recording has no answer to {target}; record it with --record")
    try:
        exchange = msgspec.convert(json.loads(data), RecordedExchange)
        if exchange.fault is None:
            return _to_response(exchange.answer)
    except (ValueError, RecursionError) as error:
        raise _not_recorded(f"the recording's {name} cannot be read: {str(error)[:200]}") from None
    raise Fault(**msgspec.structs.asdict(exchange.fault))


def _call_id() -> str:
    """Return the id of the current call; a call runs in a task of its own, and so in a context of its own."""
    if _recorded_call.get() is None:
        _recorded_call.set(token_hex(8))
    return str(_recorded_call.get())


def _next_file(name: str, files: ExchangeReader) -> tuple[str, bytes]:
    """Return the name and content of the file for the next equal request of a call; after the last, the last again."""
    remaining = _remaining_files.get()
    if remaining is None:
        remaining = {}
        _remaining_files.set(remaining)
    if name not in remaining:
        remaining[name] = files.next_call(name)
    names = remaining[name]
    file = names[0] if names else ""
    remaining[name] = names[1:] or names
    return file, files.read(file) if file else b""


def _name_of(toolset: str, target: str) -> str:
    return sha256(f"{toolset}\n{target}".encode()).hexdigest()


def _not_recorded(message: str) -> Fault:
    return Fault(Code.INTERNAL_ERROR, message, name="NOT_RECORDED", as_tool_result=False)


def _to_recorded_response(response: UpstreamResponse, redactor: RecordingRedactor) -> RecordedResponse:
    body = redactor.body(response.body)
    text, encoded = None, None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        encoded = base64.b64encode(body).decode()
    content_type = redactor.text(response.content_type)
    return RecordedResponse(response.status, content_type, text, encoded, response.cut, response.broken)


def _to_response(recorded: RecordedResponse | None) -> UpstreamResponse:
    if recorded is None:
        raise ValueError("it holds neither an answer nor a fault")
    if recorded.base64 is None:
        body = (recorded.text or "").encode()
    else:
        body = base64.b64decode(recorded.base64, validate=True)
    return UpstreamResponse(recorded.status, recorded.content_type, body, recorded.cut, recorded.broken)


def _keep(exchange: RecordedExchange, files: ExchangeWriter) -> None:
    """Write an exchange as JSON that people can read; a header that is not Unicode is escaped."""
    value = msgspec.to_builtins(exchange)
    try:
        data = json.dumps(value, ensure_ascii=False, indent=2).encode()
    except UnicodeEncodeError:
        data = json.dumps(value, indent=2).encode()
    files.keep(_name_of(exchange.toolset, exchange.target), _call_id(), data + b"\n")
