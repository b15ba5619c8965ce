"""The budget of a schema: what it costs to compile it and to check a value, and which schemas cost too much."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from lock.snapshots import TOOL, snapshot
from signet.kernel.schema_budget import check_budget
from signet.kernel.schemas import Contract
from signet.lock.comparison import compare


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
    check_budget(doubling(8, place), 0)
    with pytest.raises(ValueError, match="more than 50,000 times"):
        check_budget(doubling(40, place), 0)


def test_a_wide_tree_and_references_in_a_circle_cost_little() -> None:
    leaf = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/tree"}]}
    tree = {"type": "object", "properties": {f"p{n}": leaf for n in range(3_000)}, "items": {"$ref": "#"}}
    check_budget({"$defs": {"tree": tree}, "$ref": "#/$defs/tree"}, 0)


def test_a_change_of_a_schema_that_costs_too_much_is_not_compared_and_counts_as_breaking() -> None:
    before, after = doubling(40, "same"), doubling(40, "same")
    after["$defs"]["d40"]["type"] = "object"

    (change,) = compare(snapshot({**TOOL, "inputSchema": before}), snapshot({**TOOL, "inputSchema": after}))

    assert (change.verdict, change.fields[0].why) == (
        "breaking",
        "its references make it look at a value more than 5,000 times",
    )


@pytest.mark.parametrize("place", ["allOf/2", "allOf/x", "allOf/9999999", "allOf/-1", "type/0", "$defs/none"])
def test_a_reference_that_leads_nowhere_costs_nothing(place: str) -> None:
    check_budget({"type": "object", "allOf": [{}, {}], "$ref": f"#/{place}"}, 0)


def test_a_reference_into_a_list_leads_to_its_member() -> None:
    doubled = doubling(40, "same")

    with pytest.raises(ValueError, match="more than 50,000 times"):
        check_budget(
            {
                "prefixItems": [{}, {"$ref": "#/$defs/d0"}],
                "$defs": doubled["$defs"],
                "not": {"$ref": "#/prefixItems/1"},
            },
            0,
        )


DEAR: Final = "it takes more than 32 MiB when it is compiled"
SAME: Final = {"allOf": [{"$ref": "#/$defs/a"}] * 30, "$defs": {"a": {"minimum": 0}}}
DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"
TEXT: Final = {"pattern": "^(?=a).*$"}


@pytest.mark.parametrize(
    ("dear", "cheap"),
    [
        *(({key: [{"minimum": 0}] * 50}, {key: [{"minimum": 0}] * 2}) for key in ("allOf", "anyOf", "oneOf")),
        *(({key: SAME, "$defs": SAME["$defs"]}, {key: {}}) for key in ("not", "if", "then", "else", "contains")),
        *(
            ({key: SAME, "$defs": SAME["$defs"]}, {key: {}})
            for key in ("items", "additionalItems", "additionalProperties", "propertyNames", "unevaluatedProperties")
        ),
        ({"dependentSchemas": {f"n{n}": {"minimum": 0} for n in range(50)}}, {"dependentSchemas": {"n": {}}}),
        ({"patternProperties": {f"n{n}": {} for n in range(50)}}, {"properties": {f"n{n}": {} for n in range(50)}}),
        ({"required": [f"n{n}" for n in range(50)]}, {"required": ["n"]}),
        ({"enum": [1.5] * 50}, {"enum": ["a"] * 50}),
        ({"enum": [[1]] * 50}, {"enum": list(range(50))}),
        ({"const": [1] * 50}, {"const": 1}),
        ({"multipleOf": 1e-300}, {"multipleOf": 0.01}),
        ({"uniqueItems": True}, {"uniqueItems": False}),
        (TEXT, {"pattern": "^a.*$"}),
        ({"pattern": "^([a-z]{1,100}){1,100}$"}, {"pattern": "^[a-z]+$"}),
        ({"pattern": "^([a-z]{1,100}){1,20}$"}, {"pattern": "^[a-z]{1,2000}$"}),
        ({"pattern": "^(?!x)[a-z]{80}$"}, {"pattern": "^(?!x)[a-z]{8}$"}),
        ({"$schema": DRAFT_7, "contentMediaType": "application/json"}, {"contentMediaType": "application/json"}),
        ({"uniqueItems": True, "allOf": [{"uniqueItems": True}]}, {"uniqueItems": True, "allOf": [{}]}),
        ({"propertyNames": TEXT}, {"propertyNames": {"maxLength": 3}}),
        ({"format": "idn-hostname"}, {"title": "a host"}),
        ({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}, {"items": {"$ref": "#"}}),
        ({"items": {"$ref": "#"}, "uniqueItems": True}, {"items": {"$ref": "#"}}),
        (
            {"$ref": "http://e.example/x", "$defs": {"x": {"$id": "http://e.example/x", "enum": [1.5] * 9}}},
            {"$ref": "x"},
        ),
    ],
    ids=lambda schema: str(next(iter(schema))),
)
def test_what_takes_longer_is_free_for_smaller_values_only(dear: Any, cheap: Any) -> None:
    assert check_budget(dear, 0).free_bytes < check_budget(cheap, 0).free_bytes


def test_parts_of_one_value_are_added_up_and_of_different_parts_the_dearest_counts() -> None:
    part = {"enum": [1.5] * 10}
    one, two = ({"properties": dict.fromkeys(names, part)} for names in ("a", "ab"))
    both = {"allOf": [{"properties": {"a": part}}, {"properties": {"a": part}}]}

    assert check_budget(one, 0).free_bytes == check_budget(two, 0).free_bytes > check_budget(both, 0).free_bytes


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            {"anyOf": [{"pattern": rf"x{n}\p{{L}}{{200}}"} for n in range(2)]},
            DEAR,
        ),
        ({"patternProperties": {r"\p{L}{300}": True}}, DEAR),
        ({"pattern": r"((a{100}){100}){100}"}, DEAR),
        ({"pattern": "(?:[" + "".join(map(chr, range(0x100, 0x4E8, 2))) + "]{100}){10}"}, DEAR),
        ({"allOf": [{"not": {}} for _ in range(20_000)]}, DEAR),
        ({"enum": [[n] for n in range(60_000)]}, DEAR),
        (
            {"anyOf": [{"oneOf": [{"$ref": "#"}] * 3, "unevaluatedItems": {}}], "allOf": [{"$ref": "#"}] * 8},
            "its references lead in a circle beside unevaluatedItems or unevaluatedProperties",
        ),
        ({"allOf": [{"enum": [0.5] * 600}]}, "its references make it look at a value more than 50,000 times"),
    ],
)
def test_a_schema_that_is_dear_to_compile_or_to_check_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        check_budget(schema, 0)


def test_the_patterns_of_a_schema_are_tried_less_far_where_a_large_one_looks_around() -> None:
    patterns = ["^(?!x)[a-z]{8}$", "^[a-z]{80}$"]

    assert check_budget({"anyOf": [{"pattern": one} for one in patterns]}, 0).steps == 2_000
    assert check_budget({"anyOf": [{"pattern": one} for one in [*patterns, "^(?!x)[a-z]{80}$"]]}, 0).steps == 500


def test_a_schema_that_is_too_large_is_refused_by_its_text() -> None:
    check_budget({}, 1 << 20)
    with pytest.raises(ValueError, match="it is larger than 1,048,576 bytes"):
        check_budget({}, (1 << 20) + 1)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^[\p{L}\p{N}_ .-]{1,64}$"},
        {"pattern": r"^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$"},
        {"pattern": "|".join(f"word{n}" for n in range(1_000))},
        {"enum": [f"value {n}" for n in range(20_000)]},
        {"properties": {f"p{n}": {"type": "string", "maxLength": 100} for n in range(3_000)}},
        {"type": "object", "description": "x" * 1_000_000},
    ],
)
def test_an_honest_large_schema_is_within_its_budget(schema: Any) -> None:
    assert check_budget(schema, len(json.dumps(schema))).free_bytes > 100


def test_a_text_of_many_characters_of_one_class_is_checked() -> None:
    contract = Contract({"pattern": "^.{1,4000}$"}, "a text")

    assert [contract.is_valid("a" * count, 0) for count in (1, 4000, 4001, 0)] == [True, True, False, False]


def test_a_schema_may_be_nested_two_hundred_levels_deep() -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"not": schema}

    check_budget(schema, 0)
    with pytest.raises(ValueError, match=r"^it is nested deeper than 200$"):
        check_budget({"not": schema}, 0)
