"""Redocly and Spectral read the OpenAPI page by their recommended rules, and have nothing to say: not even a hint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from processes import ROOT, serving
from real.witness import node, run_outside

REDOCLY = ROOT / "node_modules/@redocly/cli/bin/cli.js"
SPECTRAL = ROOT / "node_modules/@stoplight/spectral-cli/dist/index.js"
RULES = Path(__file__).with_name("spectral.yaml")
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "HTTPS_PROXY": "http://127.0.0.1:9"}
"""Variables that keep Redocly from asking for a newer release, and from telling anybody of this run."""
TOKEN = "sesame"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of all toolsets, with the legacy paths, as files: without a token, and with one."""
    folder = tmp_path_factory.mktemp("pages")
    files = {token: folder / f"openapi-{token}.json" for token in ("", TOKEN)}
    for token, file in files.items():
        with serving("--sandbox", "--no-journal", env={"SIGNET_TOKEN": token} if token else None) as server:
            reply = server.ask("GET", "/openapi.json", headers={"authorization": f"Bearer {token}"})
        assert reply.status == 200
        file.write_bytes(reply.body)
    return files


def by_redocly(page: Path) -> list[str]:
    """Return the rules that Redocly finds broken."""
    lint = (str(REDOCLY), "lint", "--extends", "recommended", "--format", "json")
    linted = run_outside(node(), *lint, str(page), env=QUIET)
    assert linted.stdout, linted.stderr
    return [problem["ruleId"] for problem in json.loads(linted.stdout)["problems"]]


def by_spectral(*pages: Path) -> list[str]:
    """Return the rules that Spectral finds broken."""
    lint = (str(SPECTRAL), "lint", "--ruleset", str(RULES), "--quiet", "--format", "json")
    linted = run_outside(node(), *lint, *map(str, pages))
    assert linted.stdout, linted.stderr
    return [problem["code"] for problem in json.loads(linted.stdout)]


def test_redocly_finds_nothing(pages: dict[str, Path]) -> None:
    assert [by_redocly(page) for page in pages.values()] == [[], []]


def test_spectral_finds_nothing(pages: dict[str, Path]) -> None:
    assert by_spectral(*pages.values()) == []


def test_the_linters_find_something_where_there_is_something(tmp_path: Path) -> None:
    """Otherwise a linter that reads nothing would pass."""
    file = tmp_path / "openapi.json"
    operation = {"operationId": "one", "tags": ["A"], "responses": {"200": {"description": "It is told."}}}
    page = {"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {"/a": {"get": operation}}}
    file.write_text(json.dumps(page), encoding="utf-8")

    assert {"no-empty-servers", "info-license", "operation-summary", "security-defined"} <= set(by_redocly(file))
    assert {"oas3-api-servers", "info-contact", "operation-description", "operation-tag-defined"} <= set(
        by_spectral(file)
    )


@pytest.mark.parametrize("token", ["", TOKEN])
def test_the_page_says_where_it_is_served_and_whether_a_token_is_needed(pages: dict[str, Path], token: str) -> None:
    document = json.loads(pages[token].read_bytes())

    operations = [operation for path in document["paths"].values() for operation in path.values()]
    declared = {tag["name"] for tag in document["tags"] if tag["description"]}
    assert document["servers"][0]["url"] == "/"
    assert document["security"] == ([{"bearer": []}] if token else [])
    assert {tag for operation in operations for tag in operation["tags"]} == declared
    assert all(operation["summary"] and operation["description"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert "/mcp/v1/encode-plantuml" in document["paths"]
