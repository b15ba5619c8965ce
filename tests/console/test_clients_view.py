"""The view Clients: the entry of each client of `signet install`, for this server."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml
from jsonschema_rs import is_valid

from processes import Server

TITLES = ["Claude Desktop", "Claude Code", "Cursor", "VS Code", "Codex", "Gemini CLI", "Windsurf", "Zed", "Goose",
          "opencode"]  # fmt: skip
READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}


@pytest.fixture(scope="module")
def clients(server: Server) -> dict[str, dict[str, object]]:
    shown = server.post("/-/clients", {"url": "http://127.0.0.1:8080/"}).json()
    return {client["title"]: client for client in shown["clients"]}


def test_the_clients_are_those_of_signet_install(clients: dict[str, dict[str, object]]) -> None:
    assert list(clients) == TITLES


@pytest.mark.parametrize("title", TITLES)
def test_each_entry_is_a_file_of_its_syntax(clients: dict[str, dict[str, object]], title: str) -> None:
    client = clients[title]
    read = READERS[client["syntax"]]
    over_http, on_stdio = client["entries"]

    assert "--sandbox" in json.dumps(read(on_stdio["text"]))
    assert on_stdio["command"] == f"signet install {client['name']} -- --sandbox"
    if title == "Claude Desktop":
        assert (over_http["text"], over_http["command"]) == ("", "")
    else:
        assert '"http://127.0.0.1:8080/mcp"' in json.dumps(read(over_http["text"]))
        assert over_http["command"] == f"signet install {client['name']} --url http://127.0.0.1:8080"


def test_files_are_named_for_any_user(clients: dict[str, dict[str, object]]) -> None:
    files = {file["place"]: file["path"] for file in clients["VS Code"]["files"]}

    assert files == {
        "Linux": "~/.config/Code/User/mcp.json",
        "macOS": "~/Library/Application Support/Code/User/mcp.json",
        "Windows": "%APPDATA%\\Code\\User\\mcp.json",
        "in a project": ".vscode/mcp.json",
    }


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "http://",
        "http:///",
        "http://a\n",
        "http://a b",
        "http://x/`id`",
        "ftp://x",
        'http://x/"',
    ],
)
def test_an_address_that_is_none_is_refused(server: Server, url: str) -> None:
    assert not is_valid(schema_of_url(server), url)
    assert server.post("/-/clients", {"url": url}).status == 400


@pytest.mark.parametrize("url", ["http://0", "http://a", "https://tools.example/signet/", "http://[::1]:8080"])
def test_an_address_that_the_schema_takes_is_taken(server: Server, url: str) -> None:
    assert is_valid(schema_of_url(server), url)
    assert server.post("/-/clients", {"url": url}).status == 200


def schema_of_url(server: Server) -> dict[str, Any]:
    """Return the published schema of the address."""
    described = server.ask("GET", "/openapi.json").json()
    body = described["paths"]["/-/clients"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = described["components"]["schemas"][body["$ref"].rpartition("/")[2]] if "$ref" in body else body
    return dict(schema["properties"]["url"])
