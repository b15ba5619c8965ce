"""The OpenAPI document is valid, complete, and true: schemathesis believes it and finds no answer it does not state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31

from processes import BIN, Server, serving
from real.witness import TOOL, run_outside

CONFIG = Path(__file__).with_name("schemathesis.toml")
OTHER_TOOLS = r"^/(api/tools/(?!encodePlantUML$)|mcp/tool/(?!plantuml\.encode$))"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One HTTP server for the whole file."""
    with serving("--toolsets", "plantuml") as running:
        yield running


@pytest.fixture(scope="module")
def document(server: Server) -> Any:
    """What the server says of itself."""
    return server.ask("GET", "/openapi.json").json()


def _inside(value: Any) -> Iterator[Any]:
    """Every object and list of a document, the outermost first."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _inside(inner)


def _objects_with(document: Any, key: str) -> list[Any]:
    return [part[key] for part in _inside(document) if isinstance(part, dict) and key in part]


def test_the_document_is_openapi_3_1(document: Any) -> None:
    """By the meta-schema of the OpenAPI initiative."""
    complaints = [error.message for error in Draft202012Validator(OPENAPI_31).iter_errors(document)]

    assert document["openapi"].startswith("3.1.")
    assert complaints == []


def test_each_schema_in_the_document_is_a_json_schema(document: Any) -> None:
    """3.1 takes Draft 2020-12 as it is."""
    schemas = [*_objects_with(document["paths"], "schema"), *document.get("components", {}).get("schemas", {}).values()]

    for schema in schemas:
        Draft202012Validator.check_schema(schema)

    assert schemas


def test_each_reference_in_the_document_leads_to_something_in_it(document: Any) -> None:
    """Nothing to fetch, nothing dangling."""
    for reference in _objects_with(document, "$ref"):
        assert reference.startswith("#/"), reference
        target = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]


def test_each_request_has_an_example_that_works(document: Any, server: Server) -> None:
    # A call in the journal is named by its id, which no document knows; a stream has no end.
    others = {path for path in document["paths"] if "{" in path or path.endswith("/stream")}
    posts = {path: shape["post"] for path, shape in document["paths"].items() if "post" in shape and path not in others}
    examples = {path: post["requestBody"]["content"]["application/json"]["example"] for path, post in posts.items()}

    replies = {path: server.post(path, example) for path, example in examples.items()}

    assert f"/api/tools/{TOOL}" in replies
    assert {path: (reply.status, reply.json().get("error")) for path, reply in replies.items()} == dict.fromkeys(
        posts, (200, None)
    )


def test_the_rest_door_states_each_status_of_its_spec(document: Any) -> None:
    """Every error shape of spec 4, where a client looks for it."""
    responses = document["paths"][f"/api/tools/{TOOL}"]["post"]["responses"]

    assert {"200", "400", "413", "500"} <= set(responses)


@pytest.mark.parametrize("served", ["plantuml, with a token", "all"])
def test_schemathesis_finds_no_answer_that_the_document_does_not_state(served: str) -> None:
    """Right and wrong requests of its own making, against every operation; with a token, also without sending it."""
    st = (str(BIN / "st"), "--config-file", str(CONFIG), "--no-color", "run", "--checks", "all")
    flags = ("--sandbox",) if served == "all" else ("--toolsets", "plantuml")
    # The tools of all other toolsets: what every server has was tried on the first one.
    effort = ("--max-examples", "2", "--include-path-regex", OTHER_TOOLS) if served == "all" else ()
    token = "sesame" if "token" in served else None
    bearer = ("--header", f"Authorization: Bearer {token}") if token else ()

    with serving(*flags, "--no-journal", env={"SIGNET_TOKEN": token} if token else None) as server:
        done = run_outside(*st, *effort, *bearer, f"{server.url}/openapi.json")

        assert done.returncode == 0, done.stdout[-8000:] + done.stderr
        assert server.process.poll() is None
        assert "Traceback" not in server.stderr()
