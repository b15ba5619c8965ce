"""Schemas of somebody else's that cost too much to check: they are told, and check nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from signet.lock.comparison import compare
from signet.lock.schema_cost import check_cost
from signet.relay.listing import Terms, list_tools

from .snapshots import TOOL, snapshot


def doubling(levels: int, place: str) -> dict[str, Any]:
    """Return definitions each of which refers to the next twice: for the same value, or for its part."""
    definitions: dict[str, Any] = {f"d{levels}": {"$anchor": f"a{levels}", "type": ["object", "string"]}}
    for number in range(levels):
        name = f"#a{number + 1}" if place == "anchor" else f"#/$defs/d{number + 1}"
        both: dict[str, Any] = {"allOf": [{"$ref": name}, {"$ref": name}]}
        part = {"properties": {"p": both}} if place == "part" else both
        definitions[f"d{number}"] = {"$anchor": f"a{number}", **part}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


@pytest.mark.parametrize("place", ["same", "part", "anchor"])
def test_references_that_double_are_refused_and_few_of_them_are_not(place: str) -> None:
    check_cost(doubling(8, place))
    with pytest.raises(ValueError, match="more than 50,000 times"):
        check_cost(doubling(40, place))


def test_a_wide_tree_and_references_in_a_circle_cost_little() -> None:
    leaf = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/tree"}]}
    tree = {"type": "object", "properties": {f"p{n}": leaf for n in range(3_000)}, "items": {"$ref": "#"}}
    check_cost({"$defs": {"tree": tree}, "$ref": "#/$defs/tree"})


def test_a_change_of_a_schema_that_costs_too_much_is_not_compared_and_counts_as_breaking() -> None:
    before, after = doubling(40, "same"), doubling(40, "same")
    after["$defs"]["d40"]["type"] = "object"

    (change,) = compare(snapshot({**TOOL, "inputSchema": before}), snapshot({**TOOL, "inputSchema": after}))

    assert (change.verdict, change.fields[0].why) == (
        "breaking",
        "its references make it look at a value more than 5,000 times",
    )


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (doubling(60, "same"), "its references make it look at a value more than 50,000 times"),
        ({"type": "object", "description": "x" * (1 << 20)}, "it is larger than 1,048,576 bytes"),
    ],
)
def test_a_schema_that_costs_too_much_is_told_and_checks_nothing(schema: dict[str, Any], why: str) -> None:
    told: list[str] = []

    def note(_: str, **fields: str) -> None:
        told.append(fields["why"])

    entry = Raw(json.dumps({"name": "t", "inputSchema": schema}).encode())
    (listed,) = list_tools([entry], Terms("s", "", {}, lambda *_: print, note))

    assert listed.compile().input_validator.is_valid({"p": {}})
    assert told == [f"{why}; values are not checked"]


def test_a_pattern_that_tries_for_ever_is_given_up_and_an_honest_one_with_a_look_ahead_holds() -> None:
    schema = {"type": "object", "properties": {"bad": {"pattern": "(x+x+)+y(?!z)"}, "good": {"pattern": "^(?!no).+$"}}}
    entry = Raw(json.dumps({"name": "t", "inputSchema": schema}).encode())
    (listed,) = list_tools([entry], Terms("s", "", {}, lambda *_: print, print))
    contract = listed.compile().input_validator

    assert contract.is_valid({"bad": "xxxxy", "good": "yes"})
    assert not contract.is_valid({"bad": "x" * 200})
    assert not contract.is_valid({"good": "no"})


@pytest.mark.parametrize("place", ["allOf/2", "allOf/x", "allOf/9999999", "allOf/-1", "type/0", "$defs/none"])
def test_a_reference_that_leads_nowhere_costs_nothing(place: str) -> None:
    check_cost({"type": "object", "allOf": [{}, {}], "$ref": f"#/{place}"})


def test_a_reference_into_a_list_leads_to_its_member() -> None:
    doubled = doubling(40, "same")

    with pytest.raises(ValueError, match="more than 50,000 times"):
        check_cost(
            {"prefixItems": [{}, {"$ref": "#/$defs/d0"}], "$defs": doubled["$defs"], "not": {"$ref": "#/prefixItems/1"}}
        )


THREE: dict[str, Any] = {"not": True}
"""A schema of three looks: its own, that of the schema inside, and one at the parts of the value, as each has."""


@pytest.mark.parametrize(
    ("schema", "cost"),
    [
        (True, 1),
        ({}, 2),
        ({"type": "string"}, 2),
        *(({key: [True, THREE]}, 6) for key in ("allOf", "anyOf", "oneOf")),
        *(({key: THREE}, 5) for key in ("not", "if", "then", "else")),
        ({"not": False}, 3),
        ({"if": True, "then": True, "else": True}, 5),
        *(({key: {"a": True, "b": THREE}}, 6) for key in ("dependentSchemas", "dependencies", "patternProperties")),
        ({"properties": {"a": True, "b": THREE, "c": True}}, 4),
        *(
            ({key: THREE}, 4)
            for key in (
                "additionalProperties", "items", "additionalItems", "contains", "propertyNames",
                "unevaluatedProperties", "unevaluatedItems",
            )
        ),
        ({"prefixItems": [True, THREE]}, 4),
        ({"properties": {"a": THREE}, "items": True}, 4),
        *(({key: "#/$defs/a", "$defs": {"a": THREE}}, 5) for key in ("$ref", "$dynamicRef", "$recursiveRef")),
        ({"$ref": "#/$defs/a~1b~0c%20d", "$defs": {"a/b~c d": THREE}}, 5),
        ({"$ref": "#a", "$defs": {"x": {"$anchor": "a", **THREE}}}, 5),
        ({"$ref": "#a", "$defs": {"x": {"$dynamicAnchor": "a", **THREE}}}, 5),
        ({"$ref": "http://e.example/s/x", "$defs": {"x": {"$id": "http://e.example/s/x#", **THREE}}}, 5),
        ({"$ref": "x", "$defs": [{"id": "http://e.example/s/x", **THREE}]}, 5),
        ({"$ref": "x#/not", "$defs": {"x": {"$id": "x", "not": THREE}}}, 5),
        ({"$ref": "#/x/1", "x": [True, THREE]}, 5),
        ({"$ref": "#/x/2", "x": [True, THREE]}, 3),
        ({"$ref": "#/x/-1", "x": [True, THREE]}, 3),
        ({"$ref": "#/x/9999999", "x": [THREE]}, 3),
        ({"$ref": "#/x/a/b", "x": {"a": 5}}, 3),
        ({"$ref": 5}, 3),
        ({"$ref": "#"}, 3),
    ],
)  # fmt: skip
def test_a_schema_costs_as_often_as_it_looks_at_a_value(schema: Any, cost: int) -> None:
    check_cost(schema, cost)
    with pytest.raises(ValueError, match=f"^its references make it look at a value more than {cost - 1} times$"):
        check_cost(schema, cost - 1)


def test_a_schema_may_be_nested_two_hundred_levels_deep() -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"not": schema}

    check_cost(schema)
    with pytest.raises(ValueError, match=r"^it is nested deeper than 200$"):
        check_cost({"not": schema})
