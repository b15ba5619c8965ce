"""Schemas inferred from samples: no sample is refused, the order does not count, and nothing is claimed in haste."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.compatibility.inference import Shape, infer, merged, schema_of, shape_of

WORDS = st.sampled_from(["red", "green", "blue", "a b", "", "x" * 40])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    WORDS,
)
MAPS = st.tuples(st.integers(0, 60), SCALARS).map(lambda made: {f"id{made[0] + n}": made[1] for n in range(60)})
"""Two of them may have more names than an object has properties."""
VALUES = st.recursive(
    SCALARS | MAPS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4),
    max_leaves=6,
)


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_every_sample_keeps_the_schema(samples: list[Any]) -> None:
    schema = infer(samples)

    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert [sample for sample in samples if not validator.is_valid(sample)] == []


@given(
    st.lists(VALUES, min_size=2, max_size=6).flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))),
    st.integers(1, 5),
)
def test_the_order_and_the_grouping_do_not_count(both: tuple[list[Any], list[Any]], cut: int) -> None:
    samples, shuffled = both
    left, right = Shape(), Shape()
    for sample in shuffled[:cut]:
        left = merged(left, shape_of(sample))
    for sample in shuffled[cut:]:
        right = merged(shape_of(sample), right)

    assert schema_of(merged(right, left)) == infer(samples)


SEEN: list[tuple[list[Any], dict[str, Any]]] = [
    ([1, 2], {"type": "integer"}),
    ([1, 2.5], {"type": "number"}),
    ([1, None], {"type": ["null", "integer"]}),
    ([True, "a b"], {"type": ["boolean", "string"]}),
    ([[], []], {"type": "array"}),
    ([[1], ["a b"]], {"type": "array", "items": {"type": ["integer", "string"]}}),
    (
        [{"a": 1, "b": "x y"}, {"a": 2}],
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]},
    ),
    ([{}, {"a": {"b": [{"c": None}]}}], {
        "type": "object",
        "properties": {"a": {
            "type": "object",
            "properties": {"b": {"type": "array", "items": {
                "type": "object", "properties": {"c": {"type": "null"}}, "required": ["c"],
            }}},
            "required": ["b"],
        }},
    }),
    (["on", "off"] * 4, {"type": "string", "enum": ["off", "on"]}),
    (["on", "off", None] * 4, {"type": ["null", "string"], "enum": ["off", "on", None]}),
    (["on", "off"] * 3, {"type": "string"}),
    (["on"] * 50, {"type": "string"}),
    (["on", "off"] * 4 + ["dimmed"], {"type": "string"}),
    ([f"word{number}" for number in range(6)] * 9, {"type": "string"}),
    (["2026-11-16T00:00:00Z", "a b"] * 9, {"type": "string"}),
    ([{str(key): key for key in range(101)}], {"type": "object", "additionalProperties": {"type": "integer"}}),
]  # fmt: skip


@pytest.mark.parametrize(("samples", "schema"), SEEN, ids=lambda value: str(value)[:40])
def test_a_schema_says_what_the_samples_prove(samples: list[Any], schema: dict[str, Any]) -> None:
    assert infer(samples) == schema


def test_what_is_nested_too_deeply_is_not_judged() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]

    schema = infer([deep])

    assert jsonschema_rs.Draft202012Validator(schema).is_valid(deep)
    assert str(schema).count("items") == 32
