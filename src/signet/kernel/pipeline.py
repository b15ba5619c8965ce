"""The call pipeline: the one road from arguments to outcome.

    Call ── prepare ── the tool ── finish ── Outcome

`prepare` and `finish` are pure and hold every rule; `run` only stands the tool between them.
What a tool raises becomes a value here, and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec

from .errors import Code, Fault, bad_arguments, unknown_tool
from .outcome import Call, Outcome, Ready
from .schemas import ContractError, SchemaRegistry
from .tools import Tool, Toolbox
from .wire import encode, unpack

__all__ = ["CALL_TIMEOUT_S", "Pipeline"]

CALL_TIMEOUT_S: Final = 60.0
"""How long a tool may take before its call is given up."""

MAX_IN_FLIGHT: Final = 1024
"""How many calls may be awaited at once; one more is refused, so that memory has a bound."""


class Pipeline:
    """Runs calls on one set of tools under one set of contracts."""

    def __init__(
        self,
        toolbox: Toolbox,
        registry: SchemaRegistry,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        observe: Callable[[Outcome], None] | None = None,
        complain: Callable[[Outcome], None] | None = None,
    ) -> None:
        self.toolbox = toolbox
        self.registry = registry
        self._timeout_s = timeout_s
        self._observe = observe
        self._complain = complain
        self._in_flight = 0

    def run(self, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Give the outcome of a call: at once when its tool is a plain function, else once awaited."""
        ready = self.prepare(call)
        if isinstance(ready, Outcome):
            return self._seen(ready)
        context = call.context
        if ready.tool.upstream is not None:
            context = msgspec.structs.replace(context, upstream=ready.tool.upstream, options=ready.tool.options)
        try:
            value = ready.tool.run(ready.args, context)
        except Exception as error:  # noqa: BLE001 - the one place where a tool's failure becomes a value
            value = error
        if hasattr(value, "__await__"):
            if self._in_flight < MAX_IN_FLIGHT:
                return self._settle(ready, value)
            value = _too_many(value)
        return self._seen(self.finish(ready, value))

    def prepare(self, call: Call) -> Ready | Outcome:
        """Find the tool and hold the arguments to its input contract."""
        tool = self.toolbox.find(call.key)
        if tool is None:
            return Outcome(call, None, fault=unknown_tool(call.key))
        io = self.registry.load_tool_io(tool.slug)
        arguments = call.arguments
        if not io.input_validator.is_valid(arguments):
            arguments = _without_nulls(arguments)
            places = io.input_validator.places(arguments)
            if places:
                return Outcome(call, tool, fault=tool.on_fault(bad_arguments(tool.name, places)))
        # Not strict: to a contract 10.0 is an integer, and all else that would be bent it has refused.
        return Ready(call, tool, io, msgspec.convert(arguments, tool.args, strict=False))

    def finish(self, ready: Ready, value: object) -> Outcome:
        """Hold what a tool returned, as it would be sent, to its output contract and size."""
        tool = ready.tool
        if isinstance(value, Exception):
            return Outcome(ready.call, tool, fault=value if isinstance(value, Fault) else _bug(tool, value))
        try:
            body = encode(value)
            if len(body) > tool.max_result_bytes:
                raise ContractError([("", f"{len(body)} bytes, more than {tool.max_result_bytes}")])
            result = unpack(body)
            contract = ready.io.output_validator
            if not contract.is_valid(result):
                raise ContractError(contract.places(result))
        except (TypeError, ValueError, RecursionError) as error:
            # ContractError, and what msgspec says of a value that is not JSON.
            return Outcome(ready.call, tool, fault=_broken_promise(tool, error))
        return Outcome(ready.call, tool, result, body)

    async def _settle(self, ready: Ready, pending: Awaitable[object]) -> Outcome:
        """Await a tool, no longer than a call may take; a tool that clings on is left behind."""
        task = asyncio.ensure_future(pending)
        self._in_flight += 1
        try:
            await asyncio.wait((task,), timeout=self._timeout_s)
            value = _value_of(task) if task.done() else _too_slow(ready.tool, self._timeout_s)
        finally:
            self._in_flight -= 1
            task.cancel()
        if ready.tool.heavy:
            return self._seen(await asyncio.to_thread(self.finish, ready, value))
        return self._seen(self.finish(ready, value))

    def _seen(self, outcome: Outcome) -> Outcome:
        """Show an outcome to those who watch all of them, and a fault to those who watch for faults."""
        if self._observe is not None:
            self._observe(outcome)
        if self._complain is not None and outcome.fault is not None:
            self._complain(outcome)
        return outcome


def _without_nulls(arguments: Any) -> Any:
    """Count an argument that is given as null as absent."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if value is not None}


def _value_of(task: asyncio.Future[object]) -> object:
    if task.cancelled():
        return Fault(Code.INTERNAL_ERROR, "the tool gave its call up")
    return task.exception() or task.result()


def _too_many(unstarted: Awaitable[object]) -> Fault:
    if isinstance(unstarted, Coroutine):
        unstarted.close()
    return Fault(Code.INTERNAL_ERROR, f"{MAX_IN_FLIGHT} calls are in flight already: ask again when one has ended")


def _too_slow(tool: Tool, timeout_s: float) -> Fault:
    return Fault(Code.INTERNAL_ERROR, f"{tool.name} did not answer within {timeout_s:g} s")


def _bug(tool: Tool, error: Exception) -> Fault:
    """Say that a tool failed without saying how: the exception's text may hold a secret."""
    fault = Fault(Code.INTERNAL_ERROR, f"{tool.name} failed: this is a fault of the server, not of the call")
    fault.__cause__ = error
    return fault


def _broken_promise(tool: Tool, error: Exception) -> Fault:
    fault = Fault(Code.INVALID_OUTPUT, f"{tool.name} gave a result that breaks its contract")
    fault.__cause__ = error
    return fault
