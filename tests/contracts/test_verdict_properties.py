"""Random schemas and random values: what is called compatible is never contradicted, what is shown always checks."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from signet.compatibility.open_objects import closed
from signet.compatibility.verdict import compare_schemas

NAMES = "abc"
SIDES = st.sampled_from(["input", "output"])
SCALARS = [None, True, False, 0, 1, 2, 3, -1, 0.5, 1.5, "", "a", "b", "ab", "aa", "abc", "7"]

leaves = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(1, 3),
            "pattern": st.sampled_from(["^a", "^[a-b]+$", "^[a-c]*$", "b", "^\\d$"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-1, 1),
            "maximum": st.integers(1, 3),
            "exclusiveMaximum": st.integers(2, 3),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
        },
    ),
    st.fixed_dictionaries({"type": st.lists(st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True)}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from([0, 1, "a", "b", None]), min_size=1, unique=True)}),
    st.sampled_from([{"const": "a"}, {"not": {"type": "string"}}, {"not": {"enum": ["a", 0]}}, True]),
)


def objects(inner: st.SearchStrategy[Any], *, is_open: bool) -> st.SearchStrategy[Any]:
    """Object schemas; where openness is not the question, each says what other properties may be."""
    rule: dict[str, Any] = (
        {} if is_open else {"additionalProperties": st.sampled_from([False, True, {"type": "string"}])}
    )
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2), **rule},
        optional={
            "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
            "dependentRequired": st.just({"a": ["b"]}),
            "minProperties": st.just(1),
        },
    )


def composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(1, 3),
            "uniqueItems": st.booleans(),
            "contains": inner,
        },
    )
    several = st.lists(inner, min_size=1, max_size=2)
    combined = st.sampled_from(["anyOf", "oneOf", "allOf"]).flatmap(lambda key: st.fixed_dictionaries({key: several}))
    chosen = st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner})
    return st.one_of(objects(inner, is_open=False), arrays, combined, chosen)


parts = st.recursive(leaves, composed, max_leaves=4)
roots = objects(parts, is_open=False)
open_roots = objects(leaves, is_open=True)


def values(chance: random.Random, depth: int = 2) -> Any:
    if depth == 0 or chance.random() < 0.6:
        return chance.choice(SCALARS)
    if chance.random() < 0.5:
        return [values(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {name: values(chance, depth - 1) for name in chance.sample([*NAMES, "z"], chance.randrange(4))}


def instances(seed: int) -> list[dict[str, Any]]:
    """Objects made by chance; hypothesis would take longer to draw them than all else here."""
    chance = random.Random(seed)
    return [{name: values(chance) for name in chance.sample([*NAMES, "z"], chance.randrange(4))} for _ in range(100)]


SEEDS = st.integers(0, 1 << 32)


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from schemas_in(part)


@st.composite
def changes(draw: st.DrawFn, schemas: st.SearchStrategy[Any], inner: st.SearchStrategy[Any]) -> tuple[Any, Any]:
    """A schema and one that differs from it in a place, so that many pairs are compatible."""
    old = draw(schemas)
    new = copy.deepcopy(old)
    place = draw(st.sampled_from([part["properties"] for part in schemas_in(new) if "properties" in part]))
    if isinstance(place, dict):
        place[draw(st.sampled_from(NAMES))] = draw(inner)
    if draw(st.booleans()):
        new["required"] = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    return (old, new) if draw(st.booleans()) else (new, old)


def is_valid(schema: Any, value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@given(changes(roots, parts), SIDES, SEEDS)
def test_no_value_contradicts_a_verdict(pair: tuple[Any, Any], side: Any, seed: int) -> None:
    old, new = pair
    verdict = compare_schemas(old, new, side)
    admits, refuses = (old, new) if side == "input" else (new, old)

    if verdict.compatible:
        assert [value for value in instances(seed) if is_valid(admits, value) and not is_valid(refuses, value)] == []
    elif verdict.example is not UNSET:
        shown = json.loads(json.dumps(verdict.example))
        assert is_valid(admits, shown)
        assert not is_valid(refuses, shown)


@given(changes(open_roots, leaves), SEEDS)
def test_of_an_open_input_only_new_names_may_be_refused(pair: tuple[Any, Any], seed: int) -> None:
    """The reading of open objects: a value under a name that the old contract did not speak of binds nobody."""
    old, new = pair
    spoken = {"a", "b"} if "dependentRequired" in old else set()
    fresh = set(new["properties"]) - set(old["properties"]) - set(old.get("required", ())) - spoken
    verdict = compare_schemas(old, new, "input")

    if verdict.compatible:
        known = [value for value in instances(seed) if not fresh & set(value)]
        assert [value for value in known if is_valid(old, value) and not is_valid(new, value)] == []
    elif verdict.example is not UNSET:
        assert is_valid(old, verdict.example)
        assert not (is_valid(new, verdict.example) and is_valid(closed(new), verdict.example))


@given(changes(roots, parts), SIDES)
def test_a_contract_is_compatible_with_itself(pair: tuple[Any, Any], side: Any) -> None:
    """Whatever is said about it in words."""
    schema = pair[0]
    described = {**schema, "description": "the same", "properties": {
        name: {"title": "x", **part} if isinstance(part, dict) else part for name, part in schema["properties"].items()
    }}  # fmt: skip

    assert compare_schemas(schema, described, side).compatible
