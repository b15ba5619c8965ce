"""The client lint: each rule on a tool that breaks it and on one that does not, and over the tools in the box."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import ROOT
from signet.app import SCHEMA_ROOT
from signet.commands.check.client_rules import Finding, lint_tool
from signet.commands.check.findings import RULES
from signet.kernel.schemas import SchemaRegistry
from signet.settings.catalogue import TOOLSETS, find_toolset

REGISTRY = SchemaRegistry(schema_root=SCHEMA_ROOT)
IN_THE_BOX = [tool for toolset in TOOLSETS for tool in find_toolset(toolset).tools()]
DESCRIPTION = "Add two integers."
STRING = {"type": "string", "description": "the letter"}
OBJECT: dict[str, Any] = {"type": "object", "properties": {"x": STRING}}
STRICT = "OpenAI strict mode"
GENAI = "google-genai"
X = "/inputSchema/properties/x"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def lint(schema: dict[str, Any] = OBJECT, name: str = "add", description: str = DESCRIPTION) -> list[Finding]:
    return lint_tool(name, "Add", description, schema, {"type": "object"})


def broken(found: list[Finding]) -> set[tuple[str, str, str]]:
    return {(finding.rule, finding.client, finding.place) for finding in found}


def broken_by(part: Any, **root: Any) -> set[tuple[str, str, str]]:
    """Lint a tool with one described parameter."""
    if isinstance(part, dict):
        part = {"description": "the letter", **part}
    return broken(lint({"type": "object", "properties": {"x": part}, **root}))


def nested(levels: int) -> dict[str, Any]:
    part: dict[str, Any] = STRING
    for _ in range(levels - 1):
        part = {"type": "object", "properties": {"a": part}}
    return part


# --- names ------------------------------------------------------------------------------------


def test_a_plain_tool_has_no_findings() -> None:
    assert lint() == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b", {("name-characters", "OpenAI"), ("name-characters", "Anthropic")}),
        ("a:b", {("name-characters", client) for client in ("MCP", "OpenAI", "Anthropic")}),
        ("a b", {("name-characters", client) for client in ("MCP", "OpenAI", "Anthropic", "Gemini")}),
        ("", {("name-characters", client) for client in ("MCP", "OpenAI", "Anthropic", "Gemini")}),
        ("add\n", {("name-characters", client) for client in ("MCP", "OpenAI", "Anthropic", "Gemini")}),
        ("2add", {("name-start", "Gemini")}),
        ("add-", {("name-edge", "MCP")}),
    ],
)
def test_a_name_is_written_in_letters_that_each_client_takes(name: str, expected: set[tuple[str, str]]) -> None:
    assert broken(lint(name=name)) == {(*pair, "/name") for pair in expected}


LENGTHS = {
    "MCP": 128, "OpenAI": 64, "Anthropic": 128, "Gemini": 64,
    "Claude Code": 115, "Cursor": 53, "Gemini CLI": 52, "VS Code": 53,
}  # fmt: skip
"""The longest name that each client takes of a server called `signet`."""


@pytest.mark.parametrize("client", LENGTHS)
def test_a_name_may_be_as_long_as_each_client_takes_and_no_longer(client: str) -> None:
    longest = LENGTHS[client]

    assert ("name-too-long", client, "/name") not in broken(lint(name="a" * longest))
    assert ("name-too-long", client, "/name") in broken(lint(name="a" * (longest + 1)))


def test_the_name_of_the_server_counts_where_the_client_puts_it_before_the_tool() -> None:
    found = lint_tool("a" * 40, "Add", DESCRIPTION, OBJECT, None, server="b" * 30)

    assert {finding.client for finding in found} == {"Cursor", "Gemini CLI"}


# --- descriptions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("", {("description-missing", "all models")}),
        (" \n", {("description-missing", "all models")}),
        ("Adds two.", {("description-too-short", "all models")}),
        ("Adds them.", set()),
        ("a" * 1024, set()),
        ("a" * 1025, {("description-too-long", "OpenAI")}),
        ("a" * 2049, {("description-too-long", "OpenAI"), ("description-too-long", "Claude Code")}),
    ],
)
def test_a_description_is_there_and_fits(description: str, expected: set[tuple[str, str]]) -> None:
    assert broken(lint(description=description)) == {(*pair, "/description") for pair in expected}


@pytest.mark.parametrize(
    ("part", "described"),
    [
        ({"type": "string"}, False),
        ({"type": "string", "description": ""}, False),
        ({"$ref": "#/$defs/A"}, True),
        ({"anyOf": [{"type": "string", "description": "it"}, {"type": "null"}]}, True),
    ],
)
def test_a_parameter_has_a_description(part: dict[str, Any], described: bool) -> None:
    schema = {"type": "object", "properties": {"a/b": part}, "$defs": {"A": STRING}}

    found = ("parameter-without-description", "all models", "/inputSchema/properties/a~1b") in broken(lint(schema))

    assert found is not described


# --- schemas ----------------------------------------------------------------------------------

CASES: dict[str, tuple[Any, set[tuple[str, str, str]]]] = {
    "const": ({"type": "string", "const": "a"}, {("keyword-lost", GENAI, "/const")}),
    "oneOf": ({"oneOf": [STRING]}, {("keyword-lost", GENAI, "/oneOf"), ("keyword-refused", STRICT, "/oneOf")}),
    "allOf": ({"allOf": [STRING]}, {("keyword-lost", GENAI, "/allOf"), ("keyword-refused", STRICT, "/allOf")}),
    "not": ({"type": "string", "not": {"const": "a"}}, {("keyword-refused", STRICT, "/not")}),
    "set": (
        {"type": "array", "items": STRING, "uniqueItems": True},
        {("keyword-refused", STRICT, "/uniqueItems")},
    ),
    "uuid": ({"type": "string", "format": "uuid"}, {("format-refused", "Gemini", "/format")}),
    "uri": (
        {"type": ["string", "null"], "format": "uri"},
        {("format-refused", "Gemini", "/format"), ("format-refused", STRICT, "/format")},
    ),
    "date-time": ({"type": "string", "format": "date-time"}, set()),
    "a format of numbers": ({"type": "number", "format": "double"}, set()),
    "limits": ({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "examples": ["a"]}, set()),
    "any": ({}, {("untyped-schema", STRICT, "")}),
    "true": (
        True,
        {
            ("boolean-schema", GENAI, ""),
            ("boolean-schema", STRICT, ""),
            ("parameter-without-description", "all models", ""),
        },
    ),
    "closed": (
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": False},
        {("boolean-schema", GENAI, "/additionalProperties")},
    ),
    "map": (
        {"type": "object", "additionalProperties": STRING},
        {("open-object", STRICT, "/additionalProperties"), ("empty-object", "Gemini", "")},
    ),
    "list of anything": (
        {"type": "array"},
        {("array-without-items", client, "") for client in ("OpenAI", "Gemini", "VS Code", "Windsurf")},
    ),
    "numbers as values": ({"type": "integer", "enum": [1, 2]}, {("enum-not-string", "Gemini", "/enum")}),
    "values or null": ({"type": ["string", "null"], "enum": ["a", None]}, {("enum-not-string", "Gemini", "/enum")}),
    "values without a type": (
        {"enum": ["a", "b"]},
        {("untyped-enum", "Gemini", "/enum"), ("untyped-schema", STRICT, "")},
    ),
    "values": ({"type": "string", "enum": ["a", "b"]}, set()),
    "a required name that is not there": (
        {"type": "object", "properties": {"a": STRING}, "required": ["a", "b"]},
        {("required-undeclared", "Gemini", "/required")},
    ),
    "optional, described outside": (
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {("description-lost", GENAI, "/description")},
    ),
    "optional, described inside": ({"anyOf": [STRING, {"type": "null"}]}, set()),
    "one branch": ({"anyOf": [{"type": "string"}]}, set()),
    "a union": ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}, set()),
    "a list of types": ({"type": ["string", "null"]}, set()),
    "ten levels": (nested(10), set()),
    "eleven levels": (nested(11), {("nesting-too-deep", STRICT, "/properties/a" * 9)}),
    "two hundred and fifty values": ({"type": "string", "enum": ["a" * 100] * 250}, set()),
    "more": ({"type": "string", "enum": ["a" * 100] * 251}, {("enum-too-long", STRICT, "/enum")}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_part_of_a_schema_breaks_the_rules_that_it_breaks(case: str) -> None:
    part, expected = CASES[case]

    assert broken_by(part) == {(rule, client, X + place) for rule, client, place in expected}


@pytest.mark.parametrize(
    ("name", "taken"),
    [("a.b-c_1", True), ("a" * 64, True), ("a" * 65, False), ("a[]", False), ("größe", False), ("", False)],
)
def test_a_property_has_a_name_that_anthropic_takes(name: str, taken: bool) -> None:
    found = broken(lint({"type": "object", "properties": {name: STRING}}))

    assert found == (set() if taken else {("property-name", "Anthropic", f"/inputSchema/properties/{name}")})


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf", "enum", "not"])
def test_a_union_at_the_root_is_refused(keyword: str) -> None:
    value = {"required": ["x"]} if keyword == "not" else [{"required": ["x"]}]
    clients = {"OpenAI"} if keyword in {"enum", "not"} else {"OpenAI", "Anthropic"}

    found = broken(lint({**OBJECT, keyword: value}))

    assert {client for rule, client, _ in found if rule == "top-level-union"} == clients


def test_a_root_is_an_object_on_both_sides() -> None:
    found = lint_tool("add", "Add", DESCRIPTION, {"properties": {}}, {"type": "array", "items": STRING})

    assert broken(found) == {("root-not-object", "MCP TypeScript SDK", f"/{side}putSchema") for side in ("in", "out")}


def test_references_are_followed_as_far_as_clients_follow_them() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}
    defs = {"Leaf": STRING, "Tree": tree, "Wood": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}

    def found(reference: str, **beside: Any) -> set[tuple[str, str]]:
        part = {"$ref": reference, **beside}
        schema = {"type": "object", "properties": {"x": part}, "$defs": {**defs, "X": {"$ref": "#/$defs/Leaf"}}}
        return {(rule, client) for rule, client, place in broken(lint(schema)) if place.startswith(X)} - {
            ("parameter-without-description", "all models")
        }

    refused = ("reference", "Claude Managed Agents")
    assert found("#/$defs/Leaf") == {refused}
    assert found("#/$defs/Tree") == {refused, ("reference-recursive", GENAI)}
    assert found("#/$defs/Wood") == {refused, ("reference-recursive", GENAI)}
    assert found("#/$defs/X") == {refused, ("reference-recursive", GENAI)}
    for elsewhere in ("#/$defs/None", "#", "#/definitions/Leaf", "https://example.com/schema"):
        assert found(elsewhere) == {refused, ("reference-unresolved", GENAI)}
    assert found("#/$defs/Leaf", description="a") == {refused, ("description-lost", GENAI)}
    assert found("#/$defs/Leaf", minLength=1) == {refused, ("reference-siblings", STRICT)}


@pytest.mark.parametrize(
    ("rule", "largest", "larger"),
    [
        ("too-many-properties", {f"p{number}": STRING for number in range(5000)}, {"p": STRING}),
        ("too-many-enum-values", {"p": {**STRING, "enum": ["a"] * 1000}}, {"q": {**STRING, "enum": ["a"]}}),
        ("schema-too-long", {"p": {**STRING, "enum": ["a" * 119_999]}}, {"q": STRING}),
    ],
)
def test_a_whole_schema_may_be_as_large_as_strict_mode_takes(
    rule: str, largest: dict[str, Any], larger: dict[str, Any]
) -> None:
    assert broken(lint({"type": "object", "properties": largest})) == set()
    assert broken(lint({"type": "object", "properties": {**largest, **larger}})) == {(rule, STRICT, "/inputSchema")}


# --- the tools in the box, the page, and anything ---------------------------------------------


def test_the_tools_in_the_box_break_one_rule() -> None:
    """`linkPlantUML` says in its contract which address its server may not have; strict mode knows no `not`."""
    found = {
        finding
        for tool in IN_THE_BOX
        for bundle in [REGISTRY.load_bundle(tool.slug)]
        for finding in lint_tool(
            tool.name,
            tool.title,
            tool.description,
            msgspec.json.decode(bundle.input),
            msgspec.json.decode(bundle.output),
        )
    }

    assert {(finding.tool, finding.rule, finding.client, finding.place) for finding in found} == {
        ("linkPlantUML", "keyword-refused", STRICT, "/inputSchema/properties/server/anyOf/0/not")
    }


def test_the_page_lists_each_rule_with_its_effect_limit_and_source() -> None:
    text = (ROOT / "docs/client-rules.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]

    assert [row[:4] for row in rows[2:]] == [
        [name, client, rule.effect, "" if rule.limit is None else str(rule.limit)]
        for (name, client), rule in RULES.items()
    ]
    assert [row for row in rows[2:] if not re.search(r"\]\(https://|run: `|our (rule|measure)", row[4])] == []


def test_a_finding_is_one_sentence_that_begins_with_the_client() -> None:
    schemas = [{"type": "object", "properties": {"x": part, "y z": STRING}} for part, _ in CASES.values()]

    found = [finding for schema in schemas for finding in lint(schema, name="a b" * 50, description="a" * 3000)]

    assert len({finding.rule for finding in found}) > 15
    assert {finding.severity for finding in found} == {"warning"}
    for finding in found:
        assert re.fullmatch(rf"{re.escape(finding.client)} [^{{}}\n]+\.", finding.message)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", finding.rule)


KEYWORDS = [
    "type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "$defs", "required", "format",
    "additionalProperties", "description", "default", "prefixItems", "patternProperties", "definitions", "not",
]  # fmt: skip
schemas = st.recursive(
    json_values,
    lambda inner: st.dictionaries(
        st.sampled_from(KEYWORDS),
        inner | st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_size=4,
    ),
    max_leaves=12,
)


@given(st.text(), st.text(), st.dictionaries(st.text() | st.sampled_from(["properties", "$defs"]), schemas), schemas)
def test_anything_is_linted_and_each_place_is_one(
    name: str, description: str, schema: dict[str, Any], output: Any
) -> None:
    output = output if isinstance(output, dict) else None

    for finding in lint_tool(name, "", description, schema, output):
        whole: Any = {
            "name": name,
            "title": "",
            "description": description,
            "inputSchema": schema,
            "outputSchema": output,
        }
        for step in finding.place.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            whole = whole[int(key) if isinstance(whole, list) else key]


def test_parts_are_looked_at_to_a_depth_of_a_hundred() -> None:
    def lists(depth: int) -> dict[str, Any]:
        return {"type": "array", "items": lists(depth - 1)} if depth else {"type": "array"}

    assert ("array-without-items", "VS Code", X + "/items" * 99) in broken_by(lists(99))
    assert broken_by(lists(100)) == set()


def test_a_deep_and_a_wide_schema_are_linted() -> None:
    wide = {"type": "object", "properties": {f"p{number}": {"type": "array"} for number in range(20_000)}}

    assert ("nesting-too-deep", STRICT, X + "/properties/a" * 9) in broken_by(nested(5_000))
    assert len(lint(wide)) == 20_000 * 5 + 1
