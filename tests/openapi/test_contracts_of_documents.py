"""The contracts that operations become: schemas of 3.0 and 3.1, merged arguments, wrapped results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signet.openapi.toolset import DocumentError

from .documents import contracts, document, made, operation, written


def result(schema: Any) -> Any:
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


def prop(folder: Path, schema: Any, version: str = "3.0.3", **components: Any) -> Any:
    """Return the schema of an argument `a`, whose property has a schema."""
    body = {"type": "object", "properties": {"a": schema}}
    made_ = contracts(folder, operation(body=body), version, components={"schemas": components})
    return made_["input"]["properties"]["a"]


@pytest.mark.parametrize(
    ("schema", "modern"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"nullable": True, "description": "d", "allOf": [{"type": "string"}]},
         {"description": "d", "anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
        ({"nullable": True}, {}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": False}, {"type": "number", "minimum": 1}),
        ({"type": "number", "maximum": 9, "exclusiveMaximum": True}, {"type": "number", "exclusiveMaximum": 9}),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "string", "xml": {"name": "b"}, "x-other": 1, "externalDocs": {}}, {"type": "string"}),
        ({"oneOf": [{"type": "string"}], "discriminator": {"propertyName": "k"}}, {"anyOf": [{"type": "string"}]}),
        ({"oneOf": [{"minLength": 1}], "anyOf": [{"maxLength": 2}]},
         {"anyOf": [{"minLength": 1}], "allOf": [{"anyOf": [{"maxLength": 2}]}]}),
    ],
)  # fmt: skip
def test_a_schema_of_3_0_is_rewritten(tmp_path: Path, schema: Any, modern: Any) -> None:
    assert prop(tmp_path, schema) == modern


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "examples": ["x"]},
        {"type": "number", "exclusiveMinimum": 1},
        {"const": 1, "description": "d"},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "unevaluatedProperties": False},
    ],
)
def test_a_schema_of_3_1_stays_as_it_is(tmp_path: Path, schema: Any) -> None:
    assert prop(tmp_path, schema, "3.1.0") == schema


def test_what_stands_beside_a_reference_counts_in_3_1_and_only_in_part_in_3_0(tmp_path: Path) -> None:
    beside = {"$ref": "#/components/schemas/T", "description": "d", "maxLength": 2}

    assert prop(tmp_path, beside, "3.1.0", T={"type": "string"}) == {
        "$ref": "#/$defs/T", "description": "d", "maxLength": 2,
    }  # fmt: skip
    assert prop(tmp_path, beside, "3.0.0", T={"type": "string"}) == {"$ref": "#/$defs/T", "description": "d"}


def test_circles_are_kept_as_definitions_and_only_those_that_are_needed(tmp_path: Path) -> None:
    schemas = {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}},
        "Other": {"type": "string"},
    }
    one = operation(body={"type": "array", "items": {"$ref": "#/components/schemas/Node"}})

    got = contracts(tmp_path, one, components={"schemas": schemas})

    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert got["input"] == {
        "type": "object",
        "properties": {"body": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        "required": ["body"],
        "$defs": {"Node": node},
    }


def test_references_to_other_files_are_followed_from_where_they_stand(tmp_path: Path) -> None:
    written(tmp_path, "Pet:\n  type: object\n  properties:\n    owner: {$ref: 'sub/owner.json#/~1o~0'}", "pets.yaml")
    written(tmp_path, {"/o~": {"type": "string"}, "x": {"$ref": "../pets.yaml#/Pet"}}, "sub/owner.json")
    paths = {"/x": {"$ref": "paths.json"}}
    body = {"$ref": "pets.yaml#/Pet"}
    written(tmp_path, {"post": operation(body=body, response={"$ref": "sub/owner.json#/x"})}, "paths.json")

    (bundle,) = made(tmp_path, document(paths)).bundles().values()

    got = json.loads(bundle)
    owner = {"owner": {"$ref": "#/$defs/o"}}
    assert got["input"] == {"type": "object", "properties": owner, "$defs": {"o": {"type": "string"}}}
    assert got["output"] == {"type": "object", "properties": owner, "$defs": {"o": {"type": "string"}}}


def test_one_name_in_four_places_is_four_arguments(tmp_path: Path) -> None:
    parameters = [{"name": "id", "in": place, "required": True, "schema": {"type": "integer"}}
                  for place in ("header", "query", "path", "cookie")]  # fmt: skip
    one = operation(parameters, body={"type": "object", "properties": {"id": {"type": "string"}, "n": {"const": 1}}})

    (bundle,) = made(tmp_path, document({"/x/{id}": {"post": one}})).bundles().values()

    got = json.loads(bundle)["input"]
    assert list(got["properties"]) == ["id", "query_id", "header_id", "cookie_id", "body_id", "n"]
    assert got["required"] == ["id", "query_id", "header_id", "cookie_id"]


def test_names_that_clients_refuse_are_made_valid(tmp_path: Path) -> None:
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}} for name in ("filter[a]", "$top", "é", "a.b")
    ]

    got = contracts(tmp_path, operation(parameters))["input"]

    assert list(got["properties"]) == ["filter_a", "top", "query", "a.b"]


def test_a_body_that_says_more_than_its_properties_is_one_argument(tmp_path: Path) -> None:
    for body in ({"type": "object", "additionalProperties": {"type": "string"}, "properties": {"a": {}}},
                 {"type": "object", "properties": {"a": {}}, "minProperties": 1}, {"type": "array"}, {"anyOf": [{}]},
                 {"type": "object", "properties": {"a": {}}, "required": ["b"]}):  # fmt: skip
        assert contracts(tmp_path, operation(body=body))["input"]["properties"] == {"body": body}


def test_the_parts_of_a_body_are_merged_where_they_agree(tmp_path: Path) -> None:
    parts = [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
             {"type": "object", "properties": {"b": {"type": "integer"}}}]  # fmt: skip

    got = contracts(tmp_path, operation(body={"allOf": parts}))["input"]
    clash = contracts(tmp_path, operation(body={"allOf": [*parts, {"properties": {"a": {"type": "null"}}}]}))["input"]

    assert (list(got["properties"]), got["required"]) == (["b", "a"], ["a"])
    assert list(clash["properties"]) == ["body"]


def test_a_body_that_may_be_left_out_is_whole_or_absent(tmp_path: Path) -> None:
    one = operation(body={"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b"]})
    one["requestBody"]["required"] = False

    got = contracts(tmp_path, one)["input"]

    assert "required" not in got
    assert got["dependentRequired"] == {"a": ["b"], "b": ["a"], "c": ["a", "b"]}


def test_read_only_is_not_asked_for_and_write_only_not_promised(tmp_path: Path) -> None:
    thing = {
        "type": "object",
        "required": ["id", "name", "password"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "name": {"type": "string"},
            "password": {"type": "string", "writeOnly": True},
            "child": {"$ref": "#/components/schemas/Thing"},
        },
    }
    reference = {"$ref": "#/components/schemas/Thing"}

    got = contracts(tmp_path, operation(body=reference, response=reference), components={"schemas": {"Thing": thing}})

    assert list(got["input"]["properties"]) == ["name", "password", "child"]
    assert got["input"]["required"] == ["name", "password"]
    assert got["input"]["$defs"]["Thing"]["required"] == ["name", "password"]
    assert got["output"]["required"] == ["id", "name"]


@pytest.mark.parametrize(
    ("responses", "output"),
    [
        ({"200": {"type": "array", "items": {"type": "string"}}},
         result({"type": "array", "items": {"type": "string"}})),
        ({"200": {"type": "string"}},
         result({"type": "string"})),
        ({"201": {"type": "object", "properties": {"a": {}}}}, {"type": "object", "properties": {"a": {}}}),
        ({"200": {"properties": {"a": {}}}, "404": {"type": "string"}}, {"type": "object", "properties": {"a": {}}}),
        ({"200": {"type": "object"}, "204": None},
         {"type": "object", "anyOf": [{"type": "object", "properties": {}},
          {"type": "object", "properties": {"status": {"type": "integer"}}, "required": ["status"]}]}),
        ({"204": None}, {"type": "object", "properties": {"status": {"type": "integer"}}, "required": ["status"]}),
        ({"200": {"type": "string"}, "202": {"type": "integer"}},
         result({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
        ({"200": {"type": ["object", "null"]}},
         result({"type": ["object", "null"]})),
        ({"default": {"type": "string"}}, {"type": "object"}),
    ],
)  # fmt: skip
def test_the_output_is_an_object(tmp_path: Path, responses: dict[str, Any], output: Any) -> None:
    one = operation()
    one["responses"] = {
        status: {"description": "", **({"content": {"application/json": {"schema": schema}}} if schema else {})}
        for status, schema in responses.items()
    }

    assert contracts(tmp_path, one)["output"] == output


def test_tools_have_the_names_of_their_operations_whatever_is_chosen(tmp_path: Path) -> None:
    long = "x" * 70
    paths = {
        "/a": {"get": operation(operationId="list-Pets", tags=["pets"]), "post": operation(operationId="dup")},
        "/b/{id}": {"get": operation(), "delete": operation(operationId="Dup"), "put": operation(operationId=long)},
        "/c": {"get": operation(operationId="repos/get.one", tags=["pets"])},
    }

    every = {(tool.name, tool.slug) for tool in made(tmp_path, document(paths)).tools()}
    names = {name for name, _ in every}
    some = made(tmp_path, document(paths), "tag:pet*", "path:/b/*").tools()

    assert {"list-Pets", "get_b_id", "repos_get_one"} < names
    assert len(names) == len({slug for _, slug in every}) == 6
    assert all(len(name) <= 64 for name in names)
    assert {name.rpartition("_")[0].lower() for name in names} >= {"dup", "x" * 55}
    assert {(tool.name, tool.slug) for tool in some} < every
    assert [tool.name for tool in made(tmp_path, document(paths), "operation:dup").tools()] == [
        name for name in names if name.startswith("dup_")
    ]


def test_a_choice_that_cannot_be_used_is_told_with_the_tags(tmp_path: Path) -> None:
    value = document({"/a": {"get": operation(tags=["pets"])}})

    with pytest.raises(DocumentError, match="--include tags:pets cannot be used: write tag:NAME"):
        made(tmp_path, value, "tags:pets")
    with pytest.raises(DocumentError, match=r"chooses no operation; its tags are pets \(1\)"):
        made(tmp_path, value, "tag:none")


def test_annotations_and_texts_come_from_the_method_and_the_document(tmp_path: Path) -> None:
    one = operation(summary="Short.", description="Long.", deprecated=True)
    toolset = made(tmp_path, document({"/x": dict.fromkeys(("get", "put", "post", "delete"), one)}))

    found = {tool.name: dict(tool.annotations) for tool in toolset.tools()}

    assert found == {
        "get_x": {"openWorldHint": True, "readOnlyHint": True, "idempotentHint": True},
        "put_x": {"openWorldHint": True, "readOnlyHint": False, "idempotentHint": True},
        "post_x": {"openWorldHint": True},
        "delete_x": {"openWorldHint": True, "readOnlyHint": False, "idempotentHint": True, "destructiveHint": True},
    }
    assert {tool.description for tool in toolset.tools()} == {"Deprecated. Short.\n\nLong."}
    assert {tool.mode for tool in toolset.tools()} == {"shadow"}
