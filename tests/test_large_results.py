"""Large results at the doors of MCP: a digest as text for clients that read structure, the whole JSON for others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from boj_harness import CODE, METADATA, BojHarness, serving_boj
from channels import modern_headers, rpc
from processes import SIGNET, Pipe, Server, piping, serving
from upstream_harness import DIRECT

LARGE: dict[str, Any] = {"name": CODE, "arguments": {"db": "FM08", "codes": ["FXERD01"], "lang": "en"}}
PAGE: dict[str, Any] = {
    "name": CODE,
    "arguments": {"db": "CO", "codes": ["TK99F1000601GCQ01000"] * 250, "start_date": "202504", "end_date": "202504"},
}
STRUCTURED = ["2025-06-18", "2025-11-25"]
PLAIN = ["2024-11-05", "2025-03-26"]


@pytest.fixture(scope="module")
def server(bank: BojHarness) -> Iterator[Server]:
    with serving("--toolsets", "boj", env={**DIRECT, "BOJ_BASE_URL": bank.url}) as running:
        yield running


@pytest.fixture
def pipe(bank: BojHarness) -> Iterator[Pipe]:
    with piping(SIGNET, "stdio", "--toolsets", "boj", env={**DIRECT, "BOJ_BASE_URL": bank.url}) as running:
        yield running


def initialize(version: str) -> dict[str, Any]:
    client = {"name": "reader", "version": "1"}
    return rpc("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})


def assert_digest(result: dict[str, Any]) -> None:
    [block] = result["content"]
    points = len(result["structuredContent"]["series"][0]["points"])
    assert len(json.dumps(result["structuredContent"])) > 65_536
    assert len(block["text"]) <= 8_000
    assert "FXERD01 US.Dollar/Yen Spot Rate" in block["text"]
    assert f"{points:,} points" in block["text"]
    assert "structuredContent" in block["text"]
    assert "start_date" in block["text"]


def assert_whole(result: dict[str, Any]) -> None:
    [block] = result["content"]
    assert block["text"] == json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
    assert len(block["text"]) > 65_536


@pytest.mark.parametrize("version", STRUCTURED)
def test_on_stdio_a_client_that_knows_structure_reads_a_digest(pipe: Pipe, version: str) -> None:
    pipe.ask(initialize(version))

    assert_digest(pipe.ask(rpc("tools/call", LARGE))["result"])


def test_a_client_of_the_modern_era_reads_a_digest(pipe: Pipe, server: Server) -> None:
    message = rpc("tools/call", LARGE, modern=True)

    assert_digest(pipe.ask(message)["result"])
    assert_digest(server.post("/mcp", message, modern_headers("tools/call", CODE)).json()["result"])


@pytest.mark.parametrize("version", [*PLAIN, None])
def test_on_stdio_an_older_client_reads_the_whole(pipe: Pipe, version: str | None) -> None:
    if version is not None:
        pipe.ask(initialize(version))

    assert_whole(pipe.ask(rpc("tools/call", LARGE))["result"])


def test_over_http_the_header_of_each_request_decides(server: Server) -> None:
    def ask(version: str | None) -> Any:
        headers = {} if version is None else {"mcp-protocol-version": version}
        return server.post("/mcp", rpc("tools/call", LARGE), headers).json()["result"]

    for version in STRUCTURED:
        assert_digest(ask(version))
    for older in (*PLAIN, None):
        assert_whole(ask(older))


@pytest.mark.parametrize("version", [*PLAIN, *STRUCTURED])
def test_boj_mcp_server_gives_every_client_the_whole(bank: BojHarness, version: str) -> None:
    with serving_boj(bank.url) as pipe:
        pipe.ask(initialize(version))

        assert_whole(pipe.ask(rpc("tools/call", LARGE))["result"])


def test_a_large_list_is_a_digest_too(pipe: Pipe) -> None:
    pipe.ask(initialize(STRUCTURED[-1]))

    result = pipe.ask(rpc("tools/call", {"name": METADATA, "arguments": {"db": "CO", "lang": "en"}}))["result"]

    [block] = result["content"]
    entries = result["structuredContent"]["entries"]
    assert len(block["text"]) <= 8_000
    assert block["text"].startswith(f"{len(entries):,} entries in the database CO. ")
    assert str(entries[-1]["series_code"]) in block["text"]
