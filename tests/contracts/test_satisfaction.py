"""Whether a contract can be kept: by a value that is found, or never, by a proof."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from msgspec import UNSET

from signet.compatibility.contract_set import is_version, may_break, next_breaking
from signet.compatibility.satisfaction import example_of, is_contradiction

KEPT: list[dict[str, Any]] = [
    {},
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"], "$defs": {"n": {"const": 4}}},
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]{3}$"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number"}, "minItems": 2}}},
]
NEVER: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5, "maximum": 4}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
    {"allOf": [{"type": "object"}, {"type": "string"}]},
]


@pytest.mark.parametrize("schema", KEPT, ids=str)
def test_a_value_is_found_that_keeps_the_schema(schema: dict[str, Any]) -> None:
    value = example_of(schema)

    jsonschema.Draft202012Validator(schema).validate(value)
    assert not is_contradiction(schema)


@pytest.mark.parametrize("schema", NEVER, ids=str)
def test_a_contradiction_is_proven(schema: dict[str, Any]) -> None:
    assert example_of(schema) is UNSET
    assert is_contradiction(schema)


def test_what_is_neither_found_nor_proven_is_neither() -> None:
    schema = {"type": "string", "pattern": "(?<=a)b"}

    assert example_of(schema) is UNSET
    assert not is_contradiction(schema)


@pytest.mark.parametrize(
    ("version", "higher"), [("0.1.0", "0.2.0"), ("0.9.9", "0.10.0"), ("1.2.3", "2.0.0"), ("10.0.0", "11.0.0")]
)
def test_the_next_version_that_may_break(version: str, higher: str) -> None:
    assert next_breaking(version) == higher
    assert may_break(version, higher)
    assert not may_break(version, version)


@pytest.mark.parametrize("text", ["", "1", "1.0", "1.0.0.0", "1.0.0rc1", "v1.0.0", "1.0.0\n", "\u0663.0.0"])
def test_what_is_no_version(text: str) -> None:
    assert not is_version(text)
