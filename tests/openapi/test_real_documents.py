"""Every operation of real documents is called, against a mock that reads the requests by the documents themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .every_operation import EXAMPLES, FIGMA, mistakes, opened, read
from .large_document import OPERATIONS, large_document
from .mock_service import MockService

DOCUMENTS = {
    "Figma, 3.1 in YAML": (FIGMA, 54),
    "Star Trek, 3.0 with forms": (EXAMPLES / "3.0/json/star-trek.json", 120),
    "Pet store, 3.0": (EXAMPLES / "3.0/json/petstore.json", 20),
    "Pet store, 3.1 in YAML": (EXAMPLES / "3.1/yaml/petstore.yaml", 20),
    "all styles, 3.0": (EXAMPLES / "3.0/json/parameters-style.json", 25),
    "all styles, 3.1": (EXAMPLES / "3.1/json/parameters-style.json", 25),
    "discriminators": (EXAMPLES / "3.0/json/discriminators.json", 10),
    "polymorphism": (EXAMPLES / "3.0/json/polymorphism.json", 13),
    "deep nesting": (EXAMPLES / "3.0/json/complex-nesting.json", 5),
    "a form": (EXAMPLES / "3.0/json/form-data.json", 1),
    "styles of a form": (EXAMPLES / "3.0/json/schema-encoding-style.json", 1),
}


@pytest.mark.parametrize(("path", "operations"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_every_operation_of_a_document_is_a_tool_whose_request_the_document_knows(path: Path, operations: int) -> None:
    assert len(MockService(read(path)).operations) == operations
    assert list(mistakes(path)) == []


def test_every_operation_of_a_large_document_is_a_tool(tmp_path: Path) -> None:
    path = tmp_path / "things.json"
    path.write_text(json.dumps(large_document()))

    assert path.stat().st_size > 2_500_000
    assert len(opened(path, "path:/*").tools()) == OPERATIONS
    assert [wrong for group in ("group-3", "group-11") for wrong in mistakes(path, group)] == []


EVERY = [path for version in ("3.0", "3.1") for path in sorted((EXAMPLES / version / "json").rglob("*.json"))]


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_the_contracts_of_every_example_compile(path: Path) -> None:
    from jsonschema_rs import Draft202012Validator, meta

    if not any(isinstance(item, dict) for item in read(path).get("paths", {}).values()):
        return
    for bundle in opened(path).bundles().values():
        for side in ("input", "output"):
            schema = json.loads(bundle)[side]

            assert schema["type"] == "object"
            meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
            Draft202012Validator(schema)
