"""Calls and outcomes: plain values that nobody can change on their way."""

from __future__ import annotations

import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.outcome import UNKNOWN_DOOR, Call, Door, Outcome
from signet.kernel.tools import NULL_CONTEXT

CALL = Call("encodePlantUML", {"plantumlCode": "A"}, NULL_CONTEXT)


def test_a_call_that_came_through_no_door_has_the_unknown_one() -> None:
    assert CALL.door is UNKNOWN_DOOR
    assert (UNKNOWN_DOOR.transport, UNKNOWN_DOOR.route, UNKNOWN_DOOR.name) == ("none", "none", "none")


def test_a_door_takes_tools_by_name_slug_and_id_unless_it_says_otherwise() -> None:
    assert Door("http", "/mcp/tool/x", "http envelope").by_name is False
    assert Door("http", "/mcp", "http mcp", by_name=True).by_name is True


def test_two_calls_that_ask_the_same_through_the_same_door_are_equal() -> None:
    again = Call("encodePlantUML", {"plantumlCode": "A"}, NULL_CONTEXT)
    elsewhere = Call("encodePlantUML", {"plantumlCode": "A"}, NULL_CONTEXT, Door("stdio", "tools/call", "stdio mcp"))

    assert again == CALL
    assert elsewhere != CALL


@pytest.mark.parametrize("field", ["tool_key", "arguments", "context", "door"])
def test_a_call_cannot_be_changed_on_its_way(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(CALL, field, None)


def test_an_outcome_is_a_result_or_a_fault_and_notes_nothing_by_default() -> None:
    fault = Fault(Code.NOT_FOUND, "no such thing")

    good, bad = Outcome(CALL, None, {"n": 1}, b'{"n":1}'), Outcome(CALL, None, fault=fault)

    assert (good.result, good.body, good.fault, good.shadow_violation) == ({"n": 1}, b'{"n":1}', None, None)
    assert (bad.result, bad.body, bad.fault, bad.shadow_violation) == (None, b"", fault, None)
