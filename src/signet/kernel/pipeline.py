"""The call pipeline: the one road from arguments to outcome.

    Call ── prepare ── the tool ── finish ── Outcome

`prepare` and `finish` are pure and hold every rule; `run` only stands the tool between them.
What a tool raises becomes a value here, and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from .errors import Code, Fault, bad_arguments, unknown_tool
from .outcome import Call, Outcome, PreparedCall
from .schemas import PREFIX, ContractError, SchemaRegistry
from .tools import Tool, Toolbox, ToolsetRuntime
from .wire import decode_in_chunks, encode

__all__ = ["CALL_TIMEOUT_S", "Mode", "Observer", "Pipeline"]

CALL_TIMEOUT_S: Final = 60.0
"""How long a tool may take before its call is given up."""

MAX_IN_FLIGHT: Final = 1024
"""How many calls may be awaited at once; one more is refused, so that memory has a bound."""


class Mode(StrEnum):
    """What becomes of a value that breaks its contract."""

    ENFORCE = "enforce"
    """It is refused."""
    SHADOW = "shadow"
    """It is shadow_violation, and the call goes on."""
    OFF = "off"
    """Nobody looks."""


class Observer(msgspec.Struct, frozen=True):
    """Who looks on: both are given each outcome, the first with the seconds it took, the second if it is a fault."""

    outcome: Callable[[Outcome, float], None] | None = None
    fault: Callable[[Outcome], None] | None = None
    clock: Callable[[], float] = float
    """Gives seconds; the kernel has no clock of its own."""


class Pipeline:
    """Runs calls on one set of tools under one set of contracts."""

    def __init__(
        self,
        toolbox: Toolbox,
        registry: SchemaRegistry,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        mode: Mode = Mode.ENFORCE,
        observer: Observer | None = None,
        runtimes: Mapping[str, ToolsetRuntime] | None = None,
    ) -> None:
        self.toolbox = toolbox
        self.registry = registry
        self._timeout_s = timeout_s
        self.mode = mode
        self._observer = observer or Observer()
        self._runtimes = runtimes or {}
        self._in_flight = 0

    def run(self, call: Call, shadow_violation: Fault | None = None) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Give the outcome of a call: at once when its tool is a plain function, else once awaited.

        `shadow_violation` is what would have refused the call before it came here, had contracts not been in shadow.
        """
        started_s = self._observer.clock()
        ready = self.prepare(call, shadow_violation)
        if isinstance(ready, Outcome):
            return self.notify(ready, started_s)
        context = call.context
        runtime = self._runtimes.get(ready.tool.slug)
        if runtime is not None:
            context = msgspec.structs.replace(
                context, upstream=runtime.upstream, settings=runtime.settings, today=runtime.today
            )
        try:
            value = ready.tool.run(ready.args, context)
        except Exception as error:  # noqa: BLE001 - the one place where a tool's failure becomes a value
            value = error
        if hasattr(value, "__await__"):
            return self._settle(ready, value, started_s)
        return self.notify(self.finish(ready, value), started_s)

    def prepare(self, call: Call, shadow_violation: Fault | None = None) -> PreparedCall | Outcome:
        """Find the tool and hold the arguments to its input contract."""
        tool = self.toolbox.named(call.tool_key) if call.door.by_name else self.toolbox.find(call.tool_key)
        if tool is None:
            return Outcome(call, None, fault=unknown_tool(call.tool_key.removeprefix(PREFIX)))
        io = self.registry.load_tool_io(tool.slug)
        arguments = call.arguments
        if self.mode is not Mode.OFF and not io.input_validator.is_valid(arguments):
            arguments = _without_nulls(arguments)
            places = io.input_validator.places(arguments)
            if places:
                fault = tool.adapt_fault(bad_arguments(tool.name, places))
                if self.mode is Mode.ENFORCE:
                    return Outcome(call, tool, fault=fault)
                shadow_violation = shadow_violation or fault
        if self.mode is not Mode.ENFORCE:
            arguments = _fitting(arguments, tool.args)
        try:
            # Not strict: to a contract 10.0 is an integer, and all else that would be bent it has refused.
            return PreparedCall(call, tool, io, msgspec.convert(arguments, tool.args, strict=False), shadow_violation)
        except msgspec.ValidationError as error:
            # Only where nobody has looked: a tool cannot be given what it has no place for.
            return Outcome(call, tool, fault=tool.adapt_fault(bad_arguments(tool.name, [("", str(error))])))

    def finish(self, ready: PreparedCall, value: object) -> Outcome:
        """Hold what a tool returned, as it would be sent, to its output contract and size."""
        call, tool, shadow_violation = ready.call, ready.tool, ready.shadow_violation
        if isinstance(value, BaseException):
            fault = tool.adapt_fault(value if isinstance(value, Fault) else _bug(tool, value))
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation)
        try:
            body = encode(value)
            if len(body) > tool.max_result_bytes:
                raise ContractError([("", f"{len(body)} bytes, more than {tool.max_result_bytes}")])
            result = decode_in_chunks(body)
        except (TypeError, ValueError, RecursionError) as error:
            # What msgspec says of a value that is not JSON.
            return Outcome(
                call, tool, fault=tool.adapt_fault(_broken_promise(tool, error)), shadow_violation=shadow_violation
            )
        contract = ready.io.output_validator
        if self.mode is not Mode.OFF and not contract.is_valid(result):
            fault = tool.adapt_fault(_broken_promise(tool, ContractError(contract.places(result))))
            if self.mode is Mode.ENFORCE:
                return Outcome(call, tool, fault=fault)
            shadow_violation = shadow_violation or fault
        return Outcome(call, tool, result, body, shadow_violation=shadow_violation)

    async def _settle(self, ready: PreparedCall, pending: Awaitable[object], started_s: float) -> Outcome:
        """Await a tool, no longer than a call may take; a tool that clings on is left behind."""
        if self._in_flight >= MAX_IN_FLIGHT:
            # Accepted in the same breath as others that have begun since.
            return self.notify(self.finish(ready, _too_many(pending)), started_s)
        task = asyncio.ensure_future(pending)
        self._in_flight += 1
        try:
            await asyncio.wait((task,), timeout=self._timeout_s)
            value = _value_of(task) if task.done() else _too_slow(ready.tool, self._timeout_s)
        except asyncio.CancelledError:
            self.notify(self.finish(ready, _left()), started_s)
            raise
        finally:
            self._in_flight -= 1
            task.cancel()
        if ready.tool.validate_in_thread:
            return self.notify(await asyncio.to_thread(self.finish, ready, value), started_s)
        return self.notify(self.finish(ready, value), started_s)

    def notify(self, outcome: Outcome, started_s: float | None = None) -> Outcome:
        """Show an outcome to those who look on; what was refused before it began took no time."""
        observer = self._observer
        if observer.outcome is not None:
            observer.outcome(outcome, observer.clock() - started_s if started_s is not None else 0.0)
        if observer.fault is not None and outcome.fault is not None:
            observer.fault(outcome)
        return outcome


def _without_nulls(arguments: Any) -> Any:
    """Count an argument that is given as null as absent."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if value is not None}


def _fitting(arguments: Any, shape: Any) -> Any:
    """Leave out what a tool has no place for; where contracts are enforced, that has been refused."""
    names = getattr(shape, "__struct_encode_fields__", None)
    if names is None or not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if name in names}


def _left() -> Fault:
    return Fault(Code.INTERNAL_ERROR, "the caller left before the answer")


def _value_of(task: asyncio.Future[object]) -> object:
    if task.cancelled():
        return Fault(Code.INTERNAL_ERROR, "the tool gave its call up")
    error = task.exception()
    return task.result() if error is None else error


def _too_many(unstarted: Awaitable[object]) -> Fault:
    if isinstance(unstarted, Coroutine):
        unstarted.close()
    return Fault(Code.INTERNAL_ERROR, f"{MAX_IN_FLIGHT} calls are in flight already: ask again when one has ended")


def _too_slow(tool: Tool, timeout_s: float) -> Fault:
    return Fault(Code.INTERNAL_ERROR, f"{tool.name} did not answer within {timeout_s:g} s")


def _bug(tool: Tool, error: BaseException) -> Fault:
    """Say that a tool failed without saying how: the exception's text may hold a secret."""
    fault = Fault(Code.INTERNAL_ERROR, f"{tool.name} failed: this is a fault of the server, not of the call")
    fault.__cause__ = error
    return fault


def _broken_promise(tool: Tool, error: Exception) -> Fault:
    fault = Fault(Code.INVALID_OUTPUT, f"{tool.name} gave a result that breaks its contract")
    fault.__cause__ = error
    return fault
