"""The schema registry: the envelope's contract, tools' contracts, and `jsonschema` as a second opinion."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import ROOT
from signet.kernel.schemas import Contract, ContractError, SchemaRegistry, ToolIO, slug_of

SCHEMAS = ROOT / "codex/specs/schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
PARAMS: dict[str, Any] = {"tool": "mcp.tool:vector.query.search", "input": {"query": "retrieval", "topK": 5}}
ENVELOPE: dict[str, Any] = {"jsonrpc": "2.0", "id": "req-123", "method": "mcp.tool.invoke", "params": PARAMS}


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name != key}


def with_params(**changes: Any) -> dict[str, Any]:
    return {**ENVELOPE, "params": {**PARAMS, **changes}}


ACCEPTED: dict[str, Any] = {
    "whole": ENVELOPE,
    "id zero": {**ENVELOPE, "id": 0},
    "id negative": {**ENVELOPE, "id": -1},
    "id integral float": {**ENVELOPE, "id": 1.0},
    "id text": {**ENVELOPE, "id": "x"},
    "input empty": with_params(input={}),
    "context empty": with_params(context={}),
    "context full": with_params(context={"traceparent": "00-1", "deep": [1]}),
    "another method": {**ENVELOPE, "method": "tools/call"},
    "tool of dots": with_params(tool="mcp.tool:..."),
    "tool with digits": with_params(tool="mcp.tool:a1_b.c2"),
    "params with _meta": with_params(_meta={}),
    "params with an extra": with_params(extra=1),
}
REJECTED: dict[str, Any] = {
    "id missing": without(ENVELOPE, "id"),
    "id null": {**ENVELOPE, "id": None},
    "id empty": {**ENVELOPE, "id": ""},
    "id fraction": {**ENVELOPE, "id": 1.5},
    "id true": {**ENVELOPE, "id": True},
    "id list": {**ENVELOPE, "id": []},
    "id object": {**ENVELOPE, "id": {}},
    "jsonrpc missing": without(ENVELOPE, "jsonrpc"),
    "jsonrpc 1.0": {**ENVELOPE, "jsonrpc": "1.0"},
    "jsonrpc number": {**ENVELOPE, "jsonrpc": 2.0},
    "jsonrpc null": {**ENVELOPE, "jsonrpc": None},
    "method missing": without(ENVELOPE, "method"),
    "method empty": {**ENVELOPE, "method": ""},
    "method number": {**ENVELOPE, "method": 5},
    "params missing": without(ENVELOPE, "params"),
    "params string": {**ENVELOPE, "id": "req-456", "params": "not-an-object"},
    "params list": {**ENVELOPE, "params": []},
    "params null": {**ENVELOPE, "params": None},
    "params empty": {**ENVELOPE, "params": {}},
    "tool missing": {**ENVELOPE, "params": without(PARAMS, "tool")},
    "tool without prefix": with_params(tool="vector.query.search"),
    "tool in upper case": with_params(tool="mcp.tool:Vector"),
    "tool with hyphen": with_params(tool="mcp.tool:vector-query"),
    "tool with slash": with_params(tool="mcp.tool:vector/query"),
    "tool with two colons": with_params(tool="mcp.tool:vector:query"),
    "tool after a blank": with_params(tool=" mcp.tool:vector"),
    "tool with line end": with_params(tool="mcp.tool:vector\n"),
    "tool after a line": with_params(tool="x\nmcp.tool:vector"),
    "tool with another dot": with_params(tool="mcpxtool:vector"),
    "tool of no domain": with_params(tool="mcp.tool:"),
    "tool number": with_params(tool=5),
    "input missing": {**ENVELOPE, "params": without(PARAMS, "input")},
    "input list": with_params(input=[]),
    "input null": with_params(input=None),
    "input string": with_params(input="{}"),
    "context null": with_params(context=None),
    "context list": with_params(context=[]),
    "extra meta": {**ENVELOPE, "meta": {}},
    "extra idempotencyKey": {**ENVELOPE, "idempotencyKey": "k"},
    "extra result": {**ENVELOPE, "result": {}},
    "list": [ENVELOPE],
    "string": "envelope",
    "null": None,
}

SEARCH_INPUT: dict[str, Any] = {
    "$schema": DRAFT,
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "topK": {"type": "integer", "minimum": 1, "maximum": 10},
        "filters": {"type": "object"},
    },
    "required": ["query", "topK"],
    "additionalProperties": False,
}
SEARCH_HIT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "score": {"type": "number"},
        "rank": {"type": "integer", "minimum": 1},
        "document": {
            "type": "object",
            "properties": {key: {"type": "string"} for key in ("title", "snippet", "sourcePath")},
            "required": ["title", "snippet", "sourcePath"],
        },
    },
    "required": ["id", "score", "rank", "document"],
}
SEARCH_OUTPUT: dict[str, Any] = {
    "$schema": DRAFT,
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "total": {"type": "integer", "minimum": 0},
        "hits": {"type": "array", "items": SEARCH_HIT},
    },
    "required": ["query", "total", "hits"],
    "additionalProperties": False,
}
SEARCH = {"tool": "vector.query.search", "input": SEARCH_INPUT, "output": SEARCH_OUTPUT}
HIT = {"id": "d1", "score": 0.5, "rank": 1, "document": {"title": "t", "snippet": "s", "sourcePath": "p", "year": 1}}

BUNDLES: dict[str, tuple[bool, Any]] = {
    "whole": (True, SEARCH),
    "without output": (True, without(SEARCH, "output")),
    "with empty schemas": (True, {"tool": "a", "input": {}, "output": {}}),
    "without tool": (False, without(SEARCH, "tool")),
    "without input": (False, without(SEARCH, "input")),
    "with the prefix": (False, {**SEARCH, "tool": "mcp.tool:vector.query.search"}),
    "with an empty tool": (False, {**SEARCH, "tool": ""}),
    "with an upper-case tool": (False, {**SEARCH, "tool": "Vector"}),
    "with a line end in its tool": (False, {**SEARCH, "tool": "vector\n"}),
    "with a tool that is no text": (False, {**SEARCH, "tool": 5}),
    "with an extra key": (False, {**SEARCH, "version": "1"}),
    "with a list as input": (False, {**SEARCH, "input": []}),
    "with a boolean as input": (False, {**SEARCH, "input": True}),
    "with null as output": (False, {**SEARCH, "output": None}),
    "as a list": (False, [SEARCH]),
}


@pytest.fixture(scope="module")
def registry() -> SchemaRegistry:
    return SchemaRegistry(schema_root=SCHEMAS)


def root_with(folder: Path, bundles: dict[str, Any]) -> Path:
    """Make a schema root with the two true schemas and these bundles, by file stem."""
    (folder / "tools").mkdir()
    for name in ("envelope.schema.json", "tool_io.schema.json"):
        shutil.copy(SCHEMAS / name, folder / name)
    for stem, bundle in bundles.items():
        text = bundle if isinstance(bundle, str) else json.dumps(bundle)
        (folder / "tools" / f"{stem}.json").write_text(text, encoding="utf-8")
    return folder


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return loaded


# Where the schemas are


@pytest.mark.spec("5.envelope.location", "5.registry.descriptor")
def test_the_promised_location_is_a_link_onto_the_one_true_folder() -> None:
    resolved = SCHEMAS.resolve()

    assert (SCHEMAS.is_symlink(), resolved) == (True, ROOT / "src/signet/schemas")
    assert {"envelope.schema.json", "tool_io.schema.json", "tools"} <= {path.name for path in resolved.iterdir()}


@pytest.mark.spec("5.envelope.draft", "5.registry.descriptor")
@pytest.mark.parametrize("name", ["envelope.schema.json", "tool_io.schema.json"])
def test_both_schemas_declare_draft_2020_12_and_keep_to_it(name: str) -> None:
    loaded = schema(name)

    jsonschema.Draft202012Validator.check_schema(loaded)
    assert loaded["$schema"] == DRAFT


@pytest.mark.spec("5.envelope.location")
def test_the_file_at_the_promised_location_states_the_fields_of_the_spec() -> None:
    loaded = json.loads((ROOT / "codex/specs/schemas/envelope.schema.json").read_text(encoding="utf-8"))

    assert (loaded["type"], sorted(loaded["required"])) == ("object", ["id", "jsonrpc", "method", "params"])
    assert loaded["properties"]["jsonrpc"]["const"] == "2.0"
    params = loaded["properties"]["params"]
    assert (params["type"], sorted(params["required"])) == ("object", ["input", "tool"])
    assert params["properties"]["input"]["type"] == "object"
    assert params["properties"]["tool"]["pattern"].startswith("^mcp\\.tool:")


@pytest.mark.spec("5.registry.bundle-location")
def test_every_bundle_of_ours_keeps_the_descriptor_and_is_named_by_its_slug() -> None:
    """A bundle is a slug, an input schema and perhaps an output schema, and nothing else."""
    files = sorted((SCHEMAS / "tools").glob("*.json"))

    bundles = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}

    assert "plantuml.encode" in bundles
    assert {stem: bundle["tool"] for stem, bundle in bundles.items()} == {stem: stem for stem in bundles}
    assert {frozenset(bundle) for bundle in bundles.values()} <= {
        frozenset({"tool", "input"}),
        frozenset({"tool", "input", "output"}),
    }
    assert {type(bundle.get(side, {})) for bundle in bundles.values() for side in ("input", "output")} == {dict}


@pytest.mark.spec("5.registry.draft")
def test_both_schemas_of_every_bundle_of_ours_are_valid_draft_2020_12() -> None:
    registry = SchemaRegistry(schema_root=SCHEMAS)

    for path in sorted((SCHEMAS / "tools").glob("*.json")):
        bundle = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(bundle["input"])
        jsonschema.Draft202012Validator.check_schema(bundle.get("output", {}))
        registry.load_tool_io(path.stem)


# The envelope


@pytest.mark.spec("5.envelope.open-params", "5.envelope.id-kinds", "5.envelope.context", "5.envelope.method-free")
@pytest.mark.parametrize("name", ACCEPTED)
def test_a_good_envelope_is_accepted(registry: SchemaRegistry, name: str) -> None:
    envelope = registry.load_envelope()

    envelope.validate(ACCEPTED[name])

    assert envelope.is_valid(ACCEPTED[name]) is True


@pytest.mark.spec(
    "5.envelope.required-id",
    "5.envelope.required-jsonrpc",
    "5.envelope.required-method",
    "5.envelope.required-params",
    "5.envelope.jsonrpc-literal",
    "5.envelope.params-object",
    "5.envelope.tool",
    "5.envelope.input",
    "5.envelope.id-kinds",
    "5.envelope.context",
    "5.envelope.closed-top",
)
@pytest.mark.parametrize("name", REJECTED)
def test_a_bad_envelope_is_rejected(registry: SchemaRegistry, name: str) -> None:
    envelope = registry.load_envelope()

    with pytest.raises(ContractError):
        envelope.validate(REJECTED[name])

    assert envelope.is_valid(REJECTED[name]) is False


@pytest.mark.spec("5.envelope.draft")
@pytest.mark.parametrize("name", [*ACCEPTED, *REJECTED])
def test_jsonschema_is_of_the_same_opinion_about_an_envelope(registry: SchemaRegistry, name: str) -> None:
    instance = {**ACCEPTED, **REJECTED}[name]
    second = jsonschema.Draft202012Validator(schema("envelope.schema.json"))

    opinions = (registry.load_envelope().is_valid(instance), second.is_valid(instance))

    assert opinions == (name in ACCEPTED, name in ACCEPTED)


@pytest.mark.spec("5.envelope.params-object")
@given(params=st.text(min_size=1))
def test_any_non_empty_string_as_params_is_rejected(registry: SchemaRegistry, params: str) -> None:
    with pytest.raises(ContractError):
        registry.load_envelope().validate({**ENVELOPE, "params": params})


@pytest.mark.spec("5.envelope.tool")
@given(domain=st.text())
def test_a_tool_is_the_prefix_and_a_dotted_slug_and_nothing_else(registry: SchemaRegistry, domain: str) -> None:
    is_slug = domain != "" and set(domain) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.")
    second = jsonschema.Draft202012Validator(schema("envelope.schema.json"))
    instance = with_params(tool="mcp.tool:" + domain)

    opinions = (registry.load_envelope().is_valid(instance), second.is_valid(instance))

    assert opinions == (is_slug, is_slug)


@pytest.mark.spec("5.envelope.required-method", "5.registry.places")
def test_a_missing_method_is_named(registry: SchemaRegistry) -> None:
    with pytest.raises(ContractError) as caught:
        registry.load_envelope().validate(REJECTED["method missing"])

    ((_, message),) = caught.value.places
    assert "method" in message


@pytest.mark.spec("5.envelope.params-object", "5.registry.places")
def test_params_that_are_no_object_are_named_with_what_they_should_be(registry: SchemaRegistry) -> None:
    with pytest.raises(ContractError) as caught:
        registry.load_envelope().validate(REJECTED["params string"])

    ((path, message),) = caught.value.places
    assert ("params" in str(path), "object" in message) == (True, True)


@pytest.mark.spec("5.registry.places")
def test_every_place_is_named_and_the_error_is_a_value_error(registry: SchemaRegistry) -> None:
    broken = {**ENVELOPE, "jsonrpc": "1.0", "method": 5, "params": {"tool": "mcp.tool:x", "input": []}}

    with pytest.raises(ValueError, match=r".+") as caught:
        registry.load_envelope().validate(broken)

    assert isinstance(caught.value, ContractError)
    paths = sorted(str(path) for path, _ in caught.value.places)
    assert paths == ["jsonrpc", "method", "params.input"]


@pytest.mark.spec("5.registry.pure")
@pytest.mark.parametrize("name", ["whole", "method missing", "params string", "input list"])
def test_validating_leaves_the_value_as_it_was(registry: SchemaRegistry, name: str) -> None:
    instance = {**ACCEPTED, **REJECTED}[name]
    before = json.dumps(instance)

    registry.load_envelope().is_valid(instance)

    assert json.dumps(instance) == before


@pytest.mark.spec("5.registry.pure")
@pytest.mark.parametrize("given", [{}, {"a": None}, {"a": None, "b": {"c": None}}, {"b": 5}])
def test_validating_fills_in_no_default_and_takes_out_no_null(tmp_path: Path, given: dict[str, Any]) -> None:
    optional = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    inner = {"type": "object", "properties": {"c": optional}, "default": {"c": "d"}}
    bundle = {"tool": "filling", "input": {"type": "object", "properties": {"a": optional, "b": inner}}}
    io = SchemaRegistry(schema_root=root_with(tmp_path, {"filling": bundle})).load_tool_io("filling")
    before = json.dumps(given)

    answers = (io.input_validator.is_valid(given), io.input_validator.places(given) == [])

    assert answers == (given != {"b": 5},) * 2
    assert json.dumps(given) == before


# The registry


@pytest.mark.spec("5.registry.root")
def test_the_root_is_a_keyword_and_may_be_text_or_a_path(tmp_path: Path) -> None:
    there = root_with(tmp_path, {"only.here": {"tool": "only.here", "input": {"required": ["here"]}}})

    for root in (there, str(there)):
        contract = SchemaRegistry(schema_root=root).load_tool_io("only.here").input_validator
        assert [contract.is_valid(value) for value in ({"here": 1}, {})] == [True, False]

    with pytest.raises(TypeError):
        SchemaRegistry(there)  # type: ignore[call-arg]


@pytest.mark.spec("5.registry.same-object")
def test_repeated_loads_give_the_same_objects(tmp_path: Path) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH}))

    first, second = registry.load_tool_io("vector.query.search"), registry.load_tool_io("vector.query.search")

    assert registry.load_envelope() is registry.load_envelope()
    assert first.input_validator is second.input_validator
    assert first.output_validator is second.output_validator


@pytest.mark.spec("5.registry.slug-or-id", "5.registry.same-object", "5.registry.root")
@pytest.mark.parametrize("name", ["vector.query.search", "mcp.tool:vector.query.search"])
def test_a_tool_that_was_loaded_by_either_name_needs_its_file_no_more(tmp_path: Path, name: str) -> None:
    root = root_with(tmp_path, {"vector.query.search": SEARCH})
    registry = SchemaRegistry(schema_root=root)

    first = registry.load_tool_io(name)
    (root / "tools/vector.query.search.json").unlink()
    again = [registry.load_tool_io(other) for other in ("vector.query.search", "mcp.tool:vector.query.search")]

    assert [first.input_validator.is_valid(one) for one in ({"query": "x", "topK": 1}, {"topK": 1})] == [True, False]
    assert [one.input_validator is first.input_validator for one in again] == [True, True]
    assert [one.output_validator is first.output_validator for one in again] == [True, True]


@pytest.mark.spec("5.registry.slug-or-id")
def test_a_tool_is_found_by_slug_and_by_canonical_id(tmp_path: Path) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH}))

    by_id, by_slug = registry.load_tool_io("mcp.tool:vector.query.search"), registry.load_tool_io("vector.query.search")

    assert (by_id.input_validator, by_id.output_validator) == (by_slug.input_validator, by_slug.output_validator)


@pytest.mark.spec("5.registry.fingerprint")
def test_equal_schemas_share_one_validator_whatever_their_key_order(tmp_path: Path) -> None:
    turned = dict(reversed(SEARCH_INPUT.items()))
    twin = {"output": turned, "input": turned, "tool": "twin"}
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH, "twin": twin}))

    search, other = registry.load_tool_io("vector.query.search"), registry.load_tool_io("twin")

    assert other.input_validator is search.input_validator
    assert other.output_validator is search.input_validator
    assert search.output_validator is not search.input_validator


@pytest.mark.spec("5.registry.fingerprint")
def test_schemas_that_differ_have_their_own_validators(tmp_path: Path) -> None:
    wider = {**SEARCH, "tool": "wider", "input": without(SEARCH_INPUT, "required")}
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH, "wider": wider}))

    opinions = [registry.load_tool_io(tool).input_validator.is_valid({}) for tool in ("vector.query.search", "wider")]

    assert opinions == [False, True]


@pytest.mark.spec("5.registry.load-tool-io")
def test_the_record_of_a_tool_cannot_be_changed(tmp_path: Path) -> None:
    record = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH})).load_tool_io(
        "vector.query.search"
    )

    with pytest.raises(AttributeError):
        record.input_validator = record.output_validator  # type: ignore[misc]


@pytest.mark.spec("5.registry.load-tool-io", "5.registry.input", "5.registry.bundle-location", "5.registry.root")
@pytest.mark.parametrize(
    ("payload", "good"),
    [
        ({"query": "x", "topK": 3}, True),
        ({"query": "x", "topK": 10, "filters": {"a": 1}}, True),
        ({"topK": 3}, False),
        ({"query": "x"}, False),
        ({"query": "", "topK": 3}, False),
        ({"query": "x", "topK": 11}, False),
        ({"query": "x", "topK": 0}, False),
        ({"query": "x", "topK": "3"}, False),
        ({"query": "x", "topK": 3, "extra": 1}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_an_input_is_held_to_its_schema(tmp_path: Path, payload: Any, *, good: bool) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH}))
    second = jsonschema.Draft202012Validator(SEARCH_INPUT)

    opinions = (
        registry.load_tool_io("vector.query.search").input_validator.is_valid(payload),
        second.is_valid(payload),
    )

    assert opinions == (good, good)


@pytest.mark.spec("5.registry.input", "5.registry.places")
def test_a_missing_query_is_named(tmp_path: Path) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH}))

    with pytest.raises(ContractError) as caught:
        registry.load_tool_io("vector.query.search").input_validator.validate({"topK": 3})

    ((_, message),) = caught.value.places
    assert "query" in message


@pytest.mark.spec("5.registry.load-tool-io", "5.registry.output")
@pytest.mark.parametrize(
    ("payload", "good"),
    [
        ({"query": "x", "total": 1, "hits": [HIT]}, True),
        ({"query": "x", "total": 0, "hits": []}, True),
        ({"query": "x", "total": 1, "hits": [without(HIT, "score")]}, False),
        ({"query": "x", "total": 1, "hits": [{**HIT, "rank": 0}]}, False),
        ({"query": "x", "total": 1, "hits": [{**HIT, "document": {"title": "t"}}]}, False),
        ({"query": "x", "total": 1, "hits": HIT}, False),
        ({"query": "x", "total": -1, "hits": []}, False),
        ({"query": "x", "hits": []}, False),
        ({"query": "x", "total": 0, "hits": [], "debug": True}, False),
        ("hits", False),
    ],
)
def test_an_output_is_held_to_its_schema(tmp_path: Path, payload: Any, *, good: bool) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH}))
    second = jsonschema.Draft202012Validator(SEARCH_OUTPUT)

    opinions = (
        registry.load_tool_io("vector.query.search").output_validator.is_valid(payload),
        second.is_valid(payload),
    )

    assert opinions == (good, good)


@pytest.mark.spec("5.registry.missing-output")
@pytest.mark.parametrize(
    ("payload", "good"), [({}, True), ({"a": [1]}, True), ([], False), ("x", False), (None, False)]
)
def test_a_bundle_without_output_accepts_any_object(tmp_path: Path, payload: Any, *, good: bool) -> None:
    bundle = without(SEARCH, "output")
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": bundle}))

    opinion = registry.load_tool_io("vector.query.search").output_validator.is_valid(payload)

    assert opinion is good


@pytest.mark.spec("5.registry.draft")
def test_validators_speak_draft_2020_12(tmp_path: Path) -> None:
    """`prefixItems` and `unevaluatedProperties` mean nothing in older drafts."""
    schema = {
        "type": "object",
        "properties": {"pair": {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}},
        "unevaluatedProperties": False,
    }
    bundle = {"tool": "pair", "input": schema, "output": schema}
    record = SchemaRegistry(schema_root=root_with(tmp_path, {"pair": bundle})).load_tool_io("pair")
    instances: list[Any] = [{"pair": [1, "x"]}, {"pair": ["x", 1]}, {"pair": [1, "x", 2]}, {"other": 1}]

    opinions = [(record.input_validator.is_valid(one), record.output_validator.is_valid(one)) for one in instances]

    assert opinions == [(True, True), (False, False), (False, False), (False, False)]


@pytest.mark.spec("5.registry.unknown-tool")
@pytest.mark.parametrize(
    "unknown",
    [
        "no.such.tool",
        "mcp.tool:no.such.tool",
        "",
        "mcp.tool:",
        "mcp.tool:mcp.tool:vector.query.search",
        "Vector.Query.Search",
        "vector-query-search",
        "../envelope.schema",
        "../tools/vector.query.search",
        "vector.query.search.json",
        "vector.query.search\n",
        "vector.query.search\0",
        "/",
        "é",
    ],
)
def test_an_unknown_tool_is_a_key_error(tmp_path: Path, unknown: str) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH}))

    with pytest.raises(KeyError):
        registry.load_tool_io(unknown)


@pytest.mark.spec("5.registry.unknown-tool")
@pytest.mark.parametrize("name", ["../outside", "/outside", "mcp.tool:../outside", "tools/inside", "inside.json"])
def test_no_name_leads_to_a_file_that_is_no_bundle_of_the_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    registry = SchemaRegistry(schema_root=root_with(root, {"inside": {**SEARCH, "tool": "inside"}}))
    for place in ("outside.json", "root/outside.json", "root/tools/nested/inside.json"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(json.dumps({**SEARCH, "tool": name}), encoding="utf-8")

    for load in (registry.load_tool_io, registry.load_bundle):
        with pytest.raises(KeyError):
            load(name)

    assert registry.load_bundle("inside").tool == "inside"


@pytest.mark.spec("5.registry.descriptor")
@pytest.mark.parametrize("name", BUNDLES)
def test_the_descriptor_accepts_whole_bundles_only(tmp_path: Path, name: str) -> None:
    """The descriptor itself, compiled by the registry, against `jsonschema`."""
    good, bundle = BUNDLES[name]
    checker = {"tool": "checker", "input": without(schema("tool_io.schema.json"), "$id")}
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"checker": checker}))
    second = jsonschema.Draft202012Validator(schema("tool_io.schema.json"))

    opinions = (registry.load_tool_io("checker").input_validator.is_valid(bundle), second.is_valid(bundle))

    assert opinions == (good, good)


@pytest.mark.spec("5.registry.broken-bundle")
@pytest.mark.parametrize(
    "bundle",
    [
        "{not json",
        "",
        without(SEARCH, "input"),
        without(SEARCH, "tool"),
        {**SEARCH, "version": "1"},
        {**SEARCH, "tool": "mcp.tool:vector.query.search"},
        {**SEARCH, "tool": "another.tool"},
        {**SEARCH, "input": []},
        {**SEARCH, "output": None},
        [SEARCH],
        {**SEARCH, "input": {"type": "strin"}},
        {**SEARCH, "output": {"type": "object", "properties": {"a": {"minLength": -1}}}},
        {**SEARCH, "input": {"type": "object", "required": "query"}},
        {**SEARCH, "input": {"type": "object", "properties": {"a": {"pattern": "("}}}},
        {**SEARCH, "input": {"$ref": "#/$defs/nowhere"}},
        {**SEARCH, "input": {"$ref": "https://elsewhere.example/schema.json"}},
    ],
    ids=[
        "not JSON",
        "empty file",
        "no input",
        "no tool",
        "extra key",
        "prefixed tool",
        "another tool",
        "input list",
        "output null",
        "list",
        "unknown type",
        "negative length",
        "required text",
        "bad pattern",
        "dangling ref",
        "remote ref",
    ],
)
def test_a_broken_bundle_is_a_value_error_that_names_its_file(tmp_path: Path, bundle: Any) -> None:
    root = root_with(tmp_path, {"vector.query.search": bundle})

    with pytest.raises(ValueError, match=r"vector\.query\.search\.json"):
        SchemaRegistry(schema_root=root).load_tool_io("vector.query.search")


@pytest.mark.spec("5.registry.broken-bundle")
def test_a_broken_bundle_does_not_spoil_its_neighbours(tmp_path: Path) -> None:
    registry = SchemaRegistry(schema_root=root_with(tmp_path, {"vector.query.search": SEARCH, "broken": "{"}))

    with pytest.raises(ValueError, match=r"broken\.json"):
        registry.load_tool_io("broken")

    assert registry.load_tool_io("vector.query.search").input_validator.is_valid({"query": "x", "topK": 1}) is True


@pytest.mark.spec("5.registry.broken-bundle")
@pytest.mark.parametrize("text", ["{", '{"type": "strin"}'])
def test_a_broken_envelope_schema_is_a_value_error_that_names_its_file(tmp_path: Path, text: str) -> None:
    root = root_with(tmp_path, {})
    (root / "envelope.schema.json").write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=r"envelope\.schema\.json"):
        SchemaRegistry(schema_root=root).load_envelope()


# PlantUML's own contract


@pytest.mark.spec("5.registry.load-tool-io", "5.registry.input", "5.registry.output")
def test_the_encoder_is_under_contract_both_ways(registry: SchemaRegistry) -> None:
    record = registry.load_tool_io("plantuml.encode")
    good = {"url": "https://www.plantuml.com/plantuml/svg/SmG0", "encoded": "SmG0", "format": "svg"}

    inputs = [record.input_validator.is_valid(one) for one in ({"plantumlCode": "A"}, {}, {"plantumlCode": 5})]
    outputs = [
        record.output_validator.is_valid(one)
        for one in (good, *(without(good, key) for key in good), {**good, "format": "png"}, {**good, "encoded": ""})
    ]

    assert inputs == [True, False, False]
    assert outputs == [True, False, False, False, False, False]


def test_a_slug_may_have_every_character_of_slugs() -> None:
    assert slug_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == "abcdefghijklmnopqrstuvwxyz0123456789_."


def test_a_contract_of_an_older_draft_is_read_as_that_draft_reads_it() -> None:
    """`prefixItems` is a rule of 2020-12, and a word without meaning in draft 7."""
    schema = {"prefixItems": [{"type": "integer"}]}

    assert Contract(schema, "", jsonschema_rs.Draft7Validator).is_valid(["x"])
    assert not Contract(schema, "").is_valid(["x"])


# --- the example of spec 5 -----------------------------------------------------------------------


@pytest.fixture
def example() -> ToolIO:
    registry = SchemaRegistry(schema_root=SCHEMAS, tool_roots=(str(ROOT / "tests/fixtures/schemas"),))
    return registry.load_tool_io("mcp.tool:vector.query.search")


def test_a_payload_without_its_query_is_an_error_of_jsonschema_too(example: ToolIO) -> None:
    with pytest.raises(jsonschema.ValidationError, match="query") as caught:
        example.input_validator.validate({"topK": 3})

    assert isinstance(caught.value, ContractError)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == caught.value.message == '"query" is a required property'
    assert len(caught.value.places) == 1


@pytest.mark.parametrize("result", [{}, {"hits": {}}, {"hits": [{"id": "a"}]}])
def test_a_result_without_the_shape_of_hits_is_rejected(example: ToolIO, result: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        example.output_validator.validate(result)


def test_the_example_of_the_spec_keeps_its_contract(example: ToolIO) -> None:
    example.input_validator.validate(PARAMS["input"])
    example.output_validator.validate({"hits": [{"id": "a", "score": 0.5, "metadata": {}}]})


def test_without_jsonschema_the_error_is_a_value_error_alone() -> None:
    """The package is looked up among the loaded modules, and never imported."""
    probe = """
import sys
from signet.kernel.schemas import ContractError, SchemaRegistry
try:
    SchemaRegistry(schema_root=sys.argv[1]).load_envelope().validate({})
except ValueError as error:
    print(type(error) is ContractError, "jsonschema" in sys.modules)
"""

    done = subprocess.run([sys.executable, "-c", probe, str(SCHEMAS)], capture_output=True, text=True, check=True)

    assert done.stdout == "True False\n"


@pytest.mark.parametrize(
    ("dialect", "is_taken"),
    [
        ("https://json-schema.org/draft/2020-12/schema", True),
        ("http://json-schema.org/draft-07/schema#", True),
        ("https://json-schema.org/draft/2019-09/schema", True),
        ("http://json-schema.org/schema#", True),
        ("https://json-schema.org/draft/2020-12/meta/core", False),
        ("https://json-schema.org/draft/2020-12/schema/without-validation", False),
        ("http://localhost:1234/draft2020-12/metaschema-no-validation.json", False),
        ("urn:example:dialect", False),
        (5, False),
    ],
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_a_dialect_that_somebody_made_is_refused(
    tmp_path: Path, dialect: object, is_taken: bool, is_nested: bool
) -> None:
    """It could take vocabularies away, and a contract that checks nothing would look like one that does."""
    schema: dict[str, Any] = {"$schema": dialect, "type": "object", "properties": {"n": {"minimum": 10}}}
    if is_nested:
        schema = {"type": "object", "allOf": [{"$id": "urn:example:nested", **schema}]}
    bundle = {"tool": "x", "input": schema, "output": {"type": "object"}}
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/x.json").write_text(json.dumps(bundle))
    registry = SchemaRegistry(schema_root=SCHEMAS, tool_roots=(str(tmp_path),))

    if is_taken:
        assert not registry.load_tool_io("x").input_validator.is_valid({"n": 9})
    else:
        with pytest.raises(ValueError, match=r"its \$schema .* is not a draft of JSON Schema; leave it out, or name"):
            registry.load_tool_io("x")
