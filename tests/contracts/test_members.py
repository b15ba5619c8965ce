"""Members: which named parts of a schema differ, in words."""

from __future__ import annotations

from typing import Any

import pytest

from signet.compatibility.contract_set import ContractTerms, compare_tools
from signet.compatibility.members import changed_members

INTEGER = {"type": "integer"}
TEXT = {"type": "string"}


def taking(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (taking({"a": INTEGER}), taking({"a": INTEGER, "b": TEXT}), "b is new"),
        (taking({"a": INTEGER, "b": TEXT}), taking({"a": INTEGER}), "b is gone"),
        (taking({"a": INTEGER}, "a"), taking({"a": INTEGER}), "a is optional now"),
        (taking({"a": INTEGER}), taking({"a": INTEGER}, "a"), "a is required now"),
        (taking({"a": INTEGER}), taking({"a": {**INTEGER, "description": "one"}}), "a changed"),
        (taking({"a": INTEGER}), taking({"a": {**INTEGER, "default": 1}}), ""),
        (taking({"a": taking({"b": INTEGER})}), taking({"a": taking({"b": TEXT})}), "a.b changed"),
        (
            taking({"a": {"type": "array", "items": taking({"b": INTEGER})}}),
            taking({"a": {"type": "array", "items": taking({"b": INTEGER, "c": INTEGER})}}),
            "a.c is new",
        ),
        (taking({"a": {"anyOf": [INTEGER]}}), taking({"a": {"anyOf": [INTEGER, TEXT]}}), "a changed"),
        (taking({}), taking({}, additionalProperties=False), "the whole changed"),
        (True, taking({"a": TEXT}), "a is new, the whole changed"),
        (
            taking({}),
            taking({f"p{n}": TEXT for n in range(9)}),
            "p0 is new, p1 is new, p2 is new, p3 is new, p4 is new, and 4 more",
        ),
        (taking({}), taking({"x" * 99: TEXT}), f"{'x' * 59}… is new"),
    ],
)
def test_the_members_that_differ_are_named(old: Any, new: Any, words: str) -> None:
    assert changed_members(old, new) == words


def test_every_default_that_is_another_is_named() -> None:
    old = taking({name: {"type": "integer", "default": 1} for name in "abcd"})
    new = taking({name: {"type": "integer", "default": 2} for name in "abcd"})

    (finding, _) = compare_tools({"t": ContractTerms(old, output=True)}, {"t": ContractTerms(new, output=True)})

    assert finding.why.count("is another: 1 → 2") == 3
    assert finding.why.endswith("; and 1 more defaults")
