"""How a declared function runs as a tool: on the event loop if it is async, otherwise in a thread.

A tool may raise what it likes, print, or never return: the call fails, and the server goes on.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from math import isfinite
from typing import Any, Final

import msgspec

from signet.kernel.caller import NOBODY
from signet.kernel.errors import Code, Fault
from signet.kernel.tools import NULL_CONTEXT, Context

from .contract import DerivedContract
from .declaration import ToolDeclaration
from .finite import is_finite
from .threads import Job, threads_of

__all__ = ["CURRENT", "make_run"]

CURRENT: Final[ContextVar[Context]] = ContextVar("signet_call")
"""The context of the call in which code runs: an upstream finds its run by it."""

Shape = Callable[[Any], Any] | None
"""Gives a result its published form; None where it has that form."""


def make_run(declaration: ToolDeclaration, contract: DerivedContract) -> Callable[[Any, Context], Any]:
    """Return the function of a `Tool`; what the declared function raises is returned as a value."""
    function = declaration.function
    shape = _checked(declaration.name, contract) if _may_hold_nan(contract.output) else contract.shape
    if inspect.iscoroutinefunction(function):
        return _awaited(function, contract, shape)
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        return _wrapped(declaration, contract, shape)
    run = _called(declaration, contract, shape)
    return run if declaration.inline else _in_thread(declaration.name, run, contract)


def _awaited(
    function: Callable[..., Awaitable[Any]], contract: DerivedContract, shape: Shape
) -> Callable[[Any, Context], Any]:
    """Return how an async function runs."""
    bind, context_name = contract.bind, contract.context

    async def run_async(args: Any, context: Context) -> Any:
        CURRENT.set(context)
        try:
            given = bind(args)
            if context_name is not None:
                given[context_name] = context
            value = await function(**given)
            return value if shape is None else shape(value)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit of a tool must not end the server
            return error

    return run_async


def _called(declaration: ToolDeclaration, contract: DerivedContract, shape: Shape) -> Callable[[Any, Context], Any]:
    """Return how a plain function runs, on the loop or in a thread."""
    function, bind, context_name = declaration.function, contract.bind, contract.context

    def run_inline(args: Any, context: Context) -> Any:
        # It cannot wait for an upstream: who asks one is told so.
        if CURRENT.get(None) is not NULL_CONTEXT:
            CURRENT.set(NULL_CONTEXT)
        try:
            given = bind(args)
            if context_name is not None:
                given[context_name] = msgspec.structs.replace(context, upstream=None)
            value = function(**given)
            if hasattr(value, "__await__"):
                return TypeError(f"{declaration.name} returned an awaitable: declare it with async def")
            return value if shape is None else shape(value)
        except BaseException as error:  # noqa: BLE001 - SystemExit of a tool must not end the server
            return error

    return run_inline


def _wrapped(declaration: ToolDeclaration, contract: DerivedContract, shape: Shape) -> Callable[[Any, Context], Any]:
    """Return how an async function runs below a plain decorator, which may pass its awaitable on, or wait for it."""

    def call(args: Any, context: Context) -> Any:
        CURRENT.set(NULL_CONTEXT)
        try:
            given = contract.bind(args)
            if contract.context is not None:
                given[contract.context] = context
            value = declaration.function(**given)
            return value if shape is None or inspect.isawaitable(value) else shape(value)
        except BaseException as error:  # noqa: BLE001 - SystemExit of a tool must not end the server
            return error

    call_in_thread = _in_thread(declaration.name, call, contract)

    async def run_wrapped(args: Any, context: Context) -> Any:
        started = call_in_thread(args, context)
        value = started if isinstance(started, Fault) else await started
        if not inspect.isawaitable(value):
            return value
        CURRENT.set(context)
        try:
            value = await value
            return value if shape is None else shape(value)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit of a tool must not end the server
            return error

    return run_wrapped


def _in_thread(
    tool: str, run: Callable[[Any, Context], Any], contract: DerivedContract
) -> Callable[[Any, Context], Any]:
    """Return a function that runs in a thread, with a context that may be used there."""

    def run_in_thread(args: Any, context: Context) -> Awaitable[Any] | Fault:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # A large message is read in a thread, and its tool is awaited on the loop.
            return run_later(args, context)
        threads, caller = threads_of(loop), None if context.wait is None else context.wait.caller
        holder = "" if caller is None or caller is NOBODY else caller.holder
        if threads.left and (lost := threads.lost_by(holder, tool)):
            return _too_many_left(tool, lost)

        def report(done: float, total: float | None = None, message: str | None = None) -> None:
            loop.call_soon_threadsafe(context.progress, done, total, message)

        def work(job: Job) -> Any:
            if contract.context is None:
                return run(args, context)
            return run(args, msgspec.structs.replace(context, progress=report, is_cancelled=lambda: job.is_abandoned))

        return threads.run(work, tool, holder, context.waiting)

    async def run_later(args: Any, context: Context) -> Any:
        started = run_in_thread(args, context)
        return started if isinstance(started, Fault) else await started

    return run_in_thread


def _too_many_left(tool: str, count: int) -> Fault:
    """Return the fault for a caller whose earlier calls hold so many threads that it may have no more."""
    message = (
        f"{count} of your earlier calls, which timed out or were left, still run: wait until they have ended, "
        f"then call {tool} again. If they never end, the tool has to be mended"
    )
    return Fault(Code.INTERNAL_ERROR, message, name="TOO_MANY_CALLS_LEFT", status=503)


def _may_hold_nan(schema: Any) -> bool:
    """Return whether a schema has a place for a number, or for anything: JSON has no word for NaN, and null is none."""
    if isinstance(schema, list):
        return any(map(_may_hold_nan, schema))
    if not isinstance(schema, dict):
        return False
    if not schema or schema.get("type") == "number" or schema.get("additionalProperties") is True:
        return True
    if schema.get("type") == "object" and not schema.get("properties") and "additionalProperties" not in schema:
        return True
    places = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    places += [
        schema[key] for key in ("items", "prefixItems", "anyOf", "oneOf", "additionalProperties") if key in schema
    ]
    return any(map(_may_hold_nan, places)) or (schema.get("type") == "array" and "items" not in schema)


def _checked(name: str, contract: DerivedContract) -> Callable[[Any], Any]:
    """Return the contract's `shape`, which refuses numbers that are not finite."""

    def shape(value: Any) -> Any:
        shaped = value if contract.shape is None else contract.shape(value)
        if type(value) is float and isfinite(value):
            return shaped
        # Both: a library may have written null for one, or have computed another.
        if not is_finite(value, shaped):
            fault = Fault(Code.INVALID_OUTPUT, f"{name} gave a result that breaks its contract")
            raise fault from ValueError("NaN and infinity are no JSON numbers: return None, or raise signet.Fault")
        return shaped

    return shape
