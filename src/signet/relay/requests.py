"""Requests that are passed on and are no calls of tools: who may make one, and what is written down of it. Pure."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec

from signet.kernel.caller import CALL_ALL
from signet.kernel.errors import ACCESS_FAULTS, INTERNAL, Fault, insufficient_scope
from signet.kernel.outcome import Call, Door
from signet.kernel.relay import RpcRequest
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.wire import ProtocolError, Reply

from .messages import members

__all__ = ["call_of", "check_scope", "replied"]


def check_scope(request: RpcRequest) -> None:
    """Raise ProtocolError where the caller's token is for some tools alone: what is no tool is not among them."""
    principal = request.channel.caller.principal
    if principal is not None and not principal.may_call_all:
        fault = insufficient_scope(request.method, CALL_ALL)
        data = {"canonical_code": fault.code, **fault.data}
        raise ProtocolError(fault.mcp_code, fault.message, data, fault=fault)


def call_of(request: RpcRequest) -> Call:
    """Return a request that is no call of a tool, as the journal has it: its method and what it names."""
    door = Door(request.channel.door.transport, request.method, f"{request.channel.door.name} relay")
    parts = members(request.raw)
    named = parts.get("uri") or parts.get("name")
    target = msgspec.json.decode(named) if named is not None else ""
    key = target if isinstance(target, str) and target else request.method
    return Call(key, {}, NULL_CONTEXT, door, request.channel.caller, trace=request.channel.caller.trace)


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
