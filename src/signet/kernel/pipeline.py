"""The call pipeline: the one road from arguments to outcome.

    Call ── prepare ── the tool ── finish ── Outcome

`prepare` and `finish` are pure and hold every rule; `run` calls the tool between them.
Only this module turns an exception of a tool into a value.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from .arguments import ArgumentNames, without_nulls, without_unknown
from .encoded import EncodedResult
from .errors import (
    Code,
    Fault,
    bad_arguments,
    broken_promise,
    bug,
    caller_left,
    misspelt_argument,
    too_slow,
    unknown_tool,
)
from .events import Events
from .gate import Gate, run_behind_gate
from .outcome import Call, Outcome, PreparedCall, Relayed
from .protocol import finish_relayed, oversized
from .schemas import PREFIX, Contract, ContractError, SchemaRegistry, ToolIO
from .spending import THREAD_WORK, OverBudgetError
from .tools import Tool, Toolbox, ToolsetRuntime
from .waiting import Waiting
from .wire import PIECE_BYTES, decode_in_chunks, encode

if TYPE_CHECKING:
    import asyncio

__all__ = ["CALL_TIMEOUT_S", "RULES", "Deadlines", "Mode", "Pipeline", "in_thread"]

T = TypeVar("T")

CALL_TIMEOUT_S: Final = 50.0
"""The longest time that a tool may take before its call fails: clients give up after 60 s."""

MAX_IN_FLIGHT: Final = 1024
"""The number of calls that may be awaited at once; further calls are refused, so that memory has a bound."""
GRAIN_S: Final = 0.001
"""What is over within this time is over now: some event loops have timers that are no finer."""

NOTHING_WRONG: Final[tuple[Fault | None, tuple[str, ...]]] = (None, ())
Prepared = PreparedCall | Outcome
"""A call that can be made, or the outcome of one that cannot."""


class Mode(StrEnum):
    """What the pipeline does with a value that breaks its contract."""

    ENFORCE = "enforce"
    """Refuse the value."""
    SHADOW = "shadow"
    """Note the violation in `shadow_violation` and continue the call."""
    OFF = "off"
    """Check nothing."""


RULES: Final = {
    Mode.ENFORCE.value: (True, True),
    Mode.SHADOW.value: (True, False),
    Mode.OFF.value: (False, False),
    "relax": (False, False),
}
"""Whether a contract is checked and whether it is enforced, in each mode; `relax` is for wrapped servers' outputs."""


class Deadlines:
    """The waits of one event loop that end after a time, all with one timer.

    A timer for each call costs more than the rest of the wait, and almost none of them is ever needed. Every wait may
    last equally long, so the one that began first is the first that is over.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout_s: float) -> None:
        self.loop = loop
        self._timeout_s = timeout_s
        self._waits: dict[asyncio.Future[None], float] = {}
        """Each wait and when it is over, in the order of both."""
        self._has_timer = False

    def begin(self) -> asyncio.Future[None]:
        """Return a future that is done when its time is over, unless it was ended before."""
        wait: asyncio.Future[None] = self.loop.create_future()
        over_s = self._waits[wait] = self.loop.time() + self._timeout_s
        if not self._has_timer:
            self._has_timer = True
            self.loop.call_at(over_s, self._end_overdue)
        return wait

    def wait_for(self, task: asyncio.Future[object]) -> asyncio.Future[None]:
        """Return a future that is done when a task ends or its time is over; `asyncio.wait` costs twice."""
        wait = self.begin()

        def end(_: object) -> None:
            if not wait.done():
                wait.set_result(None)

        task.add_done_callback(end)
        return wait

    def forget(self, wait: asyncio.Future[None]) -> None:
        """Take note that nobody waits any more."""
        del self._waits[wait]

    def _end_overdue(self) -> None:
        """End the waits whose time is over, and set the timer for the next one."""
        self._has_timer = False
        now_s = self.loop.time() + GRAIN_S
        for wait, over_s in self._waits.items():
            if over_s > now_s:
                self._has_timer = True
                self.loop.call_at(over_s, self._end_overdue)
                return
            if not wait.done():
                wait.set_result(None)


class Pipeline:
    """Runs calls of one set of tools under one set of contracts."""

    def __init__(
        self,
        toolbox: Toolbox,
        registry: SchemaRegistry,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        mode: Mode = Mode.ENFORCE,
        events: Events | None = None,
        runtimes: Mapping[str, ToolsetRuntime] | None = None,
        explain: Callable[[Outcome], Outcome] | None = None,
        gate: Gate | None = None,
        key_gate: Gate | None = None,
    ) -> None:
        """Serve a toolbox; `explain` is development mode: it gives the fault of an outcome its details.

        Without a gate for all calls, `key_gate` is that of calls with an idempotency key.
        """
        self.toolbox = toolbox
        self.registry = registry
        self._timeout_s = timeout_s
        self.mode = mode
        self._rules = {"": RULES[mode], **RULES}
        """Whether a contract is checked and whether it is enforced, by the mode that a tool has of its own."""
        self.events = Events() if events is None else events
        """The listeners; doors and upstreams tell them too."""
        self._runtimes = runtimes or {}
        self._explain = explain
        self._gate = gate
        self._key_gate = key_gate
        self.now = self.events.clock
        """Return the time by which calls are measured."""
        self._in_flight = 0
        self._deadlines: Deadlines | None = None

    @property
    def is_development(self) -> bool:
        """Whether faults are explained, and the tools may change."""
        return self._explain is not None

    @property
    def in_flight(self) -> int:
        """The number of calls whose tools are awaited."""
        return self._in_flight

    @property
    def is_limited(self) -> bool:
        """Whether there is a gate before all calls."""
        return self._gate is not None

    @property
    def gate(self) -> Gate | None:
        """The gate before all calls; requests of other methods to wrapped servers pass it too."""
        return self._gate

    def run(
        self, call: Call, shadow_violation: Fault | None = None, *, is_followed: bool = False
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Return the outcome of a call, or a coroutine of it where the tool has to be awaited.

        `shadow_violation` is the fault with which a door would have refused the call if contracts were enforced;
        `is_followed` says that the listener of operations makes the call.
        """
        operations = self.events.operations
        if operations is not None and not is_followed:
            return operations.call(partial(self.run, call, shadow_violation, is_followed=True), call)
        started_s = self.now()
        gate = self._gate or (self._key_gate if call.idempotency_key else None)
        if gate is not None and (tool := self._tool_of(call)) is not None:
            entry = gate.enter(call, tool)
            if entry is not None:
                run = partial(self._run, call, shadow_violation, started_s)
                return run_behind_gate(Outcome(call, tool), entry, run, partial(self.notify, started_s=started_s))
        return self._run(call, shadow_violation, started_s)

    def _run(
        self, call: Call, shadow_violation: Fault | None, started_s: float, prepared: Prepared | None = None
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        if prepared is None:
            try:
                prepared = self.prepare(call, shadow_violation, 0)
            except OverBudgetError:
                return self._run_large(call, shadow_violation, started_s)
        if isinstance(prepared, Outcome):
            return self.notify(prepared, started_s)
        call = prepared.call
        context = call.context
        runtime = self._runtimes.get(prepared.tool.slug)
        if runtime is not None:
            wait = context.wait or Waiting()
            wait.caller = call.caller
            context = msgspec.structs.replace(
                context, upstream=runtime.upstream, settings=runtime.settings, today=runtime.today, wait=wait
            )
        try:
            value = prepared.tool.run(prepared.args, context)
        except Exception as error:  # noqa: BLE001 - the one place where a tool's failure becomes a value
            value = error
        if hasattr(value, "__await__"):
            return self._await_tool(prepared, value, started_s, context.wait or Waiting())
        return self.notify(self.finish(prepared, value), started_s)

    async def _run_large(self, call: Call, shadow_violation: Fault | None, started_s: float) -> Outcome:
        """Run a tool whose arguments take long to be checked, so that it is done in a thread."""
        if call.context.wait is not None:
            call.context.wait.now = "checking the arguments"
        prepared = await in_thread(self.prepare, call, shadow_violation)
        outcome = self._run(call, shadow_violation, started_s, prepared)
        return outcome if isinstance(outcome, Outcome) else await outcome

    def prepare(self, call: Call, shadow_violation: Fault | None = None, work: int = THREAD_WORK) -> Prepared:
        """Find the tool and check the arguments against its input contract; ignore those that it does not know.

        Without any work, raise OverBudgetError if that takes more steps than one, or a foreign contract is new.
        """
        found = self._find(call, work)
        if isinstance(found, Outcome):
            return found
        tool, io = found
        arguments, names = call.arguments, io.names
        checks, enforces = self._rules[tool.input_mode]
        fault, ignored = NOTHING_WRONG
        if names is not None and isinstance(arguments, dict):
            if not arguments.keys() <= names.known:
                fault, ignored = self._check_names(tool, names, arguments)
            has_nulls = None in arguments.values()  # rule: 2.common.optional/2
            arguments = without_nulls(arguments, names.optional - tool.keeps_nulls) if has_nulls else arguments
        contract = io.input_validator
        # No value that is so small can be dear to check.
        is_small = (call.size or len(encode(arguments))) <= contract.free_bytes
        is_valid = contract.is_valid_at_once if is_small else partial(contract.is_valid, work=work)
        if fault is None and checks and not is_valid(arguments):
            arguments = arguments if tool.relays else tool.tidied(without_nulls(arguments))  # rule: 2.common.optional
            fault = _broken_input(tool, contract, arguments)
        if fault is not None:
            fault = tool.adapt_fault(fault).at("input")
            if enforces:
                return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
        if tool.relays and isinstance(arguments, tool.args):
            return PreparedCall(call, tool, io, arguments, shadow_violation or fault, ignored)
        if ignored or not enforces:
            arguments = without_unknown(arguments, tool.args)
        try:
            # Not strict: JSON Schema takes 10.0 as an integer, and the contract has refused all other coercions.
            args = msgspec.convert(arguments, tool.args, strict=tool.is_strict)
        except msgspec.ValidationError as error:
            args = tool.read_again(arguments, error, is_lax=not enforces)
            unread = Outcome(call, tool, shadow_violation=shadow_violation, ignored=ignored)
            return _wrong_type(unread, args) or PreparedCall(call, tool, io, args, shadow_violation or fault, ignored)
        return PreparedCall(call, tool, io, args, shadow_violation or fault, ignored)

    def _tool_of(self, call: Call) -> Tool | None:
        return self.toolbox.named(call.tool_key) if call.door.by_name else self.toolbox.find(call.tool_key)

    def _find(self, call: Call, work: int) -> tuple[Tool, ToolIO] | Outcome:
        tool = self._tool_of(call)
        if tool is None:
            key = call.tool_key if call.door.by_name else call.tool_key.removeprefix(PREFIX)
            return Outcome(call, None, fault=unknown_tool(key))
        io = self.registry.compiled.get(tool.slug)
        if io is not None:
            return tool, io
        if tool.is_foreign and not work:
            raise OverBudgetError
        try:
            return tool, self.registry.load_tool_io(tool.slug)
        except ValueError as error:
            # Contracts are compiled when a tool is first called, and those of a user's types may not compile.
            return Outcome(call, tool, fault=bug(tool.name, error))

    def _check_names(
        self, tool: Tool, names: ArgumentNames, arguments: dict[str, Any]
    ) -> tuple[Fault | None, tuple[str, ...]]:
        """Return the fault for a near miss among the unknown names, if names are checked, and the ignored ones."""
        near = names.near_miss(arguments) if self._rules[tool.input_mode][0] else None
        if near is None:
            return None, names.ignored(arguments)  # rule: 3.input.unknown
        return misspelt_argument(tool.name, *near), names.ignored(arguments, near[0])

    def finish(self, prepared: PreparedCall, value: object, work: int = THREAD_WORK) -> Outcome:
        """Encode the value that a tool returned or raised, and check its size and its output contract.

        A result that takes more than some work to be checked breaks its contract.

        Raises:
            OverBudgetError: without any such work, the result takes more steps than one to be checked.
        """
        if isinstance(value, Relayed):
            return finish_relayed(prepared, value, self._rules[prepared.tool.mode], self._broken, work)
        if isinstance(value, EncodedResult):
            if value.is_large:
                return self._finish_large(prepared, value)
            value = msgspec.Raw(value.body)
        call, tool, ignored = prepared.call, prepared.tool, prepared.ignored
        shadow_violation = prepared.shadow_violation
        if isinstance(value, BaseException):
            fault = tool.adapt_fault(value if isinstance(value, Fault) else bug(tool.name, value))
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
        try:
            body = encode(value)
            if len(body) > tool.max_result_bytes:
                limit = self._limit_of(tool)
                if len(body) > limit:
                    fault = oversized(tool, len(body), limit)
                    return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
            result = decode_in_chunks(body)
        except (TypeError, ValueError, RecursionError) as error:
            # msgspec raises these for a value that is not JSON.
            fault = tool.adapt_fault(broken_promise(tool.name, error)).at("output")
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
        contract = prepared.io.output_validator  # rule: 5.wire.bad-output
        checks, enforces = self._rules[tool.mode]
        is_small = len(body) <= contract.free_bytes
        if checks and not (contract.is_valid_at_once(result) if is_small else contract.is_valid(result, work)):
            fault = self._broken(tool, contract, result)
            if enforces:
                return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
            shadow_violation = shadow_violation or fault
        return Outcome(call, tool, result, body, shadow_violation=shadow_violation, ignored=ignored)

    def _finish_large(self, prepared: PreparedCall, value: EncodedResult) -> Outcome:
        """Check a large result part by part: as one Python value it would take ten times its size."""
        call, tool, ignored = prepared.call, prepared.tool, prepared.ignored
        shadow_violation = prepared.shadow_violation
        checks, enforces = self._rules[tool.mode]
        contract = prepared.io.output_validator
        limit = self._limit_of(tool)
        if len(value.body) > limit:
            fault = oversized(tool, len(value.body), limit)
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
        try:
            result = value.view()
            broken = next((part for part in value.parts() if not contract.is_valid(part)), None) if checks else None
        except ValueError as error:
            fault = tool.adapt_fault(broken_promise(tool.name, error)).at("output")
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
        if broken is not None:
            fault = self._broken(tool, contract, broken)
            if enforces:
                return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation, ignored=ignored)
            shadow_violation = shadow_violation or fault
        return Outcome(
            call, tool, result, cast("bytes", value.body), shadow_violation=shadow_violation, ignored=ignored
        )

    @property
    def largest_result_bytes(self) -> int:
        """The size of the largest result that any of the tools may give."""
        return max(map(self._limit_of, self.toolbox), default=0)

    def _limit_of(self, tool: Tool) -> int:
        """Return the largest result that a tool may give under the settings of its toolset."""
        runtime = self._runtimes.get(tool.slug)
        if tool.raised_limit is None or runtime is None:
            return tool.max_result_bytes
        return tool.raised_limit(runtime.settings)

    def _broken(self, tool: Tool, contract: Contract, result: object) -> Fault:
        """Return the fault for a result that breaks its contract, with the places."""
        if not tool.is_foreign:
            why = ContractError(contract.places(result), contract.violations(result) if self._explain else None)
            return tool.adapt_fault(broken_promise(tool.name, why)).at("output")
        from .places import marks_in_words

        found = contract.violations(result)
        marks = [one.mark for one in found]
        why = ContractError([one.place for one in found], found if self._explain else None, marks)
        return tool.adapt_fault(broken_promise(tool.name, why, marks_in_words(marks))).at("output")

    async def _await_tool(
        self, prepared: PreparedCall, pending: Awaitable[object], started_s: float, wait: Waiting
    ) -> Outcome:
        """Await a tool until the timeout; a tool that ignores its cancellation is not waited for."""
        if self._in_flight >= MAX_IN_FLIGHT:
            # Checked here, not in `run`: calls that were accepted together begin one after the other.
            return self.notify(self.finish(prepared, _too_many(pending)), started_s)
        # Not by `from`: that looks for each name on every call.
        import asyncio

        task = asyncio.ensure_future(pending)
        deadlines = self._deadlines_of(task.get_loop())
        ended = deadlines.wait_for(task)
        self._in_flight += 1
        if (awaiting := self.events.awaiting) is not None:
            awaiting(self._in_flight)
        try:
            await ended
            value = _value_of(task) if task.done() else too_slow(prepared.tool.name, self._timeout_s, wait.text())
        except asyncio.CancelledError:
            self.notify(self.finish(prepared, caller_left()), started_s)
            raise
        finally:
            self._in_flight -= 1
            if awaiting is not None:
                awaiting(self._in_flight)
            deadlines.forget(ended)
            task.cancel()
        if prepared.tool.validate_in_thread and not (isinstance(value, Relayed) and len(value.body) < PIECE_BYTES):
            wait.now = "checking the result"
            return self.notify(await in_thread(self.finish, prepared, value), started_s)
        try:
            outcome = self.finish(prepared, value, 0)
        except OverBudgetError:
            wait.now = "checking the result"
            outcome = await in_thread(self.finish, prepared, value)
        return self.notify(outcome, started_s)

    def _deadlines_of(self, loop: asyncio.AbstractEventLoop) -> Deadlines:
        if self._deadlines is None or self._deadlines.loop is not loop:
            self._deadlines = Deadlines(loop, self._timeout_s)
        return self._deadlines

    def notify(self, outcome: Outcome, started_s: float | None = None) -> Outcome:
        """Pass an outcome to its listeners and return it; a call that was refused before its start took no time."""
        events = self.events
        if events.outcome is not None:
            events.outcome(outcome, self.now() - started_s if started_s is not None else 0.0)
        if (fault := outcome.fault) is not None:
            # Behind the journal: what it keeps, and a replay compares, is the same in both modes.
            outcome = outcome if self._explain is None else self._explain(outcome)
            if events.fault is not None:
                events.fault(outcome)
            fault.forget_frames()
        return outcome


async def in_thread(function: Callable[..., T], /, *args: object) -> T:
    """Run a function in a thread and return its result."""
    # Loaded here: a server that awaits nothing needs no event loop.
    from asyncio import to_thread

    return await to_thread(function, *args)


def _wrong_type(unread: Outcome, args: object) -> Outcome | None:
    """Return the outcome of arguments of the wrong type, which no tool can take, whatever is enforced; else None."""
    if not isinstance(args, msgspec.ValidationError) or unread.tool is None:
        return None
    from .places import place_of_type

    fault = bad_arguments(unread.tool.name, [place_of_type(args)])
    return msgspec.structs.replace(unread, fault=unread.tool.adapt_fault(fault).at("input"))


def _broken_input(tool: Tool, contract: Contract, arguments: object) -> Fault | None:
    """Return the fault for arguments that break their contract; None if that was for members that are null."""
    places = contract.places(arguments)
    return tool.explained(arguments) or bad_arguments(tool.name, places) if places else None


def _value_of(task: asyncio.Future[object]) -> object:
    if task.cancelled():
        return Fault(Code.INTERNAL_ERROR, "the tool gave its call up")
    error = task.exception()
    return task.result() if error is None else error


def _too_many(unstarted: Awaitable[object]) -> Fault:
    if isinstance(unstarted, Coroutine):
        unstarted.close()
    return Fault(Code.INTERNAL_ERROR, f"{MAX_IN_FLIGHT} calls are in flight already: ask again when one has ended")
