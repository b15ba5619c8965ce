"""Requests that are passed on and are no calls of tools: who may make one, and what is written down of it. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any, Final

from signet.kernel.caller import CALL_ALL
from signet.kernel.errors import ACCESS_FAULTS, INTERNAL, Fault, insufficient_scope
from signet.kernel.exchange import target_of
from signet.kernel.gate import Gate, Pass
from signet.kernel.outcome import Call, Door, Outcome
from signet.kernel.relay import RpcRequest
from signet.kernel.tools import NULL_CONTEXT, Tool
from signet.kernel.wire import ProtocolError, Reply

__all__ = ["call_of", "check_scope", "enter", "replied"]

COUNTED: Final = frozenset(
    {
        *("completion/complete", "prompts/get", "resources/read", "resources/subscribe", "resources/unsubscribe"),
        "subscriptions/listen",
    }
)
"""The methods that count to the limits by their own names."""
OTHER: Final = "other/methods"
_stand_ins: Final[dict[str, Tool]] = {}


def check_scope(request: RpcRequest) -> None:
    """Raise ProtocolError where the caller's token is for some tools alone: what is no tool is not among them."""
    principal = request.channel.caller.principal
    if principal is not None and not principal.may_call_all:
        fault = insufficient_scope(request.method, CALL_ALL)
        data = {"canonical_code": fault.code, **fault.data}
        raise ProtocolError(fault.mcp_code, fault.message, data, fault=fault)


def call_of(request: RpcRequest) -> Call:
    """Return a request that is no call of a tool, as the journal has it: its method and what it names."""
    door = Door(request.channel.door.transport, request.method, f"{request.channel.door.name} relay", runs_tool=False)
    key = target_of(request.method, request.raw) or request.method
    return Call(key, {}, NULL_CONTEXT, door, request.channel.caller, trace=request.channel.caller.trace)


async def enter(gate: Gate, call: Call, *, is_kept: bool = True) -> Pass | None:
    """Return what a gate gives a request that runs no tool, or None; without `is_kept` it is given back at once.

    Raises:
        Fault: the caller may not make it now.
    """
    entry = gate.enter(call, _stand_in(call.door.route))
    if isinstance(entry, Awaitable):
        entry = await entry
    if isinstance(entry, Fault):
        raise entry
    if entry is None or isinstance(entry, Outcome):
        return None
    if is_kept:
        return entry
    left = entry.leave(None)
    if left is not None:
        await left
    return None


def _stand_in(method: str) -> Tool:
    """Return what gates take for the tool of a method; no tool has such a slug, and unknown methods have one alone."""
    known = method if method in COUNTED else OTHER
    if known not in _stand_ins:
        _stand_ins[known] = Tool(name=known, slug=known, title=known, description="", args=dict, run=_run_nothing)
    return _stand_ins[known]


def _run_nothing(*_: object) -> None:
    """Do nothing: a gate runs no tool."""


async def replied(request: RpcRequest, coroutine: Coroutine[Any, Any, Reply]) -> Reply:
    """Return the reply, or the error that says why there is none."""
    try:
        return await coroutine
    except ProtocolError as error:
        return error.reply(request.id)
    except Fault as fault:
        data = {"canonical_code": fault.code, **fault.data}
        told = fault if fault.name in ACCESS_FAULTS else None
        return ProtocolError(fault.mcp_code, fault.message, data, fault=told).reply(request.id)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        # What a server or a client wrote is not always what it seems; a request without an answer waits for ever.
        return ProtocolError(INTERNAL, f"{request.method} failed: {type(error).__name__}").reply(request.id)
