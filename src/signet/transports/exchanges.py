"""Exchanges as the doors tell them: one for each request or message, before its answer is sent or when its client left.

RequestExchanges    HTTP: the listener may have the request refused, and hears of clients that left
MessageExchanges    stdio: the same for each message that is answered, and for calls that were cancelled
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from signet.kernel.caller import NOBODY, Caller
from signet.kernel.channel import STDIO_MCP
from signet.kernel.envelope import INVOKE
from signet.kernel.errors import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Fault,
    bug,
    caller_left,
)
from signet.kernel.exchange import Exchange
from signet.kernel.headers import VERSION
from signet.kernel.outcome import Call, Outcome
from signet.kernel.server import STDIO_ENVELOPE
from signet.kernel.tools import Toolbox
from signet.kernel.wire import Reply, failure, message_head, method_and_params

from .request_ids import HEADER

if TYPE_CHECKING:
    from .messages import Request, Response

__all__ = ["Message", "MessageExchanges", "RequestExchanges", "broken", "exchange_of", "settle"]

T = TypeVar("T")
Listener = Callable[[Exchange], None]
"""Called with each exchange; it raises Fault if the request has to be refused instead."""

LAST_TURNS: Final = 8
"""The turns of the event loop in which cancelled calls end."""
DONE: Final = 200
FAILED: Final = 400
LEFT: Final = 499
"""The statuses of answers, of errors on stdio, and of clients that left before their answer, as proxies write them."""
REQUEST_ID: Final = HEADER.encode()
REFUSALS: Final = {
    PARSE_ERROR: "NOT_JSON",
    INVALID_REQUEST: "INVALID_REQUEST",
    METHOD_NOT_FOUND: "METHOD_NOT_FOUND",
    INVALID_PARAMS: "INVALID_PARAMS",
}
OTHER: Final = "REFUSED"
NO_ENVELOPE: Final = "INVALID_ENVELOPE"
"""The names of errors that refuse a message before it is a call."""


async def settle() -> None:
    """Let cancelled calls end, so that the last exchange is told."""
    for _ in range(LAST_TURNS):
        await asyncio.sleep(0)


def exchange_of(request: Request | None, response: Response, address: str) -> Exchange:
    """Return the exchange of a response that is about to be sent."""
    if request is None:
        request_id = next((value.decode() for name, value in response.headers if name == REQUEST_ID), "")
        caller = Caller(address=address, request_id=request_id)
        return Exchange(caller, "http", "-", response.status, response.refusal, sent_bytes=len(response.body))
    took_s = perf_counter() - request.started_s if request.started_s else 0.0
    line, door = f"{request.method} {request.path}", request.route.door if request.route is not None else "http"
    size, outcome, version = len(response.body), request.outcome, request.headers.get(VERSION, "")
    told = request.caller, door, line, response.status, response.refusal, outcome, took_s, size, version
    is_vital = request.route is not None and request.route.is_vital
    return Exchange(*told, b"" if outcome is not None else request.body, is_vital=is_vital)


class RequestExchanges:
    """The exchanges of the requests of one web application."""

    def __init__(
        self, listener: Listener, refuse: Callable[[Request | None, Fault], Response], toolbox: Toolbox
    ) -> None:
        self._listener = listener
        self._refuse = refuse
        self._toolbox = toolbox

    def answered(self, request: Request | None, response: Response, address: str) -> Response:
        """Tell a response that is about to be sent; return it, or the refusal that takes its place."""
        try:
            self._listener(exchange_of(request, response, address))
        except Fault as fault:
            return self._refuse(request, fault)
        return response

    def left(self, request: Request, response: Response | None = None) -> None:
        """Tell a request whose client left before its response; a refusal has no effect then."""
        if request.outcome is None and request.call is not None:
            request.outcome = _left(request.call, self._toolbox)
        if response is None:
            from .messages import Response

            response = Response(LEFT)
        with suppress(Fault):
            self._listener(replace(exchange_of(request, response, request.address), is_left=True))

    async def unless_left(self, request: Request, awaited: Awaitable[T]) -> T:
        """Await something that is needed for a response; if its client leaves meanwhile, tell that."""
        try:
            return await awaited
        except asyncio.CancelledError:
            self.left(request)
            raise

    async def during(
        self, request: Request, response: Response, events: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream, and tell its exchange before the last one, which holds the outcome.

        An endless stream has no last event: its exchange is told before its first one. If the request has to be refused
        by then, the stream ends without an answer.
        """
        is_told = False
        try:
            async with aclosing(events):
                async for event in events:
                    is_known = request.outcome is not None or request.is_answered or response.is_endless
                    if is_known and not is_told:
                        is_told = True
                        if self.answered(request, response, request.address) is not response:
                            return
                    yield event
        finally:
            if not is_told:
                self.left(request, response)


class Message(msgspec.Struct, frozen=True):
    """A message on stdio until it is answered."""

    method: str
    started_s: float
    line: bytes = b""


class MessageExchanges:
    """The exchanges of the messages of one conversation on stdio."""

    def __init__(self, listener: Listener, toolbox: Toolbox) -> None:
        self._listener = listener
        self._toolbox = toolbox

    def begin(self, line: bytes | None) -> Message:
        """Return the part of a message that its exchange needs; None stands for a line that is too long."""
        started_s = perf_counter()
        method, _ = method_and_params(line or b"")
        return Message(method, started_s, line or b"")

    def answered(self, message: Message, reply: Reply) -> Reply:
        """Tell a reply that is about to be written; return it, or the error that takes its place."""
        outcome = reply.outcome
        refusal = REFUSALS.get(reply.code, OTHER) if reply.code and outcome is None else ""
        if outcome is not None and outcome.fault is not None and outcome.fault.stage == "envelope":
            refusal = NO_ENVELOPE
        try:
            self._tell(message, outcome, FAILED if reply.code else DONE, refusal, reply.size)
        except Fault as fault:
            request_id = message_head(reply.whole()).id
            return failure(
                None if request_id is UNSET else request_id, INTERNAL, fault.message, {"canonical_code": fault.code}
            )
        return reply

    def left(self, message: Message, call: Call) -> None:
        """Tell a call that was cancelled, so that it gets no reply."""
        with suppress(Fault):
            self._tell(message, _left(call, self._toolbox), LEFT, "", 0, is_left=True)

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


def _left(call: Call, toolbox: Toolbox) -> Outcome:
    """Return the outcome of a call whose client left."""
    tool = toolbox.of(call.tool_key, by_name=call.door.by_name) if call.door.runs_tool else None
    return Outcome(call, tool, fault=caller_left())


def broken(error: Exception) -> Fault:
    """Return the fault for an unexpected error on the way to a response, and have it logged."""
    told = {"message": "an answer failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(told)
    return bug("The server", error)
