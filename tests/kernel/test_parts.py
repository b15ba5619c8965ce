"""Parts: a large value is checked in steps, with the same outcome as in one, and with a budget for all of them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jsonschema_rs
import msgspec
import pytest

from fuzz.schema_grammar import hostile_schema, hostile_value
from signet.kernel import parts
from signet.kernel.parts import Parts
from signet.kernel.schema_work import measure_value
from signet.kernel.schemas import Contract
from signet.kernel.spending import MAX_STEPS, MAX_WORK, OverBudgetError, Spending

PAIRS: Final = 1_200
MAX_CALLS: Final = 600_000
"""The calls of Python that the check of a value may take, and the search for its places: some 50 ms."""
MANY: Final = 1 << 40
TREE: Final[dict[str, Any]] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name"],
            "additionalProperties": False,
        }
    },
}
ROWS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}},
    "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"kind": {"const": "a"}}}]},
}


def validator_of(schema: Any) -> Any:
    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_STEPS)
    return partial(jsonschema_rs.Draft202012Validator, pattern_options=options)(schema)


def parts_of(schema: Any) -> Parts:
    return Parts(schema, jsonschema_rs.Draft202012Validator, validator_of(schema))


def calls_of(function: Callable[[], object]) -> int:
    """Return the number of calls that a function makes."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def test_a_value_is_checked_in_steps_as_it_is_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is made so small that all that can be taken apart is."""
    monkeypatch.setattr(parts, "STEP_WORK", 400)
    outcomes = []
    for seed in range(PAIRS):
        chance = random.Random(seed)
        schema, value = hostile_schema(chance), hostile_value(chance)
        if measure_value(value, 5_000).effort > 5_000:
            continue
        try:
            Contract(schema, "")
            in_steps = parts_of(schema).keeps("", schema, value, Spending(20 * MAX_WORK))
        except (ValueError, OverBudgetError):
            continue
        outcomes.append((seed, in_steps, validator_of(schema).is_valid(value)))

    assert [one for one in outcomes if one[1] != one[2]] == []
    assert len({one[1] for one in outcomes}) == 2
    assert len(outcomes) > PAIRS / 10


@pytest.mark.parametrize("seed", range(12))
def test_no_pair_of_a_schema_and_a_value_takes_more_calls_than_the_budget(seed: int) -> None:
    for number in range(PAIRS // 12):
        chance = random.Random(10_000 + seed * PAIRS + number)
        schema, value = hostile_schema(chance), hostile_value(chance)
        if len(msgspec.json.encode(value)) > 1 << 20:
            continue
        try:
            contract = Contract(schema, "")
        except ValueError:
            continue
        assert calls_of(partial(contract.is_valid, value)) < MAX_CALLS
        if not contract.is_valid(value):
            assert calls_of(partial(contract.places, value)) < MAX_CALLS
            assert contract.places(value)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (TREE, {"name": "a", "kids": [{"name": "b"}] * 30_000}, {"name": "a", "kids": [{"name": "b"}] * 30_000 + [{}]}),
        (ROWS, {"rows": [[1] * 20] * 20_000}, {"rows": [[1] * 20] * 20_000 + [["x"]]}),
        (ROWS, {"k": {"kind": "a"}, "rows": [[1]] * 90_000}, {"k": {"kind": "b"}, "rows": [[1]] * 90_000}),
        (
            {"properties": {"name": {"pattern": "^(?!x)[a-z]+$"}, "text": {"type": "string"}}},
            {"name": "a", "text": "x" * 900_000},
            {"name": "x", "text": "x" * 900_000},
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": {"enum": [0.5, 1.5, "a"]}},
            [0.5] * 200_000,
            [*[0.5] * 200_000, 2.5],
        ),
        ({"properties": {"text": {"pattern": r"\S"}}}, {"text": "x" * (2 << 20)}, {"text": " " * (2 << 20)}),
    ],
    ids=["a tree", "rows", "a choice beside rows", "a long text beside a pattern", "an enum", "a text of 2 MiB"],
)
def test_an_honest_large_value_is_checked_to_its_end(schema: Any, good: Any, bad: Any) -> None:
    contract = Contract(schema, "")

    assert contract.is_valid(good, MANY)
    assert not contract.is_valid(bad, MANY)


def items(*more: Any) -> list[Any]:
    """Return items that share one hash, and more."""
    return [*(2**70 + number for number in range(2_000)), *more]


@pytest.mark.parametrize(
    ("more", "are_unique"),
    [
        ((), True),
        ((2**70, 2**70), False),
        ((0, False, -1, "0", None), True),
        ((0, 0.0), False),
        ((0.0, -0.0), False),
        ((2.5, 2.5), False),
        (({"a": 1, "b": 2.0}, {"b": 2, "a": 1}), False),
        (({"a": 1}, {"a": True}, {"a": "1"}), True),
        (([[], []], [[[]]], [[]], []), True),
        (([1, [2.0]], [1, [2]]), False),
        (({"a": [3.0]}, {"a": [3]}), False),
    ],
)
def test_items_that_share_a_hash_are_compared_without_the_validator(
    monkeypatch: pytest.MonkeyPatch, more: tuple[Any, ...], are_unique: bool
) -> None:
    """The validator compares each of them with each other in one step."""
    schema = {"type": "array", "uniqueItems": True, "minItems": 1}
    contract = Contract(schema, "")
    assert contract.is_valid_at_once([-1.5, *more]) is are_unique
    monkeypatch.setattr(contract, "_validator", None)

    assert contract.is_valid(items(*more), MANY) is are_unique


def test_items_of_one_array_after_another_are_compared() -> None:
    contract = Contract({"items": {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}}, "")

    assert contract.is_valid([items()] * 3, MANY)
    assert not contract.is_valid([items(), items(2**70)], MANY)
    assert not contract.is_valid([items(), items("a")], MANY)


def test_a_long_list_of_texts_and_short_numbers_is_compared_by_the_validator() -> None:
    contract = Contract({"uniqueItems": True, "contains": {"type": "string"}}, "")

    assert contract.is_valid([*range(20_000), "a"], MANY)
    assert not contract.is_valid([*range(20_000), "a", "a"], MANY)


def test_without_any_work_a_value_that_takes_steps_is_not_decided() -> None:
    contract = Contract(TREE, "")

    assert contract.is_valid({"name": "a"}, 0)
    with pytest.raises(OverBudgetError):
        contract.is_valid({"name": "a", "kids": [{"name": "b"}] * 30_000}, 0)


def test_a_value_over_the_budget_is_refused_and_says_so() -> None:
    contract = Contract({"uniqueItems": True, "items": {"enum": [0.5] * 400}}, "")
    value = list(range(50_000))

    assert not contract.is_valid(value)
    assert contract.places(value) == [
        ("", "is too large or nested too deeply to be checked: send less, or nest it less deeply")
    ]


def test_a_text_that_is_too_long_for_its_schema_is_told_before_its_pattern_is_tried() -> None:
    contract = Contract({"properties": {"text": {"pattern": "^[a-z]{1,64}$", "maxLength": 64}}}, "")

    assert contract.places({"text": "x" * 1_000_000}) == [("text", f'"{"x" * 199}… is longer than 64 characters')]


def test_the_length_beside_a_reference_of_an_older_draft_binds_nobody() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"text": {"$ref": "#/definitions/text", "maxLength": 64}},
        "definitions": {"text": {"pattern": "^[a-z]+$"}},
    }
    contract = Contract(schema, "", jsonschema_rs.Draft7Validator)

    assert contract.is_valid({"text": "x" * 1_500_000}, MANY)


def test_the_parts_of_all_schemas_together_are_kept_within_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    contracts = [Contract({"title": str(number), **ROWS}, "") for number in range(4)]
    value = {"rows": [[1] * 20] * 20_000}
    compiled: list[Any] = []
    taken = parts.SchemaBudget(ROWS).compiled_bytes

    def compile_counted(self: Parts, *args: Any, **named: Any) -> Any:
        compiled.append(self)
        return compile_part(self, *args, **named)

    compile_part = Parts._compiled
    monkeypatch.setattr(Parts, "_compiled", compile_counted)
    contracts[0].is_valid(value, MANY)
    each = len(compiled)
    monkeypatch.setattr(parts, "KEPT_BYTES", 2 * each * taken)

    for contract in contracts:
        assert contract.is_valid(value, MANY)
    assert contracts[3].is_valid(value, MANY)
    assert len(compiled) == 4 * each, "what was used last is kept"

    assert contracts[0].is_valid(value, MANY)
    assert len(compiled) == 5 * each, "what was used longest ago was dropped"


@pytest.mark.parametrize("levels", [8, 30])
def test_the_place_in_a_tagged_union_is_found_in_the_branch_that_was_meant(levels: int) -> None:
    both = [
        {
            "type": "object",
            "properties": {"op": {"const": name}, "of": {"type": "array", "items": {"$ref": "#/$defs/f"}}},
            "required": ["op", "of"],
        }
        for name in ("and", "or", "not", "xor")
    ]
    leaf = {"type": "object", "properties": {"op": {"const": "eq"}, "n": {"type": "integer"}}, "required": ["op", "n"]}
    contract = Contract({"$ref": "#/$defs/f", "$defs": {"f": {"anyOf": [*both, leaf]}}}, "")
    value: dict[str, Any] = {"op": "eq", "n": "x"}
    for _ in range(levels):
        value = {"op": "or", "of": [value]}

    ((place, words),) = contract.places(value)

    assert not contract.is_valid(value)
    assert place.startswith("of.0.of.0.of.0")
    assert "x" in words


def test_a_pattern_of_names_is_compiled_once_for_all_names() -> None:
    """A large object under many patterns of names: each of its names is tried with each pattern."""
    compiled: list[Any] = []

    def draft(schema: Any, **more: Any) -> Any:
        compiled.append(schema)
        return jsonschema_rs.Draft202012Validator(schema, **more)

    schema = {"patternProperties": {f"^(?=a).*{n}$": {"type": "integer"} for n in range(10)}}
    parts = Parts(schema, draft, jsonschema_rs.Draft202012Validator(schema))
    value = {f"a{n}": n for n in range(2_000)}
    spending = Spending(MANY)

    assert parts.keeps("", schema, value, spending)
    assert len([one for one in compiled if "pattern" in one]) == 10
    assert MANY - spending.left > 2_000 * 10 * 400
    with pytest.raises(OverBudgetError):
        parts.keeps("", schema, value, Spending(MAX_WORK))
