"""The events of one server and their listeners: the journal, the logs, the audit log, telemetry and the console.

    pipeline ── outcome, fault, awaiting              doors ── exchange, http_exchange, refusal
    journal ─── records, written                      upstreams ── upstream_request, upstream_response
    gates ───── limit_decided, limit_checked, store_failed, failed_open

A point holds None where nothing listens, the only listener, or one function that calls several in turn. So an event
without a listener costs one comparison, and an event with one listener costs one call. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol

import msgspec
from msgspec.structs import replace

from .errors import Fault

if TYPE_CHECKING:
    from .caller import Caller
    from .channel import ClientChannel
    from .exchange import Exchange
    from .outcome import Call, Outcome, Pending
    from .relay import Answered, Handler, RpcRequest
    from .wire import Id, Reply

__all__ = ["Events", "Operations", "UpstreamVisit", "both"]

P = ParamSpec("P")


class Operations(Protocol):
    """Follows operations: messages of MCP, envelopes, and calls through other doors. It calls `run` exactly once."""

    def receive(self, run: Callable[[], Reply | Pending | None], channel: ClientChannel) -> Reply | Pending | None:
        """Run the operation of one message."""

    def invoke(self, run: Callable[[], Answered], caller: Caller) -> Answered:
        """Run the operation of one envelope; inside of a message, it is the operation of that message."""

    def call(
        self, run: Callable[[], Outcome | Coroutine[Any, Any, Outcome]], call: Call
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Run one call, which is an operation of its own unless it is a part of one."""

    def name(self, method: str, version: str, request_id: Id | None = None) -> None:
        """Note the method of the present message, and the protocol version of its connection."""

    def handle(self, handler: Handler, method: str, request: RpcRequest) -> Answered:
        """Run the handler of the present message."""


class UpstreamVisit:
    """One request to an upstream, from before it is sent to the end of its response."""

    __slots__ = ("_events", "code", "ended_s", "headers", "method", "origin", "span", "started_s", "upstream")

    def __init__(self, events: Events, upstream: str, method: str, origin: str) -> None:
        """Begin a request; `upstream` is the name of the toolset or of the service."""
        self._events = events
        self.upstream = upstream
        self.method = method
        self.origin = origin
        self.code = ""
        """The status of the response, or the kind of the failure; empty until the end."""
        self.headers: dict[str, str] = {}
        """Further headers of the request, which name the trace that it belongs to."""
        self.span: Any = None
        """The note of a listener, kept between the request and its response."""
        self.started_s = self.ended_s = events.clock()
        if events.upstream_request is not None:
            events.upstream_request(self)

    @property
    def took_s(self) -> float:
        """The duration of the request."""
        return self.ended_s - self.started_s

    def end(self, code: str) -> None:
        """Note the status of the response, or the kind of the failure."""
        self.code, self.ended_s = code, self._events.clock()
        if self._events.upstream_response is not None:
            self._events.upstream_response(self)


class Events(msgspec.Struct, kw_only=True):
    """The listeners of one server. They raise nothing, except those of `exchange` and `start`."""

    clock: Callable[[], float] = float
    """Return the time in seconds; the kernel has no clock of its own."""

    outcome: Callable[[Outcome, float], None] | None = None
    """Called with every outcome and its duration in seconds."""
    fault: Callable[[Outcome], None] | None = None
    """Called with every outcome that is a fault."""
    awaiting: Callable[[int], None] | None = None
    """Called with the number of awaited calls when it changes."""
    operations: Operations | None = None
    """The only listener that runs around an operation, so that requests to upstreams can be attributed to it."""

    exchange: Callable[[Exchange], None] | None = None
    """Called with every exchange, over HTTP or on stdio, before its answer is sent.

    It raises Fault if the request has to be refused instead.
    """
    http_exchange: Callable[[Exchange], None] | None = None
    """Called with every exchange over HTTP as it is answered, behind `exchange`."""
    refusal: Callable[[str, int, str], None] | None = None
    """Called with the address, the status and the reason of every HTTP request that is refused before it is a call."""
    start: Callable[[], None] | None = None
    """Called when the process begins to serve and heeds signals; an exception stops the start."""
    end: Callable[[], None] | None = None
    """Called when the last exchange has ended; it may be called again."""

    records: Callable[[list[tuple[Any, Any]]], None] | None = None
    """Called in the journal's thread with each batch of calls: pairs of a journal entry and its record."""
    written: Callable[[int, float], None] | None = None
    """Called in the journal's thread with the number of written records and the age of the oldest unwritten one."""

    limit_decided: Callable[[str, str], None] | None = None
    """Called with every decision of a limit, `allowed` or `refused`, and with its scope.

    The scope is `principal`, `address`, `process`, `tool` or `concurrency`; of an allowed call, that of its caller.
    """
    limit_checked: Callable[[float], None] | None = None
    """Called with the seconds that every check of rates and quotas took."""
    store_failed: Callable[[], None] | None = None
    """Called with every call that the store could not be asked about."""
    failed_open: Callable[[], None] | None = None
    """Called with every call that was let in because the store was away."""

    upstream_request: Callable[[UpstreamVisit], None] | None = None
    """Called with every request to an upstream before it is sent."""
    upstream_response: Callable[[UpstreamVisit], None] | None = None
    """Called with every request to an upstream when its response has ended."""

    def add(self, other: Events) -> None:
        """Add the listeners of another value behind those that are there."""
        for name in POINTS:
            listener = getattr(other, name)
            if listener is not None:
                known = getattr(self, name)
                setattr(self, name, listener if known is None else both(known, listener))
        self.operations = other.operations or self.operations

    @property
    def on_http_exchange(self) -> Callable[[Exchange], None] | None:
        """The listener of exchanges over HTTP, which may refuse them; None where nothing listens."""
        if self.exchange is None or self.http_exchange is None:
            return self.exchange or self.http_exchange
        return partial(_tell_exchange, self.exchange, self.http_exchange)

    def visit(self, upstream: str, method: str, origin: str) -> UpstreamVisit:
        """Begin a request to an upstream."""
        return UpstreamVisit(self, upstream, method, origin)


POINTS: Final = [name for name in Events.__struct_fields__ if name not in {"clock", "operations"}]
"""The points to which any number of listeners may be added."""


def both(first: Callable[P, None], second: Callable[P, None]) -> Callable[P, None]:
    """Return one function that calls two listeners in their order."""
    return partial(_tell_both, first, second)


def _tell_both(first: Callable[P, None], second: Callable[P, None], /, *args: P.args, **named: P.kwargs) -> None:
    first(*args, **named)
    second(*args, **named)


def _tell_exchange(judge: Callable[[Exchange], None], listener: Callable[[Exchange], None], exchange: Exchange) -> None:
    """Pass an exchange on; a refused one is passed on as the refusal that is sent."""
    try:
        judge(exchange)
    except Fault as fault:
        listener(replace(exchange, status=fault.status, refusal=fault.name, outcome=None))
        raise
    listener(exchange)
