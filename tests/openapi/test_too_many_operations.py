"""A document with too many operations: the advice fits the command in use, and works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands_in_process import signet_here

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://pets.example"}],
    "paths": {
        f"/{tag}/{number}": {"get": {"operationId": f"{tag}{number}", "tags": [tag], "responses": {}}}
        for tag, count in (("pets", 200), ("shops", 3))
        for number in range(count)
    },
}
FORMS = "tag:NAME, path:/pets* or operation:ID"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    return tmp_path


def test_a_target_is_chosen_from_behind_the_document(folder: Path) -> None:
    refused = signet_here(folder, "tools", "--toolsets", "openapi:api.json")
    unknown = signet_here(folder, "tools", "--toolsets", "openapi:api.json#tag:cars")
    chosen = signet_here(folder, "tools", "--toolsets", "openapi:api.json#tag:shops")

    assert f"more than 200: choose some with openapi:api.json#{FORMS}; its tags are pets" in refused.stderr.decode()
    assert "openapi:api.json#tag:cars chooses no operation" in unknown.stderr.decode()
    assert (refused.returncode, unknown.returncode, chosen.returncode) == (2, 2, 0)
    assert b"shops2" in chosen.stdout


def test_a_server_of_signet_toml_is_chosen_from_by_its_key(folder: Path) -> None:
    table = '[servers.pets]\nopenapi = "api.json"\n'
    (folder / "signet.toml").write_text(table, encoding="utf-8")
    refused = signet_here(folder, "tools")
    (folder / "signet.toml").write_text(f'{table}include = ["tag:shops"]\n', encoding="utf-8")
    chosen = signet_here(folder, "tools")

    assert f"choose some with the key include: {FORMS}" in refused.stderr.decode()
    assert (refused.returncode, chosen.returncode) == (2, 0)


def test_a_wrapped_document_is_chosen_from_by_a_flag(folder: Path) -> None:
    refused = signet_here(folder, "wrap", "--openapi", "api.json")

    assert f"choose some with --include {FORMS}" in refused.stderr.decode()


@pytest.mark.parametrize("flag", ["--include", "--base-url"])
def test_the_flags_of_a_document_are_refused_for_a_server(folder: Path, flag: str) -> None:
    refused = signet_here(folder, "wrap", flag, "tag:a", "--", "some-server")

    assert refused.returncode == 2
    assert f"{flag} is for an OpenAPI document: write --openapi beside it" in refused.stderr.decode()
