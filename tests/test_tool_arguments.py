"""The arguments of a tool as people read and write them, whichever way its schema states them."""

from __future__ import annotations

from typing import Any

import pytest

from signet.commands.tool_arguments import Argument, arguments_in, with_texts


def argument(schema: dict[str, Any], **root: Any) -> Argument:
    return arguments_in({"type": "object", "properties": {"it": schema}, **root})["it"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "maxLength": 64}, "string, at most 64 characters"),
        ({"type": "string", "minLength": 1}, "string, at least 1 character"),
        ({"type": "string", "minLength": 1, "maxLength": 64}, "string, 1 to 64 characters"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "string, matching ^[A-Z]+$"),
        ({"type": "string", "pattern": "a" * 40}, f"string, matching {'a' * 40}"),
        ({"type": "string", "pattern": "a" * 40 + "b"}, f"string, matching {'a' * 40}…"),
        ({"type": "string", "enum": ["json", "csv"], "default": "json"}, "one of: json, csv; default: json"),
        ({"enum": ["a", "b"]}, "one of: a, b"),
        ({"const": 5}, "one of: 5"),
        ({"type": "integer", "minimum": 1, "maximum": 50, "default": 10}, "integer, 1 to 50; default: 10"),
        ({"type": "number", "exclusiveMinimum": 0}, "number, above 0"),
        ({"type": "boolean", "default": False}, "boolean; default: false"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"anyOf": [{"type": "string", "enum": ["en", "jp"]}, {"type": "null"}]}, "one of: en, jp; or null"),
        ({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}, "integer, at least 0; or null"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "list of string, at least 1 item"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 9}, "list of string, at most 9 items"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "string or integer"),
        ({}, "any value"),
    ],
)
def test_a_type_is_told_in_words(schema: dict[str, Any], words: str) -> None:
    assert argument(schema).words() == words


STRING_OR_NULL = {"anyOf": [{"type": "string"}, {"type": "null"}]}
LIST = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "1", "1"),
        (STRING_OR_NULL, "1", "1"),
        (STRING_OR_NULL, "null", "null"),
        ({"type": ["string", "null"]}, "true", "true"),
        ({"type": "integer"}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"type": "integer"}, "five", "five"),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "No", False),
        ({"type": "boolean"}, "maybe", "maybe"),
        (LIST, "A", ["A"]),
        (LIST, "A,B", ["A", "B"]),
        (LIST, " A , B,", ["A", "B"]),
        (LIST, "A\nB\n", ["A", "B"]),
        (LIST, '["A,B", "C"]', ["A,B", "C"]),
        (LIST, "1,2", ["1", "2"]),
        (LIST, "", []),
        (NUMBERS, "1,2", [1, 2]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({}, "5", "5"),
    ],
)
def test_a_text_is_read_in_the_type_of_its_argument(schema: dict[str, Any], text: str, value: object) -> None:
    assert argument(schema).read(text) == value


@pytest.mark.parametrize(
    ("schema", "given", "taken"),
    [
        ({"type": "string"}, 1, "1"),
        (STRING_OR_NULL, 1.5, "1.5"),
        (STRING_OR_NULL, None, None),
        ({"type": "string"}, True, True),
        (LIST, [1, "A"], ["1", "A"]),
        ({"type": "integer"}, 1, 1),
        ({"type": ["string", "integer"]}, 1, 1),
    ],
)
def test_a_number_for_a_string_is_its_text(schema: dict[str, Any], given: object, taken: object) -> None:
    arguments = {"it": argument(schema)}

    assert with_texts({"it": given, "other": 5}, arguments) == {"it": taken, "other": 5}


def test_a_reference_is_followed_and_one_to_itself_ends() -> None:
    """As pydantic writes an enum; a server may send anything."""
    colour = argument({"$ref": "#/$defs/Colour"}, **{"$defs": {"Colour": {"type": "string", "enum": ["red"]}}})
    endless = argument({"$ref": "#/$defs/It"}, **{"$defs": {"It": {"anyOf": [{"$ref": "#/$defs/It"}]}}})

    assert colour.words() == "one of: red"
    assert (endless.words(), endless.read("x")) == ("any value", "x")


def test_required_arguments_come_first() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "string"}}

    found = arguments_in({"properties": properties, "required": ["b"]})

    assert [(one.name, one.required) for one in found.values()] == [("b", True), ("a", False)]


@pytest.mark.parametrize("schema", [{}, {"properties": 5}, {"properties": {"a": 5}, "required": 7}])
def test_a_schema_that_says_nothing_has_no_arguments(schema: dict[str, Any]) -> None:
    assert arguments_in(schema) == {}
