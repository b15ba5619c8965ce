"""The end of a call that a wrapped server answered: what is checked of its reply, and the size of any result. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .equal_names import has_equal_members, has_equal_names_in_pieces
from .errors import Fault, broken_promise, result_too_large
from .outcome import Outcome, PreparedCall, Relayed
from .schemas import Contract, ContractError
from .tools import Tool
from .wire import decode_in_chunks

__all__ = ["finish_relayed", "oversized"]

NOT_STRUCTURED: Final = "it has no structuredContent"
DOUBLED: Final = "a name stands twice in one object of it"
UNREADABLE: Final = "its structuredContent cannot be read as JSON"


def finish_relayed(
    prepared: PreparedCall,
    reply: Relayed,
    rules: tuple[bool, bool],
    broken: Callable[[Tool, Contract, object], Fault],
    work: int,
) -> Outcome:
    """Return the outcome of a reply; errors of the server, and its questions to the caller, promise nothing.

    `rules` are whether the output contract is checked, and whether it is enforced; `work` is what a check may cost.
    """
    call, tool, shadow_violation = prepared.call, prepared.tool, prepared.shadow_violation
    checks, enforces = rules
    fault = None
    is_promised = checks and prepared.io.promises_output
    if is_promised and not (reply.is_failure or reply.is_single) and has_equal_members(reply.body):
        # The caller may see another member than the one that is looked at here.
        fault = _broken_as_a_whole(tool, DOUBLED)
        if enforces:
            return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation)
    if reply.fault is not None or not reply.is_final:
        return Outcome(call, tool, None, reply.body, reply.fault, shadow_violation or fault, relayed=reply)
    if len(reply.body) > tool.max_result_bytes:
        return Outcome(
            call, tool, fault=oversized(tool, len(reply.body), tool.max_result_bytes), shadow_violation=shadow_violation
        )
    result = None
    if is_promised and fault is None:
        fault, result = _checked(prepared, reply, broken, work)
    if fault is not None and enforces:
        return Outcome(call, tool, fault=fault, shadow_violation=shadow_violation)
    return Outcome(call, tool, result, _value_of(reply), None, shadow_violation or fault, relayed=reply)


def _checked(
    prepared: PreparedCall, reply: Relayed, broken: Callable[[Tool, Contract, object], Fault], work: int
) -> tuple[Fault | None, object]:
    """Return the fault of structured content that breaks its contract, and its value."""
    tool, contract = prepared.tool, prepared.io.output_validator
    if reply.structured is None:
        return _broken_as_a_whole(tool, NOT_STRUCTURED), None
    try:
        result = decode_in_chunks(reply.structured)
        if has_equal_names_in_pieces(reply.structured, result):
            return _broken_as_a_whole(tool, DOUBLED), result
        is_small = len(reply.body) <= contract.free_bytes
        is_valid = contract.is_valid_at_once(result) if is_small else contract.is_valid(result, work)
        return None if is_valid else broken(tool, contract, result), result
    except (ValueError, RecursionError) as error:
        # JSON by its grammar, and yet no value: a number may be out of range.
        return broken_promise(tool.name, error, UNREADABLE).at("output"), None


def _value_of(reply: Relayed) -> bytes:
    """Return what REST and the envelope answer with: the structured content, else the content blocks."""
    if reply.structured is not None:
        return bytes(reply.structured)
    return b'{"content":' + bytes(reply.content or b"[]") + b"}"


def oversized(tool: Tool, size: int, limit: int) -> Fault:
    """Return the fault for a result that is larger than its tool may give."""
    excess = ContractError([("", f"{size:,} bytes, more than {limit:,}")])
    return tool.adapt_fault(result_too_large(tool.name, size, limit, excess)).at("output")


def _broken_as_a_whole(tool: Tool, why: str) -> Fault:
    return broken_promise(tool.name, ContractError([("", why)]), why).at("output")
