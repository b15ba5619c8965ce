"""A name that a lenient parser takes for a declared one is found, at its place; names of free maps are not."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest

from signet.relay import sent_params
from signet.relay.folded_names import MAX_CHARS, equal_when_folded, fold, fold_all
from signet.relay.sent_params import DeclaredNames

SCHEMA = {
    "$id": "https://example.org/all",
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        "one": {"anyOf": [{"$ref": "#anchored"}, {"type": "null"}]},
        "far": {"$ref": "https://elsewhere.example/schema"},
        "any": {"additionalProperties": {"properties": {"inner": {}}}},
        "mapped": {"patternProperties": {"^x": {"required": ["needed"]}}},
        "a~b/c": {"$ref": "#/properties/a~0b~1c/else", "else": {"properties": {"odd": {}}}},
        "up": {"$ref": "#"},
        "either": {"oneOf": [{"if": {"properties": {"kind": {}}}, "then": {"dependentSchemas": {"kind": {
            "properties": {"more": {}}}}}}]},
        "both": {"properties": {"case": {}, "CASE": {}, "Path": {}}},
    },
    "$defs": {
        "node": {"properties": {"name": {}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}},
        "a": {"$anchor": "anchored", "properties": {"leaf": {}}},
    },
}  # fmt: skip
NEAR = [
    ({"Path": 1}, "path"),
    ({"path": 1, "PATH": 2}, "path"),
    ({"path\0": 1}, "path"),
    ({"\uff50ath": 1}, "path"),
    ({"nodes": [{"name": 1}, {"Name": 1}]}, "name"),
    ({"nodes": [{"kids": [{"kids": [{"\u212aids": []}]}]}]}, "kids"),
    ({"one": {"LEAF": 1}}, "leaf"),
    ({"far": {"Leaf": 1}}, "leaf"),
    ({"any": {"x": {"Inner": 1}}}, "inner"),
    ({"mapped": {"xy": {"Needed": 1}}}, "needed"),
    ({"a~b/c": {"ODD": 1}}, "odd"),
    ({"up": {"up": {"Path": 1}}}, "path"),
    ({"either": {"More": 1}}, "more"),
    ({"env": {"PATH": "/bin"}, "Env": {}}, "env"),
    ({"path": 1, "CASE": 2, "Path": 3}, "path"),
    ({"both": {"path": 1}}, "Path"),
]
FAR = [
    {"path": 1, "other": 2},
    {"env": {"PATH": "/bin", "path": "/usr", "Path": "", "NAME": "x"}},
    {"other": {"The": 1, "the": 2, "PATH": 3}},
    {"both": {"case": 1, "CASE": 2}},
    {"nodes": [{"name": {"Name": 1, "KIDS": [{"Name": 1}]}}]},
    ["Path"],
    "Path",
    None,
]


@pytest.mark.parametrize(("arguments", "declared"), NEAR)
def test_a_near_name_is_found(arguments: Any, declared: str) -> None:
    near = DeclaredNames(json.dumps(SCHEMA).encode()).near(arguments)

    assert near is not None
    assert near[1] == declared


@pytest.mark.parametrize("arguments", FAR)
def test_names_of_maps_and_names_that_are_declared_pass(arguments: Any) -> None:
    assert DeclaredNames(json.dumps(SCHEMA).encode()).near(arguments) is None


@pytest.mark.parametrize(
    "schema", [b"{", b"true", b"[]", b'{"properties":[],"required":7,"$ref":1,"allOf":3,"items":null}', b"[" * 9999]
)
def test_a_schema_that_declares_nothing_lets_everything_through(schema: bytes) -> None:
    assert DeclaredNames(schema).near({"Path": {"a": 1, "A": 2}}) is None


def test_circles_and_wide_schemas_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments that take too many steps to look at count as near; a count of schemas, not a time, is the bound."""
    circle = {"$ref": "#", "anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}], "properties": {"a": {"$ref": "#"}}}
    assert DeclaredNames(json.dumps(circle).encode()).near({"b": {"A": 1}}) is None
    assert DeclaredNames(json.dumps(circle).encode()).near({"a": {"a": {"A": 1}}}) == ("A", "a")

    monkeypatch.setattr(sent_params, "MAX_STEPS", 50)
    wide = {"properties": {"a": {"anyOf": [{"type": "null"}] * 100}}}
    assert DeclaredNames(json.dumps(wide).encode()).near({"x": {"A": 1}}) is None
    assert DeclaredNames(json.dumps(wide).encode()).near({"a": {"A": 1}}) == ("", "")
    many = {"properties": {f"a{n}": {} for n in range(100)}}
    assert DeclaredNames(json.dumps(many).encode()).near({"A1": 1}) == ("", "")


def test_all_forms_of_a_character_are_folded_alike() -> None:
    """Go folds simply, .NET and Java by single characters, Swift by canonical forms: each pair is one name here."""
    for code in (*range(0x20, 0xD800), *range(0xE000, 0x20000)):
        char = chr(code)
        forms = {char.lower(), char.upper(), char.title(), char.casefold()}
        forms |= {unicodedata.normalize(form, char) for form in ("NFC", "NFD")}
        assert {fold(form) for form in forms} == {fold(char)}, hex(code)
    assert {fold(one) for one in ("i", "I", "\u0130", "\u0131", "i\u0307")} == {"i"}
    assert fold("kind\0less") == fold("\u212aind") == "kind"


def test_many_names_are_folded_together_as_one_by_one() -> None:
    for names in (["a", "B\x01c", "D"], ["\u00c4", "b\0c", "x\x01\u00e9"], ["\u0130", "A" * 500], []):
        assert [(name, folded) for name, folded in fold_all(names)] == [(name, fold(name)) for name in names]
    assert fold_all(["\u00e9" * (MAX_CHARS + 1), "\u00e9"]) == [("\u00e9", fold("\u00e9"))]


def test_two_names_that_are_one_when_folded() -> None:
    assert equal_when_folded(["a", "b", "A"]) == ("a", "A")
    assert equal_when_folded(["a", "b\0", "B\0x"]) == ("b\0", "B\0x")
    assert equal_when_folded(["a", "b"]) is None
    assert equal_when_folded([]) is None


def test_headers_repeat_the_arguments_that_were_checked() -> None:
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "other": {}}}
    names = DeclaredNames(json.dumps(schema).encode())

    assert names.headers({"region": "eu", "other": "x"}) == (("mcp-param-region", "eu"),)
    assert names.headers({"other": "x"}) == names.headers({"region": ["eu"]}) == ()
    assert DeclaredNames(b'{"x-mcp-header"').headers({"region": "eu"}) == ()
