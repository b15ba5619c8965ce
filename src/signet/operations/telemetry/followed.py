"""Operations that are followed for a collector: each has a span, and its requests to upstreams belong to it.

receive ── Operation ── the server ── Reply ──────────────── ended
                             └────── Pending ── awaited ──── ended
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from signet.kernel.caller import Caller
from signet.kernel.channel import ClientChannel
from signet.kernel.outcome import Call, Outcome, Pending
from signet.kernel.relay import Answered, Handler, RpcRequest
from signet.kernel.wire import Id, Reply

from .operation import CURRENT, INVOKE, OTHER, Operation

if TYPE_CHECKING:
    from .telemetry import Telemetry

__all__ = ["FollowedOperations"]


class FollowedOperations:
    """The listener of operations: it begins each one, makes it the current one while it runs, and ends it."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def receive(self, run: Callable[[], Reply | Pending | None], channel: ClientChannel) -> Reply | Pending | None:
        """Run the operation of one message."""
        operation = Operation(channel.caller, channel.door.transport)
        token = CURRENT.set(operation)
        try:
            reply = run()
        finally:
            CURRENT.reset(token)
        if reply is not None:
            return self._answered(operation, reply)
        if operation.method:
            self._end(operation, None)
        return None

    def invoke(self, run: Callable[[], Answered], caller: Caller) -> Answered:
        """Run the operation of one envelope; inside of a message, it is the operation of that message."""
        begun = CURRENT.get()
        operation = begun or Operation(caller, "http")
        operation.method = INVOKE
        token = CURRENT.set(operation)
        try:
            with self._telemetry.started(operation):
                reply = run()
        finally:
            CURRENT.reset(token)
        return reply if begun is not None else self._answered(operation, reply)

    def call(
        self, run: Callable[[], Outcome | Coroutine[Any, Any, Outcome]], call: Call
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Run one call, which is an operation of its own behind a door that begins none: REST, pages, commands."""
        if CURRENT.get() is not None:
            return run()
        operation = Operation(call.caller, call.door.transport, "tools/call")
        token = CURRENT.set(operation)
        try:
            with self._telemetry.started(operation):
                outcome = run()
        finally:
            CURRENT.reset(token)
        if isinstance(outcome, Outcome):
            self._end_call(operation, outcome)
            return outcome
        return self._telemetry.awaited(operation, outcome, self._end_call)

    def name(self, method: str, version: str, request_id: Id | None = None) -> None:
        """Note the method of the present message, and the protocol version of its connection."""
        operation = CURRENT.get()
        if operation is not None:
            operation.id = request_id if request_id is not None else operation.id
            operation.name(method, version)

    def handle(self, handler: Handler, method: str, request: RpcRequest) -> Answered:
        """Run the handler of the present message as a part of its operation."""
        operation = CURRENT.get()
        if operation is None:
            return handler(request)
        operation.meta = request.meta
        if request.era.modern:
            operation.name(method, request.meta.version)
        with self._telemetry.started(operation):
            return handler(request)

    def _answered(self, operation: Operation, reply: Answered) -> Answered:
        """Return a reply whose operation ends with it."""
        if isinstance(reply, Pending):
            return replace(reply, reply=self._telemetry.awaited(operation, reply.reply, self._end))
        self._end(operation, reply)
        return reply

    def _end(self, operation: Operation, reply: Reply | None) -> None:
        if reply is not None:
            operation.code, operation.outcome = reply.code, reply.outcome
        operation.method = operation.method or OTHER
        self._telemetry.ended(operation)

    def _end_call(self, operation: Operation, outcome: Outcome | None) -> None:
        operation.outcome = outcome
        if outcome is not None and outcome.fault is not None and not outcome.fault.as_tool_result:
            operation.code = outcome.fault.mcp_code
        self._telemetry.ended(operation)
