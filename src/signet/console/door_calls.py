"""One call through each door of this process: the very door, and its answer as on the wire.

    call ── written for the door ── the very door ── the answer
                                          └── an exchange ──▶ audit log, access log, metrics

An exchange is told of before the next call is made, as of a request that came from outside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from signet.console.door_messages import (
    HANDSHAKE,
    MODERN,
    Observation,
    read_envelope,
    read_mcp,
    read_relayed,
    read_rest,
    write_envelope,
    write_mcp,
    write_rest,
)
from signet.kernel.caller import Caller
from signet.kernel.channel import HTTP_MCP, STDIO_MCP, ClientChannel
from signet.kernel.envelope import INVOKE
from signet.kernel.errors import ACCESS_FAULTS, Fault
from signet.kernel.exchange import Exchange
from signet.kernel.outcome import Outcome, Pending
from signet.kernel.server import STDIO_ENVELOPE
from signet.kernel.wire import Headers
from signet.mcp.messages import MessageBuilder, WireMessage
from signet.transports.envelope import EnvelopeDoor
from signet.transports.exchanges import exchange_of
from signet.transports.http import McpDoor
from signet.transports.messages import Request, Response
from signet.transports.rest import RestDoor

from .parts import ConsoleContext
from .trial import TrialCaller, trial_door

__all__ = ["Answered", "DoorCalls", "DoorSpec", "NamedCall"]

CALL: Final = "tools/call"
DONE, FAILED = 200, 400
"""The statuses that are written down of stdio: an answer, an error."""


class NamedCall(NamedTuple):
    """A call with both names of its tool."""

    tool: str
    slug: str
    arguments: Any
    is_relayed: bool = False
    """Whether the tool is one of a wrapped server, whose own words MCP delivers."""


class Answered(NamedTuple):
    """The answer of one door."""

    status: int | None
    body: bytes
    outcome: Outcome | None
    exchange: Exchange
    """What is written down of it."""

    @property
    def fault(self) -> Fault | None:
        """Return the fault of the call, if there was one."""
        return self.outcome.fault if self.outcome is not None else None


class DoorSpec(NamedTuple):
    """One door: how a call is written for it, sent to it, and its answer read."""

    name: str
    write: Callable[[NamedCall], WireMessage]
    send: Callable[[WireMessage, Request], Awaitable[Answered]]
    """Send a message for the one who sent a request; the request notes the call if it is cancelled."""
    read: Callable[[bytes], Observation]

    def reader(self, call: NamedCall) -> Callable[[bytes], Observation]:
        """Return what reads the answer to a call."""
        return read_relayed if call.is_relayed and self.read is read_mcp else self.read


class DoorCalls:
    """Makes calls through the doors of one server."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._server = parts.server
        self._on_exchange = parts.server.events.on_http_exchange
        mcp, envelope, rest = McpDoor(self._server), EnvelopeDoor(self._server), RestDoor(parts.server.pipeline, {})
        to_rest = partial(_over_http, "rest", lambda request: rest.call(rest.endpoint(request.path), request))
        to_mcp = partial(_over_http, HTTP_MCP.name, mcp.answer)
        to_envelope = partial(_over_http, "http envelope", envelope.answer)
        old, new = partial(write_mcp, HANDSHAKE), partial(write_mcp, MODERN)
        on_old, on_new = partial(self._on_stdio, HANDSHAKE, CALL), partial(self._on_stdio, MODERN, CALL)
        enveloped = partial(self._on_stdio, MODERN, INVOKE)
        self.specs = (
            DoorSpec(f"MCP over HTTP, {HANDSHAKE.version}", old, to_mcp, read_mcp),
            DoorSpec(f"MCP over HTTP, {MODERN.version}", new, to_mcp, read_mcp),
            DoorSpec("REST", write_rest, to_rest, read_rest),
            DoorSpec("Envelope over HTTP", write_envelope, to_envelope, read_envelope),
            DoorSpec(f"MCP on stdio, {HANDSHAKE.version}", old, on_old, read_mcp),
            DoorSpec(f"MCP on stdio, {MODERN.version}", new, on_new, read_mcp),
            DoorSpec("Envelope on stdio", write_envelope, enveloped, read_envelope),
        )

    async def make(self, call: NamedCall, request: Request) -> list[tuple[DoorSpec, Answered, float]]:
        """Make a call through every door, one after the other; return each answer and the milliseconds that it took.

        Raises:
            Fault: the caller may not make the call, or not now; the request has the outcome, and it is the only one.
        """
        answers: list[tuple[DoorSpec, Answered, float]] = []
        for spec in self.specs:
            answered = await spec.send(spec.write(call), request)
            fault = answered.fault
            if fault is not None and fault.name in ACCESS_FAULTS and not answers:
                request.outcome = answered.outcome
                raise fault
            if self._on_exchange is not None:
                self._on_exchange(answered.exchange)
            answers.append((spec, answered, round(answered.exchange.took_s * 1000, 3)))
        return answers

    async def _on_stdio(self, revision: MessageBuilder, method: str, message: WireMessage, asked: Request) -> Answered:
        started_s, caller = perf_counter(), _trial(asked.caller)
        channel = ClientChannel(door=STDIO_MCP, caller=caller)
        if not revision.is_modern:
            hello = self._server.receive(revision.initialize(0).body, channel)
            if isinstance(hello, Pending):
                await hello.reply
        reply = self._server.receive(message.body, channel)
        if isinstance(reply, Pending):
            call = reply.call
            try:
                reply = await reply.reply
            except asyncio.CancelledError:
                asked.call = call
                raise
        body, outcome, failed = (reply.body, reply.outcome, reply.code) if reply is not None else (b"", None, 0)
        door = trial_door((STDIO_ENVELOPE if method == INVOKE else STDIO_MCP).name)
        status, took_s = FAILED if failed else DONE, perf_counter() - started_s
        exchange = Exchange(caller, door, method, status, outcome=outcome, took_s=took_s, sent_bytes=len(body))
        return Answered(None, body, outcome, exchange)


async def _over_http(
    door: str, answer: Callable[[Request], Response | Awaitable[Response]], message: WireMessage, asked: Request
) -> Answered:
    headers = Headers(list(message.headers), list(message.headers.values()))
    caller = _trial(asked.caller)
    request = Request("POST", message.path, headers, body=message.body, caller=caller, started_s=perf_counter())
    response = answer(request)
    if not isinstance(response, Response):
        try:
            response = await response
        except asyncio.CancelledError:
            asked.call = request.call
            raise
    exchange = replace(exchange_of(request, response, caller.address), door=trial_door(door))
    return Answered(response.status, response.body, request.outcome, exchange)


def _trial(caller: Caller) -> TrialCaller:
    return TrialCaller(caller.principal, caller.address, caller.request_id, caller.trace)
