"""The OpenAPI page of each set of tools: every path once, every operation under its own name, nothing dangling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31

from processes import Server, serving, serving_extended

FLAGS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "every toolset": (("--sandbox",), {}),
    "with a token": (("--sandbox",), {"SIGNET_TOKEN": "sesame"}),
    "conformance": (("--toolsets", "conformance"), {}),
}
PAGES = {"/", "/healthz", "/readyz", "/openapi.json", "/api/tools", "/mcp"}
LEGACY = {"/mcp/v1/encode-plantuml", "/mcp/encode-plantuml"}


@pytest.fixture(scope="module", params=FLAGS)
def document(request: pytest.FixtureRequest) -> Iterator[Any]:
    flags, env = FLAGS[request.param]
    with serving_extended(*flags, "--no-journal", env=env) as server:
        yield server.ask("GET", "/openapi.json", headers={"authorization": "Bearer sesame"}).json()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Server]:
    with serving("--sandbox", "--no-journal") as server:
        yield server


def operations(document: Any) -> list[Any]:
    return [operation for path in document["paths"].values() for operation in path.values()]


def inside(value: Any) -> Iterator[Any]:
    """Every part of a document, the outermost first."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from inside(inner)


def test_the_page_is_openapi_3_1(document: Any) -> None:
    complaints = [error.message for error in Draft202012Validator(OPENAPI_31).iter_errors(document)]

    assert complaints == []


def test_each_operation_has_a_name_of_its_own(document: Any) -> None:
    names = [operation["operationId"] for operation in operations(document)]

    assert sorted(names) == sorted(set(names))


def test_each_reference_leads_to_something_in_the_page(document: Any) -> None:
    references = [part["$ref"] for part in inside(document) if isinstance(part, dict) and "$ref" in part]

    for reference in references:
        assert reference.startswith("#/")
        target = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
    assert references


def test_no_answer_is_described_twice_by_the_same_code(document: Any) -> None:
    for operation in operations(document):
        for answer in operation["responses"].values():
            codes = answer["description"].split(" or ")
            assert len(codes) == len(set(codes)), answer["description"]


def test_every_path_that_is_served_stands_in_the_page(sandbox: Server) -> None:
    document = sandbox.ask("GET", "/openapi.json").json()
    tools = sandbox.ask("GET", "/api/tools").json()["tools"]

    paths = set(document["paths"])

    assert paths >= PAGES | LEGACY | {f"/api/tools/{tool['name']}" for tool in tools}
    assert len([path for path in paths if path.startswith("/mcp/tool/")]) == len(tools)


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/healthz", "/readyz", "/api/tools"])
def test_each_page_that_can_be_read_answers_as_it_is_described(sandbox: Server, path: str) -> None:
    document = sandbox.ask("GET", "/openapi.json").json()

    reply = sandbox.ask("GET", path)

    described = document["paths"][path]["get"]["responses"]
    assert (reply.status, list(described["200"]["content"])) == (200, [reply.headers["content-type"]])
    assert "421" in described


def test_text_that_is_not_unicode_has_its_code_in_the_page(sandbox: Server) -> None:
    paths = sandbox.ask("GET", "/openapi.json").json()["paths"]

    reply = sandbox.ask("POST", "/api/tools/get_problem", b"\xff", {"content-type": "application/json"})

    said = paths["/api/tools/get_problem"]["post"]["responses"][str(reply.status)]["description"]
    assert reply.json()["error"]["code"] in said.split(" or ")
