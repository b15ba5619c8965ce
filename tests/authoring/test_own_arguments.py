"""The arguments of one's own tools: a function gets the value that its contract took, and no other."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from typing import Any, Literal

import pytest

from own_toolsets import call, declared
from signet import Code


class Number(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    ONE = "1"


def given(hint: Any) -> Callable[..., Any]:
    """Return a tool that shows the value it got."""

    def show(value) -> str:
        """Show a value."""
        return repr(value)

    show.__annotations__ = {"value": hint, "return": str}
    return show


@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (Literal["null", "a"] | None, "null", "null"),
        (Word | None | bool, "1", Word.ONE),
        (Literal["1", 1], "1", "1"),
        (str | None, "null", "null"),
        (int | str, "5", "5"),
        (int, 10.0, 10),
        (list[int], [1.0, 2], [1, 2]),
        (int, 1e300, int(1e300)),
        (float, 10, 10.0),
        (Number, 1.0, Number.ONE),
        (Literal[1], 1.0, 1),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (dt.date, "2026-01-01", dt.date(2026, 1, 1)),
        (bytes, "aGk=", b"hi"),
        (bytes | None, "null", b"\x9e\xe9e"),
    ],
)
def test_the_function_gets_the_value_that_the_contract_took(hint: Any, value: Any, got: Any) -> None:
    with declared(given(hint)) as toolset:
        outcome = call(toolset, ("show", {"value": value}))

    assert outcome.result == {"result": repr(got)}


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (dt.date | float, "20260101"),
        (dt.datetime | int, "5"),
        (dt.datetime, "1700000000"),
        (dt.timedelta, "5"),
    ],
)
def test_a_text_that_is_no_such_value_is_refused_and_not_read_as_another(hint: Any, value: Any) -> None:
    with declared(given(hint)) as toolset:
        outcome = call(toolset, ("show", {"value": value}))

    assert outcome.fault.code is Code.INVALID_INPUT


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_a_contract_that_is_not_enforced_lets_a_text_pass_for_a_number(mode: str) -> None:
    with declared(given(int)) as toolset:
        outcome = call(toolset, ("show", {"value": "5"}), validation=mode)

    assert outcome.result == {"result": "5"}
