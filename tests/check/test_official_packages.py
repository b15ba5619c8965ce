"""The client lint against the official packages: what they refuse or lose is found, and what is not found they take."""

from __future__ import annotations

import copy
import functools
import json
import subprocess
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from client import node, read_clients
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.tool_name_validation import validate_tool_name
from mcp.types import Tool

from processes import ROOT
from signet.commands.check.client_rules import Finding, lint_tool

DESCRIPTION = "Add two integers."
STRING = {"type": "string", "description": "the letter"}
GENAI = "google-genai"
STRICT = "OpenAI strict mode"
REFUSALS = (AttributeError, KeyError, TypeError)
"""What google-genai raises where it meets a schema that it does not expect."""


@functools.cache
def packages() -> SimpleNamespace:
    """Load the packages with the first test that needs them: they take seconds, which every process would spend."""
    with warnings.catch_warnings():
        # They are compiled on their first import, and one of them has an escape that Python warns of.
        warnings.simplefilter("ignore")
        from agents.exceptions import UserError
        from agents.strict_schema import ensure_strict_json_schema
        from google.genai._mcp_utils import mcp_to_gemini_tools
        from google.genai.types import Schema
    return SimpleNamespace(
        UserError=UserError,
        ensure_strict_json_schema=ensure_strict_json_schema,
        mcp_to_gemini_tools=mcp_to_gemini_tools,
        Schema=Schema,
    )


def lint(schema: dict[str, Any], client: str) -> set[str]:
    """Return the rules of a client that a tool with this input breaks."""
    found = lint_tool("add", "Add", DESCRIPTION, schema, None)
    return {finding.rule for finding in found if finding.client == client}


def holding(part: Any, **root: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, **root}


def gemini(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that google-genai declares for an MCP tool."""
    tool = Tool(name="add", description=DESCRIPTION, input_schema=copy.deepcopy(schema))
    (declaration,) = packages().mcp_to_gemini_tools([tool])[0].function_declarations or []
    assert declaration.parameters
    return declaration.parameters.model_dump(exclude_none=True, mode="json", warnings=False)


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    return packages().ensure_strict_json_schema(copy.deepcopy(schema))


def test_the_packages_are_those_that_make_clients_runs() -> None:
    pinned = {package for client in read_clients() for package in client.packages}
    wanted = set((ROOT / "requirements/test.in").read_text(encoding="utf-8").split())

    assert {"google-genai==3.1.0", "openai-agents==0.24.0", "mcp==2.3.0"} <= pinned & wanted


# --- MCP's own rule for names -----------------------------------------------------------------


@given(st.text(alphabet="aZ09_-. ,:/ä\n", max_size=6) | st.text("ab", min_size=126, max_size=130))
def test_a_name_is_found_if_and_only_if_the_python_sdk_warns_of_it(name: str) -> None:
    found = [finding for finding in lint_tool(name, "", DESCRIPTION, holding(STRING), None) if finding.client == "MCP"]

    result = validate_tool_name(name)

    assert (found == []) == (result.is_valid and result.warnings == [])


# --- the TypeScript SDK's rule for roots ------------------------------------------------------

PROBE = """
import { ToolSchema } from "@modelcontextprotocol/sdk/types.js";
const tools = JSON.parse(process.argv[1]);
console.log(JSON.stringify(tools.map((tool) => ToolSchema.safeParse(tool).success)));
"""


def test_a_root_is_found_if_and_only_if_the_typescript_sdk_refuses_it() -> None:
    roots: list[dict[str, Any]] = [
        {"type": "object"}, {"type": "object", "properties": {}}, {}, {"type": "array"}, {"type": ["object"]},
        {"anyOf": [{"type": "object"}]}, {"type": "object", "oneOf": []},
    ]  # fmt: skip
    pairs = [(root, {"type": "object"}) for root in roots] + [({"type": "object"}, root) for root in roots]
    tools = [{"name": "add", "inputSchema": one, "outputSchema": other} for one, other in pairs]

    command = [node(), "--input-type=module", "--eval", PROBE, json.dumps(tools)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    found = [lint_tool("add", "", DESCRIPTION, one, other) for one, other in pairs]
    assert json.loads(done.stdout) == [not any(map(is_about_the_root, findings)) for findings in found]
    assert set(json.loads(done.stdout)) == {True, False}


def is_about_the_root(finding: Finding) -> bool:
    return finding.rule == "root-not-object"


# --- google-genai -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (True, "boolean-schema"),
        ({"type": "array", "items": False, "prefixItems": [STRING]}, "boolean-schema"),
        ({"anyOf": [STRING, True]}, "boolean-schema"),
        ({"type": "object", "properties": {"a": STRING}, "additionalProperties": False}, "boolean-schema"),
        ({"$ref": "#/$defs/B"}, "reference-unresolved"),
        ({"$ref": "#/definitions/A"}, "reference-unresolved"),
        ({"$ref": "#"}, "reference-unresolved"),
    ],
)
def test_google_genai_refuses_what_is_found(part: Any, rule: str) -> None:
    schema = holding(part, **{"$defs": {"A": STRING}, "definitions": {"A": STRING}})

    with pytest.raises(REFUSALS):
        gemini(schema)
    assert rule in lint(schema, GENAI)


def test_google_genai_refuses_a_closed_root() -> None:
    schema = holding(STRING, additionalProperties=False)

    with pytest.raises(AttributeError):
        gemini(schema)
    assert lint(schema, GENAI) == {"boolean-schema"}


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("const", "a"),
        ("oneOf", [STRING, {"type": "integer"}]),
        ("allOf", [STRING]),
        ("prefixItems", [STRING]),
        ("patternProperties", {"^a": STRING}),
        ("if", {"const": "a"}),
        ("dependentSchemas", {"a": STRING}),
    ],
)
def test_google_genai_loses_the_keywords_that_are_found(keyword: str, value: Any) -> None:
    plain = {"type": "array", "items": STRING, "description": "the letters"}

    assert gemini(holding({**plain, keyword: value})) == gemini(holding(plain))
    assert lint(holding({**plain, keyword: value}), GENAI) == {"keyword-lost"}
    assert lint(holding(plain), GENAI) == set()


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "it"}, False),
        ({"anyOf": [{"type": "string", "description": "it"}, {"type": "null"}], "description": "it"}, True),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "it"}, True),
        ({"anyOf": [{"type": "string"}], "description": "it"}, True),
        ({"type": ["string", "null"], "description": "it"}, True),
        ({"$ref": "#/$defs/A", "description": "it"}, False),
    ],
)
def test_google_genai_loses_the_descriptions_that_are_found(part: dict[str, Any], kept: bool) -> None:
    schema = holding(part, **{"$defs": {"A": {"type": "string"}}})

    assert (gemini(schema)["properties"]["x"].get("description") == "it") is kept
    assert lint(schema, GENAI) == (set() if kept else {"description-lost"})


def test_google_genai_ends_a_circle_with_a_schema_without_rules() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}
    schema = holding({"$ref": "#/$defs/Tree"}, **{"$defs": {"Tree": tree}})

    assert gemini(schema)["properties"]["x"]["properties"]["child"] == {}
    assert lint(schema, GENAI) == {"reference-recursive"}


def test_google_genai_does_not_follow_a_reference_to_a_reference() -> None:
    schema = holding({"$ref": "#/$defs/A"}, **{"$defs": {"A": {"$ref": "#/$defs/B"}, "B": STRING}})

    assert "type" not in gemini(schema)["properties"]["x"]
    assert lint(schema, GENAI) == {"reference-recursive"}


@pytest.mark.parametrize("values", [[1], [True], ["a", None], [["a"]]])
def test_the_schema_of_gemini_refuses_the_values_that_are_found(values: list[Any]) -> None:
    with pytest.raises(ValueError, match="valid string"):
        packages().Schema.model_validate({"enum": values})
    assert "enum-not-string" in lint(holding({"type": "string", "enum": values}), "Gemini")


# --- openai-agents ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (True, "boolean-schema"),
        ({"anyOf": [STRING, False]}, "boolean-schema"),
        ({"type": "object", "additionalProperties": STRING}, "open-object"),
        ({"type": "object", "additionalProperties": {}}, "open-object"),
        ({"type": "object", "properties": {"a": STRING}, "additionalProperties": True}, "open-object"),
        ({"$ref": "#/$defs/A", "minLength": 1}, "reference-siblings"),
    ],
)
def test_strict_mode_refuses_what_is_found(part: Any, rule: str) -> None:
    schema = holding(part, **{"$defs": {"A": STRING}})

    with pytest.raises((packages().UserError, TypeError)):
        strict(schema)
    assert rule in lint(schema, STRICT)


# --- any schema -------------------------------------------------------------------------------

NAMES = st.sampled_from("abc")
strings = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", ["string", "null"]])},
    optional={
        "description": st.text(max_size=5), "minLength": st.integers(0, 2), "pattern": st.just("^a"),
        "format": st.sampled_from(["date-time", "uuid", "uri"]), "enum": st.lists(st.sampled_from("ab"), min_size=1),
        "const": st.just("a"), "default": st.just("a"), "examples": st.just(["a"]),
    },
)  # fmt: skip
plain = st.sampled_from(
    [STRING, {"type": "integer"}, {"type": "string", "enum": ["a"]}, {"anyOf": [STRING, {"type": "null"}]}]
)
others = st.sampled_from([
    {"type": "integer", "minimum": 1, "multipleOf": 2}, {"type": "boolean"}, {"type": ["integer", "string"]},
    {"enum": [1]}, {"type": "null"}, {}, True, False, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"},
    {"$ref": "#/$defs/A", "title": "a"}, {"$ref": "#/$defs/A", "minLength": 1}, {"$ref": "#/definitions/A"},
    {"not": {"type": "string"}}, {"type": "array"}, {"type": "object"},
])  # fmt: skip


def schemas_with(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=2)},
        optional={
            "required": st.lists(NAMES, max_size=2),
            "additionalProperties": inner,
            "patternProperties": st.fixed_dictionaries({"^a": inner}),
        },
    )
    arrays = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"prefixItems": st.lists(inner, max_size=2), "uniqueItems": st.booleans()},
    )
    unions = [
        st.fixed_dictionaries({name: st.lists(inner, min_size=1, max_size=2)}) for name in ("anyOf", "oneOf", "allOf")
    ]
    return st.one_of(objects, arrays, *unions)


parts = st.recursive(plain | strings | others, schemas_with, max_leaves=5)
inputs = st.builds(
    lambda properties, a, b: {"type": "object", "properties": properties, "$defs": {"A": a, "B": b}},
    st.dictionaries(NAMES, parts, min_size=1, max_size=2), strings, parts,
)  # fmt: skip


def is_taken(convert: Callable[[dict[str, Any]], object], schema: dict[str, Any]) -> bool:
    """A warning of a package is an error here: it is how google-genai tells of values that are no strings."""
    try:
        convert(schema)
    except (*REFUSALS, packages().UserError, UserWarning):
        return False
    return True


@given(inputs)
def test_what_google_genai_refuses_has_a_finding_for_gemini(schema: dict[str, Any]) -> None:
    found = lint(schema, GENAI) | lint(schema, "Gemini")

    assert found or is_taken(gemini, schema)


@given(inputs)
def test_what_strict_mode_refuses_has_a_finding(schema: dict[str, Any]) -> None:
    assert lint(schema, STRICT) or is_taken(strict, schema)
