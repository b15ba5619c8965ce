"""Schemas with every keyword that contracts use, and values on both sides of each."""

from __future__ import annotations

from typing import Any

LEAVES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10.0,
    "",
    " ",
    "x",
    "a\nb",
    "2020-01",
    "x☃🌸",
    [],
    ["x"],
    [1, 1.0],
    {},
    {"a": 1},
]
TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "inner": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
}
KEYWORDS: list[tuple[Any, list[Any]]] = [
    (True, [1]),
    (False, [1]),
    ({}, LEAVES),
    *(({"type": kind}, LEAVES) for kind in ("string", "integer", "number", "boolean", "array", "object", "null")),
    ({"type": ["string", "null"]}, LEAVES),
    ({"enum": [1, "x", None, [1], {"a": 1}]}, LEAVES),
    ({"const": {"a": 1.0}}, LEAVES),
    ({"minimum": 0, "exclusiveMaximum": 10}, [-1, 0, 9.999, 10, "x"]),
    ({"exclusiveMinimum": 0, "maximum": 10}, [0, 0.001, 10, 10.01]),
    ({"multipleOf": 0.1}, [0.3, 0.35, 1, 1e30, 1e-7]),
    ({"multipleOf": 3}, [9, 10, -3, 0]),
    ({"minLength": 2, "maxLength": 3}, ["x", "🌸🌸", "🌸🌸🌸", "abcd", 1]),
    ({"pattern": "^[\\u3040-\\u30ff]+$"}, ["ひらがな", "x"]),
    ({"pattern": "^.$"}, ["🌸", "ab", "\n"]),
    ({"pattern": "\\s"}, ["a b", "ab", "\u00a0", "\u3000", "\ufeff"]),
    ({"pattern": "^\\w\\d$"}, ["a1", "é1", "a٣"]),
    (
        {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        [[], ["x"], ["x", 1], ["x", 1, 2], [1]],
    ),
    ({"items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [[], [1], [1, "x"], [1, 2, 3]]),
    ({"uniqueItems": True}, [[1, 1.0], [1, True], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[], {}]]),
    ({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}, [[], [1, 2], [1], [1, 2, 3, 4], "x"]),
    ({"required": ["a"], "minProperties": 1, "maxProperties": 2}, [{}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1, "c": 1}]),
    (
        {
            "properties": {"a": {"type": "integer"}},
            "patternProperties": {"^x": {"type": "string"}},
            "additionalProperties": False,
        },
        [{"a": 1}, {"a": "1"}, {"xa": "1"}, {"xa": 1}, {"b": 1}, {"__proto__x": 1}],
    ),
    ({"additionalProperties": {"type": "integer"}}, [{"a": 1}, {"a": "x"}]),
    ({"propertyNames": {"maxLength": 1}}, [{"a": 1}, {"ab": 1}]),
    ({"dependentRequired": {"a": ["b"]}}, [{"a": 1}, {"a": 1, "b": 1}, {"b": 1}]),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, [{"a": 1}, {"a": 1, "b": 1}, {}]),
    ({"anyOf": [{"type": "integer"}, {"minLength": 2}]}, [1, "x", "xy", None]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2, 2.5, 1.5]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [0, 1, 3]),
    ({"not": {"type": "string"}}, ["x", 1]),
    ({"if": {"type": "integer"}, "then": {"minimum": 5}, "else": {"type": "string"}}, [4, 5, "x", []]),
    ({"format": "date"}, ["no date"]),
    ({"$comment": "x", "x-own": 1, "title": "t"}, [1]),
    (
        TREE,
        [
            {"name": "a"},
            {"name": "a", "inner": [{"name": "b"}]},
            {"name": "a", "inner": [{"inner": []}]},
            {"name": "a", "other": 1},
        ],
    ),
]
"""Every keyword that contracts use, with values on both sides."""
