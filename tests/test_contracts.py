"""Every contract in the box: sound, agreed on by two validators, and the same as the types behind it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conformance_toolset
from processes import ROOT
from signet.app import SCHEMA_ROOT
from signet.kernel.errors import Code
from signet.kernel.outcome import Call, Outcome
from signet.kernel.pipeline import Pipeline
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import QUIET_CONTEXT
from signet.kernel.tools import Tool, Toolbox
from signet.settings.catalogue import TOOLSETS, find_toolset

REGISTRY = SchemaRegistry(schema_root=SCHEMA_ROOT, tool_roots=(str(conformance_toolset.TOOLSET.schema_root),))
IN_THE_BOX = [tool for toolset in TOOLSETS for tool in find_toolset(toolset).tools()]
ALL = [*IN_THE_BOX, *conformance_toolset.TOOLSET.tools()]

json_values = st.recursive(
    # JSON has neither NaN nor infinities.
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def schema(tool: Tool, side: str) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(getattr(REGISTRY.load_bundle(tool.slug), side))
    return decoded


def name_of(tool: Tool) -> str:
    return tool.slug


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("tool", ALL, ids=name_of)
def test_a_contract_is_a_draft_2020_12_schema_of_an_object(tool: Tool, side: str) -> None:
    contract = schema(tool, side)

    jsonschema.Draft202012Validator.check_schema(contract)
    assert contract["type"] == "object"
    assert isinstance(contract["properties"], dict)


@pytest.mark.parametrize("tool", IN_THE_BOX, ids=name_of)
def test_a_published_contract_keeps_to_what_every_client_accepts(tool: Tool) -> None:
    for side in ("input", "output"):
        contract = schema(tool, side)

        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(contract)
        assert '"$ref":"http' not in json.dumps(contract, separators=(",", ":"))


@pytest.mark.parametrize("tool", ALL, ids=name_of)
def test_every_tool_tells_a_model_what_it_is_for(tool: Tool) -> None:
    assert tool.title
    assert len(tool.description) > 10
    assert {"readOnlyHint", "idempotentHint", "openWorldHint"} <= set(tool.annotations)


@pytest.mark.parametrize("tool", IN_THE_BOX, ids=name_of)
def test_every_tool_shows_arguments_that_keep_its_contract(tool: Tool) -> None:
    REGISTRY.load_tool_io(tool.slug).input_validator.validate(dict(tool.example))


@pytest.mark.parametrize("tool", IN_THE_BOX, ids=name_of)
def test_the_types_behind_a_tool_say_what_its_contract_says(tool: Tool) -> None:
    """The contract is the truth; the struct is its typed view."""
    view = msgspec.json.schema(tool.args)
    view = view["$defs"][view["$ref"].rpartition("/")[2]]
    contract = schema(tool, "input")

    assert set(view["properties"]) == set(contract["properties"])
    assert set(view.get("required", ())) == set(contract.get("required", ()))
    for name, part in contract["properties"].items():
        assert rules(view["properties"][name]) == rules(part), name


def rules(part: dict[str, Any]) -> str:
    """What a property is, in one spelling; the struct has no other rules, so that a tool can explain its own."""
    part = next((one for one in part.get("anyOf", ()) if one != {"type": "null"}), part)
    return str(part.get("type", "string"))


@pytest.mark.parametrize("tool", IN_THE_BOX, ids=name_of)
def test_an_input_is_open_and_its_optional_arguments_may_be_null(tool: Tool) -> None:
    contract = schema(tool, "input")

    nullable = {name for name, part in contract["properties"].items() if {"type": "null"} in part.get("anyOf", ())}
    assert nullable == set(contract["properties"]) - set(contract.get("required", ()))
    assert all("default" in contract["properties"][name] for name in nullable)
    assert "additionalProperties" not in contract


@pytest.mark.parametrize("tool", IN_THE_BOX, ids=name_of)
def test_every_example_of_an_argument_keeps_its_rules(tool: Tool) -> None:
    for part in schema(tool, "input")["properties"].values():
        for example in (*part.get("examples", ()), *([part["default"]] if "default" in part else [])):
            jsonschema.Draft202012Validator(part).validate(example)


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("tool", ALL, ids=name_of)
def test_two_validators_are_of_one_mind(tool: Tool, side: str) -> None:
    io = REGISTRY.load_tool_io(tool.slug)
    ours = io.input_validator if side == "input" else io.output_validator
    contract = schema(tool, side)
    second = jsonschema.Draft202012Validator(contract)
    named = st.fixed_dictionaries({}, optional=dict.fromkeys(contract["properties"], json_values))

    # There are some sixty contracts, and each has the same rules as some others.
    @settings(max_examples=15)
    @given(named | json_values)
    def agree(value: object) -> None:
        assert ours.is_valid(value) == second.is_valid(value)

    agree()


@given(st.text(alphabet="abcXYZ019_-\n /.", max_size=8), st.booleans())
def test_two_validators_are_of_one_mind_about_line_ends(text: str, linked: bool) -> None:
    contract = schema(IN_THE_BOX[0], "output")["properties"]["url" if linked else "encoded"]
    value = f"https://www.plantuml.com/plantuml/svg/{text}" if linked else text
    properties = {"url": "https://www.plantuml.com/plantuml/svg/A", "encoded": "A", "format": "svg"}
    properties["url" if linked else "encoded"] = value

    ours = REGISTRY.load_tool_io("plantuml.encode").output_validator.is_valid(properties)

    assert ours == jsonschema.Draft202012Validator(contract).is_valid(value)


def test_the_specs_location_is_a_link_onto_the_one_true_folder() -> None:
    assert (ROOT / "codex/specs/schemas").resolve() == (ROOT / "src/signet/schemas").resolve()


UNBOUNDED = {("plantuml.encode", "plantumlCode")}
"""The schema of spec 4 is published as it is."""


@pytest.mark.parametrize("tool", IN_THE_BOX, ids=name_of)
def test_every_text_and_list_of_an_input_has_a_bound(tool: Tool) -> None:
    unbounded = set()
    for name, published in schema(tool, "input")["properties"].items():
        part = published.get("anyOf", [published])[0]
        parts = [part, part["items"]] if part["type"] == "array" else [part]
        bounds = {"array": "maxItems", "string": "maxLength"}
        if any(bounds.get(one["type"], "type") not in one for one in parts if "enum" not in one):
            unbounded.add((tool.slug, name))

    assert unbounded == {place for place in UNBOUNDED if place[0] == tool.slug}


@pytest.mark.parametrize(
    ("slug", "arguments", "place", "bound"),
    [
        ("boj.get_data_code", {"db": "CO", "codes": ["A"] * 1_251}, "codes", "has more than 1250 items"),
        ("boj.get_data_code", {"db": "CO", "codes": ["A", "x" * 65]}, "codes.1", "is longer than 64 characters"),
        ("boj.get_data_layer", {"db": "CO", "frequency": "Q", "layers": ["1"] * 6}, "layers", "more than 5 items"),
        ("boj.get_metadata", {"db": "x" * 1_000_000}, "db", "is longer than 64 characters"),
        ("oj.get_problem", {"source": "a", "id": "x" * 257}, "id", "is longer than 256 characters"),
        ("oj.resolve_problem", {"query": "漢" * 8_193}, "query", "is longer than 8192 characters"),
        ("oj.find_similar_problems", {"query": "x" * 2_001}, "query", "is longer than 2000 characters"),
    ],
)
def test_what_is_over_a_bound_is_told_with_the_bound(
    slug: str, arguments: dict[str, Any], place: str, bound: str
) -> None:
    ((path, reason),) = REGISTRY.load_tool_io(slug).input_validator.places(arguments)

    assert path == place
    assert reason.endswith(bound)


TOLD_BY_A_RULE = {
    "more codes than the Bank takes": (
        "boj_get_data_code",
        {"db": "CO", "codes": ["DLDDLKY45090_DLDD3DBTTL1"] * 1_251},
        "CODE takes at most 1250 series codes and has 1251",
    ),
    "more layers than there are": (
        "boj_get_data_layer",
        {"db": "CO", "frequency": "Q", "layers": ["1"] * 6},
        "LAYER takes 1 to 5 levels and has 6",
    ),
    "a date in words": (
        "boj_get_data_code",
        {"db": "CO", "codes": ["A"], "start_date": "January"},
        "STARTDATE 'January' must be numeric: the date is written in digits only",
    ),
    "another language": ("boj_get_metadata", {"db": "CO", "lang": "ja"}, "LANG must be one of jp, en, not 'ja'"),
    "a position of zero": (
        "boj_get_data_code",
        {"db": "CO", "codes": ["A"], "start_position": 0},
        "STARTPOSITION must be 1 or greater",
    ),
    "a blank judge": ("get_problem", {"source": " ", "id": "1"}, "source must not be empty"),
    "a segment that a URL loses": (
        "get_problem",
        {"source": "a", "id": ".."},
        "id must not be '..': a URL would lose it",
    ),
    "a blank name": (
        "resolve_problem",
        {"query": " "},
        "query must not be empty; give a problem's URL, slug or id",
    ),
    "a query that is too long": (
        "find_similar_problems",
        {"query": "😀" * 2_001 + " " * 500},
        "query has 2001 characters; write 3 to 2000",
    ),
    "a number out of range": ("find_similar_problems", {"query": "arrays", "limit": 51}, "limit is 51; give 1 to 50"),
    "a date of another form": (
        "get_daily_challenge",
        {"date": "x" * 100_000},
        f"'{'x' * 50}' is not a date; write it as YYYY-MM-DD, for example 2026-01-31",
    ),
}


@pytest.mark.parametrize("row", TOLD_BY_A_RULE)
def test_where_a_tool_has_better_words_for_a_broken_contract_they_are_told(row: str) -> None:
    name, arguments, words = TOLD_BY_A_RULE[row]
    pipeline = Pipeline(Toolbox(tuple(IN_THE_BOX)), REGISTRY)

    refused = pipeline.prepare(Call(name, arguments, QUIET_CONTEXT))

    assert isinstance(refused, Outcome)
    assert refused.tool is not None
    assert not REGISTRY.load_tool_io(refused.tool.slug).input_validator.is_valid(arguments)
    assert refused.fault is not None
    assert (refused.fault.code, refused.fault.message) == (Code.INVALID_INPUT, words)
