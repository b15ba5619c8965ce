"""References in a schema: none leads the estimate to a cheap part and the validator to a dear one."""

from __future__ import annotations

import random
from typing import Any

import jsonschema_rs
import pytest

from fuzz.schema_grammar import circular_schema, nested_value
from signet.kernel.schema_budget import check_budget
from signet.kernel.schema_references import References
from signet.kernel.schema_work import measure_value
from signet.kernel.schemas import Contract

OFTEN = "its references make it look at a value more than 50,000 times"
DEAR = "it takes more than 32 MiB when it is compiled"
CHEAP = {"type": "object"}


def doubling(base: str = "#/$defs") -> dict[str, Any]:
    """Return 25 definitions, each of which but the last refers twice to the next."""
    parts: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"{base}/d{n + 1}"}] * 2} for n in range(24)}
    return {**parts, "d24": CHEAP}


def inner(one_id: str) -> dict[str, Any]:
    """Return a dear schema with an id."""
    return {"$id": one_id, "$ref": "#/$defs/d0", "$defs": doubling()}


def draft(number: str) -> str:
    return f"http://json-schema.org/draft-{number}/schema#"


DEAR_ONES: dict[str, Any] = {
    "two ids with one last name": {
        "$ref": "http://a/x",
        "$defs": {"one": inner("http://a/x"), "two": {"$id": "http://b/x", **CHEAP}},
    },
    "a definition of the whole and one of a schema with an id": {
        "$id": "http://a/root",
        "$ref": "inner",
        "$defs": {"one": inner("http://a/inner"), **dict.fromkeys(doubling(), CHEAP)},
    },
    "two anchors with one name": {
        "$id": "http://a/root",
        "$ref": "inner#q",
        "$defs": {
            "one": {"$id": "http://a/inner", "$defs": {"q": {"$anchor": "q", "$ref": "#/$defs/d0"}, **doubling()}},
            "two": {"$anchor": "q", **CHEAP},
        },
    },
    "an id in another spelling": {
        "$ref": "HTTP://A:80/%78",
        "$defs": {"one": inner("http://a/x"), "two": {"$id": "http://b/%78", **CHEAP}},
    },
    "an id that is an anchor, in draft 4": {
        "$schema": draft("04"),
        "allOf": [{"$ref": "#q"}],
        "definitions": {"a": {"id": "#q", "allOf": [{"$ref": "#/definitions/d0"}]}, **doubling("#/definitions")},
    },
    "an id that is an anchor, in draft 7": {
        "$schema": draft("07"),
        "allOf": [{"$ref": "#q"}],
        "definitions": {"a": {"$id": "#q", "allOf": [{"$ref": "#/definitions/d0"}]}, **doubling("#/definitions")},
    },
    "an index with a sign and zeros": {"$ref": "#/prefixItems/+01", "prefixItems": [{}, {"$ref": "#/$defs/d0"}],
                                       "$defs": doubling()},
}  # fmt: skip


@pytest.mark.parametrize("kind", DEAR_ONES)
def test_a_reference_that_may_lead_to_a_dear_part_is_dear(kind: str) -> None:
    with pytest.raises(ValueError, match=OFTEN):
        check_budget(DEAR_ONES[kind], 0)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_what_leads_back_is_decided_in_the_order_of_the_validator(order: str) -> None:
    """Each definition refers to the next eight times, and back to the one before: one of the ways is remembered."""
    parts: dict[str, Any] = {}
    for number in range(9):
        parts[f"d{number}"] = {"allOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 8}
        parts[f"d{number}"]["additionalProperties"] = {"$ref": f"#/$defs/d{max(0, number - 1)}"}
    ends = {"a": {"$ref": "#/$defs/d0"}, "b": {"$ref": "#/$defs/d8"}}

    with pytest.raises(ValueError, match=OFTEN):
        check_budget({"properties": {name: ends[name] for name in order}, "$defs": {**parts, "d9": CHEAP}}, 0)


def test_schemas_with_ids_are_compiled_for_each_way_to_them() -> None:
    """Each of ten pairs refers to both of the next: there are a thousand ways to the last."""
    parts: dict[str, Any] = {}
    for number in range(10):
        both = {name: {"$ref": f"http://x/{name}{number + 1}"} for name in "ab"}
        parts |= {f"{name}{number}": {"$id": f"http://x/{name}{number}", "properties": both} for name in "ab"}
    parts |= {f"{name}10": {"$id": f"http://x/{name}10", "type": "string"} for name in "ab"}

    with pytest.raises(ValueError, match=DEAR):
        check_budget({"$id": "http://x/root", "$ref": "http://x/a0", "$defs": parts}, 0)


def test_a_bundle_of_schemas_with_ids_is_served() -> None:
    names = [f"part{number}" for number in range(40)]
    parts = {name: {"$id": f"http://x/{name}", "properties": {"next": {"$ref": after}}}
             for name, after in zip(names, [*names[1:], "#"], strict=True)}  # fmt: skip
    contract = Contract({"$id": "http://x/root", "$ref": "part0", "$defs": parts}, "")

    assert contract.is_valid({"next": {"next": {"next": {}}}})


@pytest.mark.parametrize("levels", [3, 20, 40])
def test_a_dynamic_reference_costs_what_the_dearest_anchor_costs(levels: int) -> None:
    """The outer anchor has two ways to the next level, and the inner one has none."""
    again = {"properties": {"x": {"$dynamicRef": "#n"}}}
    outer = {"anyOf": [{**again, "required": ["y"]}, {**again, "required": ["z"]}]}
    tree = {"$id": "http://a/tree", "$dynamicAnchor": "n", **again}
    schema = {"$id": "http://a/root", "$dynamicAnchor": "n", "$ref": "tree", "$defs": {"t": tree}, **outer}
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    contract = Contract(schema, "")

    assert not contract.is_valid(value)
    assert len(contract.places(value)) == 1


def test_a_reference_to_a_schema_of_a_draft_has_its_own_cost() -> None:
    own = {"$ref": "https://json-schema.org/draft/2020-12/schema"}

    check_budget(own, 0)
    with pytest.raises(ValueError, match=OFTEN):
        check_budget({"allOf": [own] * 200}, 0)


def test_nothing_is_remembered_beside_members_that_nothing_else_looked_at() -> None:
    """Two ways to the next level, and `unevaluatedProperties`: the ways double with each level."""
    one = {"patternProperties": {".": {"anyOf": [{"$ref": "#/$defs/n"}], "unevaluatedProperties": {}}}}
    contract = Contract({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [one, one]}}}, "")
    few: Any = {}
    for _ in range(8):
        few = {"x": few}
    many = few
    for _ in range(40):
        many = {"x": many}

    assert contract.is_valid(few)
    assert not contract.is_valid(many)


@pytest.mark.parametrize(
    ("schema", "is_certain"),
    [
        ({"$id": "http://a/x", "$ref": "#/$defs/a", "$defs": {"a": {"$anchor": "q"}}}, True),
        ({"$id": "http://a/x", "$ref": "http://a/x#q", "$defs": {"a": {"$dynamicAnchor": "q"}}}, True),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, True),
        ({"$id": "http://a/x", "$ref": "x#q"}, False),
        ({"$defs": {"a": {"$id": "y"}}}, False),
        ({"$defs": {"a": {"id": "y"}}}, True),
        ({"$schema": draft("04"), "definitions": {"a": {"id": "y"}}}, False),
        ({"$defs": {"a": {"$anchor": "q"}, "b": {"$anchor": "q"}}}, False),
    ],
)
def test_a_reference_is_certain_where_it_leads_to_one_part(schema: Any, *, is_certain: bool) -> None:
    assert References(schema).is_certain is is_certain


class Counted:
    """A keyword that counts how often the validator comes to it, and stops it behind more than any estimate."""

    looked = 0
    most = 0

    def __init__(self, *_: Any) -> None:
        """Take what every keyword is given."""

    def validate(self, _: Any) -> None:
        Counted.looked += 1
        if Counted.looked > Counted.most:
            raise AssertionError("more often than was estimated")


@pytest.mark.parametrize("seed", [*range(300), 4_368, 10_444])
def test_the_validator_looks_no_more_often_than_was_estimated(seed: int) -> None:
    """`$count` stands first in the order of the validator, so that nothing is decided before it."""
    chance = random.Random(seed)
    schema = circular_schema(chance)
    try:
        budget = check_budget(schema, 0)
    except ValueError:
        return
    validator = jsonschema_rs.Draft202012Validator(schema, keywords={"$count": Counted})
    for _ in range(4):
        value = nested_value(chance)
        size = measure_value(value, 1 << 20)
        Counted.looked, Counted.most = 0, min(budget.work_of(size), 200_000)

        validator.is_valid(value)

        assert Counted.looked <= Counted.most or Counted.most == 200_000, (schema, value)
