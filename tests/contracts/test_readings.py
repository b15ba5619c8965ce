"""How schemas are read: open objects, references, annotations, formats, dialects, and unusable schemas."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec import UNSET

from signet.compatibility.counterexample import counterexample
from signet.compatibility.open_objects import closed, without
from signet.compatibility.scalars import strings_of
from signet.compatibility.verdict import Verdict, compare_schemas, without_annotations

TEXT = {"type": "string"}


def opened(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_what_is_new_is_left_out_only_where_nothing_was_said_of_it() -> None:
    inner = {**opened(x=TEXT), "required": ["b"]}
    schema = opened(a=TEXT, w=inner)

    at_root, everywhere = without(schema, frozenset("ab"))

    assert at_root == {**schema, "propertyNames": {"not": {"enum": ["b"]}}}
    assert everywhere == {
        **opened(a=TEXT, w={**inner, "propertyNames": {"not": {"enum": ["a"]}}}),
        "propertyNames": {"not": {"enum": ["b"]}},
    }


def test_an_object_with_a_rule_for_other_properties_is_taken_at_its_word() -> None:
    for rule in ({"additionalProperties": True}, {"patternProperties": {}}, {"propertyNames": True}):
        schema = {**opened(a=TEXT), **rule}

        assert without(schema, frozenset("b"))[-1] == schema
        assert closed(schema) == schema


def test_what_speaks_of_one_value_is_closed_together() -> None:
    schema = {
        "$defs": {"d": opened(b=TEXT)},
        "allOf": [opened(a=TEXT), {"$ref": "#/$defs/d"}],
        "not": {"required": ["c"]},
    }

    assert closed(schema) == {
        **schema,
        "allOf": [opened(a=TEXT), {"allOf": [opened(b=TEXT)]}],
        "propertyNames": {"enum": ["a", "b", "c"]},
    }


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {**opened(a={"$ref": "#"})},
        {**opened(a={"$id": "urn:x", "type": "object"})},
        {"$schema": "http://json-schema.org/draft-07/schema#", **opened(a=TEXT)},
    ],
)
def test_what_cannot_be_rewritten_keeps_its_formal_meaning(schema: Any) -> None:
    assert closed(schema) == schema


def test_words_are_told_from_values_and_names() -> None:
    schema = {
        **opened(description={**TEXT, "title": "x"}),
        "const": {"title": 1},
        "default": {},
        "anyOf": [{"title": "y"}],
    }

    assert without_annotations(schema) == {**opened(description=TEXT), "const": {"title": 1}, "anyOf": [{}]}


def test_a_change_of_words_is_told_as_that() -> None:
    assert compare_schemas(opened(a=TEXT), {**opened(a=TEXT), "title": "x"}, "output") == Verdict(
        compatible=True, why="only words changed"
    )


@pytest.mark.parametrize("bad", [{"type": "obj"}, {"pattern": "("}, {"$ref": "https://example.org/schema"}])
def test_a_schema_that_is_none_breaks(bad: Any) -> None:
    """Whichever of the two it is."""
    assert compare_schemas(opened(), bad, "input").why.startswith("the new schema is not usable: ")
    assert compare_schemas(bad, opened(), "input").why.startswith("the old schema is not usable: ")


def test_a_change_of_dialect_cannot_be_proven() -> None:
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **opened(a=TEXT)}

    verdict = compare_schemas(
        old, {**opened(a=TEXT), "$schema": "https://json-schema.org/draft/2020-12/schema"}, "output"
    )

    assert verdict == Verdict(compatible=False, why="it cannot be proven compatible, and that counts as breaking")


def test_a_long_value_is_not_repeated_in_the_reason() -> None:
    old, new = (opened(a={**TEXT, "maxLength": length}) for length in (5_000, 4_000))

    verdict = compare_schemas(old, new, "input")

    assert verdict == Verdict(compatible=False, why="a: it is longer than 4000 characters", example={"a": "a" * 4_001})


def test_nothing_is_shown_that_does_not_check() -> None:
    even = {"type": "integer", "multipleOf": 2}

    assert counterexample((even,), {"type": "integer"}) is UNSET
    assert counterexample(({"not": {}},), even) is UNSET
    assert counterexample(({"minimum": 3}, even), {"multipleOf": 4}) == 6


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z0-9]{2,8}$",
        "^(a|bc|)+?[^x-z\\]]$",
        "^https://example\\.org/[\\w-]+(?:/\\d{3,})*$",
        "^(?<year>\\d{4})-(?!00)\\d\\d$",
        "\\u0041\\x42{2}",
        "^a*$",
        "^$",
        "a.c",
    ],
)
def test_strings_are_made_of_a_pattern(pattern: str) -> None:
    made = strings_of(pattern)

    plain = re.compile(pattern.replace("(?<year>", "(?P<year>"))
    assert any(plain.search(string) for string in made), made


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "\\p{L}", "(a)\\1", "(?i)a", "a{x}", "((a{2000}){2000}){9}", "(" * 5_000]
)
def test_a_pattern_that_is_not_understood_gives_none(pattern: str) -> None:
    assert strings_of(pattern) == []
