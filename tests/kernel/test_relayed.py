"""The reply of a wrapped server: what of it is checked, and how it leaves in each mode."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from signet.kernel.errors import Code, Fault, broken_promise
from signet.kernel.outcome import Call, Outcome, PreparedCall, Relayed
from signet.kernel.protocol import Identity, eras, finish_relayed, to_reply
from signet.kernel.schemas import Contract, ContractError, ToolIO
from signet.kernel.tools import NULL_CONTEXT, Tool

PROMISED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ENFORCED, SHADOWED, UNCHECKED = (True, True), (True, False), (False, False)


def broken(tool: Tool, contract: Contract, result: object) -> Fault:
    return broken_promise(tool.name, ContractError(contract.places(result))).at("output")


def finished(
    reply: Relayed, rules: tuple[bool, bool] = ENFORCED, *, promises_output: bool = True, **facts: Any
) -> Outcome:
    tool = Tool(name="count", slug="x.count", title="", description="", args=dict, run=print, relays=True, **facts)
    io = ToolIO(Contract({}, ""), Contract(PROMISED, ""), None, promises_output=promises_output)
    return finish_relayed(PreparedCall(Call("count", {}, NULL_CONTEXT), tool, io, {}), reply, rules, broken, 1_000)


def result(structured: bytes | None, content: bytes = b'[{"type":"text","text":"1"}]') -> Relayed:
    body = b'{"content":' + content + (b"" if structured is None else b',"structuredContent":' + structured) + b"}"
    raw = None if structured is None else msgspec.Raw(structured)
    return Relayed(body, modern=False, structured=raw, content=msgspec.Raw(content))


def test_a_result_that_keeps_its_contract_is_delivered_as_it_was_written() -> None:
    reply = result(b'{"n": 1.0}')

    outcome = finished(reply)

    assert (outcome.fault, outcome.relayed, outcome.body) == (None, reply, b'{"n": 1.0}')


@pytest.mark.parametrize("structured", [b'{"n":"one"}', b"{}", b"[1]", None])
def test_a_result_that_breaks_it_is_a_fault_and_is_not_delivered(structured: bytes | None) -> None:
    outcome = finished(result(structured))

    assert outcome.fault is not None
    assert (outcome.fault.code, outcome.fault.stage, outcome.relayed) == (Code.INVALID_OUTPUT, "output", None)


def test_in_shadow_it_is_delivered_and_noted() -> None:
    outcome = finished(result(b"{}"), SHADOWED)

    assert outcome.fault is None
    assert outcome.relayed is not None
    assert outcome.shadow_violation is not None


def test_unchecked_it_is_delivered() -> None:
    outcome = finished(result(b"{}"), UNCHECKED)

    assert (outcome.fault, outcome.shadow_violation) == (None, None)


@pytest.mark.parametrize(("spare", "is_delivered"), [(0, True), (-1, False)])
def test_a_result_may_be_as_large_as_its_tool_says_and_no_larger(spare: int, is_delivered: bool) -> None:
    reply = result(b'{"n":1}')

    outcome = finished(reply, max_result_bytes=len(reply.body) + spare)

    assert (outcome.relayed is reply, outcome.fault is None) == (is_delivered, is_delivered)


def test_a_tool_without_an_output_contract_promises_nothing() -> None:
    outcome = finished(result(None), promises_output=False)

    assert outcome.fault is None
    assert outcome.body == b'{"content":[{"type":"text","text":"1"}]}'


def test_an_error_of_the_server_is_not_checked_and_is_delivered() -> None:
    fault = Fault(Code.INTERNAL_ERROR, "no")
    reply = Relayed(b'{"isError":true}', modern=False, structured=msgspec.Raw(b"{}"), fault=fault)

    outcome = finished(reply)

    assert (outcome.fault, outcome.relayed) == (fault, reply)


def test_a_question_to_the_caller_is_not_checked() -> None:
    reply = Relayed(b'{"resultType":"input_required"}', modern=True, is_final=False)

    assert finished(reply).relayed is reply


def test_a_result_that_is_too_large_is_a_fault_in_every_mode() -> None:
    outcome = finished(result(b'{"n":1}'), UNCHECKED, max_result_bytes=20)

    assert outcome.fault is not None
    assert "more than 20" in str(outcome.fault.__cause__)
    assert "and may give 20 at most: ask for less" in outcome.fault.message


@pytest.mark.parametrize("modern", [False, True])
def test_the_reply_of_a_wrapped_server_is_sent_as_it_was_written_in_its_own_era(modern: bool) -> None:
    body = b'{"content": [], "extra" : 1.0}'
    reply = Relayed(body, modern=modern, in_era=lambda *_: b"{}")
    outcome = Outcome(Call("count", {}, NULL_CONTEXT), None, relayed=reply)

    own, other = sorted(eras(Identity("x", "1")), key=lambda era: era.modern != modern)
    replies = [to_reply(era, False, 1, outcome).body for era in (own, other)]

    assert replies == [b'{"jsonrpc":"2.0","id":1,"result":%b}' % told for told in (body, b"{}")]
