"""A server and a pipeline whose operations are watched; without telemetry the plain ones run, and nothing is added.

receive ── Operation ── the plain server ── Reply ──────────────── ended
                                   └────── Pending ── awaited ──── ended
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from signet.kernel.caller import NOBODY, Caller
from signet.kernel.channel import ClientChannel
from signet.kernel.errors import Fault
from signet.kernel.headers import VERSION
from signet.kernel.outcome import Call, Outcome, PreparedCall
from signet.kernel.pipeline import Pipeline
from signet.kernel.relay import Answered, Handler, Relay
from signet.kernel.server import Pending, RpcRequest, Server
from signet.kernel.waiting import Waiting
from signet.kernel.wire import Frame, Id, Reply

from .operation import CURRENT, OTHER, Operation

if TYPE_CHECKING:
    from .telemetry import Telemetry

__all__ = ["CountedPipeline", "CountedServer", "WatchedPipeline", "WatchedServer"]

INVOKE = "mcp.tool.invoke"


class CountedPipeline(Pipeline):
    """A pipeline that counts the calls that it awaits."""

    def __init__(self, *args: Any, telemetry: Telemetry, **others: Any) -> None:
        super().__init__(*args, **others)
        self._telemetry = telemetry

    async def _await_tool(
        self, prepared: PreparedCall, pending: Awaitable[object], started_s: float, wait: Waiting
    ) -> Outcome:
        self._telemetry.in_flight.inc()
        try:
            return await super()._await_tool(prepared, pending, started_s, wait)
        finally:
            self._telemetry.in_flight.dec()


class CountedServer(Server):
    """A server whose web application counts its requests."""

    def __init__(self, *args: Any, telemetry: Telemetry, **others: Any) -> None:
        super().__init__(*args, **others)
        self.telemetry = telemetry


class WatchedPipeline(CountedPipeline):
    """A pipeline whose calls are operations, where the server has not begun one already: REST, pages, commands."""

    def run(self, call: Call, shadow_violation: Fault | None = None) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Return the outcome of a call, or a coroutine of it."""
        if CURRENT.get() is not None:
            return super().run(call, shadow_violation)
        operation = Operation(call.caller, call.door.transport, "tools/call")
        token = CURRENT.set(operation)
        try:
            with self._telemetry.started(operation):
                outcome = super().run(call, shadow_violation)
        finally:
            CURRENT.reset(token)
        if isinstance(outcome, Outcome):
            self._end(operation, outcome)
            return outcome
        return self._telemetry.awaited(operation, outcome, self._end)

    def _end(self, operation: Operation, outcome: Outcome | None) -> None:
        operation.outcome = outcome
        if outcome is not None and outcome.fault is not None and not outcome.fault.as_tool_result:
            operation.code = outcome.fault.mcp_code
        self._telemetry.ended(operation)


class WatchedRelay:
    """A relay whose handlers run as parts of operations."""

    def __init__(self, relay: Relay, handle: Callable[[str, Handler, RpcRequest], Answered]) -> None:
        self._relay = relay
        self._handle = handle
        self.entries = relay.entries
        self.states = relay.states
        self.ready = relay.ready
        self.receive = relay.receive

    @property
    def is_ready(self) -> bool:
        """Whether all tools are known."""
        return self._relay.is_ready

    @property
    def servers(self) -> list[str]:
        """The names of the servers whose tools are served."""
        return self._relay.servers

    def handler(self, method: str, *, modern: bool) -> Handler | None:
        """Return what answers a method in place of the server itself."""
        found = self._relay.handler(method, modern=modern)
        return None if found is None else partial(self._handle, method, found)


class WatchedServer(CountedServer):
    """A server whose messages are operations."""

    def __init__(self, *args: Any, telemetry: Telemetry, **others: Any) -> None:
        super().__init__(*args, telemetry=telemetry, **others)
        for methods in self._methods.values():
            for name, handler in methods.items():
                methods[name] = partial(self._handle, name, handler)
        if self.relay is not None:
            self.relay = WatchedRelay(self.relay, self._handle)

    def receive(self, message: bytes, channel: ClientChannel) -> Reply | Pending | None:
        """Return the reply to one message; None where no reply is owed."""
        operation = Operation(channel.caller, channel.door.transport)
        token = CURRENT.set(operation)
        try:
            reply = super().receive(message, channel)
        finally:
            CURRENT.reset(token)
        if isinstance(reply, Pending):
            return Pending(reply.id, self.telemetry.awaited(operation, reply.reply, self._end), reply.call)
        if reply is not None or operation.method:
            self._end(operation, reply)
        return reply

    def invoke(
        self, message: bytes, path_key: str | None = None, caller: Caller = NOBODY, key: str = ""
    ) -> Reply | Pending:
        """Return the reply to one request envelope."""
        begun = CURRENT.get()
        operation = begun or Operation(caller, "http")
        operation.method = INVOKE
        token = CURRENT.set(operation)
        try:
            with self.telemetry.started(operation):
                reply = super().invoke(message, path_key, caller, key)
        finally:
            CURRENT.reset(token)
        if begun is not None:
            return reply
        if isinstance(reply, Pending):
            return Pending(reply.id, self.telemetry.awaited(operation, reply.reply, self._end), reply.call)
        self._end(operation, reply)
        return reply

    def _dispatch(self, frame: Frame, method: str, request_id: Id, channel: ClientChannel) -> Reply | Pending:
        operation = CURRENT.get()
        if operation is not None:
            operation.id = request_id
            operation.name(method, channel.headers.get(VERSION, channel.agreement.version))
        return super()._dispatch(frame, method, request_id, channel)

    def _handle_notification(self, frame: Frame, channel: ClientChannel) -> Reply | None:
        operation = CURRENT.get()
        if operation is not None and isinstance(frame.method, str):
            operation.name(frame.method, channel.headers.get(VERSION, channel.agreement.version))
        return super()._handle_notification(frame, channel)

    def _handle(
        self, method: str, handler: Callable[[RpcRequest], Reply | Pending], request: RpcRequest
    ) -> Reply | Pending:
        """Run the handler of a method as a part of its operation."""
        operation = CURRENT.get()
        if operation is None:
            return handler(request)
        operation.meta = request.meta
        if request.era.modern:
            operation.name(method, request.meta.version)
        with self.telemetry.started(operation):
            return handler(request)

    def _end(self, operation: Operation, reply: Reply | None) -> None:
        if reply is not None:
            operation.code, operation.outcome = reply.code, reply.outcome
        operation.method = operation.method or OTHER
        self.telemetry.ended(operation)
