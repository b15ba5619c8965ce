"""A grammar of schemas and values that are dear to check: recursive, branching, patterned, deep and wide.

The same seed gives the same pair. Most schemas are hostile in one way or another; some are refused for that.
"""

from __future__ import annotations

import random
from typing import Any

__all__ = ["circular_schema", "hostile_schema", "hostile_value", "nested_value"]

PATTERNS = (
    "^a+$", "^[a-z]{1,64}$", "a|b", "^(a|aa)+$", "(?=a)(a|aa)+$b", "^([a-z]{1,100}){1,%d}$", r"\p{L}{%d}",
    "(a{%d}){%d}", "^(a|b)*a(a|b){%d}$", "(?:(?=(?:c*)(?:c*)b)|c)*b", "(?=.*b)c", "a{%d}", r"(a*)\1b",
    r"[\p{L}\p{N}]{1,%d}x", r"^[\s\S]*$", "(x+x+)+y", "^(?:(?![ab]*a[ab]{%d}c)[ab])*x",
)  # fmt: skip
COUNTS = (2, 2, 3, 5, 10, 10, 20, 60, 200)
KEYWORDS = (
    "anyOf", "allOf", "oneOf", "not", "if", "properties", "additionalProperties", "patternProperties", "items",
    "prefixItems", "contains", "uniqueItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
    "dependentSchemas", "type", "required", "enum", "$ref",
)  # fmt: skip
LEAVES: tuple[Any, ...] = (
    True, {}, {"multipleOf": 0.01}, {"multipleOf": 3}, {"multipleOf": 1e-300}, {"type": "integer"}, {"minimum": 3},
    {"maxLength": 3}, {"minItems": 1}, {"enum": [number + 0.5 for number in range(500)]}, {"const": [1] * 50},
)  # fmt: skip
TYPES = ("object", "array", ["object", "array"], ["object", "array", "string", "number", "integer"])
MEMBERS = (1, 1.5, "a", [1, 2], {"a": 1})
BITS = str.maketrans("01", "ab")
MAX_DEPTH = 5
CIRCULAR = (
    "allOf", "allOf", "anyOf", "anyOf", "oneOf", "not", "if", "properties", "properties", "additionalProperties",
    "patternProperties", "items", "prefixItems", "contains", "dependentSchemas", "unevaluatedProperties",
    "unevaluatedItems",
)  # fmt: skip
"""The keywords by which schemas in circles lead to each other."""


def hostile_schema(chance: random.Random) -> dict[str, Any]:
    """Return a schema of some definitions that refer to each other."""
    names = [f"d{number}" for number in range(chance.choice((1, 2, 3, 6, 12, 26)))]
    definitions = {name: _schema(chance, names, chance.choice((0, 2, 4))) for name in names}
    return {"$ref": f"#/$defs/{names[0]}", "$defs": definitions}


def hostile_value(chance: random.Random) -> Any:
    """Return a value that is deep, wide, repeated or one long text."""
    kind = chance.random()
    if kind < 0.3:
        return _chain(chance, chance.choice((5, 20, 100, 180)))
    if kind < 0.6:
        return [_value(chance, chance.choice((3, 6, 9)))] * chance.choice((1, 10, 300, 3_000))
    if kind < 0.7:
        return "a" * chance.choice((1_000, 100_000, 900_000))
    if kind < 0.75:
        return [2**70 + number for number in range(chance.choice((20, 500, 20_000)))]
    if kind < 0.82:
        return {f"a{number}": _scalar(chance) for number in range(chance.choice((10, 1_000, 20_000)))}
    return _value(chance, chance.choice((3, 8, 12)))


def _schema(chance: random.Random, names: list[str], depth: int) -> Any:
    kind = chance.random()
    if depth > MAX_DEPTH or kind < 0.15:
        return {"pattern": _pattern(chance)} if chance.random() < 0.2 else chance.choice(LEAVES)
    if kind < 0.4:
        return _reference(chance, names)
    schema: dict[str, Any] = {}
    for _ in range(chance.choice((1, 1, 2, 3))):
        _add(schema, chance.choice(KEYWORDS), chance, names, depth + 1)
    return schema


def _add(schema: dict[str, Any], keyword: str, chance: random.Random, names: list[str], depth: int) -> None:
    def part() -> Any:
        return _schema(chance, names, depth)

    if keyword in {"anyOf", "allOf", "oneOf", "prefixItems"}:
        schema[keyword] = [part() for _ in range(chance.choice((1, 2, 3, 8)))]
    elif keyword == "if":
        schema |= {"if": part(), "then": part(), "else": part()}
    elif keyword in {"properties", "dependentSchemas"}:
        schema[keyword] = {name: part() for name in chance.sample("abc", chance.choice((1, 2, 3)))}
    elif keyword == "patternProperties":
        schema[keyword] = {chance.choice(("a", "^a", ".", "b|a", _pattern(chance))): part() for _ in range(3)}
    elif keyword == "propertyNames":
        schema[keyword] = {"pattern": _pattern(chance)}
    elif keyword == "enum":
        schema[keyword] = [chance.choice(MEMBERS) for _ in range(chance.choice((3, 300)))]
    elif keyword == "$ref":
        schema |= _reference(chance, names)
    else:
        schema[keyword] = _simple(keyword, chance) or part()


def _simple(keyword: str, chance: random.Random) -> Any:
    """Return the value of a keyword that has no schemas."""
    names = chance.sample("abcd", chance.choice((1, 2)))
    return {"type": chance.choice(TYPES), "uniqueItems": True, "required": names}.get(keyword)


def _reference(chance: random.Random, names: list[str]) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{chance.choice(names)}"}


def _pattern(chance: random.Random) -> str:
    pattern = chance.choice(PATTERNS[:3] if chance.random() < 0.5 else PATTERNS)
    counts = tuple(chance.choice(COUNTS) for _ in range(pattern.count("%d")))
    return pattern % counts if counts else pattern


def _chain(chance: random.Random, levels: int) -> Any:
    value = _scalar(chance)
    for _ in range(levels):
        value = chance.choice(({"a": value}, [value], {"b": value, "a": 1}))
    return value


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth <= 0 or kind >= 0.9:
        return _scalar(chance)
    if kind < 0.45:
        return {name: _value(chance, depth - 1) for name in chance.sample("abc", chance.choice((1, 1, 2)))}
    return [_value(chance, depth - 1) for _ in range(chance.choice((1, 1, 2, 3)))]


def _scalar(chance: random.Random) -> Any:
    texts = ("a" * chance.choice((1, 30, 3_000)), "c" * chance.choice((20, 2_000)), "ab" * chance.choice((5, 500)),
             f"{chance.getrandbits(chance.choice((9, 900))):b}".translate(BITS))  # fmt: skip
    return chance.choice((*texts, 1, 1.5, 1.7e300, 10 ** chance.choice((3, 900)), None))


def circular_schema(chance: random.Random) -> dict[str, Any]:
    """Return a schema of few definitions that refer to each other in circles; `$count` marks where one is looked at."""
    names = [f"d{number}" for number in range(chance.choice((2, 2, 3, 3, 4, 5, 7)))]
    chance.shuffle(names)
    definitions = {name: {"$count": 1, **_circular(chance, names, 3)} for name in names}
    members = {name: _reference(chance, names) for name in "ab"}
    return {**_reference(chance, names), "properties": members, "$defs": definitions}


def _circular(chance: random.Random, names: list[str], depth: int) -> dict[str, Any]:
    if not depth or chance.random() < 0.45:
        return _reference(chance, names)

    def part() -> dict[str, Any]:
        return _circular(chance, names, depth - 1)

    schema: dict[str, Any] = {"$count": 1} if chance.random() < 0.5 else {}
    for _ in range(chance.choice((1, 1, 2))):
        keyword = chance.choice(CIRCULAR)
        if keyword in {"anyOf", "allOf", "oneOf", "prefixItems"}:
            schema[keyword] = [part()] * chance.choice((1, 2, 3)) + [part() for _ in range(chance.choice((0, 1, 2)))]
        elif keyword == "if":
            schema |= {"if": part(), "then": part(), "else": part()}
        elif keyword in {"properties", "dependentSchemas"}:
            schema[keyword] = {name: part() for name in chance.sample("abc", chance.choice((1, 2, 3)))}
        elif keyword == "patternProperties":
            schema[keyword] = {name: part() for name in chance.sample(("a", ".", "b|a"), 2)}
        else:
            schema[keyword] = part()
    return schema


def nested_value(chance: random.Random) -> Any:
    """Return a small value of some levels."""
    value: Any = chance.choice((1, "a", {}, []))
    for _ in range(chance.choice((1, 2, 4, 6, 9))):
        value = chance.choice(({"a": value}, {"b": value}, [value], {"a": value, "b": 1}, {"a": value, "b": value}))
    return value
